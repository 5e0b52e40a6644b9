//! How the lists of the built-in kinds merge: the table behind strategic merge patch and behind the
//! `x-kubernetes-patch-*`, `x-kubernetes-list-*` and `x-kubernetes-map-type` words of the OpenAPI documents.
//!
//! Two sets of rules live side by side in Kubernetes and do not always agree, so a row holds both: what a
//! strategic merge patch does with a field, and what server-side apply takes as the unit of ownership. A field
//! without a row is replaced by a patch; if it is a list it is owned as a whole, and if it is an object field by field.
//!
//! The file stands alone (the build script reads it too) and names types as the published schemas do.

/// What a strategic merge patch does with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patch {
    /// The patch's value takes the place of the old one (objects are still merged field by field).
    Replace,
    /// A list of objects: those with the same value in `key` are merged, the others are added.
    Merge {
        /// The field that tells the elements apart.
        key: &'static str,
    },
    /// As [`Patch::Merge`]; the elements also honour the directive `$retainKeys`.
    MergeRetainKeys {
        /// The field that tells the elements apart.
        key: &'static str,
    },
    /// A list of plain values: the union.
    MergeValues,
    /// An object whose patch may carry `$retainKeys`: what is not named there is dropped.
    RetainKeys,
}

impl Patch {
    /// The field that tells the elements of the list apart.
    pub const fn key(self) -> Option<&'static str> {
        match self {
            Self::Merge { key } | Self::MergeRetainKeys { key } => Some(key),
            Self::Replace | Self::MergeValues | Self::RetainKeys => None,
        }
    }

    /// The value of `x-kubernetes-patch-strategy`, if the published schema has one.
    pub const fn strategy(self) -> Option<&'static str> {
        match self {
            Self::Replace => None,
            Self::Merge { .. } | Self::MergeValues => Some("merge"),
            Self::MergeRetainKeys { .. } => Some("merge,retainKeys"),
            Self::RetainKeys => Some("retainKeys"),
        }
    }

    /// Whether elements of the old list survive a patch that does not name them.
    pub const fn merges_list(self) -> bool {
        matches!(
            self,
            Self::Merge { .. } | Self::MergeRetainKeys { .. } | Self::MergeValues
        )
    }
}

/// What server-side apply takes as the unit of ownership in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The whole list or map.
    Atomic,
    /// Each value of a list of plain values.
    Set,
    /// Each element of a list, told apart by these fields together.
    Map(&'static [&'static str]),
    /// Each field of an object.
    Granular,
}

/// The rules of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The type the field belongs to, as `io.k8s.api.core.v1.PodSpec`.
    pub schema: &'static str,
    /// The field, as it is written in JSON.
    pub field: &'static str,
    /// For strategic merge patch.
    pub patch: Patch,
    /// For server-side apply.
    pub ownership: Ownership,
}

/// The rules of `field` in the type `schema`; none if nothing special holds.
///
/// ```
/// use ringwatch_server::resources::merge_keys::{self, Patch};
///
/// let rule = merge_keys::find("io.k8s.api.core.v1.PodSpec", "containers").unwrap();
/// assert_eq!(rule.patch, Patch::Merge { key: "name" });
/// assert!(merge_keys::find("io.k8s.api.core.v1.PodSpec", "tolerations").is_none());
/// ```
pub fn find(schema: &str, field: &str) -> Option<&'static Rule> {
    let place = RULES
        .binary_search_by(|rule| (rule.schema, rule.field).cmp(&(schema, field)))
        .ok()?;
    RULES.get(place)
}

/// Whether objects of the type `schema` are owned as a whole (`x-kubernetes-map-type: atomic`).
pub fn is_atomic(schema: &str) -> bool {
    ATOMIC_TYPES.binary_search(&schema).is_ok()
}

/// Every rule, in the order of type and field.
pub fn rules() -> &'static [Rule] {
    RULES
}

const fn merge(
    schema: &'static str,
    field: &'static str,
    key: &'static str,
    ownership: Ownership,
) -> Rule {
    Rule {
        schema,
        field,
        patch: Patch::Merge { key },
        ownership,
    }
}

