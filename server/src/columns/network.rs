//! Services, what is behind them, and who may reach it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::format::{self, NONE, SHOWN, UNSET};
use super::row::{Cell, Row};
use super::tree::{Object, Tree};
use super::{BuiltIn, Column, Needs, SPEC_AND_STATUS, age};

pub(super) static SERVICE: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Type", "From where the service can be reached."),
        Column::text("Cluster-IP", "The service's address inside the cluster."),
        Column::text(
            "External-IP",
            "The service's addresses outside the cluster.",
        ),
        Column::text("Port(s)", "The service's ports, with those on the nodes."),
        Column::age(),
        Column::wide(
            "Selector",
            "Which pods are behind the service, by their labels.",
        ),
    ],
    needs: SPEC_AND_STATUS,
    row: service,
};

fn service<'a>(service: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let spec = service.spec();
    let address = match spec.get("clusterIPs").items().first() {
        Some(first) => first.text(),
        None => spec.get("clusterIP").text_or(NONE),
    };
    Row::new([
        service.name().into(),
        service_kind(spec).into(),
        address.into(),
        external(service).into(),
        format::none_if_empty(format::join(spec.get("ports").items().iter().map(port))).into(),
        age::of(service, now).into(),
        format::labels(spec.get("selector")).into(),
    ])
}

fn service_kind<'a>(spec: &'a Tree<'_>) -> &'a str {
    spec.get("type").text_or("ClusterIP")
}

fn external<'a>(service: &'a Object<'_>) -> Cow<'a, str> {
    let (spec, status) = (service.spec(), service.status());
    let given = spec.get("externalIPs").items().iter().map(Tree::text);
    match service_kind(spec) {
        "ClusterIP" | "NodePort" => {
            format::none_if_empty(format::join(given.map(str::to_owned))).into()
        }
        "LoadBalancer" => {
            let balanced = balancer(status);
            let all = balanced.into_iter().chain(given);
            match format::join(all.map(str::to_owned)) {
                none if none.is_empty() => "<pending>".into(),
                all => all.into(),
            }
        }
        "ExternalName" => spec.get("externalName").text().into(),
        _ => "<unknown>".into(),
    }
}

/// The addresses of a load balancer, sorted, each once.
fn balancer<'a>(status: &'a Tree<'_>) -> BTreeSet<&'a str> {
    let points = status.at(&["loadBalancer", "ingress"]).items().iter();
    points
        .map(|point| point.get("ip").text_or(point.get("hostname").text()))
        .filter(|address| !address.is_empty())
        .collect()
}

fn port(port: &Tree<'_>) -> String {
    let (number, protocol) = (
        port.get("port").integer(),
        port.get("protocol").text_or("TCP"),
    );
    match port.get("nodePort").integer() {
        1.. => format!("{number}:{}/{protocol}", port.get("nodePort").integer()),
        _ => format!("{number}/{protocol}"),
    }
}

pub(super) static ENDPOINTS: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Endpoints", "Where the service is provided."),
        Column::age(),
    ],
    needs: Needs::Members(&["subsets"]),
    row: endpoints,
};

fn endpoints<'a>(object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let subsets = object.root().get("subsets").items();
    let all = subsets.iter().flat_map(|subset| {
        let addresses = subset.get("addresses").items();
        let ports = subset.get("ports").items();
        // A service without ports still has addresses.
        let bare = addresses
            .iter()
            .filter(|_| ports.is_empty())
            .map(|address| address.get("ip").text().to_owned());
        let with_port = ports.iter().flat_map(move |port| {
            let port = port.get("port").integer();
            let hosts = addresses.iter().map(|address| address.get("ip").text());
            hosts.map(move |host| match host.contains(':') {
                true => format!("[{host}]:{port}"),
                false => format!("{host}:{port}"),
            })
        });
        bare.chain(with_port)
    });
    let all = if subsets.is_empty() {
        NONE.to_owned()
    } else {
        format::some(all)
    };
    Row::new([
        object.name().into(),
        all.into(),
        age::of(object, now).into(),
    ])
}

pub(super) static ENDPOINT_SLICE: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("AddressType", "What the addresses are."),
        Column::text("Ports", "The ports of every endpoint."),
        Column::text("Endpoints", "The addresses of the endpoints."),
        Column::age(),
    ],
    needs: Needs::Members(&["addressType", "ports", "endpoints"]),
    row: endpoint_slice,
};

fn endpoint_slice<'a>(object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let slice = object.root();
    let ports =
        slice
            .get("ports")
            .items()
            .iter()
            .map(|port| match (port.get("port"), port.get("name")) {
                (Tree::Null, Tree::Null) => "*".to_owned(),
                (Tree::Null, name) => name.text().to_owned(),
                (number, _) => number.integer().to_string(),
            });
    let endpoints = slice.get("endpoints").items().iter();
    let addresses = endpoints.flat_map(|endpoint| endpoint.get("addresses").items());
    Row::new([
        object.name().into(),
        slice.get("addressType").text().into(),
        unset_if_empty(format::some(ports)),
        unset_if_empty(format::some(
            addresses.map(|address| address.text().to_owned()),
        )),
        age::of(object, now).into(),
    ])
}

fn unset_if_empty<'a>(text: String) -> Cell<'a> {
    if text.is_empty() {
        UNSET.into()
    } else {
        text.into()
    }
}

pub(super) static INGRESS: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Class", "The class whose controller is responsible."),
        Column::text("Hosts", "The host names that the rules are about."),
        Column::text("Address", "Where the load balancer is reached."),
        Column::text("Ports", "The ports that are open."),
        Column::age(),
    ],
    needs: SPEC_AND_STATUS,
    row: ingress,
};

fn ingress<'a>(object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let spec = object.spec();
    let class = spec.get("ingressClassName");
    let addresses = balancer(object.status()).into_iter();
    Row::new([
        object.name().into(),
        if class.is_null() {
            NONE.into()
        } else {
            class.text().into()
        },
        hosts(spec.get("rules").items()).into(),
        format::join(addresses.map(str::to_owned)).into(),
        match spec.get("tls").items() {
            [] => "80".into(),
            _ => "80, 443".into(),
        },
        age::of(object, now).into(),
    ])
}

/// The first three hosts. What follows is counted in rules, whether they have a host or not.
fn hosts(rules: &[Tree<'_>]) -> String {
    let mut shown = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == SHOWN;
        let host = rule.get("host").text();
        if !more && !host.is_empty() {
            shown.push(host);
        }
    }
    match (shown.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, false) => shown.join(","),
        (false, true) => format!("{} + {} more...", shown.join(","), rules.len() - SHOWN),
    }
}

pub(super) static NETWORK_POLICY: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text(
            "Pod-Selector",
            "Which pods the policy is about, by their labels.",
        ),
        Column::age(),
    ],
    needs: Needs::Members(&["spec"]),
    row: |object, now| {
        Row::new([
            object.name().into(),
            format::selector(object.spec().get("podSelector")).into(),
            age::of(object, now).into(),
        ])
    },
};
