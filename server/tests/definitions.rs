//! What becomes of definitions of kinds: stages, names, and what two servers that have seen different things decide.

#[path = "text/definition.rs"]
#[allow(dead_code, reason = "shared with tests that use more of it")]
mod text;

use ringwatch_server::definitions::{Definition, Stage, Taken, next, terminating};
use serde_json::{Value, json};
use text::stored;

const NOW: &str = "2026-01-01T00:00:00Z";
const LATER: &str = "2026-01-01T00:00:09Z";

/// A definition as it is stored when it has just been sent.
fn sent(plural: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com"), "uid": "u", "generation": 1},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {
                "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List"),
            },
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
                {"name": "v0", "served": false, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
            ],
        },
        "status": {"acceptedNames": {"plural": "", "kind": ""}, "conditions": [], "storedVersions": ["v1"]},
    })
}

/// What a server that knows these definitions, each with the revision of its creation, writes for the first of them.
fn step(known: &[(&Value, u64)], now: &str) -> Option<Value> {
    let all: Vec<Definition> = known
        .iter()
        .map(|(object, created)| stored(object, *created))
        .collect();
    let (own, others) = all.split_first().unwrap();
    let mut taken = Taken::new(&own.wanted);
    others.iter().for_each(|other| taken.add(other.claims(own)));
    let written = next(known[0].0, own, &taken, now);
    assert_eq!(own.is_open() && own.is_due(&taken), written.is_some());
    written
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let mut found = conditions.iter().filter(|found| found["type"] == kind);
    found.next().unwrap_or(&Value::Null)
}

fn stage(object: &Value) -> Stage {
    stored(object, 1).stage()
}

#[test]
fn a_definition_is_brought_on_step_by_step() {
    let new = sent("widgets", "Widget");
    assert_eq!(stage(&new), Stage::New);
    assert!(!stored(&new, 1).is_served());

    let accepted = step(&[(&new, 1)], NOW).unwrap();
    assert_eq!(stage(&accepted), Stage::Accepted);
    assert_eq!(
        accepted["status"]["acceptedNames"],
        accepted["spec"]["names"]
    );
    assert_eq!(
        condition(&accepted, "NamesAccepted")["reason"],
        "NoConflicts"
    );
    assert_eq!(condition(&accepted, "Established")["reason"], "Installing");
    assert!(stored(&accepted, 1).is_served(), "before clients are told");

    let established = step(&[(&accepted, 1)], LATER).unwrap();
    assert_eq!(stage(&established), Stage::Established);
    let condition = |kind| condition(&established, kind);
    assert_eq!(condition("NamesAccepted")["lastTransitionTime"], NOW);
    assert_eq!(condition("Established")["lastTransitionTime"], LATER);
    assert_eq!(condition("Established")["reason"], "InitialNamesAccepted");
    let definition = stored(&established, 1);
    let rows: Vec<_> = definition.rows().collect();
    assert_eq!(rows.len(), 1, "what is not served is no row");
    assert_eq!(step(&[(&established, 1)], LATER), None, "all is said");
}

#[test]
fn of_two_that_want_a_name_the_older_has_it_whoever_is_asked() {
    let (older, newer) = (sent("widgets", "Widget"), sent("things", "Widget"));
    // A server that has seen both, and one that has seen the older only.
    let accepted = step(&[(&older, 1), (&newer, 2)], NOW).unwrap();
    assert_eq!(stage(&accepted), Stage::Accepted);
    assert_eq!(step(&[(&older, 1)], NOW), Some(accepted.clone()));
    for known in [&older, &accepted] {
        let refused = step(&[(&newer, 2), (known, 1)], NOW).unwrap();
        assert_eq!(stage(&refused), Stage::Refused);
        assert_eq!(
            condition(&refused, "NamesAccepted")["reason"],
            "ListKindConflict"
        );
        assert_eq!(
            condition(&refused, "NamesAccepted")["message"],
            "\"WidgetList\" is already in use"
        );
        assert_eq!(condition(&refused, "Established")["reason"], "NotAccepted");
        assert!(!stored(&refused, 2).is_served());
        assert_eq!(step(&[(&refused, 2), (&accepted, 1)], LATER), None);
        // The other is gone.
        let accepted = step(&[(&refused, 2)], LATER).unwrap();
        assert_eq!(stage(&accepted), Stage::Accepted);
        assert_eq!(
            condition(&accepted, "NamesAccepted")["lastTransitionTime"],
            LATER
        );
    }
}

