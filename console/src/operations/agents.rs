//! Agents.

use openapi_core::admin::{Admin, NewAgent};
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::AuditAction;
use openapi_core::events::EventCursor;
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::values::{AgentId, Line, Timestamp};

use super::types::{NoInput, OneAgent};
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{confirmed, failed};
use crate::input::input;
use crate::operation::{Access, Metadata, Operation, Traits};
use crate::stream;

input! {
    /// An agent, confirmed by its id.
    ConfirmedAgent {
        "agent" Path agent: AgentId,
        "confirm" Body confirm: Line<100> { "description": "The agent's id, typed again." },
    }
}

input! {
    /// A new agent.
    CreateAgent {
        "id" Body id: Option<AgentId> { "description": "Generated when it is left out." },
        "name" Body name: Line<100>,
    }
}

input! {
    /// Another name.
    RenameAgent {
        "agent" Path agent: AgentId,
        "name" Body name: Line<100>,
    }
}

/// An agent as operators see it, with the head of its event log.
pub struct AgentView(Agent, Option<EventCursor>);

json_object! { AgentView as "Agent" = |view| {
    "id": AgentId = view.0.id,
    "name": Line<100> = view.0.name,
    "status": &'static str { "enum": ["active", "disabled"] } = match view.0.status {
        AgentStatus::Active => "active",
        AgentStatus::Disabled | AgentStatus::Deleted => "disabled",
    },
    "createdAt": Timestamp = view.0.created_at,
    "updatedAt": Timestamp = view.0.updated_at,
    "liveFrom": Option<String> { "description": "As `Last-Event-ID` of a live stream: the stream also sends what happens between this answer and its begin. `null` on a server without live updates." } =
        view.1.map(|head| stream::cursor_of(&view.0.id, head)),
} }

/// Agents with the heads of their event logs.
async fn views(cx: &Context<'_>, agents: Vec<Agent>) -> Result<Vec<AgentView>, ApiError> {
    let heads = if stream::is_offered(cx) {
        let ids: Vec<AgentId> = agents.iter().map(|agent| agent.id.clone()).collect();
        cx.platform().storage().log_heads(&ids).await?
    } else {
        Vec::new()
    };
    let heads = heads.into_iter().map(|seq| Some(EventCursor { seq, id: None }));
    Ok(agents
        .into_iter()
        .zip(heads.chain(std::iter::repeat(None)))
        .map(|(agent, head)| AgentView(agent, head))
        .collect())
}

fn etag(agent: &Agent) -> String {
    format!("\"{}\"", agent.updated_at.millis())
}

async fn reply(cx: &Context<'_>, message: &'static str, agent: Agent) -> Result<Reply<AgentView>, ApiError> {
    let etag = etag(&agent);
    let view = views(cx, vec![agent]).await?.pop().ok_or_else(ApiError::internal)?;
    Ok(Reply::ok(message, view).with_etag(etag))
}

/// `agents.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = Metadata {
        name: "agents.list",
        summary: "Lists the agents that the operator has a grant on, oldest first.",
        method: Method::Get,
        path: "/agents",
        access: Access::SignedIn,
        step_up: false,
        audit: &[],
        command: "agents list",
        traits: Traits::NONE,
    };
    type Input = NoInput;
    type Output = Vec<AgentView>;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Vec<AgentView>>, ApiError> {
        let mut agents = cx.platform().agents().await.map_err(failed)?;
        agents.retain(|agent| cx.operator.grants.knows(&agent.id));
        Ok(Reply::ok("Agents retrieved successfully", views(&cx, agents).await?))
    }
}

/// `agents.create`
pub struct Create;

impl Operation for Create {
    const METADATA: Metadata = Metadata {
        name: "agents.create",
        summary: "Creates an agent with the built-in contact schema.",
        method: Method::Post,
        path: "/agents",
        access: Access::Installation(Capability::AgentsManage),
        step_up: false,
        audit: &[AuditAction::AgentCreate],
        command: "agents create NAME --id ID",
        traits: Traits::NONE,
    };
    type Input = CreateAgent;
    type Output = AgentView;

