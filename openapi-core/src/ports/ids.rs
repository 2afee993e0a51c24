//! Randomness, and the ids made from it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::values::{PlatformId, Timestamp};

/// Generates randomness and ids.
///
/// # Contract
/// `fill` writes unpredictable bytes: keys, secrets and ids are made from them.
pub trait IdGenerator: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);

    /// A platform id of `at`.
    fn platform_id(&self, at: Timestamp) -> PlatformId {
        let mut random = [0; 8];
        self.fill(&mut random);
        PlatformId::new(at, random)
    }

    /// A UUIDv7 of `at` (RFC 9562): the id of a request.
    fn uuid_v7(&self, at: Timestamp) -> String {
        let mut bytes = [0; 16];
        self.fill(&mut bytes[6..]);
        let millis = u64::try_from(at.millis()).unwrap_or(0).to_be_bytes();
        bytes[..6].copy_from_slice(&millis[2..]);
        bytes[6] = 0x70 | bytes[6] & 0x0f;
        bytes[8] = 0x80 | bytes[8] & 0x3f;
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        const OFFSETS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
        let mut text = *b"........-....-....-....-............";
        for (byte, offset) in bytes.into_iter().zip(OFFSETS) {
            text[offset] = DIGITS[usize::from(byte >> 4)];
            text[offset + 1] = DIGITS[usize::from(byte & 15)];
        }
        std::str::from_utf8(&text).unwrap_or_default().to_owned()
    }
}

/// A generator for tests: it counts, so that ids are predictable.
#[derive(Debug, Default)]
pub struct SequentialIds(AtomicU64);

impl IdGenerator for SequentialIds {
    fn fill(&self, bytes: &mut [u8]) {
        // SplitMix64: spreads a counter over all bits, so that keys made from it look like keys.
        for chunk in bytes.chunks_mut(8) {
            let mut word =
                self.0.fetch_add(1, Ordering::SeqCst).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^= word >> 31;
            chunk.copy_from_slice(&word.to_be_bytes()[..chunk.len()]);
        }
    }
}
