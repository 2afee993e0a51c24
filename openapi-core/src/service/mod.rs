//! The service behind the API: one method for each endpoint, typed in, typed out.

mod extraction;
mod files;
mod forms;

use std::sync::Arc;

use async_trait::async_trait;

pub use extraction::{ExtractDocument, Extracted, ExtractedDocument};
pub use files::{
    ContentSource, DeleteFile, DeletedFile, DownloadFile, FileContent, FileListQuery, FileTarget, ListFiles,
    SignUrl, SignUrlQuery, SignedUrl, UploadFile,
};

pub use forms::{
    BatchItem, BatchResult, LatestSubmission, ListSubmissions, ListTemplates, SubmissionListQuery,
    SubmitForm, SubmitForms, UpdateSubmission,
};

use crate::access::Caller;
use crate::contacts::{Contact, ContactFields, ContactRef, SharedContact};
use crate::files::ContactFile;
use crate::forms::{CompiledTemplate, Submission, TemplateSummary};
use crate::json::Object;
use crate::reply::{ApiError, Pagination, StoredReply};
use crate::schema::ContactSchema;
use crate::storage::{ContactSort, Order};
use crate::values::{Block, ContactId, ContactStatus, Email, ExternalId, TextValue, Timestamp};
use crate::violation::{Fault, Violations};

/// What the Open API does, apart from transport, access and form. [`crate::platform::Platform`] is the implementation
/// over the storage ports; a host platform may write its own over the CRM it has, or wrap the shipped one.
///
/// # Contract
/// - A method sees only the caller's agent.
/// - Requests whose form may be broken come as [`Unchecked`]: their content is reached only through a check, which
///   returns every violation at once. A resource of the path that is absent is answered before (contract 6.3).
/// - Errors carry the codes that the contract names for the endpoint: [`Meta::error_codes`](crate::operation::Meta)
///   of its row in [`crate::endpoints::ENDPOINTS`].
#[async_trait]
pub trait OpenApiService: Send + Sync {
    /// Whether the service can answer: `GET /health`.
    async fn health(&self) -> Result<(), ApiError>;

    /// The contact schema of the agent.
    async fn contact_schema(&self, caller: &Caller) -> Result<ContactSchema, ApiError>;

    /// Creates a contact.
    async fn create_contact(
        &self,
        caller: &Caller,
        request: CreateContact,
    ) -> Result<Created<Contact>, ApiError>;

    /// Lists contacts.
    async fn list_contacts(&self, caller: &Caller, request: ListContacts) -> Result<Page<Contact>, ApiError>;

    /// One contact.
    async fn contact(&self, caller: &Caller, target: &ContactTarget) -> Result<SharedContact, ApiError>;

    /// Changes a contact, or creates it where the request is an upsert.
    async fn update_contact(
        &self,
        caller: &Caller,
        request: UpdateContact,
    ) -> Result<Updated<Contact>, ApiError>;

    /// Archives a contact.
    async fn archive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError>;

    /// Takes a contact out of the archive.
    async fn unarchive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError>;

    /// Takes in a file of a contact, as a stream. All of the body is read before anything but a failure to read it is
    /// answered; nothing is kept of a failed upload.
    async fn upload_file(
        &self,
        caller: &Caller,
        request: UploadFile,
    ) -> Result<Created<ContactFile>, ApiError>;

    /// Lists the files of a contact.
    async fn list_files(&self, caller: &Caller, request: ListFiles) -> Result<Page<ContactFile>, ApiError>;

    /// One file of a contact.
    async fn file(&self, caller: &Caller, target: &FileTarget) -> Result<ContactFile, ApiError>;

    /// Gives out a URL under which anyone can download a file for a while.
    async fn sign_url(&self, caller: &Caller, request: SignUrl) -> Result<SignedUrl, ApiError>;

    /// Deletes a file.
    async fn delete_file(&self, caller: &Caller, request: DeleteFile) -> Result<DeletedFile, ApiError>;

    /// The content of a file, for whoever has a signed URL.
    async fn download_file(&self, request: DownloadFile) -> Result<FileContent, ApiError>;

    /// Submits a form for a contact, or stores a draft of one.
    async fn submit_form(
        &self,
        caller: &Caller,
        request: SubmitForm,
    ) -> Result<Created<Submission>, ApiError>;

    /// Submits several forms for a contact: all or none of them, or each on its own.
    async fn submit_forms(
        &self,
        caller: &Caller,
        request: SubmitForms,
    ) -> Result<Created<BatchResult>, ApiError>;

    /// Lists the submissions of a contact; their `status_history` is not shown.
    async fn list_submissions(
        &self,
        caller: &Caller,
        request: ListSubmissions,
    ) -> Result<Page<Submission>, ApiError>;

    /// One submission; `id` as sent.
    async fn submission(&self, caller: &Caller, id: &str) -> Result<Submission, ApiError>;

