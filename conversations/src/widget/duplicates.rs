//! Detects one text in several conversations: people write a text once, bots write it everywhere.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use openapi_core::limits::{Network, Window, network_levels};
use openapi_core::values::{ConversationId, Timestamp};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// The most conversations that are stored for a text.
const MAX_USES: usize = 100;
/// The most stored texts. Beyond them, the expired ones are removed, then those of a single conversation, or else all.
const MOST_TEXTS: usize = 50_000;

/// A short digest of a text. A collision costs the author of the other text a challenge.
type TextKey = [u8; 8];

/// When the text was sent in which conversations, the newest last.
type Uses = VecDeque<(Timestamp, ConversationId)>;

/// The conversations in which each text was sent, by network and digest of the text.
#[derive(Default)]
pub(crate) struct DuplicateMessageLimiter(Mutex<HashMap<(Network, TextKey), Uses>>);

impl DuplicateMessageLimiter {
    /// Whether an address, or a network around it, has sent a text in as many conversations as a window allows, this one
    /// included. A new conversation may have no id yet.
    pub(crate) fn is_spread(
        &self,
        address: IpAddr,
        text: &str,
        conversation: Option<ConversationId>,
        windows: &[Window],
        now: Timestamp,
    ) -> bool {
        let (seen, text) = (self.0.lock(), key(text));
        network_levels(address).any(|network| {
            let Some(uses) = seen.get(&(network, text)) else { return false };
            windows.iter().filter(|window| window.limit > 0).any(|window| {
                let is_other = |(at, id): &&(Timestamp, ConversationId)| {
                    // Times ahead of a clock that was set back do not count.
                    (0..window.millis).contains(&now.millis_since(*at)) && Some(*id) != conversation
                };
                let limit = window.limit.saturating_mul(network.factor());
                uses.iter().filter(is_other).count() + 1 >= limit as usize
            })
        })
    }

    /// Records a text that was sent.
    pub(crate) fn note(
        &self,
        address: IpAddr,
        text: &str,
        conversation: ConversationId,
        windows: &[Window],
        now: Timestamp,
    ) {
        let longest = windows.iter().filter(|window| window.limit > 0).map(|window| window.millis).max();
        // A message may have files only.
        let Some(longest) = longest.filter(|_| !text.is_empty()) else { return };
        let mut seen = self.0.lock();
        if seen.len() >= MOST_TEXTS {
            seen.retain(|_, uses| uses.back().is_some_and(|(at, _)| now.millis_since(*at) < longest));
            if seen.len() >= MOST_TEXTS {
                seen.retain(|_, uses| uses.len() > 1);
            }
            if seen.len() >= MOST_TEXTS {
                seen.clear();
            }
        }
        for network in network_levels(address) {
            let uses = seen.entry((network, key(text))).or_default();
            uses.retain(|(_, id)| *id != conversation);
            uses.push_back((now, conversation));
            if uses.len() > MAX_USES {
                uses.pop_front();
            }
        }
    }
}

fn key(text: &str) -> TextKey {
    let mut key = TextKey::default();
    key.copy_from_slice(&Sha256::digest(text)[..8]);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_conversation_within_ten_minutes() {
        let repeats = DuplicateMessageLimiter::default();
        let (here, there) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let id = |number: u8| ConversationId::from_bytes([number; 12]);
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let windows = [Window::of_seconds("minute", 600, 3)];
        let is_spread = |address, text, number, seconds| {
            repeats.is_spread(address, text, Some(id(number)), &windows, at(seconds))
        };
        for (number, seconds) in [(1, 0), (1, 10), (2, 20)] {
            assert!(!is_spread(here, "Buy this", number, seconds));
            repeats.note(here, "Buy this", id(number), &windows, at(seconds));
        }
        assert!(is_spread(here, "Buy this", 3, 30));
        assert!(repeats.is_spread(here, "Buy this", None, &windows, at(30)));
        assert!(!is_spread(here, "Buy this", 2, 30), "in its own conversation it is the second");
        assert!(!is_spread(here, "Another", 3, 30) && !is_spread(there, "Buy this", 3, 30));
        assert!(is_spread(here, "Buy this", 3, 609));
        assert!(!is_spread(here, "Buy this", 3, 610), "the first is forgotten");
        assert!(!is_spread(here, "Buy this", 3, -5));
        assert!(!repeats.is_spread(here, "Buy this", None, &[], at(30)), "the operator wants no such limit");
    }
}
