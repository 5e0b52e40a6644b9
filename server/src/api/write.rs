//! POST, PUT, PATCH and DELETE.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use ringwatch_core::key::Key;

use super::handler::{Asked, Head};
use super::options::ListPlan;
use super::query::Query;
use super::rendition::Rendition;
use super::surface::Surface;
use super::{Api, content, failures, list, read, reviews};
use crate::body::Body;
use crate::cache::Object;
use crate::negotiate::{self, Patch, Request};
use crate::objects::body::Expected;
use crate::objects::options::{DeleteOptions, Of, WriteOptions};
use crate::objects::update::Part;
use crate::objects::{Address, Answer, Content, PatchBody};
use crate::resources::{Resource, Subresource, Target};
use crate::status::Failure;

/// Does what a request asks, and answers with what became of it.
pub(super) async fn write(
    api: &Api,
    surface: &Surface,
    target: &Target,
    query: &Query<'_>,
    asked: &Asked<'_>,
    body: Bytes,
) -> Result<Response<Body>, Failure> {
    let resource = &*target.resource;
    let head = asked.head;
    let collection = *asked.method == Method::DELETE && target.name.is_none();
    let request = if collection {
        Request::List
    } else {
        Request::Object
    };
    let rendition = read::rendition(resource, request, query, head)?;
    if resource.storage.is_none() {
        let expected = Expected::from(resource);
        let review = content::read(head.content_type, &body, &expected, true)?;
        let answer = reviews::answer(resource, review.value, asked.caller)?;
        return object(&rendition, head, StatusCode::CREATED, &answer, &[]);
    }
    let creates = *asked.method == Method::POST && target.subresource.is_none();
    let Some(name) = target.name.as_ref().filter(|_| !creates) else {
        if collection {
            return delete_collection(api, surface, target, query, head, rendition, &body).await;
        }
        let options = options(Of::Create, query, head)?;
        let parsed = content::read(
            head.content_type,
            &body,
            &Expected::from(resource),
            resource.protobuf,
        )?;
        let namespace = target.namespace.as_deref();
        let answer = api
            .objects
            .create(resource, namespace, parsed, &options)
            .await?;
        return answered(&rendition, head, &answer);
    };
    let at = Address::new(resource, target.namespace.as_deref(), name);
    let answer = match *asked.method {
        Method::POST => bind(api, at, target, query, head, &body).await?,
        Method::PUT => put(api, at, target, query, head, &body).await?,
        Method::PATCH => patch(api, at, target, query, head, &body).await?,
        _ if target.subresource.is_some() => return Err(Failure::method_not_allowed()),
        _ => {
            let options = delete_options(resource, query, head, &body)?;
            api.objects.delete(at, &options).await?
        }
    };
    answered(&rendition, head, &answer)
}

async fn bind(
    api: &Api,
    at: Address<'_>,
    target: &Target,
    query: &Query<'_>,
    head: &Head<'_>,
    body: &[u8],
) -> Result<Answer, Failure> {
    if target.subresource != Some(Subresource::Binding) {
        return Err(Failure::method_not_allowed());
    }
    let options = options(Of::Create, query, head)?;
    let parsed = content::read(head.content_type, body, &Expected::binding(), true)?;
    api.objects.bind(at, parsed, &options).await
}

async fn put(
    api: &Api,
    at: Address<'_>,
    target: &Target,
    query: &Query<'_>,
    head: &Head<'_>,
    body: &[u8],
) -> Result<Answer, Failure> {
    let options = options(Of::Update, query, head)?;
    let builtin = at.resource.protobuf;
    let part = match &target.subresource {
        Some(Subresource::Scale(_)) => {
            let parsed = content::read(head.content_type, body, &Expected::scale(), true)?;
            return api.objects.update_scale(at, parsed, &options).await;
        }
        Some(Subresource::Binding) => return Err(Failure::method_not_allowed()),
        Some(Subresource::Status) => Part::Status,
        Some(Subresource::Finalize) => Part::Finalize,
        None => Part::Whole,
    };
    let expected = Expected::from(at.resource);
    let parsed = content::read(head.content_type, body, &expected, builtin)?;
    api.objects.update(at, part, parsed, &options).await
}

