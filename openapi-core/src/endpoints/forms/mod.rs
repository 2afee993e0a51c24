//! Forms (contract 4.4).

mod batch;
mod get;
mod latest;
mod list;
mod schema;
mod structure;
mod submit;
mod templates;
mod update;

pub use batch::Batch;
pub use get::Get;
pub use latest::Latest;
pub use list::List;
pub use schema::{Schema, SchemaDocument};
pub use structure::{Structure, StructureDocument};
pub use submit::Submit;
pub use templates::Templates;
pub use update::Update;

use crate::forms::{FormTemplate, Submission, TemplateDefinition, TemplateStatus};
use crate::json::{Json, parse};
use crate::reply::BASE_PATH;

/// The path of a submission: `Location`.
fn path(submission: &Submission) -> String {
    format!("{BASE_PATH}/forms/submissions/{}/chatbots/{}", submission.id, submission.agent_id)
}

/// The definition of the template of the examples, as an operator writes it.
pub(crate) const EXAMPLE_TEMPLATE: &str = include_str!("intake.json");

/// The template of the examples.
fn example_template() -> Option<FormTemplate> {
    let Ok(Json::Object(definition)) = parse(EXAMPLE_TEMPLATE.as_bytes()) else { return None };
    let (id, agent) = ("69623f40cde3f537d8e4bddb".parse().ok()?, "695b6f80de7378c4412112d3".parse().ok()?);
    let created_at = "2026-01-10T12:00:00.000Z".parse().ok()?;
    let template = TemplateDefinition::read(&definition).ok()?.create(id, agent, created_at);
    Some(FormTemplate { version: 2, status: TemplateStatus::Active, ..template })
}
