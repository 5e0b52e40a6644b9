//! The forms of names: each function says what is wrong with a text, in upstream's words, or nothing.

use crate::resources::NameRule;
use crate::resources::path::segment_fault;

/// The longest DNS subdomain.
pub const MAX_SUBDOMAIN: usize = 253;
/// The longest DNS label, label value, and name part of a label's key.
pub const MAX_LABEL: usize = 63;

/// What is wrong with an object's name.
pub fn name_faults(rule: NameRule, name: &str) -> Vec<String> {
    match rule {
        NameRule::Subdomain => subdomain_faults(name),
        NameRule::Label => label_faults(name),
        NameRule::ShortSubdomain(most) => {
            let mut faults = subdomain_faults(name);
            if name.len() > most && name.len() <= MAX_SUBDOMAIN {
                faults.push(too_long(most));
            }
            faults
        }
    }
}

/// What is wrong with the beginning of a name to be made: it may end as a name may not.
pub fn prefix_faults(rule: NameRule, prefix: &str) -> Vec<String> {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => name_faults(rule, &format!("{rest}a")),
        _ => name_faults(rule, prefix),
    }
}

/// A name that begins with `prefix` and ends with five characters chosen by `random`, as clients expect it of
/// `generateName`. A prefix that is too long is cut.
pub fn generate(prefix: &str, random: [u8; 5]) -> String {
    // No vowels, so that no word appears; no characters that look alike.
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let end = prefix.floor_char_boundary(MAX_LABEL - random.len());
    let (kept, _) = prefix.split_at(end);
    let suffix = random.iter().map(|byte| {
        let place = usize::from(*byte) % ALPHABET.len();
        ALPHABET.get(place).copied().map_or('b', char::from)
    });
    kept.chars().chain(suffix).collect()
}

/// What is wrong with a DNS subdomain.
pub fn subdomain_faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > MAX_SUBDOMAIN {
        faults.push(too_long(MAX_SUBDOMAIN));
    }
    if !text.split('.').all(is_label) {
        faults.push(SUBDOMAIN.into());
    }
    faults
}

/// What is wrong with a DNS label.
pub fn label_faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > MAX_LABEL {
        faults.push(too_long(MAX_LABEL));
    }
    if !is_label(text) {
        faults.push(LABEL.into());
    }
    faults
}

/// What is wrong with a DNS label that begins with a letter, as the name of a kind in lower case does.
pub fn dns_1035_label_faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > MAX_LABEL {
        faults.push(too_long(MAX_LABEL));
    }
    if !is_label(text) || !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        faults.push(LABEL_1035.into());
    }
    faults
}

/// What is wrong with the key of a label, or another name with a domain before it.
pub fn qualified_name_faults(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, rest)) if rest.contains('/') => {
            return vec![format!("a qualified name {QUALIFIED}")];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".into());
            } else {
                let wrong = subdomain_faults(prefix);
                faults.extend(wrong.iter().map(|fault| format!("prefix part {fault}")));
            }
            name
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".into());
    } else if name.len() > MAX_LABEL {
        faults.push(format!("name part {}", too_long(MAX_LABEL)));
    }
    if !is_word(name) {
        faults.push(format!("name part {NAME_PART}"));
    }
    faults
}

/// What is wrong with the value of a label.
pub fn label_value_faults(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > MAX_LABEL {
        faults.push(too_long(MAX_LABEL));
    }
    if !value.is_empty() && !is_word(value) {
        faults.push(LABEL_VALUE.into());
    }
    faults
}

/// What is wrong with a key in a config map or secret.
pub fn data_key_faults(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if key.len() > MAX_SUBDOMAIN {
        faults.push(too_long(MAX_SUBDOMAIN));
    }
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.is_empty() || !key.bytes().all(good) {
        faults.push(DATA_KEY.into());
    }
    faults.extend(segment_fault(key).map(|fault| fault.replace("may not", "must not")));
    faults
}

/// What is wrong with a port's name.
pub fn port_name_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 15 {
        faults.push("must be no more than 15 characters".into());
    }
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !name.bytes().all(good) {
        faults
            .push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        faults.push("must contain at least one letter (a-z)".into());
    }
    if name.contains("--") {
        faults.push("must not contain consecutive hyphens".into());
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("must not begin or end with a hyphen".into());
    }
    faults
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} characters")
}

fn is_label(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    framed(text, alphanumeric, |byte| byte == b'-')
}

fn is_word(text: &str) -> bool {
    framed(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| matches!(byte, b'-' | b'_' | b'.'),
    )
}

/// Whether a text begins and ends with characters of one kind and may have others in between.
fn framed(text: &str, outside: impl Fn(u8) -> bool, inside: impl Fn(u8) -> bool) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    ends.iter().all(|end| end.is_some_and(&outside))
        && text.bytes().all(|byte| outside(byte) || inside(byte))
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

const NAME_PART: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
    and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const DATA_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  \
    or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
