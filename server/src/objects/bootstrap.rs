//! What is there from the start.

use serde_json::{Value, json};

use super::Objects;
use super::options::WriteOptions;
use crate::resources::Catalog;
use crate::schema::Parsed;
use crate::status::Failure;

/// Namespaces that every cluster has.
pub const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Who owns the fields of what is there from the start.
const MANAGER: &str = "ringwatch-server";

impl Objects {
    /// Makes what is missing of the default namespaces and the service by which programs find the API. Any number of servers
    /// may do it at once, and again at each start.
    ///
    /// # Errors
    ///
    /// A failure of storage.
    pub async fn bootstrap(&self, catalog: &Catalog) -> Result<(), Failure> {
        for name in NAMESPACES {
            let namespace = json!({"metadata": {"name": name}});
            self.ensure(catalog, "namespaces", None, namespace).await?;
        }
        self.ensure(catalog, "services", Some("default"), api_service())
            .await
    }

    async fn ensure(
        &self,
        catalog: &Catalog,
        plural: &str,
        namespace: Option<&str>,
        value: Value,
    ) -> Result<(), Failure> {
        let Some(resource) = catalog.find("", "v1", plural) else {
            return Ok(());
        };
        let body = Parsed {
            value,
            duplicates: Vec::new(),
        };
        let options = WriteOptions {
            field_manager: MANAGER.to_owned(),
            ..WriteOptions::default()
        };
        match self.create(resource, namespace, body, &options).await {
            Err(failure) if failure.reason != "AlreadyExists" => Err(failure),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn api_service() -> Value {
    json!({
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            "type": "ClusterIP",
        },
    })
}
