//! Query parameters: one declaration for reading, description and generators.

use serde_json::{Value, json};

use crate::files::Link;
use crate::forms::SubmissionStatus;
use crate::storage::{ContactSort, FileSort};
use crate::values::{ContactStatus, Email, TextValue, Timestamp};

/// A query parameter.
#[derive(Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// What it does, with its rule.
    pub description: &'static str,
    /// The JSON Schema of its value.
    pub schema: fn() -> Value,
}

impl Parameter {
    /// `page`
    pub const PAGE: Parameter = Parameter {
        name: "page",
        description: "The page, from 1. `page` times `limit` is at most 1,000,000.",
        schema: || json!({ "type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 1 }),
    };
    /// `limit`
    pub const LIMIT: Parameter = Parameter {
        name: "limit",
        description: "Items of a page.",
        schema: || json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 20 }),
    };
    /// `cursor`
    pub const CURSOR: Parameter = Parameter {
        name: "cursor",
        description: "`nextCursor` of an earlier answer; replaces `page`. All other parameters are repeated unchanged.",
        schema: || json!({ "type": "string", "minLength": 1 }),
    };
    /// `search`
    pub const SEARCH: Parameter = Parameter {
        name: "search",
        description: "Terms, split at white space. Every term occurs, ignoring case and accents, in a name, the address, the phone, the external id, the postal address, a tag or a top-level text of `customFields`. There are no wildcards.",
        schema: || json!({ "type": "string", "maxLength": 200 }),
    };
    /// `status`
    pub const STATUS: Parameter = Parameter {
        name: "status",
        description: "Only contacts of this status.",
        schema: ContactStatus::json_schema,
    };
    /// `tag`
    pub const TAG: Parameter = Parameter {
        name: "tag",
        description: "Only contacts with this whole tag, ignoring case.",
        schema: || json!({ "type": "string", "maxLength": 64 }),
    };
    /// `sortBy`
    pub const CONTACT_SORT: Parameter = Parameter {
        name: "sortBy",
        description: "What contacts are sorted by; text by its case-folded, accent-stripped form, `null` last.",
        schema: || json!({ "type": "string", "enum": ContactSort::ALL.map(ContactSort::as_str), "default": "createdAt" }),
    };
    /// `sortOrder`
    pub const SORT_ORDER: Parameter = Parameter {
        name: "sortOrder",
        description: "The direction.",
        schema: || json!({ "type": "string", "enum": ["asc", "desc"], "default": "desc" }),
    };
    /// `includeArchived`
    pub const INCLUDE_ARCHIVED: Parameter = Parameter {
        name: "includeArchived",
        description: "Whether archived contacts are shown as well.",
        schema: || json!({ "type": "boolean", "default": false }),
    };
    /// `primaryEmail`
    pub const PRIMARY_EMAIL: Parameter = Parameter {
        name: "primaryEmail",
        description: "Only contacts with exactly this address, ignoring case.",
        schema: Email::json_schema,
    };
    /// `createdSince`
    pub const CREATED_SINCE: Parameter = Parameter {
        name: "createdSince",
        description: "Only contacts created at this time or later.",
        schema: Timestamp::json_schema,
    };
    /// `updatedSince`
    pub const UPDATED_SINCE: Parameter = Parameter {
        name: "updatedSince",
        description: "Only contacts updated at this time or later.",
        schema: Timestamp::json_schema,
    };
    /// `sortBy` of files
    pub const FILE_SORT: Parameter = Parameter {
        name: "sortBy",
        description: "What files are sorted by; names without regard to case.",
        schema: || json!({ "type": "string", "enum": FileSort::ALL.map(FileSort::as_str), "default": "createdAt" }),
    };
    /// `expiresIn`
    pub const EXPIRES_IN: Parameter = Parameter {
        name: "expiresIn",
        description: "How long the URL lives, in seconds.",
        schema: || json!({ "type": "integer", "minimum": Link::LIFETIMES.start(), "maximum": Link::LIFETIMES.end(), "default": Link::USUAL_LIFETIME }),
    };
    /// `disposition`
    pub const DISPOSITION: Parameter = Parameter {
        name: "disposition",
        description: "Whether a browser saves the file or shows it; `inline` only for PDF, images, audio, video and plain text.",
        schema: || json!({ "type": "string", "enum": ["attachment", "inline"], "default": "attachment" }),
    };
    /// `reason`
    pub const REASON: Parameter = Parameter {
        name: "reason",
        description: "Why, for the audit log: the same as the member of the body, because some intermediaries drop the body of a DELETE.",
        schema: || json!({ "type": "string", "maxLength": 500 }),
    };
    /// `exp`
    pub const EXP: Parameter = Parameter {
        name: "exp",
        description: "When the link ends, in epoch seconds.",
        schema: || json!({ "type": "string" }),
    };
    /// `kid`
    pub const KID: Parameter = Parameter {
        name: "kid",
        description: "Whom the link was issued to.",
        schema: || json!({ "type": "string" }),
    };
    /// `d`
    pub const D: Parameter = Parameter {
        name: "d",
        description: "How the file is offered.",
        schema: || json!({ "type": "string" }),
    };
    /// `sig`
    pub const SIG: Parameter =
        Parameter { name: "sig", description: "The signature.", schema: || json!({ "type": "string" }) };
    /// `limit` of a list whose pages are large by default
    pub const LIMIT_100: Parameter = Parameter {
        name: "limit",
        description: "Items of a page.",
        schema: || json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 100 }),
    };
    /// `templateId`
    pub const TEMPLATE_ID: Parameter = Parameter {
        name: "templateId",
        description: "Only submissions under this template; an unknown one gives an empty list.",
        schema: || json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{24}$" }),
    };
    /// `status` of submissions
    pub const SUBMISSION_STATUS: Parameter = Parameter {
        name: "status",
        description: "Only submissions in this status.",
        schema: SubmissionStatus::json_schema,
    };
    /// `includeSuperseded`
    pub const INCLUDE_SUPERSEDED: Parameter = Parameter {
        name: "includeSuperseded",
        description: "Whether superseded submissions are shown as well.",
        schema: || json!({ "type": "boolean", "default": false }),
    };
    /// `clientId`
    pub const CLIENT_ID: Parameter = Parameter {
        name: "clientId",
        description: "Only submissions with exactly this reference of your own.",
        schema: || json!({ "type": "string", "maxLength": 128 }),
    };
    /// `includeDrafts`
    pub const INCLUDE_DRAFTS: Parameter = Parameter {
        name: "includeDrafts",
        description: "Whether drafts take part, by the time they were created.",
        schema: || json!({ "type": "boolean", "default": false }),
    };
    /// `dryRun`
    pub const DRY_RUN: Parameter = Parameter {
        name: "dryRun",
        description: "Runs every check and stores nothing; answers 200 with the record as it would be stored, its id and times `null`.",
        schema: || json!({ "type": "boolean", "default": false }),
    };
    /// `upsert`
    pub const UPSERT: Parameter = Parameter {
        name: "upsert",
        description: "Creates the contact when the external id is unknown. Needs `contacts:create` as well.",
        schema: || json!({ "type": "boolean", "default": false }),
    };
}
