//! `/metrics`: numbers in the text form of Prometheus.

mod requests;
mod sent;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use http::{HeaderValue, Response, header};

pub(super) use self::requests::{Answered, Requests};
pub(super) use self::sent::Sent;
use super::surface::{Surface, stored_at};
use crate::body::Body;
use crate::cache::{Distribution, Kind, Labels, Sample};
use crate::link::NodeRestarts;
use crate::reader::Reader;

/// Numbers of one name.
struct Family {
    /// One of them, for what they share.
    sample: Sample,
    /// Labels and values.
    values: Vec<(String, f64)>,
}

/// How many objects there are of each resource.
const OBJECTS: &str = "apiserver_resource_objects";

/// Everything that is counted. `in_flight` are the requests that read and that write.
pub(super) fn answer(
    surface: &Surface,
    in_flight: (usize, usize),
    requests: &Requests,
    restarts: &NodeRestarts,
) -> Response<Body> {
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    let mut histograms: BTreeMap<&str, (&str, String)> = BTreeMap::new();
    let mut objects = Vec::new();
    for (prefix, reader) in surface.readers() {
        let Reader::Cached(cache) = reader else {
            continue;
        };
        let mut resources = surface.catalog.resources().iter();
        let of_prefix = resources.find(|row| stored_at(row) == Some(prefix));
        let (group, resource) = of_prefix.map_or(("", prefix), |row| (&*row.group, &*row.plural));
        let labelled = |own: Labels| {
            let mut labels = format!("group=\"{group}\",resource=\"{resource}\"");
            for (name, value) in own {
                // Writing to a string cannot fail.
                let _ = write!(labels, ",{name}=\"{value}\"");
            }
            labels
        };
        for Distribution {
            name,
            help,
            labels,
            histogram,
        } in cache.distributions()
        {
            let (_, text) = histograms.entry(name).or_insert((help, String::new()));
            // A resource that nobody has used would fill a page with zeros.
            if histogram.count() > 0 {
                histogram.write(name, &labelled(labels), text);
            }
        }
        for sample in cache.metrics() {
            if sample.name == OBJECTS {
                let resource = of_prefix.map_or(prefix.into(), |row| row.qualified_plural());
                objects.push((resource, sample.value));
            }
            let labels = labelled(sample.labels);
            let family = families.entry(sample.name).or_insert_with(|| Family {
                sample,
                values: Vec::new(),
            });
            family.values.push((labels, sample.value));
        }
    }
    let mut text = String::new();
    for (name, Family { sample, values }) in families {
        let kind = match sample.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", sample.help);
        for (labels, value) in values {
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
    }
    for (name, (help, values)) in histograms {
        let _ = write!(
            text,
            "# HELP {name} {help}\n# TYPE {name} histogram\n{values}"
        );
    }
    // By its older name too, which many dashboards still have.
    let name = "apiserver_storage_objects";
    let _ = writeln!(
        text,
        "# HELP {name} Objects that are stored.\n# TYPE {name} gauge"
    );
    for (resource, number) in objects {
        let _ = writeln!(text, "{name}{{resource=\"{resource}\"}} {number}");
    }
    let name = "apiserver_current_inflight_requests";
    let _ = writeln!(
        text,
        "# HELP {name} Requests that are worked on.\n# TYPE {name} gauge"
    );
    let (reading, writing) = in_flight;
    let _ = writeln!(text, "{name}{{request_kind=\"readOnly\"}} {reading}");
    let _ = writeln!(text, "{name}{{request_kind=\"mutating\"}} {writing}");
    requests.write(&mut text);
    restarts.write(&mut text);
    let mut response = Response::new(Body::from(text));
    let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}
