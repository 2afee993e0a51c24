//! Capabilities, and the roles that have them. Code checks capabilities and never names of roles.

use std::fmt;

macro_rules! capabilities {
    ($($(#[$doc:meta])* $name:ident = $text:literal: $owner:tt $admin:tt $developer:tt $editor:tt $inbox:tt $reviewer:tt $viewer:tt;)*) => {
        /// What an operation needs of its caller.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Capability {
            $($(#[$doc])* $name,)*
        }

        impl Capability {
            /// Every capability.
            pub const ALL: &'static [Capability] = &[$(Capability::$name),*];

            /// The word on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Capability::$name => $text,)* }
            }

            /// What each role may do, in the order of [`Role::ALL`].
            const fn reaches(self) -> [Cell; 7] {
                match self {
                    $(Capability::$name => [
                        cell!($owner), cell!($admin), cell!($developer), cell!($editor), cell!($inbox), cell!($reviewer), cell!($viewer),
                    ],)*
                }
            }
        }
    };
}

/// A cell of the table: `full`, `masked`, `all` (only with a grant on all agents) or `none`.
macro_rules! cell {
    (full) => {
        Cell::Of(Reach::Full)
    };
    (masked) => {
        Cell::Of(Reach::Masked)
    };
    (all) => {
        Cell::OnAllAgents
    };
    (none) => {
        Cell::None
    };
}

enum Cell {
    None,
    Of(Reach),
    OnAllAgents,
}

/// How much of what a capability shows its holder sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reach {
    /// Without sensitive values, and in conversations without names, addresses, claims and uploads of visitors.
    Masked,
    /// Everything.
    Full,
}

capabilities! {
    /// See agents.
    AgentsRead = "agents.read": full full full full full full full;
    /// See form templates.
    FormsRead = "forms.read": full full full full full full full;
    /// See contact schemas.
    SchemaRead = "schema.read": full full full full full full full;
    /// Create, rename, disable, enable and delete agents.
    AgentsManage = "agents.manage": full all none none none none none;
    /// Change credits.
    CreditsManage = "credits.manage": full all none none none none none;
    /// See the state of the server.
    ServerRead = "server.read": full all none none none none none;
    /// See conversations.
    InboxRead = "inbox.read": full full masked masked full none masked;
    /// Answer visitors.
    InboxReply = "inbox.reply": full full none none full none none;
    /// Revoke conversations, change canned replies and labels.
    InboxManage = "inbox.manage": full full none none full none none;
    /// Change contacts.
    ContactsWrite = "contacts.write": full full none none full none none;
    /// Upload and delete files of contacts.
    FilesWrite = "files.write": full full none none full none none;
    /// See contacts.
    ContactsRead = "contacts.read": full full masked none full full masked;
    /// See values of sensitive fields.
    SensitiveRead = "sensitive.read": full full none none full full none;
    /// Import contacts, and change many at once.
    ContactsBulk = "contacts.bulk": full full none none none none none;
    /// Export contacts, submissions and conversations.
    ContactsExport = "contacts.export": full full none none none none none;
    /// Erase contacts.
    ContactsErase = "contacts.erase": full full none none none none none;
    /// Erase conversations.
    InboxErase = "inbox.erase": full full none none none none none;
    /// Remove retained documents and contents of deleted files.
    DocumentsPurge = "documents.purge": full full none none none none none;
    /// Read the audit log.
    AuditRead = "audit.read": full full none none none none none;
    /// See who is an operator.
    MembersRead = "members.read": full full none none none none none;
    /// Invite operators and change what they may do.
    MembersManage = "members.manage": full full none none none none none;
    /// Create and revoke tokens of services.
    TokensManage = "tokens.manage": full full none none none none none;
    /// See submissions.
    SubmissionsRead = "submissions.read": full full none none none full masked;
    /// Review submissions.
    SubmissionsReview = "submissions.review": full full none none none full none;
    /// See documents and what was extracted from them.
    DocumentsRead = "documents.read": full full none none none full none;
    /// Correct what was extracted.
    DocumentsCorrect = "documents.correct": full full none none none full none;
    /// Extract documents.
    DocumentsRun = "documents.run": full full full none none full none;
    /// See what an agent answers from.
    StudioRead = "studio.read": full full full full none none full;
    /// See credits.
    CreditsRead = "credits.read": full full full full none none full;
    /// See how well an agent answers.
    InsightsRead = "insights.read": full full full full full none full;
    /// Change what an agent answers from.
    StudioWrite = "studio.write": full full none full none none none;
    /// Publish a draft of an agent.
    StudioPublish = "studio.publish": full full none full none none none;
    /// See the secret that identifies visitors.
    StudioSecret = "studio.secret": full full full none none none none;
    /// Change form templates.
    TemplatesWrite = "templates.write": full full full none none none none;
    /// Replace contact schemas.
    SchemaWrite = "schema.write": full full full none none none none;
    /// See API keys.
    KeysRead = "keys.read": full full full none none none none;
    /// Create, change, rotate and revoke API keys.
    KeysManage = "keys.manage": full full full none none none none;
    /// See webhooks.
    WebhooksRead = "webhooks.read": full full full none none none none;
    /// Change webhooks.
    WebhooksManage = "webhooks.manage": full full full none none none none;
    /// Change how operators sign in.
    SignInManage = "signIn.manage": full none none none none none none;
    /// Back up and check the store.
    ServerManage = "server.manage": full none none none none none none;
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A role, from the highest rank to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Everything; always on all agents.
    Owner,
    /// Everything but how operators sign in and the store itself.
    Admin,
    /// Keys, schemas, templates and webhooks.
    Developer,
    /// What an agent answers from.
    AgentEditor,
    /// Conversations and contacts.
    Inbox,
    /// Submissions and documents.
    Reviewer,
    /// Sees, without sensitive values.
    Viewer,
}

impl Role {
    /// Every role, from the highest rank to the lowest.
    pub const ALL: [Role; 7] = [
        Role::Owner,
        Role::Admin,
        Role::Developer,
        Role::AgentEditor,
        Role::Inbox,
        Role::Reviewer,
        Role::Viewer,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Owner => "owner",
            Role::Admin => "admin",
            Role::Developer => "developer",
            Role::AgentEditor => "agent-editor",
            Role::Inbox => "inbox",
            Role::Reviewer => "reviewer",
            Role::Viewer => "viewer",
        }
    }

    /// How far the role has a capability; `on_all_agents` says whether it was granted on all agents.
    #[must_use]
    pub fn reach(self, capability: Capability, on_all_agents: bool) -> Option<Reach> {
        match capability.reaches()[self as usize] {
            Cell::None => None,
            Cell::Of(reach) => Some(reach),
            Cell::OnAllAgents => on_all_agents.then_some(Reach::Full),
        }
    }
}
