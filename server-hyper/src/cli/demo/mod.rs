//! `demo`: sample data in an empty store.

mod clock;
mod conversations;

use std::sync::Arc;

use ::conversations::Conversations;
use ::conversations::admin::NewKnowledge;
use openapi_core::access::{Permissions, RateLimits};
use openapi_core::admin::{Admin, Imported, IssuedKey, NewAgent, NewKey};
use openapi_core::agents::Agent;
use openapi_core::files::Sha256Digest;
use openapi_core::json::{Json, Object, parse};
use openapi_core::platform::{Platform, Ports};
use openapi_core::values::{AgentId, Line};

use sha2::Digest;

use self::clock::DemoClock;
use super::context::CommandContext;
use crate::assemble::StoreUrl;
use crate::error::CliError;

/// Examples of `demo`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server demo\n  \
    openapi-server demo --store memory: --listen 127.0.0.1:0\n\n\
    In a store that has agents nothing is made.";

const AGENT: &str = "demo";

/// Ten contacts, one per line, in the form of a create request.
const CONTACTS: &str = include_str!("../../../assets/demo-contacts.ndjson");

/// Two form templates: in one, a submission supersedes the previous one; in the other, all stay.
const TEMPLATES: [&str; 2] = [
    include_str!("../../../assets/templates/clinical-intake.json"),
    include_str!("../../../assets/templates/customer-feedback.json"),
];

/// The document that the demo's agent replies from.
const KNOWLEDGE: &str = include_str!("../../../assets/demo-knowledge.md");
const KNOWLEDGE_NAME: &str = "demo-knowledge.md";

/// Visitors may ask for a person, who has half an hour to answer.
const SETTINGS: &str = r#"{"chat":{"handoff":{"enabled":true,"timeoutMinutes":30}}}"#;

/// When the agent was made: nine days before the demo starts.
const BEGAN_MINUTES_AGO: i64 = 9 * 24 * 60;
/// The time between two contacts; the last one is there before the first conversation.
const CONTACT_EVERY_SECONDS: i64 = 18 * 3_600 + 17 * 60;

/// The addresses in the printed instructions.
pub struct Endpoints<'a> {
    /// {origin} of the API.
    pub origin: &'a str,
    /// The origin of the widget's listener.
    pub widget: Option<&'a str>,
    /// The path segment before contact ids.
    pub id_segment: &'a str,
}

/// Creates an agent with a key, form templates, contacts, a document and conversations if there is no agent, and prints
/// what to try.
pub async fn prepare(
    context: &CommandContext,
    conversations: &Conversations,
    endpoints: &Endpoints<'_>,
    store: &StoreUrl,
) -> Result<(), CliError> {
    let agents = conversations.platform().agents().await?;
    if !agents.is_empty() {
        return context.print(&what_is_there(&agents, store));
    }
    // The data is of the last days, each record a little younger than the one before.
    let clock = Arc::new(DemoClock::default());
    clock.set_minutes_ago(BEGAN_MINUTES_AGO);
    let conversations = &at(conversations, &clock);
    let platform = conversations.platform();
    let by = context.operator();
    let id: AgentId = AGENT.parse()?;
    let name: Line<100> = "Mill Lane Practice".parse()?;
    // The id of a deleted agent is never reused; then the id is generated.
    let new = |id| NewAgent { id, name: name.clone() };
    let agent = match platform.create_agent(&by, new(Some(id))).await {
        Ok(agent) => agent,
        Err(_) => platform.create_agent(&by, new(None)).await?,
    };
    conversations.configure_agent(&by, &agent.id, &object(SETTINGS)?).await?;
    let key = NewKey {
        agent_id: agent.id.clone(),
        name: "Demo".parse()?,
        description: None,
        permissions: Permissions::all(),
        limits: RateLimits::new(RateLimits::MAX_PER_MINUTE, RateLimits::MAX_PER_HOUR)?,
        allowed_addresses: Vec::new(),
        expires_at: None,
    };
    let issued = platform.create_key(&by, key).await?;
    let mut template = String::new();
    for definition in TEMPLATES {
        let made = platform.create_template(&by, &agent.id, &object(definition)?).await?;
        platform.activate_template(&by, &agent.id, made.id).await?;
        template = made.id.to_string();
    }
    conversations.add_knowledge(&by, &agent.id, knowledge()).await?;
    let mut contact = None;
    for line in CONTACTS.lines() {
        let (Imported::Created(imported) | Imported::Updated(imported) | Imported::Unchanged(imported)) =
            platform.import_contact(&by, &agent.id, &object(line)?).await?;
        // Not the first one, which the lines above the files archive.
        contact = Some(imported.id);
        clock.pass_seconds(CONTACT_EVERY_SECONDS);
    }
    let contact = contact.map(|id| id.to_string()).unwrap_or_default();
    conversations::hold(conversations, &clock, &by, &agent.id).await?;
    context.print(&what_to_try(&issued, &agent, &contact, &template, endpoints))
}

