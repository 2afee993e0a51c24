//! Leads: a submitted form becomes a contact of the agent, and part of its conversation.

mod contacts;
mod form;

use std::sync::Arc;

use openapi_core::api::Outcome;
use openapi_core::audit::AuditAction;
use openapi_core::endpoints::contacts::stored_reply;
use openapi_core::json::{Json, Object, RawObject};
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::schema::Identity;
use openapi_core::service::{Idempotency, ReplyEncoder};
use openapi_core::storage::Effects;
use openapi_core::storage::retry::retry_on_conflict;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::admission::{AddressLimit, Admission, VisitorLimit, count};
use super::agent_view::AgentView;
use super::call::{Call, SentToken, WidgetRequest};
use super::locator::Beginning;
use super::repository::Repository;
use crate::events::Seen;
use crate::storage::ConversationWrite;
use crate::widget::config::LeadForm;
use crate::widget::request::{Members, is_of_tab};
use crate::{Conversation, Lead};
use contacts::{caller_of, members_of};
use form::renamed;
pub(crate) use form::{FilledForm, SentLead};

/// The least time in which a person fills in a form, in milliseconds.
const FASTEST_FORM: u64 = 1_500;

/// Takes lead forms.
pub(crate) struct Leads {
    pub(crate) admission: Arc<Admission>,
    pub(crate) repository: Arc<Repository>,
}

/// The request of a lead form without its token.
struct Submission {
    lead: SentLead,
    page: Option<crate::ChatPage>,
    /// The milliseconds that the visitor took to fill it in.
    elapsed: u64,
    is_honeypot: bool,
    is_session: bool,
}

impl Leads {
    /// `POST /lead`.
    pub(crate) async fn submit(&self, call: Call<'_, Option<SentToken>>) -> Result<Outcome, ApiError> {
        let mut members = Members::new(&call.body);
        let submission = Submission {
            lead: SentLead::of_body(&mut members),
            page: members.page(),
            elapsed: members.number("elapsedMs").unwrap_or(0),
            is_honeypot: members.is_honeypot(),
            is_session: is_of_tab(&call.body),
        };
        // Only its errors are of use here.
        members.challenge();
        let (call, submission, faults) = (&call, &submission, &members.faults);
        let stored = retry_on_conflict(concurrent_update, |_| async move {
            let conversation = self.admission.admit(&self.repository, call, VisitorLimit::Leads).await?;
            if !faults.is_empty() {
                return Err(faults.clone().into());
            }
            self.store(call, submission, conversation).await
        });
        let conversation = stored.await?;
        let session =
            self.repository.session(call.request, &conversation, call.token.as_ref(), submission.is_session);
        Outcome::success(Reply::ok("Thank you", json!({ "session": session })))
    }

    /// Stores a form with its conversation; [`None`] if another writer changed the conversation meanwhile. The response
    /// to a form that no person has filled in looks like any other, but nothing is stored.
    async fn store(
        &self,
        call: &Call<'_, Option<SentToken>>,
        submission: &Submission,
        stored: Option<Conversation>,
    ) -> Result<Option<Conversation>, ApiError> {
        let Call { request, view, .. } = call;
        let lead = &submission.lead;
        let is_first = stored.as_ref().is_none_or(|stored| stored.lead.is_none());
        let is_new = stored.is_none();
        let mut conversation =
            stored.unwrap_or_else(|| self.repository.create(view, None, Default::default(), request));
        if submission.is_honeypot || is_first && submission.elapsed < FASTEST_FORM {
            return Ok(Some(conversation));
        }
        if is_new {
            self.admission.admit_address(request, AddressLimit::Sessions)?;
            conversation.page.clone_from(&submission.page);
            let form = serde_json::to_string(&lead.fields).unwrap_or_default();
            if let Some(begins) = Beginning::of_form(&self.repository, request, view, &form).await? {
                conversation.id = begins.id;
                conversation.visitor_id = begins.visitor.unwrap_or(conversation.visitor_id);
            }
        }
        let seen = Seen::of(&conversation);
        let key = format!("lead of {}", conversation.id);
        let filled = self.fill_in(request, view, &mut conversation, lead, &key).await?;
        self.link(request, view, &mut conversation, Some(&filled)).await?;
        let next = ConversationWrite::next(conversation, request.now);
        self.repository
            .save(seen, ConversationWrite { effects: Effects::audited(filled.audit), ..next })
            .await
    }

    /// Adds a form to a conversation, and creates a contact from its first form. By `key`, a repeated call finds the
    /// contact of the first.
    pub(crate) async fn fill_in(
        &self,
        request: &WidgetRequest,
        view: &AgentView,
        conversation: &mut Conversation,
        lead: &SentLead,
        key: &str,
    ) -> Result<FilledForm, ApiError> {
        let now = request.now;
        let schema = self.repository.platform.schema(&view.agent.id, false).await?;
        lead.check(LeadForm::of(&view.settings.lead, schema.schema()).as_ref())?;
        let fields = members_of(conversation, Some(lead), &schema, now);
        // A form that creates no contact is validated too.
        let identity = Identity { id: self.repository.next_id(now), agent_id: view.agent.id.clone(), now };
        if let Err(violations) = schema.create(&fields, identity) {
            return Err(renamed(&violations.into(), lead.prefix));
        }
        let caller = caller_of(request, conversation);
        let mut hint = None;
        if conversation.contact_id.is_none() && conversation.level_at(now) < 2 {
            let idempotency = Idempotency {
                key: key.to_owned(),
                operation: "widget lead".to_owned(),
                // Not of the fields, because a repeated call has another time in them.
                fingerprint: Sha256::digest(key).into(),
                encoder: ReplyEncoder(stored_reply),
            };
            match self.create_contact(&caller, fields.clone(), Some(idempotency)).await {
                Ok(contact) => conversation.contact_id = contact,
                Err(error) => match error.code() {
                    ErrorCode::ValidationError => return Err(renamed(&error, lead.prefix)),
                    // The caller must not learn that a contact with this address exists.
                    ErrorCode::DuplicateValue | ErrorCode::DuplicateExternalReferenceId => {
                        hint = Some("a contact with the same value exists; none was made".to_owned());
                    }
                    ErrorCode::IdempotencyKeyInUse => return Err(concurrent_update()),
                    _ => return Err(error),
                },
            }
        }
        if let Some(Json::String(email)) = lead.fields.get("primaryEmail") {
            conversation.claims.email.get_or_insert_with(|| email.trim().to_owned());
        }
        conversation.level = conversation.level.max(1);
        conversation.lead =
            Some(Lead { fields: RawObject::new(&lead.fields), consent: lead.consent.clone(), at: now, hint });
        count(&mut conversation.counted.leads, now);
        let mut details = Object::new();
        details.insert("fields", Json::Array(lead.fields.iter().map(|(name, _)| name.into()).collect()));
        let resource = conversation.id.to_string();
        let contact = conversation.contact_id;
        let audit = self.repository.platform.caller_audit(
            &caller,
            AuditAction::LeadCreate,
            resource,
            contact,
            &details,
            now,
        );
        Ok(FilledForm { fields, audit })
    }
}
