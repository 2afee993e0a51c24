//! Lead forms and verified visitors: how a conversation is linked with the contacts of the agent.

use std::sync::Arc;

use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::contacts::{Contact, ContactRef, SharedContact};
use openapi_core::endpoints::contacts::stored_reply;
use openapi_core::json::{Json, Object, RawObject};
use openapi_core::limits::fits;
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::schema::{CompiledSchema, Identity};
use openapi_core::service::{
    ContactTarget, CreateContact, Created, Idempotency, OpenApiService, ReplyEncoder, UpdateContact,
};
use openapi_core::storage::{
    ContactFilter, ContactQuery, ContactSort, Effects, Order, StorageErrorKind, Window,
};
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use openapi_core::values::{ContactId, ContactStatus, Email, TextValue, Timestamp};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::agent_view::AgentView;
use super::call::{WidgetRequest, WidgetResponse};
use super::errors::too_many;
use super::state::Inner;
use crate::conversations::ATTEMPTS;
use crate::storage::ConversationWrite;
use crate::widget::config::LeadForm;
use crate::widget::request::{Members, is_of_tab, turns_text};
use crate::widget::token::VisitorToken;
use crate::{Consent, Conversation, Lead};

const DAY_MILLIS: i64 = 86_400_000;
/// Nobody fills in a form faster, in milliseconds.
const FASTEST_FORM: u64 = 1_500;

/// A lead form as it was sent.
#[derive(Clone, Debug)]
pub(super) struct SentLead {
    fields: Object,
    consent: Option<Consent>,
    /// What the names of its fields begin with in errors.
    prefix: &'static str,
}

impl SentLead {
    /// The form before the first message.
    pub(super) fn of_turn(members: &mut Members<'_>) -> Option<Self> {
        let lead = members.object("lead")?;
        let mut inner = Members::new(lead);
        let fields = fields(&mut inner);
        let consent = inner.consent("consent");
        for fault in inner.faults.listed() {
            let at = format!("lead.{}", fault.field);
            members.faults.push(ValidationError { field: at, ..fault.clone() });
        }
        Some(SentLead { fields, consent, prefix: "lead.fields." })
    }

    fn of_body(members: &mut Members<'_>) -> Self {
        let fields = fields(members);
        let consent = members.consent("consent");
        SentLead { fields, consent, prefix: "fields." }
    }
}

/// The fields of a form, without what would hide or turn parts of them.
fn fields(members: &mut Members<'_>) -> Object {
    let Some(sent) = members.object("fields") else { return Object::new() };
    let shown = |value: &Json| match value {
        Json::String(text) => {
            Json::from(text.chars().filter(|letter| !turns_text(*letter)).collect::<String>().as_str())
        }
        other => other.clone(),
    };
    sent.iter().map(|(name, value)| (name.to_owned(), shown(value))).collect()
}

/// A form that was taken in.
pub(super) struct Filled {
    /// Names and values for the contact.
    fields: Object,
    pub(super) audit: AuditEntry,
}

impl Inner {
    /// Whether a visitor may fill in one more form.
    fn admit_lead_of_visitor(
        &self,
        visit: &WidgetRequest,
        stored: Option<&Conversation>,
    ) -> Result<(), ApiError> {
        let leads = stored.iter().flat_map(|stored| &stored.counted.leads).map(|at| at.millis());
        fits(leads, &self.settings.limits.leads, visit.now.millis()).map_err(|full| too_many("visitor", full))
    }

    /// Whether a form may come with a turn, which is not counted; how full the limit of its address would be.
    pub(super) fn admit_lead(
        &self,
        visit: &WidgetRequest,
        stored: Option<&Conversation>,
    ) -> Result<f64, ApiError> {
        self.admit_lead_of_visitor(visit, stored)?;
        self.peek_address(visit, "lead", &self.settings.limits.address_leads)
    }

    /// The lead form of an agent.
    pub(super) async fn lead_form(&self, view: &AgentView) -> Result<Option<LeadForm>, ApiError> {
        if view.settings.lead.fields.is_empty() {
            return Ok(None);
        }
        let schema = self.platform.schema(&view.agent.id, false).await?;
        Ok(LeadForm::of(&view.settings.lead, schema.schema()))
    }