    /// Changes a submission: its data, its notes, its status.
    async fn update_submission(
        &self,
        caller: &Caller,
        request: UpdateSubmission,
    ) -> Result<Submission, ApiError>;

    /// The latest submission of a contact under a template.
    async fn latest_submission(
        &self,
        caller: &Caller,
        request: LatestSubmission,
    ) -> Result<Submission, ApiError>;

    /// Lists the active templates of the agent, by name.
    async fn list_templates(
        &self,
        caller: &Caller,
        request: ListTemplates,
    ) -> Result<Page<TemplateSummary>, ApiError>;

    /// One template in whatever state, with what is made of it; `id` as sent.
    async fn template(&self, caller: &Caller, id: &str) -> Result<Arc<CompiledTemplate>, ApiError>;

    /// Finds the values of fields in a document. Dropping the future ends the work and costs nothing.
    async fn extract_document(
        &self,
        caller: &Caller,
        request: ExtractDocument,
    ) -> Result<Extracted, ApiError>;
}

/// A value together with what was found wrong around it: it is reached only by asking for the faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Unchecked<T> {
    value: Option<T>,
    faults: Violations,
}

impl<T> Unchecked<T> {
    /// A value with the faults found so far; `None` when the request holds none that could be checked.
    pub fn new(value: Option<T>, faults: Violations) -> Self {
        Unchecked { value, faults }
    }

    /// The value, whatever is wrong around it, to learn what its check will need.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// The value, if nothing is wrong.
    ///
    /// # Errors
    /// The faults.
    pub fn check(self) -> Result<T, Violations> {
        match self.value {
            Some(value) if self.faults.is_empty() => Ok(value),
            _ => Err(self.faults),
        }
    }

    /// What `check` makes of the value, if neither it nor anything around it is wrong.
    ///
    /// # Errors
    /// The faults around the value and those of `check`, in the contract's order.
    pub fn check_with<U>(&self, check: impl FnOnce(&T) -> Result<U, Violations>) -> Result<U, Violations> {
        let Some(value) = &self.value else { return Err(self.faults.clone()) };
        match check(value) {
            Ok(checked) if self.faults.is_empty() => Ok(checked),
            Ok(_) => Err(self.faults.clone()),
            Err(violations) => Err(self.faults.clone().joined(violations)),
        }
    }
}

impl<T: Default> Default for Unchecked<T> {
    fn default() -> Self {
        T::default().into()
    }
}

impl<T> From<T> for Unchecked<T> {
    fn from(value: T) -> Self {
        Unchecked { value: Some(value), faults: Violations::new() }
    }
}

/// How a request names a contact; the text is as sent, percent-decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContactTarget {
    /// By platform id.
    Id(String),
    /// By external id.
    External(String),
}

impl ContactTarget {
    /// The reference, if the text has the form of one.
    ///
    /// # Errors
    /// The fault of the text: there can be no such contact.
    pub fn resolve(&self) -> Result<ContactRef, Fault> {
        match self {
            ContactTarget::Id(text) => {
                text.parse::<ContactId>().map(ContactRef::Id).map_err(|invalid| invalid.0)
            }
            ContactTarget::External(text) => ExternalId::parse(text).map(ContactRef::External),
        }
    }

    /// The text as sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            ContactTarget::Id(text) | ContactTarget::External(text) => text,
        }
    }
}

impl From<&ContactRef> for ContactTarget {
    fn from(contact: &ContactRef) -> Self {
        match contact {
            ContactRef::Id(id) => ContactTarget::Id(id.to_string()),
            ContactRef::External(id) => ContactTarget::External(id.to_string()),
        }
    }
}

/// `POST /contacts/chatbots/<A>`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateContact {
    /// The contact fields.
    pub fields: Unchecked<Object>,
    /// Whether everything runs and nothing is stored (contract 4.2).
    pub dry_run: bool,
    /// The idempotency of the request; a dry run has none.
    pub idempotency: Option<Idempotency>,
}

impl From<ContactFields> for CreateContact {
    fn from(fields: ContactFields) -> Self {
        CreateContact { fields: fields.to_object().into(), dry_run: false, idempotency: None }
    }
}

/// What makes a repeated request recognisable (contract 5.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The `Idempotency-Key` without surrounding quotes.
    pub key: String,
    /// Method and path.
    pub operation: String,
    /// SHA-256 of the parsed body, whatever the order of its members.
    pub fingerprint: [u8; 32],
}

/// The outcome of a create.
#[derive(Clone, Debug, PartialEq)]
pub enum Created<T> {
    /// It is stored.
    New(T),
    /// It would be stored: a dry run.
    Preview(T),
    /// It was stored by an earlier request with the same idempotency key.
    Replayed(StoredReply),
}

/// `GET /contacts/chatbots/<A>`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListContacts {
    /// What is asked for.
    pub query: Unchecked<ContactListQuery>,
}

