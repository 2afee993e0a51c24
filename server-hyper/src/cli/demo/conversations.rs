//! The conversations of the demo. Visitors hold them through the widget's own calls, so that each reply is one that the
//! agent gives.

use std::net::{IpAddr, Ipv4Addr};

use ::conversations::widget::WidgetSettings;
use ::conversations::{Conversations, WidgetApi};
use hmac::{Hmac, KeyInit, Mac};
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use openapi_core::access::Actor;
use openapi_core::api::PeerAddress;
use openapi_core::values::AgentId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::Sha256;

use super::clock::DemoClock;
use crate::error::CliError;

/// One conversation per line, the oldest first.
const CONVERSATIONS: &str = include_str!("../../../assets/demo-conversations.ndjson");

/// Who answers for the practice.
const PERSON: &str = "Front desk";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Script {
    minutes_ago: i64,
    visitor: Option<Visitor>,
    page: String,
    says: Vec<Line>,
}

/// What the page says about a visitor. One with a reference is signed in there, so the page's server vouches for them.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Visitor {
    name: String,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_reference_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase", deny_unknown_fields)]
enum Line {
    Visitor {
        visitor: String,
        #[serde(default)]
        is_helpful: bool,
    },
    Person {
        person: String,
    },
}

/// Holds all conversations with an agent.
pub(super) async fn hold(
    conversations: &Conversations,
    clock: &DemoClock,
    by: &Actor,
    agent: &AgentId,
) -> Result<(), CliError> {
    let secret = conversations.rotate_identity_secret(by, agent, 0).await?;
    let widget = std::sync::Arc::new(conversations.clone()).widget_api(WidgetSettings::default());
    for (number, line) in (1..).zip(CONVERSATIONS.lines()) {
        let script: Script = serde_json::from_str(line).map_err(unexpected)?;
        clock.set_minutes_ago(script.minutes_ago);
        // Addresses for documentation, one for each visitor: limits count them apart.
        let address = IpAddr::from(Ipv4Addr::new(192, 0, 2, number));
        let session = Session { conversations, widget: &widget, clock, by, agent, secret: &secret, address };
        session.hold(&script).await?;
    }
    Ok(())
}

/// A visitor on a page.
struct Session<'a> {
    conversations: &'a Conversations,
    widget: &'a WidgetApi,
    clock: &'a DemoClock,
    by: &'a Actor,
    agent: &'a AgentId,
    secret: &'a str,
    address: IpAddr,
}

impl Session<'_> {
    async fn hold(&self, script: &Script) -> Result<(), CliError> {
        let user = script.visitor.as_ref().map(|visitor| self.user(visitor)).transpose()?;
        let (mut token, mut conversation) = (Value::Null, String::new());
        for line in &script.says {
            match line {
                Line::Visitor { visitor, is_helpful } => {
                    let platform = self.conversations.platform();
                    let turn = json!({
                        "v": 1, "agentId": self.agent, "id": platform.ports().ids.uuid_v7(platform.now()),
                        "token": token, "text": visitor, "user": user, "page": { "url": script.page },
                        "locale": "en", "tz": "Europe/London",
                    });
                    let turn = self.call("turns", &turn).await?;
                    token = turn["session"]["token"].clone();
                    turn["session"]["conversation"]
                        .as_str()
                        .unwrap_or_default()
                        .clone_into(&mut conversation);
                    if *is_helpful {
                        let opinion = json!({ "token": token, "message": turn["message"]["id"], "value": 1 });
                        self.call("feedback", &opinion).await?;
                    }
                }
                Line::Person { person } => {
                    let id = conversation.parse().map_err(unexpected)?;
                    let sent =
                        self.conversations.reply_to_conversation(self.by, self.agent, id, PERSON, person);
                    sent.await?;
                }
            }
            self.clock.pass_seconds(45);
        }
        Ok(())
    }

    /// A visitor as the page names them, with the signature of the page's server for one who is signed in.
    fn user(&self, visitor: &Visitor) -> Result<Value, CliError> {
        const HOUR: i64 = 3_600;
        let mut user = serde_json::to_value(visitor).map_err(unexpected)?;
        if let Some(reference) = &visitor.external_reference_id {
            let (agent, email) = (self.agent, &visitor.email);
            let until = self.conversations.platform().now().millis() / 1_000 + HOUR;
            let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).map_err(unexpected)?;
            mac.update(format!("v1\n{agent}\n{until}\n{reference}\n{email}").as_bytes());
            let digits: String =
                mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            user["hash"] = format!("{until}.{digits}").into();
        }
        Ok(user)
    }

    /// A call of the widget; the data of its reply.
    async fn call(&self, call: &str, body: &Value) -> Result<Value, CliError> {
        let request = Request::post(format!("/widget/v1/{call}"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .extension(PeerAddress(self.address))
            .body(Full::from(body.to_string()));
        let response = self.widget.handle(request.map_err(unexpected)?).await;
        let is_success = response.status().is_success();
        let bytes = response.into_body().collect().await.map_err(unexpected)?.to_bytes();
        if !is_success {
            return Err(unexpected(String::from_utf8_lossy(&bytes)));
        }
        let mut reply: Value = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).map_err(unexpected)?
        };
        Ok(reply["data"].take())
    }
}

fn unexpected(error: impl std::fmt::Display) -> CliError {
    CliError::new(format!("cannot hold a conversation of the demo: {error}"))
}