    /// Who writes what comes of a conversation.
    fn visitor(&self, visit: &WidgetRequest, conversation: &Conversation) -> Caller {
        Caller {
            agent_id: conversation.agent_id.clone(),
            actor: Actor::Visitor(conversation.visitor_id.to_string()),
            permissions: Permissions::all(),
            // Conversations keep networks only, and so does what they leave in the audit log.
            address: None,
            request_id: visit.request_id.clone(),
        }
    }

    /// Takes a form in: the lead goes onto the conversation, and of the first one a contact is made. `key` makes a
    /// repeated call find the contact of the first.
    pub(super) async fn fill_in(
        &self,
        visit: &WidgetRequest,
        view: &AgentView,
        conversation: &mut Conversation,
        lead: &SentLead,
        key: &str,
    ) -> Result<Filled, ApiError> {
        let now = visit.now;
        let schema = self.platform.schema(&view.agent.id, false).await?;
        let form = LeadForm::of(&view.settings.lead, schema.schema());
        check(form.as_ref(), lead)?;
        let fields = self.contact_of(conversation, Some(lead), &schema, now);
        // Also of a form that makes no contact.
        let identity = Identity {
            id: self.platform.ports().ids.platform_id(now).into(),
            agent_id: view.agent.id.clone(),
            now,
        };
        if let Err(violations) = schema.create(&fields, identity) {
            return Err(renamed(&violations.into(), lead.prefix));
        }
        let caller = self.visitor(visit, conversation);
        let mut hint = None;
        let is_verified = conversation.level_at(now) == 2;
        if conversation.contact_id.is_none() && !is_verified {
            let idempotency = Idempotency {
                key: key.to_owned(),
                operation: "widget lead".to_owned(),
                // Another try of the same call is the same, whatever the clock says.
                fingerprint: Sha256::digest(key).into(),
                encoder: ReplyEncoder(stored_reply),
            };
            let request = CreateContact {
                fields: fields.clone().into(),
                dry_run: false,
                idempotency: Some(idempotency),
            };
            match self.platform.create_contact(&caller, request).await {
                Ok(Created::New(contact) | Created::Preview(contact)) => {
                    conversation.contact_id = Some(contact.id);
                }
                Ok(Created::Replayed(stored)) => conversation.contact_id = replayed(&stored.body),
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
        let submitted: Object =
            lead.fields.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        if let Some(Json::String(email)) = lead.fields.get("primaryEmail") {
            conversation.claims.email.get_or_insert_with(|| email.trim().to_owned());
        }
        conversation.level = conversation.level.max(1);
        conversation.lead =
            Some(Lead { fields: RawObject::new(&submitted), consent: lead.consent.clone(), at: now, hint });
        conversation.counted.leads.retain(|at| now.millis_since(*at) < DAY_MILLIS);
        conversation.counted.leads.push(now);
        let mut details = Object::new();
        let names = submitted.iter().map(|(name, _)| name.into()).collect();
        details.insert("fields", Json::Array(names));
        let resource = conversation.id.to_string();
        let contact = conversation.contact_id;
        let audit =
            self.platform.caller_audit(&caller, AuditAction::LeadCreate, resource, contact, &details, now);
        Ok(Filled { fields, audit })
    }

    /// The members of a contact that is made of a lead, or of what a verified visitor is known by alone.
    fn contact_of(
        &self,
        conversation: &Conversation,
        lead: Option<&SentLead>,
        schema: &CompiledSchema,
        now: Timestamp,
    ) -> Object {
        let mut members = Object::new();
        let mut custom = Object::new();
        for (name, value) in lead.iter().flat_map(|lead| lead.fields.iter()) {
            match name.strip_prefix("customFields.") {
                Some(name) => custom.insert(name, value.clone()),
                None => members.insert(name, value.clone()),
            };
        }
        let schema = schema.schema();
        let declared = schema.custom_fields.iter().find(|field| field.name == "widget");
        let is_allowed = declared.map_or(schema.allow_undeclared_custom_fields, |field| {
            field.kind == openapi_core::schema::FieldType::Object
        });
        if is_allowed {
            let mut about = Object::new();
            about.insert("conversationId", conversation.id.to_string().as_str().into());
            if let Some(page) = &conversation.page {
                about.extend_with("page", page.url.as_deref());
                let utm: Object =
                    page.utm.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
                if !utm.is_empty() {
                    about.insert("utm", Json::Object(utm));
                }
            }
            if let Some(consent) = lead.and_then(|lead| lead.consent.as_ref()) {
                about.insert("consentVersion", consent.version.as_str().into());
                about.insert("consentAt", consent.at.to_string().as_str().into());
            }
            custom.insert("widget", Json::Object(about));
        }
        if !custom.is_empty() {
            members.insert("customFields", Json::Object(custom));
        }
        members.insert("source", "widget".into());
        members.insert("lastContactedAt", now.to_string().as_str().into());
        members
    }

    /// Links the conversation of a verified visitor with their contact, which learns what is new.
    ///
    /// # Errors
    /// 403 VISITOR_BLOCKED.
    pub(super) async fn link(
        &self,
        visit: &WidgetRequest,
        view: &AgentView,
        conversation: &mut Conversation,
        filled: Option<&Filled>,
    ) -> Result<(), ApiError> {
        let now = visit.now;
        let Some(user) = conversation.verified_as.clone().filter(|_| conversation.level_at(now) == 2) else {
            return Ok(());
        };
        let email = user.email.as_deref().and_then(|email| Email::parse(email).ok());
        let external = user.external_reference_id.as_deref();
        let (found, is_unclear) = self.contact_of_user(view, external, email.as_ref()).await?;
        let known = match (found, conversation.contact_id) {
            (Some(contact), _) => Some(contact),
            (None, Some(id)) => self.storage.contact(&view.agent.id, &ContactRef::Id(id)).await?,
            (None, None) => None,
        };
        if known.as_ref().is_some_and(|contact| contact.status == ContactStatus::Blocked) {
            return Err(blocked());
        }
        let caller = self.visitor(visit, conversation);
        // A name that came with somebody else's claims is not theirs.
        let claims = &conversation.claims;
        let is_theirs = claims.external_reference_id == user.external_reference_id
            && (user.email.is_none() || claims.email == user.email);
        let name = claims.name.clone().filter(|_| is_theirs);
        let outcome = match known {
            Some(contact) if contact.is_archived() => return Ok(()),
            Some(contact) => {
                conversation.contact_id = Some(contact.id);
                let changes = changes(&contact, filled, email.as_ref(), name.as_deref());
                if changes.is_empty() {
                    return Ok(());
                }
                let request = UpdateContact {
                    target: ContactTarget::Id(contact.id.to_string()),
                    fields: changes.into(),
                    if_match: None,
                    upsert: None,
                };
                self.platform.update_contact(&caller, request).await.map(|_| ())
            }
            None => {
                let mut members = match filled {
                    Some(filled) => filled.fields.clone(),
                    None => {
                        let schema = self.platform.schema(&view.agent.id, false).await?;
                        self.contact_of(conversation, None, &schema, now)
                    }
                };
                // The signed address takes precedence over the one in the form.
                members.extend_with("primaryEmail", email.as_ref().map(Email::as_str));
                if is_unclear || members.get("primaryEmail").is_none() {
                    return Ok(());
                }
                if members.get("firstName").is_none() {
                    members.extend_with("firstName", name.as_deref());
                }
                members.extend_with("externalReferenceId", external);
                self.create_contact_of(&caller, conversation, members).await
            }
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(error) if error.code().status() >= 500 => Err(error),
            Err(error) => {
                // The conversation is more than the contact: what does not fit stays on it, for the operator.
                if let Some(lead) = &mut conversation.lead {
                    lead.hint = Some(error.message().to_owned());
                }
                Ok(())
            }
        }
    }

    /// Creates the contact of a verified visitor and links the conversation with it.
    async fn create_contact_of(
        &self,
        caller: &Caller,
        conversation: &mut Conversation,
        members: Object,
    ) -> Result<(), ApiError> {
        let request = CreateContact { fields: members.into(), dry_run: false, idempotency: None };
        match self.platform.create_contact(caller, request).await? {
            Created::New(contact) | Created::Preview(contact) => conversation.contact_id = Some(contact.id),
            Created::Replayed(_) => {}
        }
        Ok(())
    }

    /// Refuses a verified visitor whose contact is blocked.
    pub(super) async fn refuse_blocked(
        &self,
        conversation: &Conversation,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let Some(id) = conversation.contact_id.filter(|_| conversation.level_at(now) == 2) else {
            return Ok(());
        };
        let contact = self.storage.contact(&conversation.agent_id, &ContactRef::Id(id)).await?;
        match contact {
            Some(contact) if contact.status == ContactStatus::Blocked => Err(blocked()),
            _ => Ok(()),
        }
    }

    /// The contact with an external id, else the only one with an email address; and whether there are several.
    async fn contact_of_user(
        &self,
        view: &AgentView,
        external: Option<&str>,
        email: Option<&Email>,
    ) -> Result<(Option<SharedContact>, bool), ApiError> {
        let storage = &self.storage;
        if let Some(external) = external.and_then(|external| external.parse().ok()) {
            let found = storage.contact(&view.agent.id, &ContactRef::External(external)).await?;
            if found.is_some() {
                return Ok((found, false));
            }
        }
        let Some(email) = email else { return Ok((None, false)) };
        let filter = ContactFilter {
            primary_email: Some(email.normalized()),
            include_archived: true,
            ..ContactFilter::default()
        };
        let window = Window::Page { offset: 0, limit: 2 };
        let query = ContactQuery { filter, sort: ContactSort::CreatedAt, order: Order::Ascending, window };
        let page = storage.contacts(&view.agent.id, &query).await?;
        let only = page.contacts.into_iter().next().filter(|_| page.total == 1);
        Ok((only.map(SharedContact::from), page.total > 1))
    }

    /// `POST /lead`.
    pub(super) async fn lead(
        self: &Arc<Self>,
        visit: &WidgetRequest,
        view: &AgentView,
        token: Option<VisitorToken>,
        body: &Object,
        address_share: f64,
    ) -> Result<WidgetResponse, ApiError> {
        #[derive(Serialize)]
        struct Data {
            session: super::store::Session,
        }
        let mut members = Members::new(body);
        let lead = SentLead::of_body(&mut members);
        let page = members.page();
        let elapsed = members.number("elapsedMs").unwrap_or(0);
        let is_honeypot = members.is_honeypot();
        let solution = members.challenge();
        let text = body.get("token").and_then(Json::as_str).unwrap_or_default();
        let came = token.as_ref().map(|token| (token, text));
        for _ in 0..ATTEMPTS {
            let stored = match &token {
                Some(token) => Some(self.conversation_of(token).await?),
                None => None,
            };
            self.admit_lead_of_visitor(visit, stored.as_ref())?;
            let mut share = address_share;
            if stored.is_none() {
                share =
                    share.max(self.peek_address(visit, "session", &self.settings.limits.address_sessions)?);
            }
            self.challenge(visit, solution.as_ref(), share)?;
            if !members.faults.is_empty() {
                return Err(members.faults.into());
            }
            let is_first = stored.as_ref().is_none_or(|stored| stored.lead.is_none());
            let is_new = stored.is_none();
            let mut conversation =
                stored.unwrap_or_else(|| self.new_conversation(view, None, Default::default(), visit));
            if is_honeypot || is_first && elapsed < FASTEST_FORM {
                let session = self.session(visit, &conversation, came, is_of_tab(body));
                return WidgetResponse::json("Thank you", &Data { session });
            }
            if is_new {
                self.admit_address(visit, "session", &self.settings.limits.address_sessions)?;
                conversation.page.clone_from(&page);
                let form = serde_json::to_string(&lead.fields).unwrap_or_default();
                if let Some(begins) = self.conversation_of_form(view, visit, &form).await? {
                    conversation.id = begins.id;
                    conversation.visitor_id = begins.visitor.unwrap_or(conversation.visitor_id);
                }
            }
            let key = format!("lead of {}", conversation.id);
            let filled = self.fill_in(visit, view, &mut conversation, &lead, &key).await?;
            self.link(visit, view, &mut conversation, Some(&filled)).await?;
            conversation.version += 1;
            conversation.updated_at = visit.now;
            let write = ConversationWrite {
                conversation,
                messages: Vec::new(),
                keep: Vec::new(),
                effects: Effects::audited(filled.audit),
                deferrable: false,
            };
            match self.storage.save_conversation(&view.agent.id, &write).await {
                Ok(()) => {
                    let session = self.session(visit, &write.conversation, came, is_of_tab(body));
                    return WidgetResponse::json("Thank you", &Data { session });
                }
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                Err(error) if error.kind == StorageErrorKind::Missing => {
                    return Err(super::errors::agent_not_available());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(concurrent_update())
    }
}

/// What a form itself refuses: names it does not ask for, a consent that is missing or of another text.
fn check(form: Option<&LeadForm>, lead: &SentLead) -> Result<(), ApiError> {
    let mut faults = Violations::new();
    let asked = |name: &str| form.is_some_and(|form| form.fields.iter().any(|field| field.name == name));
    for (name, value) in lead.fields.iter().filter(|(name, _)| !asked(name)) {
        let fault = ValidationIssue::new(ValidationCode::Unknown, "is not asked for");
        faults.body(format!("{}{name}", lead.prefix), Some(value), fault);
    }
    if let Some(asked) = form.and_then(|form| form.consent.as_ref()) {
        match &lead.consent {
            None if asked.required => faults.body("consent", None, ValidationIssue::required()),
            Some(given) if given.version != asked.version => {
                let words = format!("was given to another text than {}", asked.version);
                faults.body(
                    "consent",
                    Some(&given.version.as_str().into()),
                    ValidationIssue::new(ValidationCode::Conflict, words),
                );
            }
            _ => {}
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

/// The violations of a contact's fields under the names that the form has for them.
fn renamed(error: &ApiError, prefix: &str) -> ApiError {
    let mut violations = Violations::new();
    for violation in error.violations() {
        let field = format!("{prefix}{}", violation.field);
        let message = match violation.message.strip_prefix(&violation.field) {
            Some(words) => format!("{field}{words}"),
            None => violation.message.clone(),
        };
        violations.push(ValidationError { field, message, location: Location::Body, ..violation.clone() });
    }
    violations.into()
}

fn blocked() -> ApiError {
    ApiError::new(ErrorCode::VisitorBlocked, "This chat is not available")
}

/// The contact that an earlier call of the same name has made.
fn replayed(body: &str) -> Option<ContactId> {
    let body: serde_json::Value = serde_json::from_str(body).ok()?;
    body.get("data")?.get("id")?.as_str()?.parse().ok()
}

/// What a verified visitor's contact learns: the verified address, the fields of the form, a first name where it has
/// none.
fn changes(contact: &Contact, filled: Option<&Filled>, email: Option<&Email>, name: Option<&str>) -> Object {
    let mut changes = Object::new();
    if let Some(filled) = filled {
        for (field, value) in filled.fields.iter().filter(|(field, _)| *field != "source") {
            changes.insert(field, value.clone());
        }
    }
    // The page's server vouches for an address more than a form does.
    changes.extend_with("primaryEmail", email.map(Email::as_str));
    let known = contact.primary_email.normalized();
    let sent = changes.get("primaryEmail").and_then(Json::as_str).and_then(|sent| Email::parse(sent).ok());
    if sent.is_some_and(|sent| sent.normalized() == known) {
        changes.remove("primaryEmail");
    }
    if contact.first_name.is_none() && changes.get("firstName").is_none() {
        changes.extend_with("firstName", name);
    }
    changes
}

/// An optional text as a member.
trait ExtendWith {
    fn extend_with(&mut self, name: &str, text: Option<&str>);
}

impl ExtendWith for Object {
    fn extend_with(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.insert(name, text.into());
        }
    }
}
