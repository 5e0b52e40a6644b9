//! Who writes an object, and owns then what it wrote.

use std::borrow::Cow;

use serde_json::Value;

use super::options::WriteOptions;
use super::update::Part;
use super::{Objects, meta};
use crate::managed::{self, Writer};
use crate::resources::Resource;

/// A writer of one request.
pub(super) struct By<'a> {
    manager: &'a str,
    api_version: Cow<'static, str>,
    subresource: &'static str,
    now: String,
}

impl Objects {
    /// Who writes a part of an object now.
    pub(super) fn by<'a>(
        &self,
        resource: &Resource,
        part: Part,
        options: &'a WriteOptions,
    ) -> By<'a> {
        By {
            manager: &options.field_manager,
            api_version: resource.api_version(),
            subresource: part.subresource(),
            now: meta::moment(self.environment.now()),
        }
    }
}

impl By<'_> {
    pub(super) fn writer(&self) -> Writer<'_> {
        Writer {
            manager: self.manager,
            api_version: &self.api_version,
            subresource: self.subresource,
            now: &self.now,
        }
    }

    /// Makes the writer the owner of a new object.
    pub(super) fn own_new(&self, resource: &Resource, object: &mut Value) {
        let with_status = Part::Whole.has_status(resource);
        managed::record(
            managed::Node::of(resource),
            &self.writer(),
            None,
            object,
            with_status,
        );
    }
}