/// The query of a contact list (contract 4.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactListQuery {
    /// Text that every term of must occur.
    pub search: Option<String>,
    /// Only this status.
    pub status: Option<ContactStatus>,
    /// Only contacts with this tag.
    pub tag: Option<String>,
    /// Whether archived contacts are shown as well.
    pub include_archived: bool,
    /// Only this address.
    pub primary_email: Option<Email>,
    /// Only contacts created at or after.
    pub created_since: Option<Timestamp>,
    /// Only contacts updated at or after.
    pub updated_since: Option<Timestamp>,
    /// What they are sorted by.
    pub sort: ContactSort,
    /// The direction.
    pub order: Order,
    /// Which part.
    pub page: PageRequest,
}

/// Which part of a list is asked for (contract 2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Items of a page, 1 to 100.
    pub limit: u32,
    /// Where it begins.
    pub start: PageStart,
}

/// Where a part of a list begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// At a page, from 1.
    Page(u64),
    /// Behind the page that issued this cursor.
    Cursor(String),
}

impl Default for PageRequest {
    fn default() -> Self {
        PageRequest { limit: 20, start: PageStart::Page(1) }
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where they stand in the whole.
    pub pagination: Pagination,
}

/// `PUT` of a contact.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateContact {
    /// Which contact.
    pub target: ContactTarget,
    /// The contact fields; what is absent stays.
    pub fields: Unchecked<Object>,
    /// The `If-Match` header.
    pub if_match: Option<TagMatch>,
    /// Whether an unknown external id creates the contact, and whether a known one is refused.
    pub upsert: Option<Upsert>,
}

/// The mode of an upsert (contract 2.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upsert {
    /// Create or update.
    CreateOrUpdate,
    /// Create only: `If-None-Match: *`.
    CreateOnly,
}

/// The outcome of an update.
#[derive(Clone, Debug, PartialEq)]
pub enum Updated<T> {
    /// It was there; `renamed` when its path has changed.
    Changed {
        /// The record as it is now.
        value: T,
        /// Whether the external id has changed.
        renamed: bool,
    },
    /// It was created.
    Created(T),
}

/// `PATCH …/archive` and `PATCH …/unarchive`
#[derive(Clone, Debug, PartialEq)]
pub struct ArchiveContact {
    /// Which contact.
    pub target: ContactTarget,
    /// Why; kept in the audit log only.
    pub reason: Unchecked<Option<Block<500>>>,
    /// The `If-Match` header.
    pub if_match: Option<TagMatch>,
}

/// The tags of an `If-Match` or `If-None-Match` header (contract 5.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagMatch {
    /// `*`
    Any,
    /// Tags, quotes included; weak ones begin with `W/`.
    Tags(Vec<String>),
}

impl TagMatch {
    /// Reads the header: tags, a list of them, or `*`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim() == "*" {
            return Some(TagMatch::Any);
        }
        let mut tags = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let weak = if rest.starts_with("W/") { 2 } else { 0 };
            let inner = rest[weak..].strip_prefix('"')?;
            let end = inner.find('"')?;
            if inner[..end].bytes().any(|byte| byte <= 0x20 || byte == 0x7f) {
                return None;
            }
            let length = weak + end + 2;
            tags.push(rest[..length].to_owned());
            rest = rest[length..].trim_start();
            match rest.strip_prefix(',') {
                Some(more) => rest = more.trim_start(),
                None if rest.is_empty() => {}
                None => return None,
            }
        }
        (!tags.is_empty()).then_some(TagMatch::Tags(tags))
    }

    /// Whether a strong tag is among them; weak ones never match (`If-Match`).
    #[must_use]
    pub fn matches_strongly(&self, etag: &str) -> bool {
        match self {
            TagMatch::Any => true,
            TagMatch::Tags(tags) => tags.iter().any(|tag| tag == etag),
        }
    }

    /// Whether a tag is among them, weak or strong (`If-None-Match`).
    #[must_use]
    pub fn matches_weakly(&self, etag: &str) -> bool {
        match self {
            TagMatch::Any => true,
            TagMatch::Tags(tags) => tags.iter().any(|tag| tag.strip_prefix("W/").unwrap_or(tag) == etag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_lists_and_stars() {
        assert_eq!(TagMatch::parse(" * "), Some(TagMatch::Any));
        assert_eq!(
            TagMatch::parse("\"a\", W/\"b\",\"\""),
            Some(TagMatch::Tags(vec!["\"a\"".into(), "W/\"b\"".into(), "\"\"".into()]))
        );
        for bad in ["", "a", "\"a", "\"a\" \"b\"", "w/\"a\"", "\"a b\"", "*, \"a\""] {
            assert_eq!(TagMatch::parse(bad), None, "{bad}");
        }
        let weak = TagMatch::parse("W/\"a\"").unwrap();
        assert!(!weak.matches_strongly("\"a\"") && weak.matches_weakly("\"a\""));
    }
}
