//! Watches over HTTP: events as they come, many in one write when many are ready; or over WebSocket, one in each message.

mod body;
mod counted;
mod events;
mod source;
mod websocket;

use http::{HeaderValue, Response, header};

use body::WatchBody;
pub(super) use counted::{Counted, ListTime};
use events::Events;
use source::Source;
pub(super) use websocket::Offer;

use super::failures;
use super::handler;
use super::options::WatchPlan;
use super::rendition::Rendition;
use crate::body::Body;
use crate::cache::CacheError;
use crate::reader::Reader;
use crate::status::Failure;

/// Begins a watch. What is wrong with the request is an answer of its own; what goes wrong with the watch is told in it.
pub(super) async fn watch(
    reader: &Reader,
    plan: WatchPlan,
    rendition: Rendition,
    counted: Counted,
    gzip: bool,
    websocket: Option<&Offer>,
) -> Result<Response<Body>, Failure> {
    if let Some(offer) = websocket {
        offer.check()?;
    }
    let content_type = HeaderValue::from_static(rendition.content_type());
    let compressed = gzip && plan.is_watch_list;
    let source = if plan.already_over {
        Source::failed(Failure::internal("context deadline exceeded"))
    } else {
        match reader.watch(plan.request).await {
            Ok(watch) => Source::from(watch),
            Err(error @ CacheError::NotReady { .. }) => return Err(failures::read(&error)),
            Err(error) => Source::failed(failures::read(&error)),
        }
    };
    let events = Events::new(source, rendition, counted, plan.marks_initial_end);
    if let Some(offer) = websocket {
        return offer.answer(events);
    }
    let mut response = Response::new(Body::news(WatchBody::new(events, compressed)));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    if compressed {
        handler::mark_gzip(response.headers_mut());
    }
    Ok(response)
}
