//! The state of the server.

use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, CONTRACT_VERSION, Reply};
use openapi_core::service::OpenApiService;
use openapi_core::values::Timestamp;

use super::types::NoInput;
use crate::capability::Capability;
use crate::context::Context;
use crate::operation::{Access, Metadata, Operation, Traits};

/// The state of the server.
pub struct HealthView {
    problem: Option<String>,
    build: &'static str,
    public_url: String,
    now: Timestamp,
}

json_object! { HealthView as "ServerHealth" = |view| {
    "isHealthy": bool = view.problem.is_none(),
    "problem": Option<String> = view.problem,
    "build": &'static str = view.build,
    "contractVersion": &'static str = CONTRACT_VERSION,
    "publicUrl": String = view.public_url,
    "now": Timestamp = view.now,
} }

/// `server.health`
pub struct Health;

impl Operation for Health {
    const METADATA: Metadata = Metadata {
        name: "server.health",
        summary: "Shows whether the server can work, and its version.",
        method: Method::Get,
        path: "/server/health",
        access: Access::Installation(Capability::ServerRead),
        step_up: false,
        audit: &[],
        command: "server health",
        traits: Traits::NONE,
    };
    type Input = NoInput;
    type Output = HealthView;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<HealthView>, ApiError> {
        let problem =
            OpenApiService::health(&**cx.platform()).await.err().map(|error| error.message().to_owned());
        let view = HealthView {
            problem,
            build: cx.console.settings.build,
            public_url: cx.platform().service_info().public_url().to_owned(),
            now: cx.platform().now(),
        };
        Ok(Reply::ok("Server state retrieved successfully", view))
    }
}