const fn merge_retain_keys(
    schema: &'static str,
    field: &'static str,
    key: &'static str,
    ownership: Ownership,
) -> Rule {
    Rule {
        schema,
        field,
        patch: Patch::MergeRetainKeys { key },
        ownership,
    }
}

const fn only(
    schema: &'static str,
    field: &'static str,
    patch: Patch,
    ownership: Ownership,
) -> Rule {
    Rule {
        schema,
        field,
        patch,
        ownership,
    }
}

use Ownership::{Atomic, Granular, Map, Set};
use Patch::{MergeValues, Replace, RetainKeys};

/// Sorted by type and field: looked up by binary search.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    merge("io.k8s.api.apps.v1.DaemonSetStatus", "conditions", "type", Map(&["type"])),
    only("io.k8s.api.apps.v1.DeploymentSpec", "strategy", RetainKeys, Granular),
    merge("io.k8s.api.apps.v1.DeploymentStatus", "conditions", "type", Map(&["type"])),
    merge("io.k8s.api.apps.v1.ReplicaSetStatus", "conditions", "type", Map(&["type"])),
    merge("io.k8s.api.apps.v1.StatefulSetStatus", "conditions", "type", Map(&["type"])),
    only("io.k8s.api.batch.v1.JobSchedulingConfiguration", "resourceClaims", Replace, Map(&["name"])),
    merge("io.k8s.api.batch.v1.JobStatus", "conditions", "type", Atomic),
    only("io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement", "values", Replace, Set),
    only("io.k8s.api.batch.v1.UncountedTerminatedPods", "failed", Replace, Set),
    only("io.k8s.api.batch.v1.UncountedTerminatedPods", "succeeded", Replace, Set),
    merge("io.k8s.api.core.v1.Container", "env", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.Container", "ports", "containerPort", Map(&["containerPort", "protocol"])),
    merge("io.k8s.api.core.v1.Container", "volumeDevices", "devicePath", Map(&["devicePath"])),
    merge("io.k8s.api.core.v1.Container", "volumeMounts", "mountPath", Map(&["mountPath"])),
    only("io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes", "values", Replace, Set),
    merge("io.k8s.api.core.v1.ContainerStatus", "allocatedResourcesStatus", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.ContainerStatus", "volumeMounts", "mountPath", Map(&["mountPath"])),
    merge("io.k8s.api.core.v1.EphemeralContainer", "env", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.EphemeralContainer", "ports", "containerPort", Map(&["containerPort", "protocol"])),
    merge("io.k8s.api.core.v1.EphemeralContainer", "volumeDevices", "devicePath", Map(&["devicePath"])),
    merge("io.k8s.api.core.v1.EphemeralContainer", "volumeMounts", "mountPath", Map(&["mountPath"])),
    merge("io.k8s.api.core.v1.NamespaceStatus", "conditions", "type", Map(&["type"])),
    only("io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus", "containers", Replace, Set),
    only("io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus", "mapping", Replace, Map(&["name"])),
    only("io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus", "overhead", Replace, Map(&["name"])),
    only("io.k8s.api.core.v1.NodePodPreemptionPolicy", "disableResizePreemption", Replace, Set),
    only("io.k8s.api.core.v1.NodeSpec", "podCIDRs", MergeValues, Set),
    merge("io.k8s.api.core.v1.NodeStatus", "addresses", "type", Map(&["type"])),
    merge("io.k8s.api.core.v1.NodeStatus", "conditions", "type", Map(&["type"])),
    merge("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "conditions", "type", Map(&["type"])),
    merge("io.k8s.api.core.v1.PodSpec", "containers", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.PodSpec", "ephemeralContainers", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.PodSpec", "evictionResponders", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.PodSpec", "hostAliases", "ip", Map(&["ip"])),
    merge("io.k8s.api.core.v1.PodSpec", "imagePullSecrets", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.PodSpec", "initContainers", "name", Map(&["name"])),
    only("io.k8s.api.core.v1.PodSpec", "nodeSelector", Replace, Atomic),
    merge_retain_keys("io.k8s.api.core.v1.PodSpec", "resourceClaims", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.PodSpec", "schedulingGates", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.PodSpec", "topologySpreadConstraints", "topologyKey", Map(&["topologyKey", "whenUnsatisfiable"])),
    merge_retain_keys("io.k8s.api.core.v1.PodSpec", "volumes", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.PodStatus", "conditions", "type", Map(&["type"])),
    merge("io.k8s.api.core.v1.PodStatus", "hostIPs", "ip", Atomic),
    only("io.k8s.api.core.v1.PodStatus", "nodeAllocatableResourceClaimStatuses", Replace, Map(&["resourceClaimName"])),
    merge("io.k8s.api.core.v1.PodStatus", "podIPs", "ip", Map(&["ip"])),
    merge_retain_keys("io.k8s.api.core.v1.PodStatus", "resourceClaimStatuses", "name", Map(&["name"])),
    only("io.k8s.api.core.v1.PodStatus", "volumeHealth", Replace, Map(&["name"])),
    only("io.k8s.api.core.v1.PodVolumeHealth", "healthConditions", Replace, Map(&["status"])),
    only("io.k8s.api.core.v1.ReplicationControllerSpec", "selector", Replace, Atomic),
    merge("io.k8s.api.core.v1.ReplicationControllerStatus", "conditions", "type", Map(&["type"])),
    only("io.k8s.api.core.v1.ResourceRequirements", "claims", Replace, Map(&["name"])),
    only("io.k8s.api.core.v1.ResourceStatus", "resources", Replace, Map(&["resourceID"])),
    merge("io.k8s.api.core.v1.ServiceAccount", "secrets", "name", Map(&["name"])),
    merge("io.k8s.api.core.v1.ServiceSpec", "ports", "port", Map(&["port", "protocol"])),
    only("io.k8s.api.core.v1.ServiceSpec", "selector", Replace, Atomic),
    merge("io.k8s.api.core.v1.ServiceStatus", "conditions", "type", Map(&["type"])),
    only("io.k8s.api.core.v1.VolumeHealthStatus", "healthConditions", Replace, Map(&["status"])),
    only("io.k8s.api.core.v1.VolumeMount", "bindMountOptions", Replace, Set),
    only("io.k8s.api.discovery.v1.Endpoint", "addresses", Replace, Set),
    only("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers", MergeValues, Set),
    merge("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "ownerReferences", "uid", Map(&["uid"])),
];

/// Sorted: looked up by binary search.
const ATOMIC_TYPES: &[&str] = &[
    "io.k8s.api.core.v1.ConfigMapKeySelector",
    "io.k8s.api.core.v1.ConfigMapNodeConfigSource",
    "io.k8s.api.core.v1.EndpointAddress",
    "io.k8s.api.core.v1.EndpointPort",
    "io.k8s.api.core.v1.FileKeySelector",
    "io.k8s.api.core.v1.LocalObjectReference",
    "io.k8s.api.core.v1.NodeSelector",
    "io.k8s.api.core.v1.NodeSelectorTerm",
    "io.k8s.api.core.v1.ObjectFieldSelector",
    "io.k8s.api.core.v1.ObjectReference",
    "io.k8s.api.core.v1.ResourceFieldSelector",
    "io.k8s.api.core.v1.ScopeSelector",
    "io.k8s.api.core.v1.ScopedResourceSelectorRequirement",
    "io.k8s.api.core.v1.SecretKeySelector",
    "io.k8s.api.core.v1.SecretReference",
    "io.k8s.api.core.v1.TopologySelectorTerm",
    "io.k8s.api.core.v1.TypedLocalObjectReference",
    "io.k8s.api.discovery.v1.EndpointPort",
    "io.k8s.api.networking.v1.ServiceBackendPort",
    "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_so_that_every_row_is_found() {
        for rule in RULES {
            assert_eq!(find(rule.schema, rule.field), Some(rule));
        }
        assert!(RULES.is_sorted_by(|a, b| (a.schema, a.field) < (b.schema, b.field)));
        assert!(ATOMIC_TYPES.is_sorted_by(|a, b| a < b));
    }
}
