//! Contacts of visitors: created from lead forms, and linked with verified visitors.

use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::contacts::{Contact, ContactRef, SharedContact};
use openapi_core::json::{Json, Object};
use openapi_core::reply::ApiError;
use openapi_core::schema::{CompiledSchema, FieldType};
use openapi_core::service::{
    ContactTarget, CreateContact, Created, Idempotency, OpenApiService, UpdateContact,
};
use openapi_core::storage::{ContactFilter, ContactQuery, ContactSort, Order, Window};
use openapi_core::values::{ContactId, ContactStatus, Email, TextValue, Timestamp};

use super::Leads;
use super::form::{FilledForm, SentLead};
use crate::Conversation;
use crate::service::agent_view::AgentView;
use crate::service::call::WidgetRequest;
use crate::service::errors::visitor_blocked;

/// The visitor of a conversation, as the author of changes to contacts.
pub(super) fn caller_of(request: &WidgetRequest, conversation: &Conversation) -> Caller {
    Caller {
        agent_id: conversation.agent_id.clone(),
        actor: Actor::Visitor(conversation.visitor_id.to_string()),
        permissions: Permissions::all(),
        // Conversations store networks only, and so does the audit log of their changes.
        address: None,
        request_id: request.summary.request_id.clone(),
    }
}

/// The members of a contact that is created from a lead form, or without one from a verified visitor.
pub(super) fn members_of(
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
    let is_allowed =
        declared.map_or(schema.allow_undeclared_custom_fields, |field| field.kind == FieldType::Object);
    if is_allowed {
        let mut about = Object::new();
        about.insert("conversationId", conversation.id.to_string().as_str().into());
        if let Some(page) = &conversation.page {
            insert(&mut about, "page", page.url.as_deref());
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

impl Leads {
    /// Links the conversation of a verified visitor with their contact, which learns what is new.
    ///
    /// # Errors
    /// 403 VISITOR_BLOCKED.
    pub(crate) async fn link(
        &self,
        request: &WidgetRequest,
        view: &AgentView,
        conversation: &mut Conversation,
        filled: Option<&FilledForm>,
    ) -> Result<(), ApiError> {
        let now = request.now;
        let Some(user) = conversation.verified_as.clone().filter(|_| conversation.level_at(now) == 2) else {
            return Ok(());
        };
        let email = user.email.as_deref().and_then(|email| Email::parse(email).ok());
        let external = user.external_reference_id.as_deref();
        let (found, is_unclear) = self.contact_of_user(view, external, email.as_ref()).await?;
        let known = match (found, conversation.contact_id) {
            (Some(contact), _) => Some(contact),
            (None, Some(id)) => self.repository.storage.contact(&view.agent.id, &ContactRef::Id(id)).await?,
            (None, None) => None,
        };
        if known.as_ref().is_some_and(|contact| contact.status == ContactStatus::Blocked) {
            return Err(visitor_blocked());
        }
        let caller = caller_of(request, conversation);
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
                self.repository.platform.update_contact(&caller, request).await.map(|_| ())
            }
            None => {
                let mut members = match filled {
                    Some(filled) => filled.fields.clone(),
                    None => {
                        let schema = self.repository.platform.schema(&view.agent.id, false).await?;
                        members_of(conversation, None, &schema, now)
                    }
                };
                // The signed address takes precedence over the one in the form.
                insert(&mut members, "primaryEmail", email.as_ref().map(Email::as_str));
                if is_unclear || members.get("primaryEmail").is_none() {
                    return Ok(());
                }
                if members.get("firstName").is_none() {
                    insert(&mut members, "firstName", name.as_deref());
                }
                insert(&mut members, "externalReferenceId", external);
                self.create_contact(&caller, members, None).await.map(|contact| {
                    conversation.contact_id = contact;
                })
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

    /// Creates a contact, or finds the one that an earlier call with the same idempotency key has created.
    pub(super) async fn create_contact(
        &self,
        caller: &Caller,
        fields: Object,
        idempotency: Option<Idempotency<Contact>>,
    ) -> Result<Option<ContactId>, ApiError> {
        let request = CreateContact { fields: fields.into(), dry_run: false, idempotency };
        Ok(match self.repository.platform.create_contact(caller, request).await? {
            Created::New(contact) | Created::Preview(contact) => Some(contact.id),
            Created::Replayed(stored) => {
                let body: Option<serde_json::Value> = serde_json::from_str(&stored.body).ok();
                body.and_then(|body| body.get("data")?.get("id")?.as_str()?.parse().ok())
            }
        })
    }

    /// The contact with an external id, else the only one with an email address; and whether there are several.
    async fn contact_of_user(
        &self,
        view: &AgentView,
        external: Option<&str>,
        email: Option<&Email>,
    ) -> Result<(Option<SharedContact>, bool), ApiError> {
        let storage = &self.repository.storage;
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
}

/// What a verified visitor's contact learns: the verified address, the fields of the form, a first name where it has
/// none.
fn changes(
    contact: &Contact,
    filled: Option<&FilledForm>,
    email: Option<&Email>,
    name: Option<&str>,
) -> Object {
    let mut changes = Object::new();
    if let Some(filled) = filled {
        for (field, value) in filled.fields.iter().filter(|(field, _)| *field != "source") {
            changes.insert(field, value.clone());
        }
    }
    // The page's server vouches for an address more than a form does.
    insert(&mut changes, "primaryEmail", email.map(Email::as_str));
    let known = contact.primary_email.normalized();
    let sent = changes.get("primaryEmail").and_then(Json::as_str).and_then(|sent| Email::parse(sent).ok());
    if sent.is_some_and(|sent| sent.normalized() == known) {
        changes.remove("primaryEmail");
    }
    if contact.first_name.is_none() && changes.get("firstName").is_none() {
        insert(&mut changes, "firstName", name);
    }
    changes
}

/// Adds an optional text as a member.
fn insert(members: &mut Object, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        members.insert(name, text.into());
    }
}
