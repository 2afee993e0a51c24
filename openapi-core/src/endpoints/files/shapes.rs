//! Schemas and examples of files in the description.

use serde_json::{Value, json};

pub(super) use crate::endpoints::shapes::{
    described, envelope, envelope_example, id_schema, list_envelope, nullable, reference,
};
use crate::files::FileName;
use crate::values::{AgentId, Block, TextValue, Timestamp};

/// The file of the contract's story.
pub(super) fn file_example() -> Value {
    json!({
        "id": "697dc94b74a1f572c54b78cf", "agentId": "695b6f80de7378c4412112d3",
        "contactId": "697dc8165d4ffa83cfc35cfc", "fileName": "referral.pdf", "fileSize": 48213,
        "contentType": "application/pdf",
        "sha256": "97289ea930241a328beebe327b039a7358f952570d36923702f93e165f1b2e37", "source": "api",
        "uploadedBy": { "type": "apiKey", "id": "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ" },
        "createdAt": "2026-01-31T09:20:11.480Z", "updatedAt": "2026-01-31T09:20:11.480Z",
    })
}

/// The list of the story: one file.
pub(super) fn list_example() -> Value {
    json!({
        "success": true,
        "message": "Files retrieved successfully",
        "data": [file_example()],
        "pagination": {
            "currentPage": 1, "totalPages": 1, "totalItems": 1, "itemsPerPage": 20,
            "hasNextPage": false, "hasPreviousPage": false, "nextCursor": null,
        },
    })
}

/// The named schemas of files.
pub(crate) fn components() -> Vec<(&'static str, Value)> {
    let timestamp = Timestamp::json_schema();
    let name = FileName::json_schema();
    let size = json!({ "type": "integer", "minimum": 1, "description": "In bytes." });
    let media_type = json!({ "type": "string", "description": "The media type of the content, whatever the upload declared." });
    let reason = nullable(Block::<500>::json_schema());
    let file = json!({
        "type": "object",
        "description": "A file of a contact. A file never changes; it is there, or it was deleted.",
        "required": [
            "id", "agentId", "contactId", "fileName", "fileSize", "contentType", "sha256", "source", "uploadedBy",
            "createdAt", "updatedAt",
        ],
        "properties": {
            "id": id_schema(),
            "agentId": AgentId::json_schema(),
            "contactId": id_schema(),
            "fileName": described(name.clone(), "The name as sent, made safe for every system; at most 255 bytes."),
            "fileSize": size.clone(),
            "contentType": media_type.clone(),
            "sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of the content." },
            "source": { "type": "string" },
            "uploadedBy": {
                "type": "object",
                "required": ["type", "id"],
                "properties": { "type": { "type": "string" }, "id": { "type": "string" } },
            },
            "createdAt": timestamp.clone(),
            "updatedAt": timestamp.clone(),
        },
    });
    let new = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["file"],
        "properties": { "file": {
            "type": "string",
            "contentMediaType": "application/octet-stream",
            "description": "The file: 1 byte to 25 MiB. Its type is decided by its content.",
        } },
    });
    let signed = json!({
        "type": "object",
        "required": ["url", "method", "expiresAt", "expiresIn", "fileName", "contentType", "fileSize"],
        "properties": {
            "url": { "type": "string", "format": "uri", "description": "Opaque. Anyone who has it can download the file until it expires." },
            "method": { "type": "string", "const": "GET" },
            "expiresAt": timestamp.clone(),
            "expiresIn": { "type": "integer", "minimum": 60, "maximum": 86_400 },
            "fileName": name,
            "contentType": media_type,
            "fileSize": size,
        },
    });
    let delete = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": { "reason": described(reason.clone(), "Stored in the audit log only.") },
    });
    let deleted = json!({
        "type": "object",
        "required": ["id", "deleted", "deletedAt", "reason"],
        "properties": {
            "id": id_schema(),
            "deleted": { "const": true },
            "deletedAt": timestamp,
            "reason": reason,
        },
    });
    vec![
        ("File", file),
        ("NewFile", new),
        ("SignedUrl", signed),
        ("DeleteRequest", delete),
        ("DeletedFile", deleted),
    ]
}
