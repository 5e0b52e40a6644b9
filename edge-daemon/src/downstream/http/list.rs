//! Get and list, from what is complete.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use ringwatch_core::link::serve::{Content, Request, Shelf as _};
use ringwatch_core::object::Object as _;
use ringwatch_core::predicate::{Matches, Predicate};
use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_core::selector::{FieldSelector, LabelSelector};
use std::rc::Rc;

use super::answer::{Body, Refusal, with};
use super::kinds::Kind;
use super::path::Target;
use super::{Api, table, watch};
use crate::engine::{Heap, Object, Shape};
use crate::hub::Track;

/// An object as the relay keeps it.
pub(super) type Kept = Object<<Heap as Shape>::Bytes>;

/// How objects are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Table,
}

/// Answers a request for objects.
pub(super) fn find(api: &Rc<Api>, target: Target, accept: &str) -> Result<Response<Body>, Refusal> {
    let form = if accept.contains("as=Table") {
        Form::Table
    } else {
        Form::Json
    };
    let relay = api.hub.relay.borrow();
    let missing = || {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        )
    };
    let key = target.key();
    let wrong = |error: ringwatch_core::selector::SelectorError| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            "BadRequest",
            format!("unable to parse selector: {error}"),
        )
    };
    let request = Request {
        resource: &target.resource,
        scope: target.scope(key.as_deref()),
        labels: LabelSelector::parse(target.labels.as_str()).map_err(wrong)?,
        fields: FieldSelector::parse(target.fields.as_str()).map_err(wrong)?,
        projection: None,
    };
    let mut known = relay.tracks().iter().enumerate();
    let about = |track: &Track| *track.subject().resource == *target.resource;
    if !known.clone().any(|(_, track)| about(track)) {
        return Err(missing());
    }
    let found = known.find(|(_, track)| track.subject().covers(&request));
    let (index, track) = found.ok_or_else(|| {
        let message = format!(
            "{} is relayed in part only: name a namespace that is",
            target.resource
        );
        Refusal::new(StatusCode::FORBIDDEN, "Forbidden", message)
    })?;
    let kind = api.kinds.get(index, &relay).ok_or_else(missing)?;
    if kind.version != target.version {
        return Err(missing());
    }
    if !track.is_readable() {
        let message = format!("{} has not come from upstream yet", target.resource);
        return Err(Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            message,
        ));
    }
    let age = track.age(api.hub.clock.now());
    let mut response = if target.watches {
        watch::begin(api, &relay, index, &target, &request, kind, form)?
    } else if let Some(key) = &key {
        let object = track.get(key).ok_or_else(|| {
            let message = format!(
                "{} \"{}\" not found",
                target.resource,
                target.name.as_deref().unwrap_or_default()
            );
            Refusal::new(StatusCode::NOT_FOUND, "NotFound", message)
        })?;
        match form {
            Form::Json => with(
                "application/json",
                Body::Whole(Some(Bytes::copy_from_slice(object.json()))),
            ),
            Form::Table => {
                let table = table::of(
                    std::slice::from_ref(object),
                    object.revision(),
                    true,
                    target.include.as_deref(),
                );
                with("application/json", Body::Whole(Some(table.into())))
            }
        }
    } else {
        list(track, &target, &request, &kind, form)?
    };
    let age = HeaderValue::from(age.as_secs());
    response.headers_mut().insert("ringwatch-age", age);
    Ok(response)
}

fn list(
    track: &Track,
    target: &Target,
    request: &Request<'_>,
    kind: &Kind,
    form: Form,
) -> Result<Response<Body>, Refusal> {
    let revision = track.revision();
    check(target.start()?, revision)?;
    let selects = Predicate {
        scope: request.scope,
        labels: request.labels.clone(),
        fields: request.fields.clone(),
    };
    let mut objects: Vec<Kept> = Vec::new();
    track.for_each(|object| {
        if selects.matches(object) {
            objects.push(object.clone());
        }
    });
    if form == Form::Table {
        let table = table::of(&objects, revision, true, target.include.as_deref());
        return Ok(with("application/json", Body::Whole(Some(table.into()))));
    }
    let head = format!(
        r#"{{"kind":"{}List","apiVersion":"{}","metadata":{{"resourceVersion":"{revision}"}},"items":["#,
        kind.kind,
        kind.api_version()
    );
    let (send, receive) = tokio::sync::mpsc::channel(2);
    tokio::task::spawn_local(async move {
        let mut chunk = head.into_bytes();
        for (index, object) in objects.iter().enumerate() {
            if index > 0 {
                chunk.push(b',');
            }
            chunk.extend_from_slice(object.json());
            if chunk.len() >= 16 * 1024
                && send.send(std::mem::take(&mut chunk).into()).await.is_err()
            {
                return;
            }
        }
        chunk.extend_from_slice(b"]}\n");
        // Who is gone needs no end.
        let _ = send.send(chunk.into()).await;
    });
    Ok(with("application/json", Body::Stream(receive)))
}

/// Whether the state at hand is one that was asked for. The newest is what the relay has: it cannot know better while it is cut off, and says how
/// old it is.
fn check(start: StartFrom, revision: Revision) -> Result<(), Refusal> {
    match start {
        StartFrom::Any | StartFrom::Newest => Ok(()),
        StartFrom::NotOlderThan(wanted) if wanted <= revision => Ok(()),
        StartFrom::Exact(wanted) if wanted == revision => Ok(()),
        StartFrom::NotOlderThan(wanted) | StartFrom::Exact(wanted) if wanted > revision => {
            let message = format!("Too large resource version: {wanted}, current: {revision}");
            Err(Refusal::new(
                StatusCode::GATEWAY_TIMEOUT,
                "Timeout",
                message,
            ))
        }
        _ => {
            let message =
                "The provided resource version is too old: the relay keeps the newest state only.";
            Err(Refusal::new(StatusCode::GONE, "Expired", message))
        }
    }
}
