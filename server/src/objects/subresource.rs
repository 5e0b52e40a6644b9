//! The narrow ways into an object: scale and binding. Status and finalize are [parts](super::update::Part) of an update.

use serde_json::{Value, json};

use super::body::Expected;
use super::options::WriteOptions;
use super::replace::{Prepared, Step};
use super::update::{self, Part};
use super::{Address, Answer, Content, Objects, PatchBody, meta};
use crate::resources::{ScalePaths, Subresource};
use crate::schema::Parsed;
use crate::status::Failure;
use crate::subresources::{self, BindError};

impl Objects {
    /// The Scale of an object.
    ///
    /// # Errors
    ///
    /// A 404 if there is no such object, or its kind has no Scale.
    pub async fn scale(&self, at: Address<'_>) -> Result<Answer, Failure> {
        let paths = paths(at)?;
        let object = self.get(at).await?.to_value();
        Ok(as_scale(200, paths, &object))
    }

    /// Sets the number of replicas: PUT of a Scale.
    ///
    /// # Errors
    ///
    /// As for an update, and 422 for a number below zero.
    pub async fn update_scale(
        &self,
        at: Address<'_>,
        body: Parsed,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        let (scale, warnings) = Expected::scale().read(body, options.field_validation)?;
        let step = |_: &Value| Ok((scale.clone(), warnings.clone()));
        self.change_scale(at, options, step).await
    }

    /// Sets the number of replicas by a patch of the Scale.
    ///
    /// # Errors
    ///
    /// As for a patch, and 422 for a number below zero.
    pub async fn patch_scale(
        &self,
        at: Address<'_>,
        patch: PatchBody<'_>,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        let expected = Expected::scale();
        let patch = Prepared::new(&expected, patch, options)?;
        let step = |scale: &Value| patch.apply(&expected, scale);
        self.change_scale(at, options, step).await
    }

    /// Applies the number of replicas that a Scale wants.
    ///
    /// # Errors
    ///
    /// As for an apply, and 422 for a number below zero.
    pub async fn apply_scale(
        &self,
        at: Address<'_>,
        body: Parsed,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        let paths = paths(at)?;
        let answer = self.apply_to_scaled(at, paths, body, options).await?;
        let scale = as_scale(answer.code, paths, &answer.to_value());
        Ok(scale.with_warnings(answer.warnings))
    }

    async fn change_scale(
        &self,
        at: Address<'_>,
        options: &WriteOptions,
        wanted: impl Fn(&Value) -> Result<(Value, Vec<String>), Failure>,
    ) -> Result<Answer, Failure> {
        let paths = paths(at)?;
        let by = self.by(at.resource, Part::Scale, options);
        let step = |old: Option<&Value>| {
            let old = old.ok_or_else(|| at.not_found())?;
            let (scale, mut warnings) = wanted(&subresources::scale(paths, old))?;
            update::check_name(&scale, at.namespace, at.name)?;
            check_uid(at, &scale, old)?;
            let mut new = old.clone();
            subresources::apply_scale(paths, &mut new, &scale)
                .map_err(|fault| Failure::invalid_as("Scale", "autoscaling", at.name, &fault))?;
            let revision = meta::get(&scale, "resourceVersion").cloned();
            meta::set(&mut new, "resourceVersion", revision);
            let (next, more) =
                update::decide(at.resource, Part::Scale, new, old, Some(&by.writer()))?;
            warnings.extend(more);
            Ok((Step::Update(next), warnings))
        };
        let answer = self.change_existing(at, options.dry_run, step).await?;
        let scale = as_scale(answer.code, paths, &answer.to_value());
        Ok(scale.with_warnings(answer.warnings))
    }

    /// Puts a pod on a node: POST of a Binding. Nobody owns the node's name, as in Kubernetes.
    ///
    /// # Errors
    ///
    /// 404, 409 if the pod has a node or is on its way out, 422 for what is no node.
    pub async fn bind(
        &self,
        at: Address<'_>,
        body: Parsed,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        if at.resource.subresource("binding").is_none() {
            return Err(at.not_found());
        }
        let (mut binding, warnings) = Expected::binding().read(body, options.field_validation)?;
        super::create::place(at.resource, at.namespace, &mut binding)?;
        if ![at.name, ""].contains(&meta::text(&binding, "name")) {
            return Err(Failure::bad_request(
                "name in URL does not match name in Binding object",
            ));
        }
        let now = meta::moment(self.environment.now());
        let step = |old: Option<&Value>| {
            let old = old.ok_or_else(|| at.not_found())?;
            check_uid(at, &binding, old)?;
            let mut new = old.clone();
            subresources::bind(&mut new, &binding, &now).map_err(|error| match error {
                BindError::Invalid(fault) => Failure::invalid_as("Binding", "", at.name, &fault),
                BindError::Conflict(why) => Failure::binding_conflict(at.name, why),
            })?;
            if let Some(revision) = meta::get(&binding, "resourceVersion") {
                meta::set(&mut new, "resourceVersion", Some(revision.clone()));
            }
            let (next, more) = update::decide(at.resource, Part::Binding, new, old, None)?;
            Ok((Step::Update(next), more))
        };
        self.change_existing(at, options.dry_run, step).await?;
        let status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "code": 201,
        });
        Ok(Answer::value(201, Content::Status, &status).with_warnings(warnings))
    }
}

fn as_scale(code: u16, paths: &ScalePaths, object: &Value) -> Answer {
    Answer::value(code, Content::Scale, &subresources::scale(paths, object))
}

fn paths<'a>(at: Address<'a>) -> Result<&'a ScalePaths, Failure> {
    match at.resource.subresource("scale") {
        Some(Subresource::Scale(paths)) => Ok(paths),
        _ => Err(Failure::no_such_resource()),
    }
}

/// Whoever names the object's uid means this object and no other of its name.
fn check_uid(at: Address<'_>, request: &Value, old: &Value) -> Result<(), Failure> {
    let [wanted, found] = [request, old].map(|object| meta::text(object, "uid"));
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let why =
        format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
    Err(Failure::conflict(at.resource, at.name, why))
}
