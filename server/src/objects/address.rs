//! Where an object is.

use crate::resources::Resource;
use crate::resources::path::segment_fault;
use crate::status::Failure;

/// An object's place: what a path names.
#[derive(Debug, Clone, Copy)]
pub struct Address<'a> {
    /// Of which kind.
    pub resource: &'a Resource,
    /// In which namespace, for kinds that have them.
    pub namespace: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
}

impl<'a> Address<'a> {
    /// The place of that name.
    pub fn new(resource: &'a Resource, namespace: Option<&'a str>, name: &'a str) -> Self {
        Self {
            resource,
            namespace: namespace.filter(|_| resource.is_namespaced()),
            name,
        }
    }

    /// The key in storage.
    ///
    /// # Errors
    ///
    /// A 404 for what no object can be called, since a part of a key must not become two.
    pub fn key(&self) -> Result<String, Failure> {
        let sound = |segment: &str| !segment.is_empty() && segment_fault(segment).is_none();
        let stored = self.resource.storage.as_ref();
        let place = match (self.resource.is_namespaced(), self.namespace) {
            (true, Some(namespace)) if sound(namespace) => format!("{namespace}/"),
            (false, _) => String::new(),
            (true, _) => return Err(self.not_found()),
        };
        match stored {
            Some(stored) if sound(self.name) => {
                Ok(format!("/{}/{place}{}", stored.prefix, self.name))
            }
            _ => Err(self.not_found()),
        }
    }

    /// There is nothing here.
    pub fn not_found(&self) -> Failure {
        Failure::not_found(self.resource, self.name)
    }
}
