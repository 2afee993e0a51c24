//! Forms (contract 4.4).

mod batch;
mod get;
mod latest;
mod list;
mod schema;
mod shapes;
mod structure;
mod submit;
mod templates;
mod update;

pub use batch::{Batch, BatchAnswer};
pub use get::Get;
pub use latest::Latest;
pub use list::List;
pub use schema::{Schema, SchemaDocument};
pub use structure::{Structure, StructureDocument};
pub use submit::{Submit, SubmittedForm};
pub use templates::Templates;
pub use update::Update;

pub(crate) use shapes::components;
#[cfg(test)]
pub(crate) use shapes::intake_definition;

use crate::forms::Submission;
use crate::operation::DecodedRequest;
use crate::reply::BASE_PATH;
use crate::service::ContactTarget;

/// The contact of the path.
fn contact(incoming: &DecodedRequest<'_>) -> ContactTarget {
    ContactTarget::External(incoming.path_value("externalReferenceId").to_owned())
}

/// The path of a submission: `Location`.
fn path(submission: &Submission) -> String {
    format!("{BASE_PATH}/forms/submissions/{}/chatbots/{}", submission.id, submission.agent_id)
}
