//! `contacts export`: all contacts of an agent, page by page.

use ::console::imports::Columns;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::Contact;
use openapi_core::platform::Platform;
use openapi_core::storage::{SortKey, SortPosition};
use openapi_core::values::AgentId;

use super::format::CsvStyle;
use crate::cli::context::CommandContext;
use crate::cli::export;
use crate::error::CliError;

/// Prints all contacts.
pub async fn run(
    context: &CommandContext,
    platform: &Platform,
    agent: &AgentId,
    style: Option<CsvStyle>,
) -> Result<(), CliError> {
    let columns = Columns::of(&platform.contact_schema(agent).await?);
    context.note(platform, AuditAction::ContactExport, Some(agent), agent.as_str(), []).await?;
    let page = async |last: Option<&Contact>| {
        let after = last.map(|last| SortPosition { key: SortKey::Time(last.created_at), id: last.id });
        Ok(platform.export_contacts(agent, after, export::PAGE).await?)
    };
    export::run(context, style, page, &columns.names(), |contact| columns.cells(contact)).await
}
