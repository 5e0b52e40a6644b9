//! Watches over HTTP: events as they come, many in one write when many are ready.

mod body;
mod source;

use http::{HeaderValue, Response, header};

use body::WatchBody;
use source::Source;

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
    gzip: bool,
) -> Result<Response<Body>, Failure> {
    let content_type = HeaderValue::from_static(rendition.content_type());
    let compressed = gzip && plan.is_watch_list;
    let source = if plan.already_over {
        Source::failed(Failure::internal("context deadline exceeded"))
    } else {
        match reader.watch(plan.request).await {
            Ok(watch) => Source::from(watch),
            Err(CacheError::NotReady { why }) => return Err(failures::not_ready(why)),
            Err(error) => Source::failed(failures::read(&error)),
        }
    };
    let body = WatchBody::new(source, rendition, plan.marks_initial_end, compressed);
    let mut response = Response::new(Body::stream(body));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    if compressed {
        handler::mark_gzip(response.headers_mut());
    }
    Ok(response)
}
