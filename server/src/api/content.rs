//! Bodies of requests: from bytes in some encoding to a value.

use crate::codec::protobuf;
use crate::negotiate::{self, Media};
use crate::objects::body::Expected;
use crate::schema::{self, Parsed};
use crate::status::Failure;
use crate::yaml;

/// Reads a body. One that names no kind is what is expected here.
pub(super) fn read(
    content_type: Option<&str>,
    body: &[u8],
    expected: &Expected,
    builtin: bool,
) -> Result<Parsed, Failure> {
    let media = negotiate::content_type(content_type, builtin)
        .map_err(|error| Failure::unsupported_media_type(&error))?;
    match media {
        Media::Json => schema::parse(body).map_err(|error| Failure::bad_request(error.to_string())),
        Media::Yaml => read_yaml(body).map_err(|error| Failure::bad_request(error.to_string())),
        Media::Protobuf => {
            let value = protobuf::decode_or(body, &expected.api_version, &expected.kind)
                .map_err(|error| Failure::bad_request(error.to_string()))?;
            Ok(Parsed {
                value,
                duplicates: Vec::new(),
            })
        }
    }
}

/// Reads what is applied: YAML, and so JSON too.
pub(super) fn applied(body: &[u8]) -> Result<Parsed, Failure> {
    if let Ok(parsed) = schema::parse(body) {
        return Ok(parsed);
    }
    read_yaml(body).map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))
}

fn read_yaml(body: &[u8]) -> Result<Parsed, yaml::YamlError> {
    let document = yaml::to_json(body, &yaml::Limits::default())?;
    let duplicates = document.duplicates.iter().map(ToString::to_string);
    Ok(Parsed {
        duplicates: duplicates.collect(),
        value: document.value,
    })
}
