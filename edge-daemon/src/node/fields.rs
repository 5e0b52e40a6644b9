//! The few fields of an object, as a line for people.

use std::fmt::Write;

use ringwatch_core::projection::{Field, FieldType, MAX_FIELDS, Projection};
use serde::Deserialize;

/// What the packed fields in `body` say, as `setpoint=21.5 mode=auto`; `None` if they are not those of the list.
///
/// A field goes by the last part of its path. One that is not set, or is set to something else than its type, is a dash.
pub(super) fn line(list: &str, body: &[u8]) -> Option<String> {
    type Fields = heapless::Vec<Field, MAX_FIELDS>;
    let list = Projection::<_, Fields>::parse(list).ok()?;
    let mut rest = body;
    let mut line = String::new();
    for (path, kind) in list.fields() {
        let name = path.rsplit('.').next().unwrap_or(path);
        let value = match kind {
            FieldType::Bool => take::<bool>(&mut rest),
            FieldType::I32 => take::<i32>(&mut rest),
            FieldType::I64 => take::<i64>(&mut rest),
            FieldType::U32 => take::<u32>(&mut rest),
            FieldType::U64 => take::<u64>(&mut rest),
            FieldType::F32 => take::<f32>(&mut rest),
            FieldType::F64 => take::<f64>(&mut rest),
            FieldType::Text { .. } | FieldType::Json { .. } => take::<&str>(&mut rest),
        }?;
        let space = if line.is_empty() { "" } else { " " };
        // Writing to a string does not fail.
        let _ = write!(line, "{space}{name}={value}");
    }
    Some(line)
}

/// Takes one field off the front.
fn take<'a, T: Deserialize<'a> + ToString>(rest: &mut &'a [u8]) -> Option<String> {
    let (value, behind) = postcard::take_from_bytes::<Option<T>>(rest).ok()?;
    *rest = behind;
    Some(value.map_or_else(|| "-".to_owned(), |value| value.to_string()))
}

#[cfg(test)]
mod tests {
    use ringwatch_core::json::Limits;

    use super::*;

    #[test]
    fn every_type_is_read_back() {
        let list = "a.b:bool,c:i32,d:i64,e:u32,f:u64,g:f32,h:f64,i:text(8),j:json(8),k:u32,l:bool";
        let object = br#"{"a":{"b":true},"c":-3,"d":-4,"e":5,"f":6,"g":71.5,"h":0.25,"i":"auto","j":[1,2],"k":"no"}"#;
        let projection = Projection::<_, heapless::Vec<Field, 16>>::parse(list).expect("a list");
        let mut buffer = [0; 128];
        let projected = projection.project(object, &Limits::default(), &mut buffer);
        let bytes = projected.expect("fields").bytes;
        assert_eq!(
            line(list, bytes).as_deref(),
            Some("b=true c=-3 d=-4 e=5 f=6 g=71.5 h=0.25 i=auto j=[1,2] k=- l=-")
        );
        assert_eq!(line(list, bytes.get(..10).expect("a part")), None);
    }
}
