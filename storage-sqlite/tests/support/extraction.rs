//! Credits and retained documents.

use openapi_core::access::Actor;
use openapi_core::credits::{CreditAccount, CreditEntry, CreditEntryKind, CreditRates, Reservation};
use openapi_core::files::Sha256Digest;
use openapi_core::storage::{CreditWrite, DocumentWrite, Effects, StoredDocument};
use openapi_core::values::{FileId, PlatformId};

use super::at;

/// The first save of an account: 900 credits of the plan, 100 topped up, 7 of them reserved.
pub fn account() -> CreditAccount {
    let id = PlatformId::new(at(0), [3; 8]);
    CreditAccount {
        version: 1,
        unlimited: false,
        plan: 893,
        top_up: 100,
        rates: CreditRates { per_page: 2, characters_per_page: 1_500 },
        low_at: Some(100),
        reservations: vec![Reservation { id, plan: 7, top_up: 0, expires_at: at(900) }],
        in_jobs: Default::default(),
    }
}

/// The ledger entry of these credits.
pub fn entry() -> CreditEntry {
    CreditEntry {
        id: PlatformId::new(at(0), [4; 8]),
        at: at(60),
        kind: CreditEntryKind::Set,
        plan: 900,
        top_up: 100,
        available: 1_000,
        actor: Actor::Operator("tests".to_owned()),
        request_id: None,
        note: Some("o'brien \"quoted\"".to_owned()),
    }
}

/// A document of 5 GB, whose content is due some time after [`entry`].
pub fn document(number: u8) -> StoredDocument {
    StoredDocument {
        id: FileId::from_bytes([number; 12]),
        file_name: "Überweisung.pdf".to_owned(),
        content_type: "application/pdf".to_owned(),
        file_size: 4_999_999_972,
        sha256: Sha256Digest([number; 32]),
        stored_size: 5_000_000_000,
        server_key: None,
        uploaded_by: Actor::User("tests".to_owned()),
        created_at: at(61),
        expires_at: at(6_000),
        conversation: None,
    }
}

/// A change that retains that document and does nothing else.
pub fn keeping(number: u8) -> CreditWrite {
    let document = Some(DocumentWrite { document: document(number), max_bytes: None });
    CreditWrite { at: at(61), account: None, entry: None, document, effects: Effects::default() }
}
