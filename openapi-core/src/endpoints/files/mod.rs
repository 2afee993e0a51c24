//! Contact files (contract 4.3).

mod delete;
mod download;
mod get;
mod list;
mod sign_url;
mod upload;

pub use delete::Delete;
pub use download::Download;
pub use get::Get;
pub use list::List;
pub use sign_url::SignUrl;
pub use upload::Upload;

use crate::files::ContactFile;
use crate::reply::BASE_PATH;

/// The path of a file: `Location`.
fn path(file: &ContactFile) -> String {
    format!("{BASE_PATH}/files/chatbots/{}/{}/files/{}", file.agent_id, file.contact_id, file.id)
}
