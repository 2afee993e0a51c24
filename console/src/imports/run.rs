//! The run of an import, a bounded piece at a time: several contacts are written at once, so that they share the
//! store's syncs, and a second line about a contact waits for the first.

use std::collections::HashSet;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use openapi_core::access::Actor;
use openapi_core::admin::AdminError;
use openapi_core::json::json_object;
use openapi_core::platform::Platform;
use openapi_core::reply::ApiError;
use openapi_core::values::AgentId;

use super::columns::Columns;
use super::file::{ImportFile, unreadable};
use super::line::{Identity, import};
use super::refused::{Original, Refusals};
use super::tally::{Effect, Tally};
use crate::pause::pause;

/// Contacts written at the same time.
const MAX_CONCURRENT_WRITES: usize = 64;
/// The most lines of a piece, and the time after which it ends.
const MOST_LINES: u64 = 5_000;
const MOST_MILLIS: i64 = 3_000;
/// The most bytes of lines that a piece has in memory: a row of a sheet may have thousands of cells.
const MOST_HELD: usize = 8 << 20;
/// The refused lines that are listed.
const MOST_LISTED: usize = 100;
/// How many lines are passed over before other tasks get their turn.
const TURN: u64 = 500;

/// A line that was refused.
pub struct RefusedLine {
    line: u64,
    reason: String,
}

json_object! { RefusedLine as "RefusedLine" = |it| {
    "line": u64 { "description": "The number of its first line in the file, or of its row in the sheet." } = it.line,
    "reason": String = it.reason,
} }

/// What a piece has done.
pub(crate) struct Piece {
    pub(crate) tally: Tally,
    pub(crate) listed: Vec<RefusedLine>,
    pub(crate) refusals: Refusals,
    pub(crate) is_last: bool,
}

/// A line: its position in the piece, its number, and what stands in it.
struct About {
    at: usize,
    line: u64,
    original: Original,
}

/// A line that was written or refused.
struct Done {
    about: About,
    identity: Option<Identity>,
    outcome: Result<Effect, Refusal>,
}

enum Refusal {
    Unreadable(String),
    Failed(AdminError),
}

/// Imports the lines after the first `after`, up to the bounds of a piece.
///
/// # Errors
/// Why the file cannot be read, or what fails whatever the line. Lines that were written stay.
pub(crate) async fn run(
    file: &ImportFile,
    columns: &Columns,
    platform: &Platform,
    by: &Actor,
    agent: &AgentId,
    after: u64,
) -> Result<Piece, ApiError> {
    let mut source = file.open().map_err(unreadable)?;
    let mut lines = file.lines(&mut source, columns).map_err(unreadable)?;
    let refusals = Refusals::of(&lines);
    let (mut read, mut held, mut is_last) = (0_u64, 0, true);
    // Lines that earlier calls have done count no time.
    let mut begun = None;
    let mut running = FuturesUnordered::new();
    let mut identities: HashSet<Identity> = HashSet::new();
    let mut done: Vec<Done> = Vec::new();
    while let Some(line) = lines.next() {
        let (number, contact) = line.map_err(|error| file.broken(&error))?;
        read += 1;
        if read.is_multiple_of(TURN) {
            pause().await;
        }
        if read <= after {
            continue;
        }
        let begun = *begun.get_or_insert_with(|| platform.now());
        let original = Original::of(&lines, contact.as_ref().ok());
        held += original.bytes();
        let about = About { at: done.len() + running.len(), line: number, original };
        match contact {
            Err(reason) => {
                let outcome = Err(Refusal::Unreadable(reason));
                done.push(Done { about, identity: None, outcome });
            }
            Ok(contact) => {
                let identity = Identity::of(&contact);
                while running.len() >= MAX_CONCURRENT_WRITES || identities.contains(&identity) {
                    finish_one(&mut running, &mut identities, &mut done).await;
                }
                identities.insert(identity.clone());
                running.push(async move {
                    let outcome = import(platform, by, agent, &contact).await;
                    let outcome = outcome.map(|imported| Effect::of(&imported)).map_err(Refusal::Failed);
                    Done { about, identity: Some(identity), outcome }
                });
            }
        }
        let is_full = read - after >= MOST_LINES
            || held >= MOST_HELD
            || platform.now().millis_since(begun) >= MOST_MILLIS;
        if is_full {
            is_last = lines.next().is_none();
            break;
        }
    }
    while !running.is_empty() {
        finish_one(&mut running, &mut identities, &mut done).await;
    }
    done.sort_by_key(|done| done.about.at);
    Piece::of(done, refusals, is_last)
}

async fn finish_one(
    running: &mut FuturesUnordered<impl Future<Output = Done>>,
    identities: &mut HashSet<Identity>,
    done: &mut Vec<Done>,
) {
    if let Some(finished) = running.next().await {
        if let Some(identity) = &finished.identity {
            identities.remove(identity);
        }
        done.push(finished);
    }
}

impl Piece {
    fn of(done: Vec<Done>, mut refusals: Refusals, is_last: bool) -> Result<Self, ApiError> {
        let (mut tally, mut listed) = (Tally::default(), Vec::new());
        for Done { about, outcome, .. } in done {
            let reason = match outcome {
                Ok(effect) => {
                    tally.add(effect);
                    continue;
                }
                Err(Refusal::Unreadable(reason)) => reason,
                Err(Refusal::Failed(error)) => match refusals.reason(error) {
                    Ok(reason) => reason,
                    // What is done is reported; the next call meets the failure at its first line.
                    Err(_) if tally.total() > 0 => {
                        return Ok(Piece { tally, listed, refusals, is_last: false });
                    }
                    Err(error) => return Err(error),
                },
            };
            tally.add(Effect::Refused);
            refusals.add(&about.original, &reason);
            if listed.len() < MOST_LISTED {
                listed.push(RefusedLine { line: about.line, reason });
            }
        }
        Ok(Piece { tally, listed, refusals, is_last })
    }
}
