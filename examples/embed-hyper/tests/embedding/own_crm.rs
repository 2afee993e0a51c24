//! A CRM of one's own behind the Open API: contacts in a list, standing for a system that is there already.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use openapi_core::access::Caller;
use openapi_core::api::{Api, Settings};
use openapi_core::contacts::{Contact, ContactKeys, ContactRef, SearchTerm};
use openapi_core::files::ContactFile;
use openapi_core::forms::{CompiledTemplate, Submission, TemplateSummary};
use openapi_core::platform::Platform;
use openapi_core::ports::{Clock, IdSource, SystemClock, SystemIds};
use openapi_core::reply::{ApiError, ErrorCode, Pagination};
use openapi_core::schema::{CompiledSchema, ContactSchema, Identity};
use openapi_core::service::{
    ArchiveContact, BatchResult, ContactListQuery, ContactTarget, CreateContact, Created, DeleteFile,
    DeletedFile, DownloadFile, ExtractDocument, Extracted, FileContent, FileTarget, LatestSubmission,
    ListContacts, ListFiles, ListSubmissions, ListTemplates, OpenApiService, Page, PageStart, SignUrl,
    SignedUrl, SubmitForm, SubmitForms, TagMatch, UpdateContact, UpdateSubmission, Updated, UploadFile,
};
use openapi_core::storage::{ContactFilter, SortPosition};
use openapi_core::values::{ContactId, Timestamp};
use openapi_core::violation::{Fault, Place, Rule, Violation, Violations};

pub struct OwnCrm {
    contacts: Mutex<Vec<Contact>>,
    platform: Arc<Platform>,
    ids: SystemIds,
}

/// Contacts come from the CRM; agents, keys and limits from the platform.
pub fn api(platform: &Arc<Platform>) -> Api {
    let crm =
        OwnCrm { contacts: Mutex::default(), platform: Arc::clone(platform), ids: SystemIds::default() };
    Api::new(Settings::new(platform.brand().clone()), Arc::new(crm), platform.gate())
}

impl OwnCrm {
    fn contacts(&self) -> MutexGuard<'_, Vec<Contact>> {
        self.contacts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn schema(&self, caller: &Caller) -> Result<CompiledSchema, ApiError> {
        let schema = ContactSchema::builtin(caller.agent_id.clone(), Timestamp::from_millis(0));
        CompiledSchema::new(schema, self.platform.brand()).map_err(|_| ApiError::internal())
    }

    /// Changes one contact: absence, the change's own faults, `If-Match`, the archive, a used id, in this order.
    fn change(
        &self,
        caller: &Caller,
        target: &ContactTarget,
        if_match: Option<&TagMatch>,
        in_archive: bool,
        change: impl FnOnce(&Contact) -> Result<Contact, Violations>,
    ) -> Result<(Contact, Contact), ApiError> {
        let mut contacts = self.contacts();
        let at = position(&contacts, caller, target)?;
        let before = contacts[at].clone();
        let changed = change(&before)?;
        if if_match.is_some_and(|tags| !tags.matches_strongly(&before.etag())) {
            return Err(ApiError::new(ErrorCode::PreconditionFailed, "The contact has changed"));
        }
        if before.is_archived() && !in_archive {
            return Err(ApiError::new(ErrorCode::ContactArchived, "The contact is archived"));
        }
        refuse_used_id(&contacts, &changed)?;
        if changed != before {
            contacts[at] = Contact { version: before.version + 1, updated_at: SystemClock.now(), ..changed };
        }
        Ok((before, contacts[at].clone()))
    }
}

fn position(contacts: &[Contact], caller: &Caller, target: &ContactTarget) -> Result<usize, ApiError> {
    let is_meant = |contact: &Contact| match target.resolve() {
        Ok(ContactRef::Id(id)) => contact.id == id,
        Ok(ContactRef::External(id)) => contact.external_reference_id.as_ref() == Some(&id),
        Err(_) => false,
    };
    let at = contacts.iter().position(|contact| contact.agent_id == caller.agent_id && is_meant(contact));
    at.ok_or_else(|| {
        ApiError::new(ErrorCode::ContactNotFound, "Contact not found")
            .with_detail("resource", "contact")
            .with_detail("id", target.as_str())
    })
}

