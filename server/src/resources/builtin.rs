//! The built-in kinds, one row each.
//!
//! Names, verbs, field labels and rules of update are those of kube-apiserver, so that clients and the contents of an existing
//! etcd fit. The rows are checked against the schemas, the cache's paths and each other by tests.

use std::time::Duration;

use super::verbs::{Verb, Verbs};
use super::{
    FieldLabel, FieldLabels, FieldRefusal, Form, NameRule, Origin, Resource, ScalePaths, Scope,
    Stored, Subresource, Text, UpdateRules,
};

/// The built-in resources.
pub fn resources() -> Vec<Resource> {
    ROWS.iter().map(Row::resource).collect()
}

/// How long an event lives.
pub const EVENT_TTL: Duration = Duration::from_secs(60 * 60);

/// What the table says of a kind; the rest follows from it.
struct Row {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    scope: Scope,
    verbs: Verbs,
    /// Field labels; those with a `=` have the value after it when the object has none, those with a `<` find it in the
    /// path after it.
    fields: &'static [&'static str],
    refusal: FieldRefusal,
    subresources: &'static [Sub],
    /// Empty: the plural.
    prefix: &'static str,
    form: Form,
    stored: bool,
    ttl: Option<Duration>,
    generation: bool,
    unconditional: bool,
    creates: bool,
    names: NameRule,
    schema: &'static str,
}

