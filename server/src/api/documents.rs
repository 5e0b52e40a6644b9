//! What the server says of itself: discovery, OpenAPI, version, health.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use super::{handler::Head, query::Query, surface::Surface};
use crate::body::Body;
use crate::discovery::{Discovery, Style};
use crate::indent::indented;
use crate::negotiate::{self, Answer, Form, Media, Offer, Request};
use crate::openapi::{Packed, v2};
use crate::resources::Route;
use crate::status::Failure;
use crate::yaml;

/// A discovery document; `None` if there is none at this route.
///
/// # Errors
///
/// A 406 if the client takes it in no form that there is.
pub(super) fn discovery(
    surface: &Surface,
    route: &Route,
    query: &Query<'_>,
    head: &Head<'_>,
) -> Result<Option<Response<Body>>, Failure> {
    let styled = Discovery::has_styles(route);
    let request = if styled {
        Request::Discovery
    } else {
        Request::Object
    };
    let offer = Offer {
        table: false,
        ..Offer::built_in(request)
    };
    let answer =
        negotiate::accept(head.accept, &offer).map_err(|why| Failure::not_acceptable(&why))?;
    let style = match answer.form {
        Form::Discovery => Style::V2,
        _ => Style::Plain,
    };
    let Some(document) = surface.discovery.document(route, style) else {
        return Ok(None);
    };
    let pretty = negotiate::pretty(query.get("pretty"), answer.pretty, head.user_agent);
    let (body, content_type) = match answer.media {
        Media::Yaml => (in_yaml(&document.body), Media::Yaml.as_str()),
        // Every client of discovery reads JSON, whatever it likes better.
        Media::Json | Media::Protobuf => {
            let plain = if style == Style::Plain {
                Answer::JSON
            } else {
                answer
            };
            let body = if pretty {
                indented(&document.body).into()
            } else {
                document.body.clone()
            };
            (body, plain.content_type(request))
        }
    };
    let mut response = tagged(body, &document.etag, head.if_none_match);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if styled {
        headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    }
    if style != Style::Plain {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    }
    Ok(Some(response))
}

fn in_yaml(json: &Bytes) -> Bytes {
    let value = serde_json::from_slice(json).unwrap_or_default();
    yaml::from_json(&value).into()
}

fn tagged(body: Bytes, etag: &str, if_none_match: Option<&str>) -> Response<Body> {
    let mut response = if matches(if_none_match, etag) {
        not_modified()
    } else {
        Response::new(Body::from(body))
    };
    tag(&mut response, etag);
    response
}

fn tag(response: &mut Response<Body>, etag: &str) {
    if let Ok(etag) = HeaderValue::from_str(etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
}

fn matches(if_none_match: Option<&str>, etag: &str) -> bool {
    let mut given = if_none_match.unwrap_or("").split(',').map(str::trim);
    given.any(|given| given == etag || given == "*")
}

fn not_modified() -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response
}

/// `/openapi/v2`, `/openapi/v3` and what is below; `None` if there is nothing. `hash` is that of the document which the client has read
/// of in the index; empty if it has not.
pub(super) fn openapi(
    surface: &Surface,
    path: &str,
    hash: &str,
    head: &Head<'_>,
) -> Option<Response<Body>> {
    let rest = path.strip_prefix("/openapi/")?;
    match rest.trim_end_matches('/') {
        "v2" => {
            let accept = head.accept.unwrap_or("");
            let binary = v2::PROTOBUF_ACCEPT.iter().any(|name| accept.contains(name));
            let (packed, content_type) = if binary {
                (surface.openapi.v2_protobuf(), v2::PROTOBUF)
            } else {
                (surface.openapi.v2_json(), "application/json")
            };
            Some(packed_answer(packed, content_type, head))
        }
        // Upstream sends the index as text, and clients know.
        "v3" => Some(typed(
            Body::from(surface.openapi.index().clone()),
            "text/plain; charset=utf-8",
        )),
        rest => {
            let document = surface.openapi.document(rest.strip_prefix("v3/")?)?;
            let newest = document.etag.trim_matches('"');
            Some(if hash.is_empty() {
                packed_answer(document, "application/json", head)
            } else if hash == newest {
                let mut response = packed_answer(document, "application/json", head);
                let headers = response.headers_mut();
                headers.insert(header::CACHE_CONTROL, FOR_EVER);
                headers.append(header::VARY, HeaderValue::from_static("Accept"));
                response
            } else {
                elsewhere(&format!("/openapi/{rest}?hash={newest}"))
            })
        }
    }
}

/// What has its hash in its address never changes. It need not be asked for again.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, immutable, max-age=31536000");

/// Sends the client to another address, for good.
fn elsewhere(path: &str) -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    // A path with anything but text in it has led nowhere.
    if let Ok(path) = HeaderValue::from_str(path) {
        *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}

fn packed_answer(packed: &Packed, content_type: &'static str, head: &Head<'_>) -> Response<Body> {
    let mut response = if matches(head.if_none_match, &packed.etag) {
        not_modified()
    } else if head.gzip {
        let mut response = Response::new(Body::from(packed.gzip.clone()));
        super::handler::mark_gzip(response.headers_mut());
        response
    } else {
        Response::new(Body::from(packed.plain()))
    };
    tag(&mut response, &packed.etag);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn typed(body: Body, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// `/`: what else there is.
pub(super) fn paths(surface: &Surface) -> Response<Body> {
    let groups = surface.catalog.groups().iter();
    let versions = groups.flat_map(|group| {
        let own = match group.name.is_empty() {
            true => "/api".to_owned(),
            false => format!("/apis/{}", group.name),
        };
        let versions = group.versions.iter();
        let versions = versions.map(|version| format!("/{}", version.path()));
        std::iter::once(own).chain(versions).collect::<Vec<_>>()
    });
    let others = [
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ];
    let all: BTreeSet<String> = others
        .map(str::to_owned)
        .into_iter()
        .chain(versions)
        .collect();
    let body = serde_json::json!({ "paths": all }).to_string();
    typed(Body::from(indented(body.as_bytes())), "application/json")
}

/// `/version`.
pub(super) fn version() -> Response<Body> {
    let version = crate::version::document();
    typed(
        Body::from(indented(version.to_string().as_bytes())),
        "application/json",
    )
}

/// An answer in plain text.
pub(super) fn text(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    let mut response = typed(Body::from(text.into()), "text/plain; charset=utf-8");
    *response.status_mut() = status;
    response
}
