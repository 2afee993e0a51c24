//! GET /files/chatbots/{agentId}/{contactId}

use serde_json::Value;

use super::{contact, shapes};
use crate::access::{Action, Caller, Permission, Scope};
use crate::files::ContactFile;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    Parameter, page_request, sort_order,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{FileListQuery, ListFiles, Unvalidated};
use crate::storage::FileSort;
use crate::validation::ValidationIssue;

/// Lists the files of a contact.
pub struct List;

impl Operation for List {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listFiles",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/files/chatbots/{agentId}/{contactId}",
        tag: "Files",
        summary: "List files",
        description: "Files of a contact, newest first; totals are exact.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        body: BodyKind::None,
        query: &[
            Parameter::PAGE,
            Parameter::LIMIT,
            Parameter::CURSOR,
            Parameter::FILE_SORT,
            Parameter::SORT_ORDER,
        ],
        success: &[200],
        errors: &[ErrorCode::ContactNotFound],
        idempotent: false,
        conditional: Conditional::No,
    };
    type Caller = Caller;
    type Input = ListFiles;
    type Output = Vec<ContactFile>;

    fn decode(incoming: &DecodedRequest<'_>) -> ListFiles {
        let query = incoming.query();
        let parsed = FileListQuery {
            sort: query.read("sortBy", sort).unwrap_or_default(),
            order: query.read("sortOrder", sort_order).unwrap_or_default(),
            page: page_request(&query, 20),
        };
        ListFiles { contact: contact(incoming), query: Unvalidated::new(Some(parsed), query.into_faults()) }
    }

    async fn run(cx: Context<'_, Caller>, input: ListFiles) -> Result<Reply<Vec<ContactFile>>, ApiError> {
        let page = cx.service.list_files(cx.caller, input).await?;
        let reply = Reply::ok("Files retrieved successfully", page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }

    fn response_schema() -> Value {
        shapes::list_envelope(shapes::reference("File"))
    }

    fn response_example() -> Value {
        shapes::list_example()
    }
}

fn sort(text: &str) -> Result<FileSort, ValidationIssue> {
    let known = FileSort::ALL.into_iter().find(|sort| sort.as_str() == text);
    known.ok_or_else(|| ValidationIssue::not_one_of(&FileSort::ALL.map(FileSort::as_str)))
}
