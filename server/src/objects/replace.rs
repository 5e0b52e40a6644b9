//! PUT and PATCH: an object becomes another, or goes because nothing holds it any more.

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use serde_json::Value;

use super::body::Expected;
use super::options::WriteOptions;
use super::update::{self, Next, Part};
use super::{Address, Answer, Objects, create, encode, meta, ttl};
use crate::negotiate::{self, UnsupportedMediaType};
use crate::patch::Patch;
use crate::schema::{self, Parsed};
use crate::status::Failure;
use crate::storage::{Change, ChangeError, Condition, KeyValue, guaranteed_change};

/// A patch as it came.
#[derive(Debug, Clone, Copy)]
pub struct PatchBody<'a> {
    /// How it is to be understood.
    pub format: negotiate::Patch,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// What is to become of an object, or of nothing.
pub(super) enum Step {
    /// A new object.
    Create(Value),
    /// What an update makes of it.
    Update(Next),
}

/// Why a step is not taken.
pub(super) enum Stop {
    /// The request fails.
    Failed(Failure),
    /// The object would be new, and its namespace was not asked.
    NotAdmitted(Value),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Objects {
    /// Puts an object in the place of another: PUT. Where the kind allows it, in the place of nothing. `part` is
    /// [`Part::Whole`], [`Part::Status`] or [`Part::Finalize`].
    ///
    /// # Errors
    ///
    /// 400 and 422 for the object, 404, 409 if the stored object is another than the client knows.
    pub async fn update(
        &self,
        at: Address<'_>,
        part: Part,
        body: Parsed,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        let resource = at.resource;
        let expected = Expected::from(resource);
        let (new, warnings) = expected.read(body, options.field_validation)?;
        update::check_name(&new, at.namespace, at.name)?;
        let key = at.key()?;
        let by = self.by(resource, part, options);
        let decided = |old: Option<&Value>, admitted: bool| {
            update::check_uid(resource, &key, at.name, &new, old)?;
            match old {
                Some(old) => {
                    let (next, more) =
                        update::decide(resource, part, new.clone(), old, Some(&by.writer()))?;
                    Ok((Step::Update(next), more))
                }
                None if resource.update.creates && part == Part::Whole => {
                    let mut object = new.clone();
                    create::place(resource, at.namespace, &mut object)?;
                    if !admitted {
                        return Err(Stop::NotAdmitted(object));
                    }
                    meta::set(&mut object, "resourceVersion", None);
                    let stamp = self.environment.stamp()?;
                    let more = create::prepare(resource, &mut object, &stamp)?;
                    by.own_new(resource, &mut object);
                    Ok((Step::Create(object), more))
                }
                None => Err(at.not_found().into()),
            }
        };
        self.change_or_create(at, options.dry_run, warnings, decided)
            .await
    }

    /// Changes an object by a patch, again if somebody else was faster, unless the patch names a resourceVersion. `part` is
    /// [`Part::Whole`] or [`Part::Status`].
    ///
    /// # Errors
    ///
    /// 400, 413, 415 and 422 for the patch and what it makes of the object, 404, 409 for another resourceVersion.
    pub async fn patch(
        &self,
        at: Address<'_>,
        part: Part,
        patch: PatchBody<'_>,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        let expected = Expected::from(at.resource);
        let patch = Prepared::new(&expected, patch, options)?;
        let by = self.by(at.resource, part, options);
        let step = |old: Option<&Value>| {
            let old = old.ok_or_else(|| at.not_found())?;
            let (new, mut warnings) = patch.apply(&expected, old)?;
            update::check_name(&new, at.namespace, at.name)?;
            let (next, more) = update::decide(at.resource, part, new, old, Some(&by.writer()))?;
            warnings.extend(more);
            Ok((Step::Update(next), warnings))
        };
        self.change_existing(at, options.dry_run, step).await
    }

    /// The same as [`change`](Self::change), where something new may come about: its namespace is asked first, and `decided` is told
    /// whether it was. The answer has these warnings too.
    pub(super) async fn change_or_create(
        &self,
        at: Address<'_>,
        dry_run: bool,
        warnings: Vec<String>,
        decided: impl Fn(Option<&Value>, bool) -> Result<(Step, Vec<String>), Stop>,
    ) -> Result<Answer, Failure> {
        let mut admitted = false;
        loop {
            let step = |old: Option<&Value>| decided(old, admitted);
            match self.change(at, dry_run, step).await {
                Ok(answer) => {
                    let all = [warnings, answer.warnings.clone()].concat();
                    return Ok(answer.with_warnings(all));
                }
                Err(Stop::Failed(failure)) => return Err(failure),
                Err(Stop::NotAdmitted(object)) => {
                    self.admit(at.resource, &object).await?;
                    admitted = true;
                }
            }
        }
    }

    /// The same as [`change`](Self::change), where nothing new comes about.
    pub(super) async fn change_existing(
        &self,
        at: Address<'_>,
        dry_run: bool,
        mut step: impl FnMut(Option<&Value>) -> Result<(Step, Vec<String>), Failure>,
    ) -> Result<Answer, Failure> {
        let step = |old: Option<&Value>| step(old).map_err(Stop::Failed);
        let answer = self.change(at, dry_run, step).await;
        answer.map_err(|stop| match stop {
            Stop::Failed(failure) => failure,
            Stop::NotAdmitted(_) => at.not_found(),
        })
    }

    /// Decides about an object, and commits what was decided, until nobody was faster. The answer shows the object.
    async fn change(
        &self,
        at: Address<'_>,
        dry_run: bool,
        mut step: impl FnMut(Option<&Value>) -> Result<(Step, Vec<String>), Stop>,
    ) -> Result<Answer, Stop> {
        let resource = at.resource;
        let key = at.key()?;
        let decide = |base: Option<&KeyValue>| -> Result<_, Stop> {
            let old = base
                .map(|base| encode::served(resource, base))
                .transpose()?;
            let (step, warnings) = step(old.as_ref())?;
            let code = if matches!(step, Step::Create(_)) {
                201
            } else {
                200
            };
            let put = |object: &Value| -> Result<(Change, Bytes), Stop> {
                let stored = encode::stored(resource, object)?;
                Ok((Change::Put(stored.clone(), ttl(resource)), stored))
            };
            let (change, shown) = match (step, base) {
                (Step::Create(object) | Step::Update(Next::Write(object)), _) => put(&object)?,
                (Step::Update(Next::Delete(object)), _) => {
                    (Change::Delete, encode::stored(resource, &object)?)
                }
                // Stored in a way that is on its way out: the same again.
                (Step::Update(Next::Keep), Some(base)) if base.condition == Condition::Stale => (
                    Change::Put(base.value.clone(), ttl(resource)),
                    base.value.clone(),
                ),
                (Step::Update(Next::Keep), Some(base)) => (Change::Keep, base.value.clone()),
                (Step::Update(Next::Keep), None) => return Err(at.not_found().into()),
            };
            let change = if dry_run { Change::Keep } else { change };
            Ok((change, (code, shown, warnings)))
        };
        let changed = guaranteed_change(&*self.storage, &key, None, decide).await;
        let changed = changed.map_err(|error| match error {
            ChangeError::Rejected(stop) => stop,
            ChangeError::Storage(error) => Failure::storage(resource, "update", &error).into(),
        })?;
        let (code, shown, warnings) = changed.note;
        // A revision of its own has only what was written.
        let before = changed
            .before
            .map_or(Revision::ZERO, |before| before.mod_revision);
        let revision = match changed.change {
            Change::Put(..) => changed.revision,
            Change::Delete | Change::Keep => before,
        };
        let body = encode::shown(resource, &shown, revision);
        Ok(Answer::object(code, body).with_warnings(warnings))
    }
}

/// A patch that has been read.
pub(super) struct Prepared<'a> {
    patch: Patch,
    body: PatchBody<'a>,
    duplicates: Vec<String>,
    options: &'a WriteOptions,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(
        expected: &Expected,
        body: PatchBody<'a>,
        options: &'a WriteOptions,
    ) -> Result<Self, Failure> {
        let patch = match (body.format, expected.schema) {
            (negotiate::Patch::Json, _) => Patch::json(body.bytes),
            (negotiate::Patch::Merge, _) => Patch::merge(body.bytes),
            (negotiate::Patch::StrategicMerge, Some(schema)) => {
                Patch::strategic(schema, body.bytes)
            }
            (negotiate::Patch::StrategicMerge | negotiate::Patch::Apply, _) => {
                let offered: &[_] = match expected.schema {
                    Some(_) => &[
                        negotiate::Patch::Json,
                        negotiate::Patch::Merge,
                        negotiate::Patch::StrategicMerge,
                    ],
                    None => &[negotiate::Patch::Json, negotiate::Patch::Merge],
                };
                let refusal = UnsupportedMediaType::of_patch(offered);
                return Err(Failure::unsupported_media_type(&refusal));
            }
        };
        let patch = patch.map_err(|error| Failure::patch(&error))?;
        let duplicates = schema::parse(body.bytes).map(|parsed| parsed.duplicates);
        Ok(Self {
            patch,
            body,
            duplicates: duplicates.unwrap_or_default(),
            options,
        })
    }

    /// The object with the patch applied, and what to warn of.
    pub(super) fn apply(
        &self,
        expected: &Expected,
        old: &Value,
    ) -> Result<(Value, Vec<String>), Failure> {
        let mut new = self
            .patch
            .apply(old)
            .map_err(|error| Failure::patch(&error))?;
        let shown = |patched: &Value| match self.body.format {
            negotiate::Patch::StrategicMerge => {
                String::from_utf8_lossy(self.body.bytes).into_owned()
            }
            _ => patched.to_string(),
        };
        let validation = self.options.field_validation;
        let warnings = expected.read_patched(&mut new, &self.duplicates, validation, shown)?;
        Ok((new, warnings))
    }
}