#[derive(Clone, Copy)]
enum Sub {
    Status,
    /// Scale, with the path of the selector.
    Scale(&'static str),
    Binding,
    Finalize,
}

/// What most kinds are.
const NAMESPACED: Row = Row {
    group: "",
    kind: "",
    plural: "",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: Verbs::ALL,
    fields: &[],
    refusal: FieldRefusal::OnlyMetadata,
    subresources: &[],
    prefix: "",
    form: Form::Same,
    stored: true,
    ttl: None,
    generation: false,
    unconditional: true,
    creates: false,
    names: NameRule::Subdomain,
    schema: "",
};

const CLUSTER: Row = Row {
    scope: Scope::Cluster,
    ..NAMESPACED
};

/// A question that is answered and forgotten.
const REVIEW: Row = Row {
    verbs: Verbs::of(&[Verb::Create]),
    stored: false,
    ..CLUSTER
};

/// A controller of pods.
const WORKLOAD: Row = Row {
    categories: &["all"],
    generation: true,
    ..NAMESPACED
};

const ROWS: &[Row] = &[
    Row {
        kind: "ConfigMap",
        plural: "configmaps",
        short_names: &["cm"],
        schema: "io.k8s.api.core.v1.ConfigMap",
        ..NAMESPACED
    },
    Row {
        kind: "Endpoints",
        plural: "endpoints",
        short_names: &["ep"],
        prefix: "services/endpoints",
        creates: true,
        schema: "io.k8s.api.core.v1.Endpoints",
        ..NAMESPACED
    },
    Row {
        kind: "Event",
        plural: "events",
        short_names: &["ev"],
        fields: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source<source.component",
            "type",
        ],
        refusal: FieldRefusal::Unsupported,
        ttl: Some(EVENT_TTL),
        creates: true,
        schema: "io.k8s.api.core.v1.Event",
        ..NAMESPACED
    },
    Row {
        kind: "LimitRange",
        plural: "limitranges",
        short_names: &["limits"],
        creates: true,
        schema: "io.k8s.api.core.v1.LimitRange",
        ..NAMESPACED
    },
    Row {
        kind: "Namespace",
        plural: "namespaces",
        short_names: &["ns"],
        verbs: Verbs::ALL.without(Verb::DeleteCollection),
        fields: &["status.phase"],
        refusal: FieldRefusal::Unsupported,
        subresources: &[Sub::Finalize, Sub::Status],
        names: NameRule::Label,
        schema: "io.k8s.api.core.v1.Namespace",
        ..CLUSTER
    },
    Row {
        kind: "Node",
        plural: "nodes",
        short_names: &["no"],
        fields: &["spec.unschedulable=false"],
        refusal: FieldRefusal::Unsupported,
        subresources: &[Sub::Status],
        prefix: "minions",
        schema: "io.k8s.api.core.v1.Node",
        ..CLUSTER
    },
    Row {
        kind: "PersistentVolume",
        plural: "persistentvolumes",
        short_names: &["pv"],
        subresources: &[Sub::Status],
        schema: "io.k8s.api.core.v1.PersistentVolume",
        ..CLUSTER
    },
    Row {
        kind: "PersistentVolumeClaim",
        plural: "persistentvolumeclaims",
        short_names: &["pvc"],
        subresources: &[Sub::Status],
        schema: "io.k8s.api.core.v1.PersistentVolumeClaim",
        ..NAMESPACED
    },
    Row {
        kind: "Pod",
        plural: "pods",
        short_names: &["po"],
        categories: &["all"],
        fields: &[
            "spec.nodeName",
            "spec.host<spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork=false",
            "status.phase",
            "status.podIP",
            "status.podIPs<",
            "status.nominatedNodeName",
        ],
        refusal: FieldRefusal::Unsupported,
        subresources: &[Sub::Binding, Sub::Status],
        generation: true,
        schema: "io.k8s.api.core.v1.Pod",
        ..NAMESPACED
    },
    Row {
        kind: "PodTemplate",
        plural: "podtemplates",
        generation: true,
        schema: "io.k8s.api.core.v1.PodTemplate",
        ..NAMESPACED
    },
    Row {
        kind: "ReplicationController",
        plural: "replicationcontrollers",
        short_names: &["rc"],
        fields: &["status.replicas=0"],
        refusal: FieldRefusal::Unsupported,
        subresources: &[Sub::Scale("spec.selector"), Sub::Status],
        prefix: "controllers",
        schema: "io.k8s.api.core.v1.ReplicationController",
        ..WORKLOAD
    },
    Row {
        kind: "ResourceQuota",
        plural: "resourcequotas",
        short_names: &["quota"],
        subresources: &[Sub::Status],
        schema: "io.k8s.api.core.v1.ResourceQuota",
        ..NAMESPACED
    },
    Row {
        kind: "Secret",
        plural: "secrets",
        fields: &["type"],
        refusal: FieldRefusal::Unsupported,
        schema: "io.k8s.api.core.v1.Secret",
        ..NAMESPACED
    },
    Row {
        kind: "Service",
        plural: "services",
        short_names: &["svc"],
        categories: &["all"],
        fields: &["spec.clusterIP", "spec.type"],
        refusal: FieldRefusal::Unsupported,
        subresources: &[Sub::Status],
        prefix: "services/specs",
        creates: true,
        names: NameRule::Label,
        schema: "io.k8s.api.core.v1.Service",
        ..NAMESPACED
    },
    Row {
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        short_names: &["sa"],
        unconditional: false,
        schema: "io.k8s.api.core.v1.ServiceAccount",
        ..NAMESPACED
    },
    Row {
        group: "apps",
        kind: "ControllerRevision",
        plural: "controllerrevisions",
        schema: "io.k8s.api.apps.v1.ControllerRevision",
        ..NAMESPACED
    },
    Row {
        group: "apps",
        kind: "DaemonSet",
        plural: "daemonsets",
        short_names: &["ds"],
        subresources: &[Sub::Status],
        schema: "io.k8s.api.apps.v1.DaemonSet",
        ..WORKLOAD
    },
    Row {
        group: "apps",
        kind: "Deployment",
        plural: "deployments",
        short_names: &["deploy"],
        subresources: &[Sub::Scale("spec.selector"), Sub::Status],
        schema: "io.k8s.api.apps.v1.Deployment",
        ..WORKLOAD
    },
    Row {
        group: "apps",
        kind: "ReplicaSet",
        plural: "replicasets",
        short_names: &["rs"],
        subresources: &[Sub::Scale("spec.selector"), Sub::Status],
        schema: "io.k8s.api.apps.v1.ReplicaSet",
        ..WORKLOAD
    },
    Row {
        group: "apps",
        kind: "StatefulSet",
        plural: "statefulsets",
        short_names: &["sts"],
        subresources: &[Sub::Scale("spec.selector"), Sub::Status],
        schema: "io.k8s.api.apps.v1.StatefulSet",
        ..WORKLOAD
    },
    Row {
        group: "events.k8s.io",
        kind: "Event",
        plural: "events",
        short_names: &["ev"],
        fields: &[
            "regarding.kind<involvedObject.kind",
            "regarding.namespace<involvedObject.namespace",
            "regarding.name<involvedObject.name",
            "regarding.uid<involvedObject.uid",
            "regarding.apiVersion<involvedObject.apiVersion",
            "regarding.resourceVersion<involvedObject.resourceVersion",
            "regarding.fieldPath<involvedObject.fieldPath",
            "reason",
            "reportingController<reportingComponent",
            "type",
        ],
        refusal: FieldRefusal::Unsupported,
        form: Form::CoreEvent,
        ttl: Some(EVENT_TTL),
        creates: true,
        schema: "io.k8s.api.events.v1.Event",
        ..NAMESPACED
    },
    Row {
        group: "authentication.k8s.io",
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        schema: "io.k8s.api.authentication.v1.SelfSubjectReview",
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        schema: "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        schema: "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
        ..REVIEW
    },
    Row {
        group: "batch",
        kind: "CronJob",
        plural: "cronjobs",
        short_names: &["cj"],
        subresources: &[Sub::Status],
        // The names of its jobs have eleven characters more.
        names: NameRule::ShortSubdomain(52),
        schema: "io.k8s.api.batch.v1.CronJob",
        ..WORKLOAD
    },
    Row {
        group: "batch",
        kind: "Job",
        plural: "jobs",
        fields: &["status.successful=0<status.succeeded"],
        refusal: FieldRefusal::UnsupportedFor,
        subresources: &[Sub::Status],
        schema: "io.k8s.api.batch.v1.Job",
        ..WORKLOAD
    },
    Row {
        group: "networking.k8s.io",
        kind: "Ingress",
        plural: "ingresses",
        short_names: &["ing"],
        subresources: &[Sub::Status],
        prefix: "ingress",
        generation: true,
        schema: "io.k8s.api.networking.v1.Ingress",
        ..NAMESPACED
    },
    Row {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        plural: "networkpolicies",
        short_names: &["netpol"],
        generation: true,
        schema: "io.k8s.api.networking.v1.NetworkPolicy",
        ..NAMESPACED
    },
    Row {
        group: "coordination.k8s.io",
        kind: "Lease",
        plural: "leases",
        unconditional: false,
        creates: true,
        schema: "io.k8s.api.coordination.v1.Lease",
        ..NAMESPACED
    },
    Row {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        plural: "endpointslices",
        generation: true,
        schema: "io.k8s.api.discovery.v1.EndpointSlice",
        ..NAMESPACED
    },
    Row {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        subresources: &[Sub::Status],
        prefix: "apiextensions.k8s.io/customresourcedefinitions",
        generation: true,
        unconditional: false,
        schema: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
        ..CLUSTER
    },
];

