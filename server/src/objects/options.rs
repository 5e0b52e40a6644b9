//! What a write is asked to do besides: options in the query, or in the body of a deletion.

use serde_json::Value;

use crate::schema::{Definition, Parsed, decode};
use crate::status::Failure;
use crate::validation::{Invalid, Reason};

/// What becomes of fields that a kind does not have, or that are there twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Nobody is told.
    Ignore,
    /// The client is told in a warning.
    #[default]
    Warn,
    /// The request fails.
    Strict,
}

/// Options of a create, an update or a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Do everything but store it.
    pub dry_run: bool,
    /// Who changes the fields, and owns them then.
    pub field_manager: String,
    /// What becomes of unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Apply even what others own.
    pub force: bool,
}

/// Which request the options belong to: refusals name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// PATCH by which fields are applied.
    Apply,
}

impl Of {
    const fn kind(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Patch | Self::Apply => "PatchOptions",
        }
    }
}

/// The longest name of a field manager, in bytes.
const MAX_FIELD_MANAGER: usize = 128;

impl WriteOptions {
    /// Reads the decoded pairs of a query; others than options are passed over.
    ///
    /// # Errors
    ///
    /// A 422 that names each option that is wrong.
    pub fn from_query<'a>(
        of: Of,
        query: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut dry_runs = Vec::new();
        let mut validation = "";
        for (name, value) in query {
            match name {
                "dryRun" => dry_runs.push(value),
                "fieldManager" => options.field_manager = value.to_owned(),
                "fieldValidation" => validation = value,
                "force" => {
                    options.force =
                        !["", "false", "0", "f", "F", "FALSE", "False"].contains(&value);
                }
                _ => {}
            }
        }
        let mut faults = Vec::new();
        if options.force && of == Of::Patch {
            let detail = "may not be specified for non-apply patch";
            faults.push(fault("force", Reason::Forbidden, None, detail));
        }
        if options.field_manager.is_empty() && of == Of::Apply {
            let detail = "is required for apply patch";
            faults.push(fault("fieldManager", Reason::Required, None, detail));
        }
        faults.extend(field_manager_fault(&options.field_manager));
        options.dry_run = read_dry_run(&dry_runs, &mut faults);
        options.field_validation = match validation {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                let detail = "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"";
                let value = Some(other.into());
                faults.push(fault(
                    "fieldValidation",
                    Reason::NotSupported,
                    value,
                    detail,
                ));
                FieldValidation::default()
            }
        };
        match faults.as_slice() {
            [] => Ok(options),
            faults => Err(Failure::invalid_options(of.kind(), faults)),
        }
    }
}

impl WriteOptions {
    /// Whoever does not say who it is is called by the first part of its `User-Agent`.
    #[must_use]
    pub fn or_agent(mut self, agent: Option<&str>) -> Self {
        if self.field_manager.is_empty() {
            let name = agent.unwrap_or_default().split('/').next();
            for char in name
                .unwrap_or_default()
                .chars()
                .filter(|char| !char.is_control())
            {
                if self.field_manager.len() + char.len_utf8() > MAX_FIELD_MANAGER {
                    break;
                }
                self.field_manager.push(char);
            }
        }
        self
    }
}

/// What is to become of objects that an object owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They lose their owner.
    Orphan,
    /// They go later.
    Background,
    /// They go first.
    Foreground,
}

/// Options of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Do everything but store it.
    pub dry_run: bool,
    /// How long the object has to end, in seconds.
    pub grace_period: Option<i64>,
    /// What is to become of what it owns.
    pub propagation: Option<Propagation>,
    /// The same in an older form.
    pub orphan_dependents: Option<bool>,
    /// The uid that the object must have.
    pub uid: Option<String>,
    /// The resourceVersion that the object must have.
    pub resource_version: Option<String>,
    /// Delete the object even if what is stored cannot be read.
    pub ignore_read_error: bool,
}

/// The option to delete what cannot be read, which stands alone.
pub(crate) const IGNORE_READ_ERROR: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

impl DeleteOptions {
    /// Reads the options of a deletion: from its body, or from the query if it has none.
    ///
    /// # Errors
    ///
    /// A 400 for what is no DeleteOptions, a 422 for options that are wrong or contradict each other.
    pub fn read<'a>(
        body: Option<Parsed>,
        query: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Failure> {
        match body {
            Some(body) => Self::from_body(body.value),
            None => Self::from_query(query),
        }
    }

