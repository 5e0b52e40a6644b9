//! What becomes of an object that is asked to go. No I/O.
//!
//! ```text
//!   has time left (pods) ──► Mark: ends at a moment, now or later shortened
//!   finalizers           ──► Mark: ends when the last is removed
//!   namespace            ──► Mark: ends when it is empty
//!   definition of a kind ──► Mark: ends when the kind has no instances
//!   else                 ──► Remove
//! ```

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::meta;
use super::options::{DeleteOptions, Propagation};
use crate::definitions;
use crate::resources::Resource;
use crate::schema::pattern::at;
use crate::status::Failure;

/// What becomes of an object that is asked to go.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It goes now.
    Remove,
    /// It stays until something happens, as this.
    Mark(Value),
    /// It is going already, and nothing changes.
    Pending,
}

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Namespaces that are always there.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Decides about an object as it is stored, with its resourceVersion.
///
/// # Errors
///
/// A 409 if a precondition does not hold, a 403 for the namespaces that are always there.
pub fn decide(
    resource: &Resource,
    object: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Result<Verdict, Failure> {
    if resource.kind == "Namespace" && !resource.is_custom() {
        return namespace(resource, object, options, now);
    }
    check_preconditions(resource, object, options)?;
    if resource.kind == "CustomResourceDefinition" && !resource.is_custom() {
        return Ok(definition(resource, object, options, now));
    }
    Ok(decide_any(resource, object, options, now))
}

fn decide_any(
    resource: &Resource,
    object: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Verdict {
    let mut marked = object.clone();
    let mut graceful = false;
    if resource.kind == "Pod" && !resource.is_custom() {
        match grace(object, options, now) {
            Grace::Pending => return Verdict::Pending,
            Grace::Over => {}
            Grace::Until(moment, seconds) => {
                graceful = seconds > 0;
                begin(&mut marked, moment, seconds);
            }
        }
    }
    let finalizers = finalizers(resource, object, options);
    let held = !finalizers.is_empty();
    let list = held.then(|| Value::from(finalizers));
    meta::set(&mut marked, "finalizers", list);
    if held && !graceful {
        let ends = moment(object)
            .filter(|moment| *moment <= now)
            .unwrap_or(now);
        begin(&mut marked, ends, 0);
    }
    if held || graceful {
        Verdict::Mark(marked)
    } else {
        Verdict::Remove
    }
}

/// Notes when an object ends. The first time is a change of what is wanted of it.
fn begin(object: &mut Value, ends: Timestamp, grace: i64) {
    let generation = meta::number(object, "generation").filter(|number| *number > 0);
    if let (Some(generation), None) = (generation, meta::get(object, "deletionTimestamp")) {
        meta::set(object, "generation", Some((generation + 1).into()));
    }
    // A moment that stays is not written anew: it may have come with a fraction.
    if moment(object) != Some(ends) {
        let ends = meta::moment(ends);
        meta::set(object, "deletionTimestamp", Some(ends.into()));
    }
    meta::set(object, "deletionGracePeriodSeconds", Some(grace.into()));
}

fn moment(object: &Value) -> Option<Timestamp> {
    meta::text(object, "deletionTimestamp").parse().ok()
}

/// How much time a pod has.
enum Grace {
    /// It ends then, after so many seconds.
    Until(Timestamp, i64),
    /// It ends as it was told before.
    Pending,
    /// It had its time.
    Over,
}

fn grace(pod: &Value, options: &DeleteOptions, now: Timestamp) -> Grace {
    let wanted = options
        .grace_period
        .map(|period| if period < 0 { 1 } else { period });
    let Some(ends) = moment(pod) else {
        let text = |path: &str| at(pod, path).and_then(Value::as_str).unwrap_or_default();
        let default = at(pod, "spec.terminationGracePeriodSeconds").and_then(Value::as_i64);
        // Nobody runs it, or nobody does any more.
        let idle = text("spec.nodeName").is_empty()
            || ["Failed", "Succeeded"].contains(&text("status.phase"));
        let period = match wanted.or(default).unwrap_or_default() {
            _ if idle => 0,
            period if period < 0 => 1,
            period => period.min(MAX_GRACE),
        };
        return Grace::Until(now + SignedDuration::from_secs(period), period);
    };
    let given = meta::number(pod, "deletionGracePeriodSeconds").unwrap_or_default();
    let given = if given < 0 { 1 } else { given };
    match wanted {
        _ if given == 0 => Grace::Over,
        // Time can only be taken away.
        Some(period) if period < given => {
            let less = SignedDuration::from_secs(given.min(MAX_GRACE) - period);
            Grace::Until(ends.checked_sub(less).unwrap_or(now), period)
        }
        _ => Grace::Pending,
    }
}

/// The longest grace: a hundred years, which is far from where moments cannot be written any more.
const MAX_GRACE: i64 = 100 * 366 * 24 * 60 * 60;

/// The finalizers with which the object goes, in the order of who decides: options, then the object, then its kind.
fn finalizers(resource: &Resource, object: &Value, options: &DeleteOptions) -> Vec<String> {
    let present = meta::texts(object, "finalizers");
    let has = |name: &str| present.iter().any(|finalizer| finalizer == name);
    let policy = match (options.orphan_dependents, options.propagation) {
        (Some(true), _) => Propagation::Orphan,
        (Some(false), _) => Propagation::Background,
        (None, Some(policy)) => policy,
        (None, None) if has(ORPHAN) => Propagation::Orphan,
        (None, None) if has(FOREGROUND) => Propagation::Foreground,
        (None, None) if orphans_by_default(resource) => Propagation::Orphan,
        (None, None) => Propagation::Background,
    };
    let collected = resource.kind != "Event" || resource.is_custom();
    let added = match policy {
        Propagation::Orphan if collected => Some(ORPHAN),
        Propagation::Foreground if collected => Some(FOREGROUND),
        _ => None,
    };
    // Where nothing changes the order stays, so that nothing is written.
    let stays = |name: &String| {
        ![ORPHAN, FOREGROUND].contains(&name.as_str()) || Some(name.as_str()) == added
    };
    let mut finalizers: Vec<String> = present.iter().filter(|name| stays(name)).cloned().collect();
    if let Some(added) = added.filter(|added| !has(added)) {
        finalizers.push(added.to_owned());
    }
    finalizers
}

/// Kinds whose dependents stayed in the days when that was the only way.
fn orphans_by_default(resource: &Resource) -> bool {
    !resource.is_custom() && ["ReplicationController", "Job"].contains(&&*resource.kind)
}

fn check_preconditions(
    resource: &Resource,
    object: &Value,
    options: &DeleteOptions,
) -> Result<(), Failure> {
    let name = meta::text(object, "name");
    let found = [
        meta::text(object, "uid"),
        meta::text(object, "resourceVersion"),
    ];
    let [uid, revision] = found;
    match (&options.uid, &options.resource_version) {
        (Some(wanted), _) if wanted != uid => {
            let why = format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
            );
            Err(Failure::deletion_precondition(resource, name, why))
        }
        (_, Some(wanted)) if wanted != revision => {
            let why = format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({revision}). The object might have been modified"
            );
            Err(Failure::deletion_precondition(resource, name, why))
        }
        _ => Ok(()),
    }
}

