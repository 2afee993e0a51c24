//! What the job of a conversation's e-mail stores, and the rule that decides what happens next.

use openapi_core::json::RawObject;
use openapi_core::storage::Job;
use openapi_core::values::Timestamp;
use serde::{Deserialize, Serialize};

use crate::conversation::DAY_MILLIS;
use crate::{Conversation, ConversationStatus, Message, Speaker};

/// The longest that further replies defer an e-mail, in delays of one.
const MAX_DELAYS: i64 = 5;
/// The most e-mails of a conversation within a day.
const MAX_PER_DAY: usize = 3;
/// The pauses after failed attempts; after the last one the replies are given up.
const PAUSES: [i64; 7] =
    [60_000, 5 * 60_000, 15 * 60_000, 3_600_000, 2 * 3_600_000, 4 * 3_600_000, 8 * 3_600_000];
/// After how long a visitor who is still there is noted again.
const SEEN_AGAIN_MILLIS: i64 = 30_000;
/// How many used links are remembered: more than a conversation has that have not expired.
const MAX_USED: usize = 32;

/// What is stored of a conversation's e-mail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MailState {
    /// The number of the last message that was sent or given up.
    pub(super) mailed: u64,
    /// When e-mails were sent within the last day, the newest last.
    pub(super) sent_at: Vec<Timestamp>,
    /// The e-mail that is being sent. It is stored first, so each attempt sends the same message.
    pub(super) batch: Option<Batch>,
    /// Since when replies wait.
    pub(super) waiting_since: Option<Timestamp>,
    /// When the visitor was last there while replies waited.
    pub(super) seen_at: Option<Timestamp>,
    /// Whether a reply came while a server had the job.
    pub(super) is_awaited: bool,
    /// The numbers of links that were used.
    pub(super) used: Vec<u64>,
}

/// The messages of an e-mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Batch {
    /// The number of the last message before them.
    pub(super) after: u64,
    /// The number of the last one.
    pub(super) up_to: u64,
    /// How often it was begun to send them.
    pub(super) attempts: u32,
    /// When the last attempt began, until its outcome is known: a server that died may have sent them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unknown_since: Option<Timestamp>,
}

/// What happens with a conversation's e-mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// An e-mail is sent.
    Send(Batch),
    /// It is decided again then.
    Later(Timestamp),
    /// Nothing, until somebody replies.
    Rest,
}

impl MailState {
    /// That of a job; an empty one if it cannot be read, because the limits of a day then begin again at worst.
    pub(super) fn of(job: &Job) -> Self {
        serde_json::from_str(job.body.as_str()).unwrap_or_default()
    }

    pub(super) fn stored(&self) -> serde_json::Result<RawObject> {
        serde_json::to_string(self).and_then(RawObject::from_text)
    }

    /// A reply comes, which waits for `delay` milliseconds to be read. Returns when the job is due, `due` being when it was.
    pub(super) fn await_reply(&mut self, due: Option<Timestamp>, delay: i64, now: Timestamp) -> Timestamp {
        let since = *self.waiting_since.get_or_insert(now);
        let settled = now.plus_millis(delay).min(since.plus_millis(MAX_DELAYS * delay)).max(now);
        // A failed attempt waits out its pause, and a conversation at its limit the end of the day.
        due.map_or(settled, |due| due.max(settled))
    }

    /// Notes that the visitor is there; returns whether that is worth a write.
    pub(super) fn see(&mut self, now: Timestamp) -> bool {
        let is_known = self.seen_at.is_some_and(|seen| now.millis_since(seen) < SEEN_AGAIN_MILLIS);
        if !is_known {
            self.seen_at = Some(now);
        }
        !is_known
    }

    /// Uses a link up; returns whether it was unused.
    pub(super) fn take_link(&mut self, number: u64) -> bool {
        let is_unused = !self.used.contains(&number);
        if is_unused {
            if self.used.len() >= MAX_USED {
                self.used.remove(0);
            }
            self.used.push(number);
        }
        is_unused
    }

