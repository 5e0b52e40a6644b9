//! Selectors without an allocator.

use ringwatch_core::selector::{FieldSelector, LabelSelector};

use super::ensure;

pub(crate) fn match_and_refuse() -> Result<(), &'static str> {
    let labels = LabelSelector::<&str>::parse("room in (hall, attic), kind=heater, !broken")
        .map_err(|_| "a good label selector was refused")?;
    let hall = |key: &str| match key {
        "room" => Some("hall"),
        "kind" => Some("heater"),
        _ => None,
    };
    ensure(labels.matches(hall), "labels that match do not")?;
    ensure(
        !labels.matches(|key| if key == "broken" { Some("") } else { hall(key) }),
        "labels that do not match do",
    )?;
    let fields = FieldSelector::<&str>::parse("metadata.name=heater")
        .map_err(|_| "a good field selector was refused")?;
    ensure(
        fields.matches(|field| (field == "metadata.name").then_some("heater")),
        "a field that matches does not",
    )?;
    match LabelSelector::<&str>::parse("kind===heater") {
        Err(error) => ensure(error.offset == 6, "the error is at the wrong byte"),
        Ok(_) => Err("a bad selector was taken"),
    }
}
