//! Query parameters: one declaration for reading, description and generators.

use serde_json::{Value, json};

use crate::storage::ContactSort;
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
        description: "`nextCursor` of an earlier answer; takes the place of `page`. All other parameters are repeated unchanged.",
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
