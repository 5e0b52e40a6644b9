//! Why a label selector was refused, in the words that people know from other servers.
//!
//! The parser names the rule that was broken; upstream lists what a key or a value has to be, as for the labels of objects.

use ringwatch_core::selector::{SelectorError, SelectorErrorKind as Kind};

use crate::validation::names::{label_value_faults, qualified_name_faults};

/// What is wrong with a label selector.
pub(super) fn label(text: &str, error: &SelectorError) -> String {
    let token = error.token(text);
    let faults = match error.kind {
        Kind::KeyHasManySlashes
        | Kind::KeyPrefixTooLong
        | Kind::KeyPrefixInvalid
        | Kind::KeyNameTooLong
        | Kind::KeyNameInvalid => qualified_name_faults(token),
        Kind::ValueTooLong | Kind::ValueInvalid => label_value_faults(token),
        _ => return error.describe(text).to_string(),
    };
    let described = error.describe(text).to_string();
    // It ends with the rule.
    let place = described.strip_suffix(&error.kind.to_string());
    format!("{}{}", place.unwrap_or(&described), faults.join("; "))
}
