//! The operations, and the table of all.

mod access;
mod agents;
mod audit;
mod ceremony;
mod contacts;
mod corrections;
mod credits;
mod deliveries;
mod extractions;
mod identities;
mod imports;
mod inbox;
mod insights;
mod invitations;
mod keys;
mod knowledge;
mod links;
mod me;
mod me_password;
mod members;
mod notes;
mod oidc;
mod providers;
mod schema;
mod server;
mod session;
mod settings;
mod sign_in;
mod sources;
mod stream;
mod studio;
mod tokens;
mod types;
mod webhooks;

use crate::operation::Entry;

/// Every operation.
pub static OPERATIONS: &[Entry] = &[
    Entry::of::<session::Show>(),
    Entry::of::<sign_in::Options>(),
    Entry::of::<sign_in::Passkey>(),
    Entry::of::<sign_in::Password>(),
    Entry::of::<sign_in::Code>(),
    Entry::of::<sign_in::Recover>(),
    Entry::of::<oidc::Start>(),
    Entry::landing::<oidc::Callback>(),
    Entry::of::<links::Inspect>(),
    Entry::of::<links::Accept>(),
    Entry::of::<session::StepUpOptions>(),
    Entry::of::<session::StepUp>(),
    Entry::of::<oidc::StepUp>(),
    Entry::of::<session::End>(),
    Entry::of::<me::Update>(),
    Entry::of::<me::Sessions>(),
    Entry::of::<me::EndSession>(),
    Entry::of::<me::EndOtherSessions>(),
    Entry::of::<me::Passkeys>(),
    Entry::of::<me::PasskeyOptions>(),
    Entry::of::<me::AddPasskey>(),
    Entry::of::<me::RemovePasskey>(),
    Entry::of::<me_password::Show>(),
    Entry::of::<me_password::SetPassword>(),
    Entry::of::<me_password::BeginTotp>(),
    Entry::of::<me_password::ConfirmTotp>(),
    Entry::of::<me_password::RemoveTotp>(),
    Entry::of::<me_password::MakeRecoveryCodes>(),
    Entry::of::<identities::List>(),
    Entry::of::<identities::Link>(),
    Entry::of::<identities::Unlink>(),
    Entry::of::<members::List>(),
    Entry::of::<invitations::List>(),
    Entry::of::<invitations::Invite>(),
    Entry::of::<invitations::Revoke>(),
    Entry::of::<members::Show>(),
    Entry::of::<members::Grant>(),
    Entry::of::<members::Disable>(),
    Entry::of::<members::Enable>(),
    Entry::of::<members::Remove>(),
    Entry::of::<members::Recover>(),
    Entry::of::<members::EndSessions>(),
    Entry::of::<tokens::List>(),
    Entry::of::<tokens::Create>(),
    Entry::of::<tokens::Revoke>(),
    Entry::of::<providers::List>(),
    Entry::of::<providers::Save>(),
    Entry::of::<providers::Test>(),
    Entry::of::<providers::Try>(),
    Entry::of::<providers::Remove>(),
    Entry::of::<agents::List>(),
    Entry::of::<agents::Create>(),
    Entry::of::<agents::Show>(),
    Entry::of::<agents::Rename>(),
    Entry::of::<agents::Disable>(),
    Entry::of::<agents::Enable>(),
    Entry::of::<inbox::List>(),
    Entry::of::<inbox::Counts>(),
    Entry::of::<inbox::Show>(),
    Entry::of::<inbox::Thread>(),
    Entry::of::<inbox::Take>(),
    Entry::of::<inbox::SendReply>(),
    Entry::of::<inbox::Release>(),
    Entry::of::<inbox::Close>(),
    contacts::LIST,
    contacts::SHOW,
    contacts::CREATE,
    contacts::UPDATE,
    contacts::ARCHIVE,
    contacts::UNARCHIVE,
    Entry::of::<contacts::Reveal>(),
    Entry::of::<notes::List>(),
    Entry::of::<notes::Add>(),
    Entry::of::<notes::Edit>(),
    Entry::of::<notes::Remove>(),
    Entry::of::<contacts::Erase>(),
    Entry::of::<imports::Preview>(),
    Entry::of::<imports::Run>(),
    Entry::of::<schema::Show>(),
    Entry::of::<schema::History>(),
    Entry::of::<schema::Check>(),
    Entry::of::<schema::Replace>(),
    Entry::of::<knowledge::List>(),
    Entry::of::<knowledge::Add>(),
    Entry::of::<knowledge::AddFile>(),
    Entry::of::<knowledge::Teach>(),
    Entry::of::<knowledge::Remove>(),
    Entry::of::<sources::List>(),
    Entry::of::<sources::Add>(),
    Entry::of::<sources::Show>(),
    Entry::of::<sources::Sync>(),
    Entry::of::<sources::Remove>(),
    Entry::of::<settings::Show>(),
    Entry::of::<settings::Save>(),
    Entry::of::<settings::Install>(),
    Entry::of::<settings::ShowIdentity>(),
    Entry::of::<settings::RotateSecret>(),
    Entry::of::<studio::Ask>(),
    Entry::of::<insights::Questions>(),
    Entry::of::<extractions::List>(),
    Entry::of::<extractions::Show>(),
    Entry::of::<extractions::Cancel>(),
    Entry::of::<extractions::Retry>(),
    Entry::of::<corrections::Set>(),
    Entry::of::<corrections::List>(),
    Entry::of::<corrections::Show>(),
    Entry::of::<corrections::Remove>(),
    Entry::of::<keys::List>(),
    Entry::of::<keys::Create>(),
    Entry::of::<keys::Show>(),
    Entry::of::<keys::Edit>(),
    Entry::of::<keys::Rotate>(),
    Entry::of::<keys::Disable>(),
    Entry::of::<keys::Enable>(),
    Entry::of::<keys::Revoke>(),
    Entry::of::<keys::Try>(),
    Entry::of::<webhooks::List>(),
    Entry::of::<webhooks::Create>(),
    Entry::of::<webhooks::Catalogue>(),
    Entry::of::<webhooks::Show>(),
    Entry::of::<webhooks::Edit>(),
    Entry::of::<webhooks::Enable>(),
    Entry::of::<webhooks::Disable>(),
    Entry::of::<webhooks::Remove>(),
    Entry::of::<webhooks::ShowSecret>(),
    Entry::of::<webhooks::Rotate>(),
    Entry::of::<webhooks::Test>(),
    Entry::of::<webhooks::Replay>(),
    Entry::of::<deliveries::List>(),
    Entry::of::<deliveries::Show>(),
    Entry::of::<deliveries::Resend>(),
    Entry::of::<credits::Show>(),
    Entry::of::<credits::Change>(),
    Entry::of::<credits::Ledger>(),
    Entry::live::<stream::Open>(),
    Entry::of::<audit::List>(),
    Entry::of::<audit::ListAll>(),
    Entry::of::<server::Health>(),
];

