//! Get and list.
//!
//! A list is of one state: of the newest, or of a revision for as long as the [ring](super::state) has what changed since. Pages after the first are
//! of the first one's revision, or refused with a token that goes on in the newest state.

use std::rc::Rc;

use bytes::Bytes;
use http::Response;
use ringwatch_core::link::serve::{Request, Shelf as _};
use ringwatch_core::object::Object as _;
use ringwatch_core::predicate::{Matches, Predicate};
use ringwatch_core::revision::{Revision, StartFrom};

use super::answer::{Body, Refusal, whole, with};
use super::continuation::Continuation;
use super::options::ListPlan;
use super::rendition::{ListHead, Rendition};
use super::state::objects_at;
use super::target::Target;
use super::{Api, Kept, View};
use crate::hub::Track;

/// How much of a list is put together before it is sent.
const CHUNK: usize = 16 * 1024;

/// One object.
pub(super) fn get(
    track: &Track,
    target: &Target,
    key: &str,
    rendition: &Rendition<'_>,
) -> Result<Response<Body>, Refusal> {
    let name = target.name.as_deref().unwrap_or_default();
    let found = track.get(key);
    let object = found.ok_or_else(|| Refusal::not_found(&target.resource, name))?;
    Ok(whole(rendition.object(object)))
}

/// A page of a list, or all of it.
struct Page {
    head: ListHead,
    objects: Vec<Kept>,
}

impl Page {
    fn find(
        track: &Track,
        target: &Target,
        request: &Request<'_>,
        plan: &ListPlan,
    ) -> Result<Self, Refusal> {
        let newest = track.revision();
        let revision = match plan.start {
            StartFrom::Exact(revision) if revision > newest => {
                return Err(Refusal::too_large_version(revision, newest));
            }
            StartFrom::Exact(revision) => revision,
            _ => newest,
        };
        let root = target.root();
        let after = plan.continued.as_ref();
        let after = after.map(|continued| format!("{root}{}", continued.after));
        let objects = objects_at(track, revision, after.as_deref());
        let objects = objects.ok_or_else(|| match &plan.continued {
            Some(continued) => Refusal::expired_page(
                Continuation {
                    revision: None,
                    after: continued.after.clone(),
                }
                .encode(),
            ),
            None => Refusal::expired_list(),
        })?;
        let selects = Predicate {
            scope: request.scope,
            labels: request.labels.clone(),
            fields: request.fields.clone(),
        };
        let selective = !selects.labels.is_empty() || !selects.fields.is_empty();
        let mut rest = objects
            .into_iter()
            .filter(|object| selects.scope.contains(*object));
        let mut page: Vec<Kept> = Vec::new();
        let mut last = None;
        while plan.limit == 0 || page.len() < plan.limit {
            let Some(object) = rest.next() else { break };
            last = Some(object);
            if selects.matches(object) {
                page.push(object.clone());
            }
        }
        let remaining = rest.count();
        let next = last.filter(|_| remaining > 0).map(|last| {
            let key = last.key().as_str();
            let next = Continuation {
                revision: Some(revision),
                after: key.strip_prefix(&root).unwrap_or(key).to_owned(),
            };
            next.encode()
        });
        Ok(Self {
            head: ListHead {
                revision,
                next,
                remaining: (!selective).then_some(remaining),
            },
            objects: page,
        })
    }
}

/// A list. It is written as it is taken, so that what waits for a slow client is a piece and not all of it.
pub(super) fn list(
    api: &Rc<Api>,
    target: &Target,
    request: &Request<'_>,
    plan: &ListPlan,
    view: View,
) -> Result<Response<Body>, Refusal> {
    let page = api.with_track(view.track, |track| Page::find(track, target, request, plan))?;
    let mut chunk = Vec::new();
    let mut objects = page.objects.into_iter();
    let mut first = true;
    // Definitions are borrowed for a piece, never while a client is waited for.
    let api = api.clone();
    let mut fill = move |chunk: &mut Vec<u8>| {
        let definitions = api.hub.definitions.borrow();
        let rendition = view.rendition(&api, &definitions);
        if std::mem::take(&mut first) {
            rendition.list_head(chunk, &page.head);
        } else {
            chunk.push(b',');
        }
        while let Some(object) = objects.next() {
            rendition.item(chunk, &object);
            if objects.len() > 0 {
                if chunk.len() >= CHUNK {
                    return true;
                }
                chunk.push(b',');
            }
        }
        chunk.extend_from_slice(b"]}\n");
        false
    };
    if !fill(&mut chunk) {
        return Ok(whole(chunk));
    }
    let (send, receive) = tokio::sync::mpsc::channel::<Bytes>(2);
    tokio::task::spawn_local(async move {
        let mut more = true;
        // Who is gone needs no end.
        while send.send(std::mem::take(&mut chunk).into()).await.is_ok() && more {
            more = fill(&mut chunk);
        }
    });
    Ok(with("application/json", Body::Stream(receive)))
}

/// The least revision that a list needs.
pub(super) fn least(start: StartFrom) -> Revision {
    match start {
        StartFrom::NotOlderThan(revision) | StartFrom::Exact(revision) => revision,
        StartFrom::Any | StartFrom::Newest => Revision::ZERO,
    }
}