fn refuse_used_id(contacts: &[Contact], contact: &Contact) -> Result<(), ApiError> {
    let Some(id) = &contact.external_reference_id else { return Ok(()) };
    let is_same = |other: &&Contact| {
        other.agent_id == contact.agent_id
            && other.id != contact.id
            && other.external_reference_id.as_ref() == Some(id)
    };
    let Some(other) = contacts.iter().find(is_same) else { return Ok(()) };
    let message = format!("externalReferenceId '{id}' is already used by another contact");
    Err(ApiError::new(ErrorCode::DuplicateExternalReferenceId, message)
        .with_violation("externalReferenceId", id.as_str().into(), Rule::Unique, "is already used")
        .with_detail("existingContactId", other.id.to_string().as_str())
        .with_detail("archived", other.is_archived()))
}

fn filter(query: &ContactListQuery) -> ContactFilter {
    ContactFilter {
        search: query.search.as_deref().map(SearchTerm::split).unwrap_or_default(),
        status: query.status,
        tag: query.tag.clone(),
        include_archived: query.include_archived,
        primary_email: query.primary_email.as_ref().map(|email| email.normalized()),
        created_since: query.created_since,
        updated_since: query.updated_since,
    }
}

/// A CRM without files.
fn no_files() -> ApiError {
    ApiError::new(ErrorCode::StorageUnavailable, "This service keeps no files")
}

fn no_forms() -> ApiError {
    ApiError::new(ErrorCode::ServiceUnavailable, "This service has no forms")
}

#[async_trait]
impl OpenApiService for OwnCrm {
    async fn health(&self) -> Result<(), ApiError> {
        Ok(())
    }

    async fn contact_schema(&self, caller: &Caller) -> Result<ContactSchema, ApiError> {
        Ok(self.schema(caller)?.schema().clone())
    }

    async fn create_contact(
        &self,
        caller: &Caller,
        request: CreateContact,
    ) -> Result<Created<Contact>, ApiError> {
        let now = SystemClock.now();
        let id: ContactId = self.ids.platform_id(now).into();
        let identity = Identity { id, agent_id: caller.agent_id.clone(), now };
        let schema = self.schema(caller)?;
        let contact = request.fields.check_with(|fields| schema.create(fields, identity))?;
        let mut contacts = self.contacts();
        refuse_used_id(&contacts, &contact)?;
        if request.dry_run {
            return Ok(Created::Preview(contact));
        }
        contacts.push(contact.clone());
        Ok(Created::New(contact))
    }

    async fn list_contacts(&self, caller: &Caller, request: ListContacts) -> Result<Page<Contact>, ApiError> {
        let query = request.query.check()?;
        let page = match &query.page.start {
            PageStart::Page(page) => *page,
            PageStart::Cursor(cursor) => {
                let fault = Fault::new(Rule::Format, "was not issued by this service, which has no cursors");
                let mut violations = Violations::new();
                violations.push(Violation::new(Place::Query, "cursor", Some(&cursor.as_str().into()), fault));
                return Err(violations.into());
            }
        };
        let (filter, schema) = (filter(&query), self.schema(caller)?);
        let contacts = self.contacts();
        let mut found: Vec<(SortPosition, &Contact)> = contacts
            .iter()
            .filter(|contact| contact.agent_id == caller.agent_id)
            .map(|contact| (ContactKeys::of(contact, schema.schema()), contact))
            .filter(|(keys, contact)| filter.admits(contact, keys))
            .map(|(keys, contact)| {
                (SortPosition { key: query.sort.key(contact, &keys), id: contact.id }, contact)
            })
            .collect();
        found.sort_by(|(a, _), (b, _)| a.compare(b, query.order));
        let limit = u64::from(query.page.limit);
        let total_items = found.len() as u64;
        let total_pages = total_items.div_ceil(limit);
        let first = usize::try_from((page - 1) * limit).unwrap_or(usize::MAX);
        Ok(Page {
            items: found
                .into_iter()
                .skip(first)
                .take(query.page.limit as usize)
                .map(|(_, c)| c.clone())
                .collect(),
            pagination: Pagination {
                current_page: page,
                total_pages,
                total_items,
                items_per_page: query.page.limit,
                has_next_page: page < total_pages,
                has_previous_page: page > 1 && total_pages > 0,
                next_cursor: None,
            },
        })
    }

