//! By which fields clients may select: those that the API server of the kind would take, as far as they stand in an object as they are asked for.
//!
//! Of a kind of somebody's own whose definition cannot be read nobody knows them, and any field is taken.

use ringwatch_core::selector::FieldSelector;

use super::answer::Refusal;
use super::kinds::Kind;

/// The fields of kinds that every cluster has, besides name and namespace.
const KNOWN: [(&str, &str, &[&str]); 8] = [
    (
        "",
        "events",
        &[
            "involvedObject.apiVersion",
            "involvedObject.fieldPath",
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.namespace",
            "involvedObject.resourceVersion",
            "involvedObject.uid",
            "reason",
            "reportingComponent",
            "type",
        ],
    ),
    ("", "namespaces", &["status.phase"]),
    (
        "",
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.nominatedNodeName",
            "status.phase",
            "status.podIP",
        ],
    ),
    ("", "replicationcontrollers", &["status.replicas"]),
    ("", "secrets", &["type"]),
    ("", "services", &["spec.clusterIP", "spec.type"]),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        &["spec.signerName"],
    ),
    (
        "events.k8s.io",
        "events",
        &[
            "reason",
            "regarding.kind",
            "regarding.name",
            "regarding.namespace",
            "regarding.uid",
            "reportingController",
            "type",
        ],
    ),
];

/// Refuses a selector that names a field by which the kind cannot be selected.
pub(super) fn check(
    fields: &FieldSelector<&str>,
    kind: &Kind,
    selectable: Option<&[String]>,
) -> Result<(), Refusal> {
    let (group, plural) = (kind.group.as_str(), kind.plural.as_str());
    let known = KNOWN.iter().find(|row| (row.0, row.1) == (group, plural));
    let everybodys = !group.contains('.') || group.ends_with(".k8s.io");
    for field in fields.requirements().map(|requirement| requirement.key()) {
        let selects = match (field, selectable, known) {
            ("metadata.name" | "metadata.namespace", ..) => true,
            (_, Some(selectable), _) => selectable.iter().any(|own| own == field),
            (_, None, Some((.., known))) => known.contains(&field),
            (_, None, None) => !everybodys,
        };
        if !selects {
            return Err(Refusal::bad_request(match (selectable, known) {
                (None, None) => format!(
                    r#""{field}" is not a known field selector: only "metadata.name", "metadata.namespace""#
                ),
                _ => format!("field label not supported: {field}"),
            }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_fields() {
        let own = ["spec.site".to_owned()];
        for (group, plural, selectable, selector, good) in [
            (
                "",
                "configmaps",
                None,
                "metadata.name=a,metadata.namespace!=b",
                true,
            ),
            ("", "configmaps", None, "data=x", false),
            ("", "pods", None, "status.phase=Running", true),
            ("", "pods", None, "status.phaze=Running", false),
            ("apps", "deployments", None, "spec.replicas=1", false),
            ("example.com", "lamps", None, "spec.anything=1", true),
            ("example.com", "lamps", Some(&own[..]), "spec.site=1", true),
            (
                "example.com",
                "lamps",
                Some(&own[..]),
                "spec.anything=1",
                false,
            ),
        ] {
            let kind = Kind {
                group: group.to_owned(),
                version: "v1".to_owned(),
                plural: plural.to_owned(),
                singular: String::new(),
                kind: String::new(),
                namespaced: true,
                short_names: Vec::new(),
                categories: Vec::new(),
            };
            let fields = FieldSelector::parse(selector).unwrap();
            assert_eq!(
                check(&fields, &kind, selectable).is_ok(),
                good,
                "{plural}: {selector}"
            );
        }
    }
}
