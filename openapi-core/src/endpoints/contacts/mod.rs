//! Contacts (contract 4.2).

mod archive;
mod create;
mod get;
mod list;
mod schema;
mod update;

pub use archive::{Archive, Unarchive};
pub use create::{Create, CreatedContact};
pub use get::Get;
pub use list::List;
pub use schema::{Schema, SchemaDocument};
pub use update::Update;

pub use create::stored_reply;

use crate::contacts::Contact;
use crate::service_info::ServiceInfo;

/// How a path names a contact.
pub trait Addressing: Send + Sync + 'static {
    /// Whether by platform id.
    const BY_ID: bool;
}

/// `/contacts/<externalReferenceId>/…`
pub struct ByExternalId;

/// `/contacts/platformid/<contactId>/…`
pub struct ByPlatformId;

impl Addressing for ByExternalId {
    const BY_ID: bool = false;
}

impl Addressing for ByPlatformId {
    const BY_ID: bool = true;
}

/// One of two texts by addressing: metadata is made at compile time.
const fn pick(by_id: bool, external: &'static str, id: &'static str) -> &'static str {
    if by_id { id } else { external }
}

/// The path of a contact: `Location`. By its external id where it has one.
pub(crate) fn path(service_info: &ServiceInfo, contact: &Contact) -> String {
    let agent = &contact.agent_id;
    let base = crate::reply::BASE_PATH;
    match &contact.external_reference_id {
        Some(id) => format!("{base}/contacts/{}/chatbots/{agent}", percent_encode(id.as_str())),
        None => format!("{base}/contacts/{}/{}/chatbots/{agent}", service_info.id_segment(), contact.id),
    }
}

/// Everything but RFC 3986 unreserved characters percent-encoded (contract 5.2).
pub(crate) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_percent_encoded() {
        assert_eq!(percent_encode("crm/1001 ä~"), "crm%2F1001%20%C3%A4~");
    }
}
