//! Contact files (contract 4.3).

mod delete;
mod download;
mod get;
mod list;
mod shapes;
mod sign_url;
mod upload;

pub use delete::Delete;
pub use download::Download;
pub use get::Get;
pub use list::List;
pub use sign_url::SignUrl;
pub use upload::{Upload, UploadedFile};

pub(crate) use shapes::components;

use crate::files::ContactFile;
use crate::operation::DecodedRequest;
use crate::reply::BASE_PATH;
use crate::service::{ContactTarget, FileTarget};

/// The contact of the path.
fn contact(incoming: &DecodedRequest<'_>) -> ContactTarget {
    ContactTarget::Id(incoming.path_value("contactId").to_owned())
}

/// The file of the path.
fn target(incoming: &DecodedRequest<'_>) -> FileTarget {
    FileTarget { contact: contact(incoming), file: incoming.path_value("fileId").to_owned() }
}

/// The path of a file: `Location`.
fn path(file: &ContactFile) -> String {
    format!("{BASE_PATH}/files/chatbots/{}/{}/files/{}", file.agent_id, file.contact_id, file.id)
}