    async fn run(cx: Context<'_>, input: CreateAgent) -> Result<Reply<AgentView>, ApiError> {
        let new = NewAgent { id: input.id, name: input.name };
        let agent = cx.platform().create_agent(cx.actor, new).await.map_err(failed)?;
        let mut reply = reply(&cx, "Agent created successfully", agent).await?;
        reply.status = 201;
        Ok(reply)
    }
}

/// `agents.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = Metadata {
        name: "agents.show",
        summary: "Shows an agent.",
        method: Method::Get,
        path: "/agents/{agent}",
        access: Access::Agent(Capability::AgentsRead),
        step_up: false,
        audit: &[],
        command: "agents show ID",
        traits: Traits::NONE,
    };
    type Input = OneAgent;
    type Output = AgentView;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<AgentView>, ApiError> {
        let agent = cx.platform().agent(&input.agent).await.map_err(failed)?;
        reply(&cx, "Agent retrieved successfully", agent).await
    }
}

/// `agents.rename`
pub struct Rename;

impl Operation for Rename {
    const METADATA: Metadata = Metadata {
        name: "agents.rename",
        summary: "Gives an agent another name.",
        method: Method::Patch,
        path: "/agents/{agent}",
        access: Access::Agent(Capability::AgentsManage),
        step_up: false,
        audit: &[AuditAction::AgentRename],
        command: "",
        traits: Traits::VERSIONED,
    };
    type Input = RenameAgent;
    type Output = AgentView;

    async fn run(cx: Context<'_>, input: RenameAgent) -> Result<Reply<AgentView>, ApiError> {
        let current = cx.platform().agent(&input.agent).await.map_err(failed)?;
        let tag = etag(&current);
        cx.refuse_stale(&tag, || serde_json::to_value(AgentView(current, None)).unwrap_or_default())?;
        // The store of agents cannot compare: of two names that are given in the same moment, one stays.
        let agent = cx.platform().rename_agent(cx.actor, &input.agent, input.name).await.map_err(failed)?;
        reply(&cx, "Agent renamed successfully", agent).await
    }
}

/// `agents.disable`
pub struct Disable;

impl Operation for Disable {
    const METADATA: Metadata = Metadata {
        name: "agents.disable",
        summary: "Disables an agent: its keys are refused at once.",
        method: Method::Post,
        path: "/agents/{agent}/disable",
        access: Access::Agent(Capability::AgentsManage),
        step_up: true,
        audit: &[AuditAction::AgentDisable],
        command: "agents disable ID",
        traits: Traits::NONE,
    };
    type Input = ConfirmedAgent;
    type Output = AgentView;

    async fn run(cx: Context<'_>, input: ConfirmedAgent) -> Result<Reply<AgentView>, ApiError> {
        confirmed(input.confirm.as_str(), input.agent.as_str())?;
        let agent = cx.platform().disable_agent(cx.actor, &input.agent).await.map_err(failed)?;
        reply(&cx, "Agent disabled successfully", agent).await
    }
}

/// `agents.enable`
pub struct Enable;

impl Operation for Enable {
    const METADATA: Metadata = Metadata {
        name: "agents.enable",
        summary: "Enables a disabled agent.",
        method: Method::Post,
        path: "/agents/{agent}/enable",
        access: Access::Agent(Capability::AgentsManage),
        step_up: false,
        audit: &[AuditAction::AgentEnable],
        command: "agents enable ID",
        traits: Traits::NONE,
    };
    type Input = OneAgent;
    type Output = AgentView;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<AgentView>, ApiError> {
        let agent = cx.platform().enable_agent(cx.actor, &input.agent).await.map_err(failed)?;
        reply(&cx, "Agent enabled successfully", agent).await
    }
}