#[test]
fn a_kind_that_is_served_stays_so_when_it_wants_a_name_that_is_taken() {
    let established = |plural, kind| {
        let accepted = step(&[(&sent(plural, kind), 1)], NOW).unwrap();
        step(&[(&accepted, 1)], NOW).unwrap()
    };
    let other = established("things", "Thing");
    let mut own = established("widgets", "Widget");
    own["spec"]["names"]["shortNames"] = json!(["w", "things"]);
    let refused = step(&[(&own, 1), (&other, 2)], LATER).unwrap();
    assert_eq!(stage(&refused), Stage::Established);
    assert_eq!(
        condition(&refused, "NamesAccepted")["reason"],
        "ShortNamesConflict"
    );
    assert_eq!(refused["status"]["acceptedNames"].get("shortNames"), None);
    assert_eq!(stored(&refused, 1).rows().next().unwrap().kind, "Widget");
    // It gives in.
    let mut meek = refused;
    meek["spec"]["names"]["shortNames"] = json!(["w"]);
    let accepted = step(&[(&meek, 1), (&other, 2)], LATER).unwrap();
    assert_eq!(condition(&accepted, "NamesAccepted")["status"], "True");
    assert_eq!(
        accepted["status"]["acceptedNames"]["shortNames"],
        json!(["w"])
    );
}

#[test]
fn what_is_to_be_deleted_keeps_its_names_and_is_served_if_it_was() {
    let new = sent("widgets", "Widget");
    let accepted = step(&[(&new, 1)], NOW).unwrap();
    let established = step(&[(&accepted, 1)], NOW).unwrap();
    let deleted = |object: &Value| {
        let mut object = terminating(object, LATER);
        object["metadata"]["deletionTimestamp"] = LATER.into();
        object["metadata"]["finalizers"] = json!([ringwatch_server::definitions::FINALIZER]);
        object
    };
    for (object, served) in [(&new, false), (&accepted, true), (&established, true)] {
        let object = deleted(object);
        let definition = stored(&object, 1);
        assert_eq!(definition.stage(), Stage::Terminating);
        assert!(definition.is_held);
        assert_eq!(definition.is_served(), served);
        assert_eq!(step(&[(&object, 1)], LATER), None);
        assert_eq!(condition(&object, "Terminating")["status"], "True");
    }
    let newer = sent("things", "Widget");
    let refused = step(&[(&newer, 2), (&deleted(&established), 1)], LATER).unwrap();
    assert_eq!(stage(&refused), Stage::Refused);
    // One that never had its names has none to keep.
    let accepted = step(&[(&newer, 2), (&deleted(&new), 1)], LATER).unwrap();
    assert_eq!(stage(&accepted), Stage::Accepted);
}

/// However it came about: clients rely on it.
#[test]
fn who_has_a_name_keeps_it_although_somebody_else_has_it_too() {
    let mut own = sent("widgets", "Widget");
    while let Some(next) = step(&[(&own, 2)], NOW) {
        own = next;
    }
    assert_eq!(stage(&own), Stage::Established);
    let mut other = sent("gadgets", "Gadget");
    other["status"] = own["status"].clone();
    assert_eq!(step(&[(&own, 2), (&other, 1)], NOW), None);
}

#[test]
fn names_of_what_the_program_serves_are_taken() {
    let mut definition = sent("leases", "Lease");
    definition["spec"]["group"] = "coordination.k8s.io".into();
    definition["metadata"]["annotations"] =
        json!({"api-approved.kubernetes.io": "https://example.com/1"});
    let own = stored(&definition, 1);
    let builtin = ringwatch_server::resources::builtin::resources();
    let lease = builtin.iter().find(|row| row.kind == "Lease").unwrap();
    let mut taken = Taken::new(&own.wanted);
    taken.add_builtin(lease);
    let refused = next(&definition, &own, &taken, NOW).unwrap();
    assert_eq!(stage(&refused), Stage::Refused);
    let approved = condition(&refused, "KubernetesAPIApprovalPolicyConformant");
    assert_eq!(approved["message"], "approved in https://example.com/1");
}
