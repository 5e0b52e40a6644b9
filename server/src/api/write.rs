//! POST, PUT, PATCH and DELETE.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use ringwatch_core::key::Key;

use super::handler::{Asked, Head};
use super::options::ListPlan;
use super::query::Query;
use super::rendition::Rendition;
use super::surface::Surface;
use super::{Api, content, list, read, reviews};
use crate::body::Body;
use crate::cache::Object;
use crate::negotiate::{self, Patch, Request};
use crate::objects::body::Expected;
use crate::objects::options::{DeleteOptions, Of, WriteOptions};
use crate::objects::update::Part;
use crate::objects::{Address, Answer, Content, PatchBody};
use crate::resources::{Subresource, Target};
use crate::schema::Parsed;
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
    let given = Given {
        api,
        target,
        query,
        head,
        body: &body,
    };
    let Some(name) = target.name.as_ref().filter(|_| !creates) else {
        if collection {
            return given.delete_collection(surface, rendition).await;
        }
        return answered(&rendition, head, &given.create().await?);
    };
    let at = Address::new(resource, target.namespace.as_deref(), name);
    let answer = match *asked.method {
        Method::POST => given.bind(at).await?,
        Method::PUT => given.put(at).await?,
        Method::PATCH => given.patch(at).await?,
        _ if target.subresource.is_some() => return Err(Failure::method_not_allowed()),
        _ => api.objects.delete(at, &given.delete_options()?).await?,
    };
    answered(&rendition, head, &answer)
}

/// What a write is given to go by.
struct Given<'a> {
    api: &'a Api,
    target: &'a Target,
    query: &'a Query<'a>,
    head: &'a Head<'a>,
    body: &'a [u8],
}

impl Given<'_> {
    async fn create(&self) -> Result<Answer, Failure> {
        let options = self.options(Of::Create)?;
        let parsed = self.object()?;
        let (resource, namespace) = (&*self.target.resource, self.target.namespace.as_deref());
        let objects = &self.api.objects;
        objects.create(resource, namespace, parsed, &options).await
    }

    async fn bind(&self, at: Address<'_>) -> Result<Answer, Failure> {
        if self.target.subresource != Some(Subresource::Binding) {
            return Err(Failure::method_not_allowed());
        }
        let options = self.options(Of::Create)?;
        let parsed = self.read(&Expected::binding(), true)?;
        self.api.objects.bind(at, parsed, &options).await
    }

    async fn put(&self, at: Address<'_>) -> Result<Answer, Failure> {
        let options = self.options(Of::Update)?;
        let part = match &self.target.subresource {
            Some(Subresource::Scale(_)) => {
                let parsed = self.read(&Expected::scale(), true)?;
                return self.api.objects.update_scale(at, parsed, &options).await;
            }
            Some(Subresource::Binding) => return Err(Failure::method_not_allowed()),
            Some(Subresource::Status) => Part::Status,
            Some(Subresource::Finalize) => Part::Finalize,
            None => Part::Whole,
        };
        let parsed = self.object()?;
        self.api.objects.update(at, part, parsed, &options).await
    }

    async fn patch(&self, at: Address<'_>) -> Result<Answer, Failure> {
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
        let format = negotiate::patch_type(self.head.content_type, offered)
            .map_err(|error| Failure::unsupported_patch(&error, at.resource))?;
        if format == Patch::Apply {
            return self.apply(at).await;
        }
        let options = self.options(Of::Patch)?;
        let patch = PatchBody {
            format,
            bytes: self.body,
        };
        let objects = &self.api.objects;
        let part = match &self.target.subresource {
            Some(Subresource::Scale(_)) => return objects.patch_scale(at, patch, &options).await,
            Some(Subresource::Status) => Part::Status,
            None => Part::Whole,
            Some(_) => return Err(Failure::method_not_allowed()),
        };
        objects.patch(at, part, patch, &options).await
    }

    async fn apply(&self, at: Address<'_>) -> Result<Answer, Failure> {
        let options = self.options(Of::Apply)?;
        let wanted = content::applied(self.body)?;
        let objects = &self.api.objects;
        match &self.target.subresource {
            Some(Subresource::Scale(_)) => objects.apply_scale(at, wanted, &options).await,
            Some(Subresource::Status) => objects.apply(at, Part::Status, wanted, &options).await,
            None => objects.apply(at, Part::Whole, wanted, &options).await,
            Some(_) => Err(Failure::method_not_allowed()),
        }
    }

    async fn delete_collection(
        &self,
        surface: &Surface,
        rendition: Rendition,
    ) -> Result<Response<Body>, Failure> {
        let resource = &*self.target.resource;
        let options = self.delete_options()?;
        let plan = ListPlan::parse(self.target, self.query)?;
        let reader = surface
            .reader(resource)
            .ok_or_else(Failure::method_not_allowed)?;
        let listed = reader.list(&plan.request).await;
        let listed = listed.map_err(|error| list::failure(&error, resource, &plan.paging))?;
        let places = listed.items.iter().map(Object::key).map(place);
        let api = self.api;
        api.objects.delete_each(resource, places, &options).await?;
        list::answer(listed, &plan, rendition, self.head.gzip, &api.compressed).await
    }

    fn options(&self, of: Of) -> Result<WriteOptions, Failure> {
        let options = WriteOptions::from_query(of, self.query.pairs())?;
        Ok(options.or_agent(self.head.user_agent))
    }

    fn delete_options(&self) -> Result<DeleteOptions, Failure> {
        let expected = Expected {
            kind: "DeleteOptions".to_owned(),
            api_version: "v1".to_owned(),
            schema: None,
            custom: None,
        };
        let body = match self.body {
            [] => None,
            _ => Some(self.read(&expected, self.target.resource.protobuf)?),
        };
        DeleteOptions::read(body, self.query.pairs())
    }

    /// The body as an object of the kind that the path names.
    fn object(&self) -> Result<Parsed, Failure> {
        let resource = &*self.target.resource;
        self.read(&Expected::from(resource), resource.protobuf)
    }

    fn read(&self, expected: &Expected, builtin: bool) -> Result<Parsed, Failure> {
        content::read(self.head.content_type, self.body, expected, builtin)
    }
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