/// The schemas with names that stand inside the outputs of operations.
pub(crate) fn named_schemas() -> std::collections::BTreeMap<String, serde_json::Value> {
    use openapi_core::json::JsonSchema;
    fn of<T: JsonSchema>() -> (String, serde_json::Value) {
        (T::NAME.unwrap_or_default().to_owned(), T::schema())
    }
    [
        of::<types::Person>(),
        of::<types::ActorView>(),
        of::<links::RoleView>(),
        of::<ceremony::TotpSeed>(),
        of::<session::Session>(),
        of::<sign_in::Entered>(),
        of::<members::MemberView>(),
        of::<invitations::InvitationView>(),
        of::<tokens::TokenView>(),
        of::<session::Capabilities>(),
        of::<me::SessionView>(),
        of::<me::PasskeyView>(),
        of::<identities::IdentityView>(),
        of::<providers::ClaimView>(),
        of::<providers::TrialView>(),
        of::<providers::ProviderView>(),
        of::<session::Offered>(),
        of::<crate::oidc::steps::Step>(),
        of::<agents::AgentView>(),
        of::<inbox::Visitor>(),
        of::<inbox::Participant>(),
        of::<inbox::Preview>(),
        of::<inbox::ConversationView>(),
        of::<inbox::Attachment>(),
        of::<inbox::Cited>(),
        of::<inbox::MessageView>(),
        of::<contacts::MaskedContact>(),
        of::<notes::NoteView>(),
        of::<imports::ColumnView>(),
        of::<imports::ReasonView>(),
        of::<crate::imports::dry::ImportChange>(),
        of::<crate::imports::dry::ImportLine>(),
        of::<crate::imports::run::RefusedLine>(),
        of::<schema::FieldChange>(),
        of::<schema::SchemaVersion>(),
        of::<schema::Refused>(),
        of::<knowledge::DocumentView>(),
        of::<sources::WebsiteView>(),
        of::<sources::CountsView>(),
        of::<sources::PageView>(),
        of::<studio::PassageView>(),
        of::<studio::ReplyView>(),
        of::<insights::NearestView>(),
        of::<insights::GroupView>(),
        of::<openapi_core::extraction::ExtractionJob>(),
        of::<openapi_core::extraction::ExtractionMetadata>(),
        of::<corrections::CorrectionView>(),
        of::<keys::KeyView>(),
        of::<keys::Tried>(),
        of::<events::webhooks::Endpoint>(),
        of::<events::webhooks::SecretView>(),
        of::<events::webhooks::AttemptView>(),
        of::<openapi_core::events::Event>(),
        of::<webhooks::TypeView>(),
        of::<deliveries::Delivery>(),
        of::<credits::EntryView>(),
        of::<types::EntryPosition>(),
        of::<audit::EntryView>(),
    ]
    .into()
}