    fn from_body(mut body: Value) -> Result<Self, Failure> {
        let kind = body.get("kind").and_then(Value::as_str).unwrap_or_default();
        if !["", "DeleteOptions"].contains(&kind) {
            return Err(Failure::bad_request(
                "decoded object cannot be converted to DeleteOptions",
            ));
        }
        if let Some(definition) = Definition::find(DELETE_OPTIONS) {
            decode(&mut body, definition)
                .map_err(|error| Failure::bad_request(error.message("DeleteOptions", "v1")))?;
        }
        let precondition = |name: &str| {
            let value = body.get("preconditions")?.get(name)?;
            value.as_str().map(str::to_owned)
        };
        let dry_runs = body.get("dryRun").and_then(Value::as_array);
        let dry_runs: Vec<&str> = dry_runs
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let options = Self {
            grace_period: body.get("gracePeriodSeconds").and_then(Value::as_i64),
            orphan_dependents: body.get("orphanDependents").and_then(Value::as_bool),
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            ignore_read_error: body.get(IGNORE_READ_ERROR) == Some(&true.into()),
            ..Self::default()
        };
        let propagation = body.get("propagationPolicy").and_then(Value::as_str);
        options.checked(&dry_runs, propagation)
    }

    fn from_query<'a>(
        query: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut dry_runs = Vec::new();
        let mut propagation = None;
        for (name, value) in query {
            match name {
                "dryRun" => dry_runs.push(value),
                "propagationPolicy" => propagation = Some(value),
                "gracePeriodSeconds" if !value.is_empty() => {
                    let number = value.parse().map_err(|_| {
                        let why = format!("strconv.ParseInt: parsing {value:?}: invalid syntax");
                        Failure::bad_request(why)
                    })?;
                    options.grace_period = Some(number);
                }
                "orphanDependents" if !value.is_empty() => {
                    options.orphan_dependents = Some(!["false", "0"].contains(&value));
                }
                IGNORE_READ_ERROR => options.ignore_read_error = ["true", "1"].contains(&value),
                _ => {}
            }
        }
        options.checked(&dry_runs, propagation)
    }

    fn checked(mut self, dry_runs: &[&str], propagation: Option<&str>) -> Result<Self, Failure> {
        let mut faults = Vec::new();
        let value = || propagation.map(Value::from);
        if let (Some(_), Some(_)) = (self.orphan_dependents, propagation) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            faults.push(fault("propagationPolicy", Reason::Invalid, value(), detail));
        }
        self.propagation = match propagation {
            None => None,
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(_) => {
                let detail =
                    "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
                faults.push(fault(
                    "propagationPolicy",
                    Reason::NotSupported,
                    value(),
                    detail,
                ));
                None
            }
        };
        self.dry_run = read_dry_run(dry_runs, &mut faults);
        if self.ignore_read_error {
            let others = [
                (".dryRun", self.dry_run),
                (".propagationPolicy", propagation.is_some()),
                (".orphanDependents", self.orphan_dependents.is_some()),
                (".gracePeriodSeconds", self.grace_period.is_some()),
                (
                    ".preconditions",
                    self.uid.is_some() || self.resource_version.is_some(),
                ),
            ];
            for (other, _) in others.iter().filter(|(_, is_set)| *is_set) {
                let detail = format!("cannot be set together with {other}");
                let value = Some(true.into());
                faults.push(fault(IGNORE_READ_ERROR, Reason::Invalid, value, &detail));
            }
        }
        match faults.as_slice() {
            [] => Ok(self),
            faults => Err(Failure::invalid_options("DeleteOptions", faults)),
        }
    }
}

fn read_dry_run(values: &[&str], faults: &mut Vec<Invalid>) -> bool {
    if values.iter().any(|value| *value != "All") {
        let value = Some(values.to_vec().into());
        faults.push(fault(
            "dryRun",
            Reason::NotSupported,
            value,
            "supported values: \"All\"",
        ));
    }
    !values.is_empty()
}

fn field_manager_fault(name: &str) -> Option<Invalid> {
    if name.len() > MAX_FIELD_MANAGER {
        let detail = format!("may not be more than {MAX_FIELD_MANAGER} bytes");
        return Some(fault("fieldManager", Reason::TooLong, None, &detail));
    }
    let printable = name.chars().all(|char| !char.is_control());
    let detail = "should only contain printable characters";
    (!printable).then(|| fault("fieldManager", Reason::Invalid, Some(name.into()), detail))
}

fn fault(field: &str, reason: Reason, value: Option<Value>, detail: &str) -> Invalid {
    Invalid {
        field: field.to_owned(),
        reason,
        value,
        detail: detail.to_owned(),
    }
}