impl Row {
    fn resource(&self) -> Resource {
        let texts = |list: &[&'static str]| list.iter().map(|text| (*text).into()).collect();
        let prefix = if self.prefix.is_empty() {
            self.plural
        } else {
            self.prefix
        };
        Resource {
            group: self.group.into(),
            version: "v1".into(),
            kind: self.kind.into(),
            list_kind: format!("{}List", self.kind).into(),
            plural: self.plural.into(),
            singular: self.kind.to_ascii_lowercase().into(),
            short_names: texts(self.short_names),
            categories: texts(self.categories),
            scope: self.scope,
            verbs: self.verbs,
            fields: FieldLabels {
                labels: self.fields.iter().map(|text| field_label(text)).collect(),
                refusal: self.refusal,
            },
            subresources: self
                .subresources
                .iter()
                .map(|sub| sub.subresource())
                .collect(),
            storage: self.stored.then(|| Stored {
                prefix: prefix.into(),
                form: self.form,
                ttl: self.ttl,
            }),
            update: UpdateRules {
                generation: self.generation,
                unconditional: self.unconditional,
                creates: self.creates,
            },
            names: self.names,
            protobuf: true,
            origin: Origin::BuiltIn {
                schema: self.schema,
            },
        }
    }
}

impl Sub {
    fn subresource(self) -> Subresource {
        match self {
            Self::Status => Subresource::Status,
            Self::Scale(selector) => Subresource::Scale(ScalePaths {
                replicas: Text::Borrowed("spec.replicas"),
                status_replicas: Text::Borrowed("status.replicas"),
                selector: Some(selector.into()),
            }),
            Self::Binding => Subresource::Binding,
            Self::Finalize => Subresource::Finalize,
        }
    }
}

/// Reads `name[=absent][<path]`.
fn field_label(text: &'static str) -> FieldLabel {
    let (rest, path) = match text.split_once('<') {
        None => (text, None),
        Some((rest, path)) => (rest, Some(path)),
    };
    let (name, absent) = rest.split_once('=').unwrap_or((rest, ""));
    let path = path.unwrap_or(name);
    FieldLabel {
        name: name.into(),
        path: (!path.is_empty()).then(|| path.into()),
        absent: absent.into(),
    }
}
