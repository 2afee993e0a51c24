//! The Open API over the tables of an existing CRM.

mod answers;
mod customers;
mod list;

use std::sync::Arc;

use async_trait::async_trait;
use openapi_core::access::Caller;
use openapi_core::api::{Api, Settings};
use openapi_core::contacts::{Contact, SharedContact};
use openapi_core::endpoints::contacts::stored_reply;
use openapi_core::files::ContactFile;
use openapi_core::forms::{CompiledTemplate, Submission, TemplateSummary};
use openapi_core::platform::Platform;
use openapi_core::ports::Clock;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::schema::{CompiledSchema, ContactSchema, Identity};
use openapi_core::service::{
    ArchiveContact, BatchResult, ContactTarget, CreateContact, Created, DeleteFile, DeletedFile,
    DownloadFile, ExtractDocument, Extracted, FileContent, FileTarget, LatestSubmission, ListContacts,
    ListFiles, ListSubmissions, ListTemplates, OpenApiService, Page, SignUrl, SignedUrl, SubmitForm,
    SubmitForms, TagMatch, UpdateContact, UpdateSubmission, Updated, UploadFile,
};
use openapi_core::validation::{ValidationCode, Violations};
use openapi_core::values::Timestamp;
use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use customers::failed;

/// The CRM's existing table, for tests, which have no CRM.
pub const CRM: &str = include_str!("crm.sql");

/// The CRM as a service.
pub struct OwnCrm {
    crm: Mutex<Connection>,
    clock: Arc<dyn Clock>,
    platform: Arc<Platform>,
}

/// Contacts come from the CRM; agents, keys and limits from the platform.
pub fn api(crm: Connection, clock: Arc<dyn Clock>, platform: &Arc<Platform>) -> rusqlite::Result<Api> {
    crm.execute_batch(include_str!("open_api.sql"))?;
    let service = OwnCrm { crm: Mutex::new(crm), clock, platform: Arc::clone(platform) };
    Ok(Api::new(Settings::new(platform.service_info().clone()), Arc::new(service), platform.authenticator()))
}

impl OwnCrm {
    /// One atomic step in the CRM.
    fn transact<T>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let mut crm = self.crm.lock();
        let step = crm.transaction_with_behavior(behavior).map_err(failed)?;
        let done = work(&step)?;
        step.commit().map_err(failed)?;
        Ok(done)
    }

    /// Reads, while the CRM's own programs continue.
    fn look<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, ApiError>) -> Result<T, ApiError> {
        self.transact(TransactionBehavior::Deferred, work)
    }

    /// Reads and writes; the data that was read stays locked until the write.
    fn step<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, ApiError>) -> Result<T, ApiError> {
        self.transact(TransactionBehavior::Immediate, work)
    }

    fn schema(&self, caller: &Caller) -> Result<CompiledSchema, ApiError> {
        let schema = ContactSchema::builtin(caller.agent_id.clone(), Timestamp::from_millis(0));
        CompiledSchema::new(schema, self.platform.service_info()).map_err(|_| ApiError::internal())
    }

    /// Changes one contact. Checks in this order: absence, validation errors, `If-Match`, archive, duplicate id.
    fn change(
        &self,
        caller: &Caller,
        target: &ContactTarget,
        if_match: Option<&TagMatch>,
        in_archive: bool,
        change: impl FnOnce(&Contact) -> Result<Contact, Violations>,
    ) -> Result<(Contact, Contact), ApiError> {
        self.step(|crm| {
            let before = found(crm, caller, target)?;
            let changed = change(&before)?;
            if if_match.is_some_and(|tags| !tags.matches_strongly(&before.etag())) {
                return Err(ApiError::new(ErrorCode::PreconditionFailed, "The contact has changed"));
            }
            if before.is_archived() && !in_archive {
                return Err(ApiError::new(ErrorCode::ContactArchived, "The contact is archived"));
            }
            refuse_used_id(crm, &changed)?;
            if changed == before {
                return Ok((before, changed));
            }
            let version = before.version + 1;
            let changed = Contact { version, updated_at: self.clock.now(), ..changed };
            customers::save(crm, &changed).map_err(failed)?;
            Ok((before, changed))
        })
    }
}