async fn patch(
    api: &Api,
    at: Address<'_>,
    target: &Target,
    query: &Query<'_>,
    head: &Head<'_>,
    body: &[u8],
) -> Result<Answer, Failure> {
    let offered: &[Patch] = if !at.resource.protobuf {
        &[Patch::Json, Patch::Merge, Patch::Apply]
    } else {
        &[
            Patch::Json,
            Patch::Merge,
            Patch::StrategicMerge,
            Patch::Apply,
        ]
    };
    let format = negotiate::patch_type(head.content_type, offered)
        .map_err(|error| Failure::unsupported_media_type(error.to_string()))?;
    if format == Patch::Apply {
        return apply(api, at, target, query, head, body).await;
    }
    let options = options(Of::Patch, query, head)?;
    let patch = PatchBody {
        format,
        bytes: body,
    };
    let part = match &target.subresource {
        Some(Subresource::Scale(_)) => return api.objects.patch_scale(at, patch, &options).await,
        Some(Subresource::Status) => Part::Status,
        None => Part::Whole,
        Some(_) => return Err(Failure::method_not_allowed()),
    };
    api.objects.patch(at, part, patch, &options).await
}

async fn apply(
    api: &Api,
    at: Address<'_>,
    target: &Target,
    query: &Query<'_>,
    head: &Head<'_>,
    body: &[u8],
) -> Result<Answer, Failure> {
    let options = options(Of::Apply, query, head)?;
    let wanted = content::applied(body)?;
    match &target.subresource {
        Some(Subresource::Scale(_)) => api.objects.apply_scale(at, wanted, &options).await,
        Some(Subresource::Status) => api.objects.apply(at, Part::Status, wanted, &options).await,
        None => api.objects.apply(at, Part::Whole, wanted, &options).await,
        Some(_) => Err(Failure::method_not_allowed()),
    }
}

fn options(of: Of, query: &Query<'_>, head: &Head<'_>) -> Result<WriteOptions, Failure> {
    let options = WriteOptions::from_query(of, query.pairs())?;
    Ok(options.or_agent(head.user_agent))
}

fn delete_options(
    resource: &Resource,
    query: &Query<'_>,
    head: &Head<'_>,
    body: &[u8],
) -> Result<DeleteOptions, Failure> {
    let expected = Expected {
        kind: "DeleteOptions".to_owned(),
        api_version: "v1".to_owned(),
        schema: None,
        custom: None,
    };
    let body = match body {
        [] => None,
        body => Some(content::read(
            head.content_type,
            body,
            &expected,
            resource.protobuf,
        )?),
    };
    DeleteOptions::read(body, query.pairs())
}

async fn delete_collection(
    api: &Api,
    surface: &Surface,
    target: &Target,
    query: &Query<'_>,
    head: &Head<'_>,
    rendition: Rendition,
    body: &[u8],
) -> Result<Response<Body>, Failure> {
    let resource = &*target.resource;
    let options = delete_options(resource, query, head, body)?;
    let plan = ListPlan::parse(target, query)?;
    let reader = surface
        .reader(resource)
        .ok_or_else(Failure::method_not_allowed)?;
    let listed = reader.list(&plan.request).await;
    let listed = listed.map_err(|error| failures::read(&error))?;
    let places = listed.items.iter().map(Object::key).map(place);
    api.objects.delete_each(resource, places, &options).await?;
    list::answer(listed, &plan, rendition, head.gzip, &api.compressed).await
}

/// Namespace and name of a key.
fn place(key: &str) -> (Option<&str>, &str) {
    Key::parse(key).map_or((None, key), |key| (key.namespace(), key.name()))
}

fn answered(
    rendition: &Rendition,
    head: &Head<'_>,
    answer: &Answer,
) -> Result<Response<Body>, Failure> {
    let status = StatusCode::from_u16(answer.code).unwrap_or(StatusCode::OK);
    if answer.content == Content::Object {
        return object(rendition, head, status, &answer.body, &answer.warnings);
    }
    let bytes = rendition.as_is(&answer.body)?;
    respond(rendition, head, status, bytes, &answer.warnings)
}

fn object(
    rendition: &Rendition,
    head: &Head<'_>,
    status: StatusCode,
    json: &[u8],
    warnings: &[String],
) -> Result<Response<Body>, Failure> {
    respond(rendition, head, status, rendition.object(json)?, warnings)
}

fn respond(
    rendition: &Rendition,
    head: &Head<'_>,
    status: StatusCode,
    bytes: Vec<u8>,
    warnings: &[String],
) -> Result<Response<Body>, Failure> {
    let (body, compressed) = super::handler::maybe_gzip(bytes, head.gzip);
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(rendition.content_type()),
    );
    if compressed {
        super::handler::mark_gzip(headers);
    }
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            headers.append(header::WARNING, value);
        }
    }
    Ok(response)
}