    /// What happens now. `messages` are those after [`MailState::begin`], in order. `may_mail` says whether the visitor
    /// has an address that may be written to; one who was there within `delay` milliseconds gets nothing.
    pub(super) fn next(
        &self,
        conversation: &Conversation,
        messages: &[Message],
        may_mail: bool,
        delay: i64,
        now: Timestamp,
    ) -> Step {
        let begin = self.begin(conversation);
        let replies = messages.iter().filter(|it| it.role == Speaker::Human && it.seq > begin);
        let Some(last) = replies.map(|it| it.seq).max() else { return Step::Rest };
        if !may_mail || conversation.status_at(now) == ConversationStatus::Closed {
            return Step::Rest;
        }
        if let Some(seen) = self.seen_at.filter(|seen| now.millis_since(*seen) < delay) {
            return Step::Later(seen.plus_millis(delay));
        }
        let is_today = |at: &&Timestamp| now.millis_since(**at) < DAY_MILLIS;
        // What the visitor has read since it may have been sent is not sent again, and counts.
        let abandoned = self.batch.filter(|batch| batch.up_to <= begin).and_then(|batch| batch.unknown_since);
        let mut today = self.sent_at.iter().chain(&abandoned).filter(is_today).rev();
        if let Some(first) = today.nth(MAX_PER_DAY - 1) {
            return Step::Later(first.plus_millis(DAY_MILLIS));
        }
        match self.batch {
            // The visitor may have read some of it meanwhile; a retry is the same message all the same.
            Some(batch) if batch.up_to > begin => Step::Send(batch),
            _ => Step::Send(Batch { after: begin, up_to: last, attempts: 0, unknown_since: None }),
        }
    }

    /// The number of the message after which nothing was read or sent.
    pub(super) fn begin(&self, conversation: &Conversation) -> u64 {
        conversation.visitor_read.max(self.mailed)
    }

    /// An attempt begins.
    pub(super) fn attempt(&mut self, batch: Batch, now: Timestamp) -> Batch {
        let abandoned = self.batch.filter(|former| former.up_to != batch.up_to);
        self.sent_at.extend(abandoned.and_then(|former| former.unknown_since));
        let attempts = batch.attempts.saturating_add(1);
        let batch = Batch { attempts, unknown_since: Some(now), ..batch };
        self.batch = Some(batch);
        batch
    }

    /// The attempt has failed, and nothing was sent.
    pub(super) fn failed(&mut self) {
        if let Some(batch) = &mut self.batch {
            batch.unknown_since = None;
        }
    }

    /// The e-mail was sent.
    pub(super) fn sent(&mut self, now: Timestamp) {
        self.sent_at.retain(|at| now.millis_since(*at) < DAY_MILLIS);
        self.sent_at.push(now);
        self.give_up();
    }

    /// The replies are not sent, or not again.
    pub(super) fn give_up(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.mailed = self.mailed.max(batch.up_to);
        }
        self.waiting_since = None;
    }
}

/// When a failed attempt is repeated; [`None`] after the last one.
pub(super) fn pause_after(attempts: u32) -> Option<i64> {
    PAUSES.get(usize::try_from(attempts).ok()?.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: i64 = 60_000;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_millis(1_769_852_400_000 + minutes * MINUTE)
    }

    #[test]
    fn replies_share_an_email_that_is_not_deferred_for_ever() {
        let mut state = MailState::default();
        let mut due = None;
        for minute in 0..9 {
            due = Some(state.await_reply(due, 2 * MINUTE, at(minute)));
            assert_eq!(due, Some(at((minute + 2).min(10))), "{minute}");
        }
        state.sent(at(10));
        assert_eq!(state.await_reply(None, 2 * MINUTE, at(11)), at(13));
        // A pause after a failure, and the limit of a day, are waited out.
        assert_eq!(state.await_reply(Some(at(60)), 2 * MINUTE, at(12)), at(60));
    }

    #[test]
    fn a_link_works_once() {
        let mut state = MailState::default();
        assert!(state.take_link(4) && state.take_link(7));
        assert!(!state.take_link(4) && !state.take_link(7));
        for number in 100..200 {
            assert!(state.take_link(number));
        }
        assert_eq!(state.used.len(), MAX_USED);
    }

    #[test]
    fn attempts_are_repeated_more_and_more_rarely_and_end() {
        let pauses: Vec<i64> = (1..).map_while(pause_after).collect();
        assert!(pauses.len() == 7 && pauses.is_sorted(), "{pauses:?}");
        assert_eq!((pause_after(0), pause_after(8), pause_after(u32::MAX)), (None, None, None));
    }

    proptest! {
        #[test]
        fn what_is_stored_is_read_again(mailed in any::<u64>(), attempts in any::<u32>(), is_awaited in any::<bool>()) {
            let batch = Some(Batch { after: 1, up_to: 2, attempts, unknown_since: Some(at(2)) });
            let used = vec![2];
            let state = MailState {
                mailed, sent_at: vec![at(0)], batch, waiting_since: None, seen_at: Some(at(1)), is_awaited, used,
            };
            let stored = state.stored().expect("JSON");
            prop_assert_eq!(serde_json::from_str::<MailState>(stored.as_str()).expect("a state"), state);
        }
    }
}