fn found(crm: &Connection, caller: &Caller, target: &ContactTarget) -> Result<Contact, ApiError> {
    customers::find(crm, &caller.agent_id, target).map_err(failed)?.ok_or_else(|| {
        ApiError::new(ErrorCode::ContactNotFound, "Contact not found")
            .with_detail("resource", "contact")
            .with_detail("id", target.as_str())
    })
}

fn refuse_used_id(crm: &Connection, contact: &Contact) -> Result<(), ApiError> {
    let Some(id) = &contact.external_reference_id else { return Ok(()) };
    let Some((other, archived)) = customers::holder(crm, contact).map_err(failed)? else { return Ok(()) };
    let message = format!("externalReferenceId '{id}' is already used by another contact");
    Err(ApiError::new(ErrorCode::DuplicateExternalReferenceId, message)
        .with_violation("externalReferenceId", id.as_str().into(), ValidationCode::Unique, "is already used")
        .with_detail("existingContactId", other.to_string().as_str())
        .with_detail("archived", archived))
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
        let query = "SELECT 1 FROM customers JOIN customer_records ON customer = id";
        self.look(|crm| {
            crm.prepare_cached(query).and_then(|mut query| query.exists([])).map(|_| ()).map_err(failed)
        })
    }

    async fn contact_schema(&self, caller: &Caller) -> Result<ContactSchema, ApiError> {
        Ok(self.schema(caller)?.schema().clone())
    }

    async fn create_contact(
        &self,
        caller: &Caller,
        request: CreateContact,
    ) -> Result<Created<Contact>, ApiError> {
        let (now, schema) = (self.clock.now(), self.schema(caller)?);
        self.step(|crm| {
            let idempotency = request.idempotency.as_ref();
            if let Some(answer) = answers::find(crm, caller, idempotency, now)? {
                return Ok(Created::Replayed(answer));
            }
            let id = customers::contact_id(customers::next_number(crm).map_err(failed)?, now);
            let identity = Identity { id, agent_id: caller.agent_id.clone(), now };
            let contact = request.fields.check_with(|fields| schema.create(fields, identity))?;
            refuse_used_id(crm, &contact)?;
            if request.dry_run {
                return Ok(Created::Preview(contact));
            }
            customers::save(crm, &contact).map_err(failed)?;
            if let Some(idempotency) = idempotency {
                let answer = stored_reply(self.platform.service_info(), &contact)?;
                answers::keep(crm, caller, idempotency, &answer, now).map_err(failed)?;
            }
            Ok(Created::New(contact))
        })
    }

    async fn list_contacts(&self, caller: &Caller, request: ListContacts) -> Result<Page<Contact>, ApiError> {
        let query = request.query.check()?;
        let (page, schema) = (list::page_number(&query)?, self.schema(caller)?);
        let all = self.look(|crm| customers::all(crm, &caller.agent_id).map_err(failed))?;
        Ok(list::page(all, page, &query, schema.schema()))
    }

    async fn contact(&self, caller: &Caller, target: &ContactTarget) -> Result<SharedContact, ApiError> {
        self.look(|crm| found(crm, caller, target)).map(SharedContact::from)
    }

    async fn update_contact(
        &self,
        caller: &Caller,
        request: UpdateContact,
    ) -> Result<Updated<Contact>, ApiError> {
        if request.upsert.is_some() && self.contact(caller, &request.target).await.is_err() {
            return Err(ApiError::new(
                ErrorCode::ContactNotFound,
                "This service creates contacts by POST only",
            ));
        }
        let (now, schema) = (self.clock.now(), self.schema(caller)?);
        let (before, value) =
            self.change(caller, &request.target, request.if_match.as_ref(), false, |current| {
                request.fields.check_with(|fields| schema.update(current, fields, now))
            })?;
        let renamed = before.external_reference_id != value.external_reference_id;
        Ok(Updated::Changed { value, renamed })
    }

    async fn archive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError> {
        let archived = self.change(caller, &request.target, request.if_match.as_ref(), true, |current| {
            request.reason.clone().check()?;
            let archived_at = current.archived_at.or_else(|| Some(self.clock.now()));
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
