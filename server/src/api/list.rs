//! Lists over HTTP.

mod shared;

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body::{Frame, SizeHint};

use super::failures;
use super::handler;
use super::options::{ListPlan, Paging};
use super::rendition::Rendition;
use crate::body::{Body, BoxError};
use crate::cache::{CacheError, Listing, Object};
use crate::compress;
use crate::reader::Reader;
use crate::resources::Resource;
use crate::shape::Shape;
use crate::status::Failure;
use crate::table::Page;

pub(super) use shared::Compressed;
use shared::Content;

/// Pieces in which a list is sent.
const PIECE: usize = 256 * 1024;

/// Answers a list.
pub(super) async fn list(
    reader: &Reader,
    resource: &Resource,
    plan: &ListPlan,
    rendition: Rendition,
    gzip: bool,
    compressed: &Compressed,
) -> Result<Response<Body>, Failure> {
    let listing = reader
        .list(&plan.request)
        .await
        .map_err(|error| failure(&error, resource, &plan.paging))?;
    answer(listing, plan, rendition, gzip, compressed).await
}

/// The answer for what was listed.
pub(super) async fn answer(
    listing: Listing,
    plan: &ListPlan,
    rendition: Rendition,
    gzip: bool,
    compressed: &Compressed,
) -> Result<Response<Body>, Failure> {
    let version = listing.revision.to_string();
    let last = listing.continue_after.as_deref();
    let next = last.map(|last| plan.paging.next(last, listing.revision));
    let page = Page {
        resource_version: &version,
        next: next.as_deref().unwrap_or(""),
        remaining: next
            .as_ref()
            .filter(|_| !plan.paging.selective)
            .map(|_| listing.remaining as u64),
    };
    let content_type = HeaderValue::from_static(rendition.content_type());
    let (body, compressed) = if rendition.is_plain() {
        plain(&rendition, &page, listing, gzip.then_some(compressed)).await?
    } else {
        let bytes = rendition.list(&page, &listing.items)?;
        handler::maybe_gzip(bytes, gzip)
    };
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    if compressed {
        handler::mark_gzip(response.headers_mut());
    }
    Ok(response)
}

/// A JSON list: the bytes of the objects as they are, joined while they are sent. Whether it is compressed is told with it.
async fn plain(
    rendition: &Rendition,
    page: &Page<'_>,
    listing: Listing,
    gzip: Option<&Compressed>,
) -> Result<(Body, bool), Failure> {
    let shape = rendition.shape().clone();
    let (head, tail) = shape.ends(page);
    let items = listing.items;
    let size = head.len() + items_size(&shape, &items) + tail.len();
    if let Some(compressed) = gzip.filter(|_| compress::is_large(size)) {
        let content = Content {
            head,
            items,
            shape,
            tail,
        };
        let bytes = compressed.list(content, joined).await?;
        return Ok((Body::from(bytes), true));
    }
    let body = ListBody {
        size,
        piece: head,
        items,
        sent: 0,
        shape,
        tail: Some(tail),
    };
    Ok((Body::stream(body), false))
}

/// Some items as they stand in a list; `first` if the list begins with them.
fn joined(items: &[Object], first: bool, shape: &Shape) -> Vec<u8> {
    let size = items
        .iter()
        .map(|item| shape.len_of(item.bytes()) + 1)
        .sum();
    let mut bytes = Vec::with_capacity(size);
    for (number, item) in items.iter().enumerate() {
        shape.push(first && number == 0, item.bytes(), &mut bytes);
    }
    bytes
}

fn items_size(shape: &Shape, items: &[Object]) -> usize {
    let commas = items.len().saturating_sub(1);
    let sizes = items.iter().map(|item| shape.len_of(item.bytes()));
    sizes.sum::<usize>() + commas
}

/// A list on its way out. It holds its objects, which are shared, and one piece.
struct ListBody {
    /// Bytes that are ready.
    piece: Vec<u8>,
    items: Vec<Object>,
    /// How many items have been taken.
    sent: usize,
    shape: Shape,
    /// How many bytes are to come.
    size: usize,
    /// What the list ends with, until it is taken.
    tail: Option<Vec<u8>>,
}

impl ListBody {
    /// Fills the piece; at the end of the list, ends it.
    fn fill(&mut self, until: usize) {
        while self.piece.len() < until
            && let Some(item) = self.items.get(self.sent)
        {
            self.shape
                .push(self.sent == 0, item.bytes(), &mut self.piece);
            self.sent += 1;
        }
        if self.sent == self.items.len()
            && let Some(tail) = self.tail.take()
        {
            self.piece.extend_from_slice(&tail);
        }
    }
}

impl http_body::Body for ListBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = self.get_mut();
        if body.tail.is_none() && body.piece.is_empty() {
            return Poll::Ready(None);
        }
        body.piece.reserve(PIECE.min(body.size));
        body.fill(PIECE);
        let piece = std::mem::take(&mut body.piece);
        body.size = body.size.saturating_sub(piece.len());
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.tail.is_none() && self.piece.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.size as u64)
    }
}

/// Why there is no list.
pub(super) fn failure(error: &CacheError, resource: &Resource, paging: &Paging) -> Failure {
    match (error, &paging.continued) {
        (CacheError::Expired { .. }, Some(continued)) => {
            let latest = super::continuation::Continuation {
                revision: None,
                after: continued.after.clone(),
            };
            Failure {
                continue_token: Some(latest.encode()),
                ..Failure::expired(PAGE_TOO_OLD)
            }
        }
        (CacheError::Expired { .. }, None) => {
            Failure::expired("The resourceVersion for the provided list is too old.")
        }
        _ => failures::unary(error, resource, "list"),
    }
}

const PAGE_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