    async fn contact(&self, caller: &Caller, target: &ContactTarget) -> Result<Contact, ApiError> {
        let contacts = self.contacts();
        Ok(contacts[position(&contacts, caller, target)?].clone())
    }

    async fn update_contact(
        &self,
        caller: &Caller,
        request: UpdateContact,
    ) -> Result<Updated<Contact>, ApiError> {
        if request.upsert.is_some() && position(&self.contacts(), caller, &request.target).is_err() {
            return Err(ApiError::new(
                ErrorCode::ContactNotFound,
                "This service creates contacts by POST only",
            ));
        }
        let schema = self.schema(caller)?;
        let (before, value) =
            self.change(caller, &request.target, request.if_match.as_ref(), false, |current| {
                request.fields.check_with(|fields| schema.update(current, fields, SystemClock.now()))
            })?;
        let renamed = before.external_reference_id != value.external_reference_id;
        Ok(Updated::Changed { value, renamed })
    }

    async fn archive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError> {
        let archived = self.change(caller, &request.target, request.if_match.as_ref(), true, |current| {
            request.reason.clone().check()?;
            let archived_at = current.archived_at.or_else(|| Some(SystemClock.now()));
            Ok(Contact { archived_at, ..current.clone() })
        });
        Ok(archived?.1)
    }

    async fn unarchive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError> {
        let open = self.change(caller, &request.target, request.if_match.as_ref(), true, |current| {
            request.reason.clone().check()?;
            Ok(Contact { archived_at: None, ..current.clone() })
        });
        Ok(open?.1)
    }

    async fn upload_file(&self, _: &Caller, _: UploadFile) -> Result<Created<ContactFile>, ApiError> {
        Err(no_files())
    }

    async fn list_files(&self, _: &Caller, _: ListFiles) -> Result<Page<ContactFile>, ApiError> {
        Err(no_files())
    }

    async fn file(&self, _: &Caller, _: &FileTarget) -> Result<ContactFile, ApiError> {
        Err(no_files())
    }

    async fn sign_url(&self, _: &Caller, _: SignUrl) -> Result<SignedUrl, ApiError> {
        Err(no_files())
    }

    async fn delete_file(&self, _: &Caller, _: DeleteFile) -> Result<DeletedFile, ApiError> {
        Err(no_files())
    }

    async fn download_file(&self, _: DownloadFile) -> Result<FileContent, ApiError> {
        Err(no_files())
    }

    async fn submit_form(&self, _: &Caller, _: SubmitForm) -> Result<Created<Submission>, ApiError> {
        Err(no_forms())
    }

    async fn submit_forms(&self, _: &Caller, _: SubmitForms) -> Result<Created<BatchResult>, ApiError> {
        Err(no_forms())
    }

    async fn list_submissions(&self, _: &Caller, _: ListSubmissions) -> Result<Page<Submission>, ApiError> {
        Err(no_forms())
    }

    async fn submission(&self, _: &Caller, _: &str) -> Result<Submission, ApiError> {
        Err(no_forms())
    }

    async fn update_submission(&self, _: &Caller, _: UpdateSubmission) -> Result<Submission, ApiError> {
        Err(no_forms())
    }

    async fn latest_submission(&self, _: &Caller, _: LatestSubmission) -> Result<Submission, ApiError> {
        Err(no_forms())
    }

    async fn list_templates(&self, _: &Caller, _: ListTemplates) -> Result<Page<TemplateSummary>, ApiError> {
        Err(no_forms())
    }

    async fn template(&self, _: &Caller, _: &str) -> Result<Arc<CompiledTemplate>, ApiError> {
        Err(no_forms())
    }

    async fn extract_document(
        &self,
        caller: &Caller,
        request: ExtractDocument,
    ) -> Result<Extracted, ApiError> {
        self.platform.extract_document(caller, request).await
    }
}
