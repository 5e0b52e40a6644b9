//! What the server says of itself: discovery, OpenAPI, version, health.

use http::{HeaderValue, Response, StatusCode, header};

use super::{handler::Head, surface::Surface};
use crate::body::Body;
use crate::discovery::{Discovery, Document, Style};
use crate::openapi::{Packed, v2};
use crate::resources::Route;

/// A discovery document; `None` if there is none at this route.
pub(super) fn discovery(
    surface: &Surface,
    route: &Route,
    head: &Head<'_>,
) -> Option<Response<Body>> {
    let style = if Discovery::has_styles(route) {
        style(head.accept)
    } else {
        Style::Plain
    };
    let document = surface.discovery.document(route, style)?;
    let mut response = tagged(document, head.if_none_match);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(style.content_type()),
    );
    if Discovery::has_styles(route) {
        headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    }
    if style != Style::Plain {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    }
    Some(response)
}

/// The first form that the client names and the server has.
fn style(accept: Option<&str>) -> Style {
    let clauses = accept.unwrap_or("").split(',');
    for clause in clauses {
        let mut parts = clause.split(';').map(str::trim);
        let media = parts.next().unwrap_or("");
        let parts: Vec<&str> = parts.collect();
        let aggregated =
            parts.contains(&"g=apidiscovery.k8s.io") && parts.contains(&"as=APIGroupDiscoveryList");
        match media {
            "application/json" if aggregated && parts.contains(&"v=v2") => return Style::V2,
            "application/json" if aggregated && parts.contains(&"v=v2beta1") => {
                return Style::V2Beta1;
            }
            "application/json" | "*/*" if !aggregated => return Style::Plain,
            _ => {}
        }
    }
    Style::Plain
}

fn tagged(document: &Document, if_none_match: Option<&str>) -> Response<Body> {
    let mut response = if matches(if_none_match, &document.etag) {
        not_modified()
    } else {
        Response::new(Body::from(document.body.clone()))
    };
    tag(&mut response, &document.etag);
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

/// `/openapi/v2`, `/openapi/v3` and what is below; `None` if there is nothing.
pub(super) fn openapi(surface: &Surface, path: &str, head: &Head<'_>) -> Option<Response<Body>> {
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
            Some(packed_answer(document, "application/json", head))
        }
    }
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

/// `/version`.
pub(super) fn version() -> Response<Body> {
    let version = crate::version::document();
    typed(
        Body::from(crate::indent::indented(version.to_string().as_bytes())),
        "application/json",
    )
}

/// An answer in plain text.
pub(super) fn text(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    let mut response = typed(Body::from(text.into()), "text/plain; charset=utf-8");
    *response.status_mut() = status;
    response
}
