//! GET: one object, a list, a watch.

use std::time::Duration;

use http::{HeaderValue, Response, header};
use ringwatch_core::revision::StartFrom;

use super::handler::{self, Head};
use super::options::{ListPlan, Version, WatchPlan, is_watch};
use super::query::Query;
use super::rendition::Rendition;
use super::surface::{Surface, object_key};
use super::{Api, failures, list, watch};
use crate::body::Body;
use crate::cache::{CacheError, Object};
use crate::negotiate::{self, Offer, Request};
use crate::objects::Address;
use crate::reader::Reader;
use crate::resources::{Resource, Subresource, Target, Verb};
use crate::status::Failure;
use crate::storage::StorageError;
use crate::table::Include;

/// How long the first reader of a custom kind waits for it.
const STARTING: Duration = Duration::from_secs(10);

pub(super) async fn read(
    api: &Api,
    surface: &Surface,
    target: &Target,
    query: &Query<'_>,
    head: &Head<'_>,
) -> Result<Response<Body>, Failure> {
    let resource = &target.resource;
    let watches = is_watch(target, query);
    let (verb, request) = match (&target.name, watches) {
        (_, true) => (Verb::Watch, Request::Watch),
        (Some(_), false) => (Verb::Get, Request::Object),
        (None, false) => (Verb::List, Request::List),
    };
    if !resource.verbs.contains(verb) {
        return Err(match verb {
            Verb::Watch => Failure::unsupported("watch", resource),
            _ => Failure::method_not_allowed(),
        });
    }
    let Some(reader) = surface.reader(resource) else {
        return Err(Failure::method_not_allowed());
    };
    let rendition = rendition(resource, request, query, head)?;
    if resource.is_custom() && request != Request::Object && !reader.is_ready() {
        // It is read from the first request on, which may be this one.
        let _ = tokio::time::timeout(STARTING, reader.ready()).await;
    }
    if watches {
        let plan = WatchPlan::parse(target, query, api.parts.settings.min_request_timeout)?;
        let counted = watch::Counted {
            sent: api.requests.watched(resource),
            list: plan.is_watch_list.then(|| {
                let took = api.requests.watch_list(target);
                watch::ListTime::begin(took)
            }),
        };
        return watch::watch(reader, plan, rendition, counted, head.gzip, head.websocket).await;
    }
    let Some(name) = &target.name else {
        let plan = ListPlan::parse(target, query)?;
        return list::list(
            reader,
            resource,
            &plan,
            rendition,
            head.gzip,
            &api.compressed,
        )
        .await;
    };
    if query.get("export").is_some() {
        let message = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Failure::bad_request(message));
    }
    match &target.subresource {
        Some(Subresource::Scale(_)) => {
            let at = Address::new(resource, target.namespace.as_deref(), name);
            let scale = api.objects.scale(at).await?;
            let bytes = rendition.as_is(&scale.body)?;
            return Ok(whole(bytes, &rendition, head));
        }
        Some(Subresource::Status) | None => {}
        Some(_) => return Err(Failure::method_not_allowed()),
    }
    let version = Version::parse(query.text("resourceVersion")).map_err(Failure::bad_request)?;
    let key = object_key(target.namespace.as_deref(), name);
    let found = match version {
        // Straight from storage: one question, and as new as can be.
        Version::Unset => newest(api, reader, &key).await,
        Version::Any => reader.get(&key, StartFrom::Any).await,
        Version::At(revision) => reader.get(&key, StartFrom::NotOlderThan(revision)).await,
    };
    let found = found.map_err(|error| failures::unary(&error, resource, "get"))?;
    let object = found.ok_or_else(|| Failure::not_found(resource, name))?;
    let bytes = rendition.object(object.bytes())?;
    Ok(whole(bytes, &rendition, head))
}

fn whole(bytes: Vec<u8>, rendition: &Rendition, head: &Head<'_>) -> Response<Body> {
    let (body, compressed) = handler::maybe_gzip(bytes, head.gzip);
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static(rendition.content_type());
    headers.insert(header::CONTENT_TYPE, content_type);
    if compressed {
        handler::mark_gzip(headers);
    }
    response
}

/// One object as storage has it now.
async fn newest(api: &Api, reader: &Reader, key: &str) -> Result<Option<Object>, CacheError> {
    let decoder = reader.decoder();
    let got = api
        .parts
        .storage
        .get(&format!("{}{key}", decoder.prefix()))
        .await?;
    let Some(stored) = got.found else {
        return Ok(None);
    };
    // What cannot be decoded is not served from the cache either, but there it is known to be missing; here
    // somebody asks for it by its name.
    let decoded = decoder.session().decode(stored);
    decoded
        .map(Some)
        .map_err(|bad| CacheError::Storage(StorageError::Refused(bad.to_string())))
}

/// The form of the answer, from what the client accepts.
pub(super) fn rendition(
    resource: &Resource,
    request: Request,
    query: &Query<'_>,
    head: &Head<'_>,
) -> Result<Rendition, Failure> {
    let mut offer = if resource.is_custom() {
        Offer::custom(request)
    } else {
        Offer::built_in(request)
    };
    offer.protobuf = resource.protobuf;
    offer.table = resource.storage.is_some();
    let answer = negotiate::accept(head.accept, &offer)
        .map_err(|why| Failure::not_acceptable(&why.about(&resource.kind)))?;
    let include = match answer.form {
        negotiate::Form::Table(_) => Include::parse(query.text("includeObject"))
            .map_err(|error| Failure::bad_request(error.to_string()))?,
        _ => Include::default(),
    };
    let pretty = request != Request::Watch
        && negotiate::pretty(query.get("pretty"), answer.pretty, head.user_agent);
    Ok(Rendition::new(resource, answer, request, pretty, include))
}
