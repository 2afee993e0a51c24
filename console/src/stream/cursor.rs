//! Where a stream stands in the logs of its agents: the `id` of what it sends, opaque to clients.

use std::collections::BTreeMap;

use openapi_core::events::EventCursor;
use openapi_core::reply::ApiError;
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use openapi_core::values::AgentId;

/// The longest text that is read: the most agents of a stream, with the longest ids and numbers.
const MAX_TEXT: usize = super::MAX_AGENTS * 128;

/// The cursors of an earlier stream, from the header `Last-Event-ID`; none without it.
pub(super) fn read(text: Option<&str>) -> Result<BTreeMap<AgentId, EventCursor>, ApiError> {
    let text = text.unwrap_or_default();
    let read = |part: &str| {
        let (agent, cursor) = part.split_once(':')?;
        Some((agent.parse().ok()?, cursor.parse().ok()?))
    };
    let parts = text.split(',').filter(|part| !part.is_empty());
    let read: Option<BTreeMap<_, _>> = parts.map(read).collect();
    read.filter(|_| text.len() <= MAX_TEXT).ok_or_else(|| {
        let issue = ValidationIssue::new(
            ValidationCode::Format,
            "must be the id of what a stream of the console has sent; without it, a stream begins with what comes",
        );
        Violations::from(ValidationError::new(Location::Header, "Last-Event-ID", None, issue)).into()
    })
}

/// The text of cursors.
pub(super) fn write<'a>(cursors: impl Iterator<Item = (&'a AgentId, EventCursor)>) -> String {
    cursors.map(|(agent, cursor)| format!("{agent}:{cursor}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(cursors in prop::collection::btree_map("[A-Za-z0-9_-]{1,64}", (0..u64::MAX / 2, prop::option::of(any::<[u8; 12]>())), 0..20)) {
            let cursors: BTreeMap<AgentId, EventCursor> = cursors
                .into_iter()
                .map(|(agent, (seq, id))| {
                    let id = id.map(openapi_core::values::PlatformId::from_bytes);
                    (agent.parse().unwrap(), EventCursor { seq, id })
                })
                .collect();
            let text = write(cursors.iter().map(|(agent, cursor)| (agent, *cursor)));
            prop_assert_eq!(read(Some(&text)).unwrap(), cursors);
        }

        #[test]
        fn other_texts_are_refused_and_do_no_harm(text in "\\PC*") {
            if let Ok(cursors) = read(Some(&text)) {
                prop_assert!(cursors.len() <= text.len());
            }
        }
    }

    #[test]
    fn texts_that_no_stream_has_sent_are_refused() {
        for text in ["acme", "acme:", "acme:x", ":1", "acme:1;beta:2", "a b:1", &"acme:1,".repeat(1_000)] {
            assert!(read(Some(text)).is_err(), "{text}");
        }
        assert!(read(None).unwrap().is_empty() && read(Some("")).unwrap().is_empty());
    }
}
