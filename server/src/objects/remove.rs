//! DELETE, of one object and of many.

use bytes::Bytes;
use serde_json::Value;

use super::delete::{self, Verdict};
use super::options::DeleteOptions;
use super::{Address, Answer, Content, Objects, encode, meta};
use crate::resources::Resource;
use crate::status::{self, Details, Failure};
use crate::storage::{Change, ChangeError, KeyValue, Ttl, guaranteed_change};

/// Kinds whose deletion answers with the object that was. All others answer with a Status.
const SHOWN_WHEN_GONE: [&str; 7] = [
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodTemplate",
    "ResourceQuota",
    "Service",
    "ServiceAccount",
];

/// What was decided about an object.
struct Note {
    object: Value,
    /// As it is, or will be, stored.
    stored: Bytes,
    verdict: Kind,
}

enum Kind {
    Removed,
    /// Removed, and there is nothing to show.
    Unreadable,
    Marked,
    Pending,
}

impl Objects {
    /// Deletes an object, or marks it if something holds it.
    ///
    /// # Errors
    ///
    /// 404, 409 if a precondition does not hold, 403 for namespaces that are always there.
    pub async fn delete(
        &self,
        at: Address<'_>,
        options: &DeleteOptions,
    ) -> Result<Answer, Failure> {
        self.remove(at, options).await.map(|(answer, _)| answer)
    }

    /// The same, with whether the object is gone.
    pub(super) async fn remove(
        &self,
        at: Address<'_>,
        options: &DeleteOptions,
    ) -> Result<(Answer, bool), Failure> {
        let resource = at.resource;
        let key = at.key()?;
        let decide = |base: Option<&KeyValue>| {
            let base = base.ok_or_else(|| at.not_found())?;
            let kept = base.value.clone();
            let old = match encode::served(resource, base) {
                Err(_) if options.ignore_read_error => {
                    let note = Note {
                        object: Value::Null,
                        stored: kept,
                        verdict: Kind::Unreadable,
                    };
                    return Ok((Change::Delete, note));
                }
                Ok(_) if options.ignore_read_error => {
                    return Err(Failure::is_readable(resource, at.name));
                }
                old => old?,
            };
            let (change, object, stored, verdict) =
                match delete::decide(resource, &old, options, self.environment.now())? {
                    Verdict::Remove => (Change::Delete, old, kept, Kind::Removed),
                    Verdict::Pending => (Change::Keep, old, kept, Kind::Pending),
                    Verdict::Mark(marked) if marked == old => {
                        (Change::Keep, marked, kept, Kind::Marked)
                    }
                    Verdict::Mark(marked) => {
                        let stored = encode::stored(resource, &marked)?;
                        let change = Change::Put(stored.clone(), Ttl::Keep);
                        (change, marked, stored, Kind::Marked)
                    }
                };
            let change = if options.dry_run {
                Change::Keep
            } else {
                change
            };
            let note = Note {
                object,
                stored,
                verdict,
            };
            Ok((change, note))
        };
        let changed = guaranteed_change(&*self.storage, &key, None, decide).await;
        let changed = changed.map_err(|error| match error {
            ChangeError::Rejected(failure) => failure,
            ChangeError::Storage(error) => Failure::storage(resource, "delete", &error),
        })?;
        let Note {
            object,
            stored,
            verdict,
        } = changed.note;
        let asked = options.orphan_dependents == Some(false);
        let code = match verdict {
            Kind::Marked | Kind::Pending if asked => 202,
            _ => 200,
        };
        let builtin = !resource.is_custom();
        let shown = match verdict {
            Kind::Marked => true,
            Kind::Unreadable => false,
            Kind::Removed => builtin && SHOWN_WHEN_GONE.contains(&&*resource.kind),
            Kind::Pending => {
                let kind = &*resource.kind;
                builtin && (SHOWN_WHEN_GONE.contains(&kind) || kind == "Namespace")
            }
        };
        let gone = changed.change == Change::Delete;
        if shown {
            let body = encode::shown(resource, &stored, changed.revision);
            return Ok((Answer::object(code, body), gone));
        }
        let details = Details {
            name: at.name.to_owned(),
            group: resource.group.clone().into_owned(),
            kind: resource.plural.clone().into_owned(),
            uid: meta::text(&object, "uid").to_owned(),
            ..Details::default()
        };
        let answer = Answer::value(code, Content::Status, &status::success(&details));
        Ok((answer, gone))
    }

    /// Deletes an object that was found in a list. Whether it is gone: another of its name may have come, and stays for now.
    pub(super) async fn remove_listed(
        &self,
        at: Address<'_>,
        options: &DeleteOptions,
    ) -> Result<bool, Failure> {
        match self.remove(at, options).await {
            Ok((_, gone)) => Ok(gone),
            Err(failure) if failure.code == 404 => Ok(true),
            Err(failure) if failure.code == 409 => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Deletes each of the objects, given by namespace and name; what is gone already counts as deleted. It is not
    /// atomic, and the first failure ends it.
    ///
    /// The answer to a client is the list of the objects as they were listed, which the caller has.
    ///
    /// # Errors
    ///
    /// As for the deletion of one object.
    pub async fn delete_each<'a>(
        &self,
        resource: &Resource,
        objects: impl IntoIterator<Item = (Option<&'a str>, &'a str)>,
        options: &DeleteOptions,
    ) -> Result<(), Failure> {
        for (namespace, name) in objects {
            let at = Address::new(resource, namespace, name);
            match self.delete(at, options).await {
                Err(failure) if failure.code != 404 => return Err(failure),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }
}