/// A definition goes when its kind has no instances: it is marked and held, and the rest is done by who
/// [follows](super::definitions) the definitions.
fn definition(
    resource: &Resource,
    object: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Verdict {
    if meta::get(object, "deletionTimestamp").is_some() {
        return decide_any(resource, object, options, now);
    }
    let mut held = definitions::terminating(object, &meta::moment(now));
    let mut finalizers = meta::texts(object, "finalizers");
    if !finalizers.iter().any(|name| name == definitions::FINALIZER) {
        finalizers.push(definitions::FINALIZER.to_owned());
    }
    meta::set(&mut held, "finalizers", Some(finalizers.into()));
    decide_any(resource, &held, options, now)
}

/// A namespace goes when it is empty: it is marked, and the rest is done by who [empties](super::namespaces) it.
fn namespace(
    resource: &Resource,
    object: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Result<Verdict, Failure> {
    let name = meta::text(object, "name");
    if IMMORTAL.contains(&name) {
        return Err(Failure::forbidden(
            resource,
            name,
            "this namespace may not be deleted",
        ));
    }
    let preconditions = [
        ("UID", &options.uid, meta::text(object, "uid")),
        (
            "ResourceVersion",
            &options.resource_version,
            meta::text(object, "resourceVersion"),
        ),
    ];
    for (what, wanted, found) in preconditions {
        if let Some(wanted) = wanted.as_ref().filter(|wanted| *wanted != found) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            );
            return Err(Failure::conflict(resource, name, why));
        }
    }
    let mut marked = object.clone();
    if meta::get(object, "deletionTimestamp").is_none() {
        let finalizers = finalizers(resource, object, options);
        let finalizers = (!finalizers.is_empty()).then(|| finalizers.into());
        meta::set(&mut marked, "finalizers", finalizers);
        meta::set(
            &mut marked,
            "deletionTimestamp",
            Some(meta::moment(now).into()),
        );
    }
    if let Value::Object(map) = &mut marked {
        let status = map.entry("status").or_insert_with(|| json!({}));
        if let Value::Object(status) = status {
            status.insert("phase".into(), "Terminating".into());
        }
    }
    let held = at(object, "spec.finalizers")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty());
    if held || meta::get(object, "deletionTimestamp").is_none() {
        return Ok(if marked == *object {
            Verdict::Pending
        } else {
            Verdict::Mark(marked)
        });
    }
    Ok(decide_any(resource, object, options, now))
}