/// The same conversations at the time of a clock.
fn at(conversations: &Conversations, clock: &Arc<DemoClock>) -> Conversations {
    let platform = conversations.platform();
    let ports = Ports { clock: Arc::clone(clock) as _, ..platform.ports().clone() };
    let platform = Platform::new(Arc::clone(platform.storage()), ports, platform.service_info().clone());
    conversations.over(Arc::new(platform))
}

/// The document, as passages.
fn knowledge() -> NewKnowledge {
    let cut = responders::cut(&[KNOWLEDGE], responders::Format::Markdown);
    NewKnowledge {
        file_name: KNOWLEDGE_NAME.to_owned(),
        title: responders::title(&cut, KNOWLEDGE_NAME),
        url: None,
        language: Some("en".to_owned()),
        content_type: "text/markdown".to_owned(),
        sha256: Sha256Digest(sha2::Sha256::digest(KNOWLEDGE).into()),
        characters: cut.text.chars().count() as u64,
        pages: None,
        passages: cut.passages,
        questions: Vec::new(),
    }
}

fn object(line: &str) -> Result<Object, CliError> {
    match parse(line.as_bytes()) {
        Ok(Json::Object(object)) => Ok(object),
        _ => Err(CliError::new("invalid JSON in the demo's data")),
    }
}

fn what_is_there(agents: &[Agent], store: &StoreUrl) -> String {
    let agent = &agents[0].id;
    let store = match store {
        StoreUrl::Memory => "memory:".to_owned(),
        StoreUrl::Sqlite(config) => format!("sqlite:{}", config.path.display()),
        // It may hold a password.
        StoreUrl::Postgres(_) | StoreUrl::Mongo(_) => "URL".to_owned(),
    };
    format!(
        "\nThe store already has {} agent(s), so nothing was created. Secrets are stored as hashes and cannot be shown again;\n\
         for another key:\n\n  \
         openapi-server keys create --store {store} --agent {agent} --name Demo --allow all\n\n",
        agents.len()
    )
}

fn what_to_try(
    issued: &IssuedKey,
    agent: &Agent,
    contact: &str,
    template: &str,
    endpoints: &Endpoints<'_>,
) -> String {
    let Endpoints { origin, widget, id_segment } = endpoints;
    let agent = &agent.id;
    let chat = widget.map_or_else(String::new, |widget| {
        format!(
            "\nThe agent as visitors of a web page meet it: {widget}/demo/{agent}\nAsk it: Do you offer home visits?\n\
             Then ask it for a person, and reply in the console.\n"
        )
    });
    let key = &issued.key.api_key;
    let secret = issued.secret.expose();
    let contacts = format!("{origin}/v1/open/contacts");
    let files = format!("{origin}/v1/open/files/chatbots/{agent}/{contact}");
    let forms = format!("{origin}/v1/open/forms");
    format!(
        r#"
agent   {agent}
key     {key}
secret  {secret}

The secret is shown this once. To try it, paste into another terminal:

  KEY='X-API-Key: {key}'
  SECRET='X-API-Secret: {secret}'

  # list, search, filter
  curl -H "$KEY" -H "$SECRET" '{contacts}/chatbots/{agent}?limit=3'
  curl -H "$KEY" -H "$SECRET" '{contacts}/chatbots/{agent}?search=okafor&sortBy=lastName&sortOrder=asc'

  # one contact, by your own id; change it; archive it
  curl -H "$KEY" -H "$SECRET" '{contacts}/crm-1001/chatbots/{agent}'
  curl -X PUT -H "$KEY" -H "$SECRET" -H 'Content-Type: application/json' -d '{{"tags":["vip"]}}' '{contacts}/crm-1001/chatbots/{agent}'
  curl -X PATCH -H "$KEY" -H "$SECRET" '{contacts}/crm-1001/chatbots/{agent}/archive'

  # create one; the answer's id works as {contacts}/{id_segment}/<id>/chatbots/{agent}
  curl -H "$KEY" -H "$SECRET" -H 'Content-Type: application/json' -d '{{"primaryEmail":"new@example.com","firstName":"New"}}' '{contacts}/chatbots/{agent}'

  # a file of another contact: upload it, list, ask for a link to its content
  echo 'Hello' > note.txt
  FILE=$(curl -H "$KEY" -H "$SECRET" -F 'file=@note.txt' '{files}' | grep -o '"id":"[0-9a-f]*"' | head -n 1 | cut -d '"' -f 4)
  curl -H "$KEY" -H "$SECRET" '{files}'
  curl -H "$KEY" -H "$SECRET" "{files}/files/$FILE/signed-url"

  # forms: the templates, what one of them asks for, a submission, all submissions of the contact
  curl -H "$KEY" -H "$SECRET" '{forms}/templates/chatbots/{agent}'
  curl -H "$KEY" -H "$SECRET" '{forms}/templates/{template}/schema/chatbots/{agent}'
  curl -H "$KEY" -H "$SECRET" -H 'Content-Type: application/json' -d '{{"formData":{{"rating":5,"mayContact":true,"comment":"Quick reply"}}}}' '{forms}/submit/{template}/contacts/crm-1002'
  curl -H "$KEY" -H "$SECRET" '{forms}/contacts/crm-1002/chatbots/{agent}'

The reference, to read and to try: {origin}/docs
{chat}
"#
    )
}
