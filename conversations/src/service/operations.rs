//! The table of the widget's calls (docs/widget-protocol.md): method, path, body, limits, and the service that takes
//! them.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use openapi_core::api::Outcome;
use openapi_core::operation::Method;
use openapi_core::reply::ApiError;

use super::admission::AddressLimit;
use super::agents::Agents;
use super::call::{Call, SentToken};
use super::leads::Leads;
use super::streams::Streams;
use super::turns::Turns;
use super::uploads::Uploads;
use super::visitors::Visitors;
use crate::widget::UPLOADS_PATH;

/// The services that the operations call.
pub(super) struct Services {
    pub(super) agents: Arc<Agents>,
    pub(super) leads: Arc<Leads>,
    pub(super) streams: Arc<Streams>,
    pub(super) turns: Turns,
    pub(super) uploads: Arc<Uploads>,
    pub(super) visitors: Visitors,
}

/// A call of the widget.
pub(super) struct Operation {
    /// Its name in logs and metrics.
    pub(super) id: &'static str,
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) body: RequestBody,
    /// The limit of the address that counts it, besides that of all requests. The others count for their visitor, so that
    /// people who share an address hardly limit each other.
    pub(super) counts: Option<AddressLimit>,
    /// Whether the response is the events of a turn, which take a slot for a stream.
    pub(super) streams: bool,
    pub(super) handler: Handler,
}

/// Where the members of a request come from.
#[derive(Clone, Copy)]
pub(super) enum RequestBody {
    /// The query; a body is ignored.
    Query,
    /// A JSON object of at most so many bytes.
    Json(u64),
    /// A form whose last part is a file.
    Form,
}

type Handle<T> = for<'a> fn(&'a Services, Call<'a, T>) -> BoxFuture<'a, Result<Outcome, ApiError>>;

/// What an operation does, and whom it admits.
pub(super) enum Handler {
    /// Any page of the agent; a token is optional.
    Public(Handle<Option<SentToken>>),
    /// The visitor of a conversation: a token is required.
    Visitor(Handle<SentToken>),
}

/// The largest body of a turn or a lead form.
const LARGE: RequestBody = RequestBody::Json(16 * 1024);
/// The largest body of any other call.
const SMALL: RequestBody = RequestBody::Json(2 * 1024);

/// An operation of a visitor with a small body, which its visitor's limits count.
const fn of_visitor(id: &'static str, path: &'static str, handle: Handle<SentToken>) -> Operation {
    let handler = Handler::Visitor(handle);
    Operation { id, method: Method::Post, path, body: SMALL, counts: None, streams: false, handler }
}

/// All calls.
pub(super) static OPERATIONS: [Operation; 11] = [
    Operation {
        id: "widgetConfig",
        method: Method::Get,
        path: "/widget/v1/config",
        body: RequestBody::Query,
        counts: Some(AddressLimit::Calls),
        streams: false,
        handler: Handler::Public(|services, call| Box::pin(services.agents.configuration(call))),
    },
    Operation {
        id: "widgetTurn",
        method: Method::Post,
        path: "/widget/v1/turns",
        body: LARGE,
        counts: Some(AddressLimit::Turns),
        streams: true,
        handler: Handler::Public(|services, call| Box::pin(services.turns.take(call))),
    },
    Operation {
        streams: true,
        ..of_visitor("widgetResume", "/widget/v1/turns/resume", |services, call| {
            Box::pin(services.streams.resume(call))
        })
    },
    of_visitor("widgetCancel", "/widget/v1/turns/cancel", |services, call| {
        Box::pin(services.streams.cancel(call))
    }),
    of_visitor("widgetSync", "/widget/v1/sync", |services, call| Box::pin(services.visitors.sync(call))),
    of_visitor("widgetHistory", "/widget/v1/history", |services, call| {
        Box::pin(services.visitors.history(call))
    }),
    of_visitor("widgetFeedback", "/widget/v1/feedback", |services, call| {
        Box::pin(services.visitors.feedback(call))
    }),
    of_visitor("widgetClose", "/widget/v1/close", |services, call| Box::pin(services.visitors.close(call))),
    Operation {
        id: "widgetLead",
        method: Method::Post,
        path: "/widget/v1/lead",
        body: LARGE,
        counts: Some(AddressLimit::Leads),
        streams: false,
        handler: Handler::Public(|services, call| Box::pin(services.leads.submit(call))),
    },
    Operation {
        id: "widgetLink",
        method: Method::Post,
        path: "/widget/v1/links",
        body: SMALL,
        counts: Some(AddressLimit::Calls),
        streams: false,
        handler: Handler::Public(|services, call| Box::pin(services.visitors.open_link(call))),
    },
    Operation {
        id: "widgetUpload",
        method: Method::Post,
        path: UPLOADS_PATH,
        body: RequestBody::Form,
        counts: Some(AddressLimit::Calls),
        streams: false,
        handler: Handler::Public(|services, call| Box::pin(services.uploads.receive(call))),
    },
];
