//! Drives the state machine of an endpoint.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use openapi_core::events::EndpointReason;
use openapi_core::storage::{RecordsWrite, StorageError};
use openapi_core::values::Timestamp;

use super::desk::{Desk, Done, disabling, is_active, is_stale};
use super::mailbox::Mailbox;
use super::{Key, Runner};
use crate::delivery::{Action, Delivery, DeliverySettings, DeliveryState, Happening, MAX_OPEN, Mode};
use crate::webhooks::{EndpointRecord, StatusReason, Versioned, load_endpoint, load_state, state_change};

/// When an endpoint is looked at again after a failure of the store, in milliseconds.
const AFTER_FAILURE: i64 = 1_000;
/// How often an endpoint of a disabled agent is looked at, in milliseconds.
const AFTER_PAUSE: i64 = 5_000;
/// The longest time for which an endpoint may only fail, in milliseconds: 5 days.
const FAILING_LIMIT: i64 = 5 * 86_400_000;

/// When an endpoint is to be looked at again.
pub(super) enum Again {
    /// At once.
    Now,
    /// After so many milliseconds.
    After(i64),
    /// When there are events after this one, or when it is due.
    WithEvents(u64),
    /// Another server delivers to it.
    Elsewhere,
    /// When a person enables it.
    WhenEnabled,
    /// It is gone.
    Never,
}

/// Takes an endpoint if it is free and has something to do, and delivers to it until it has not.
pub(super) async fn drive(runner: &Runner, key: &Key, mailbox: &Mailbox) -> Again {
    match taken(runner, key, mailbox).await {
        Ok(Ok((endpoint, state))) => deliver(runner, key, mailbox, endpoint, state).await,
        Ok(Err(again)) => again,
        Err(error) => {
            let (agent, endpoint) = key;
            tracing::warn!(%agent, %endpoint, %error, source = ?error.source, "a webhook endpoint cannot be taken; trying again");
            Again::After(AFTER_FAILURE)
        }
    }
}

type Loaded = (Versioned<EndpointRecord>, Versioned<DeliveryState>);

/// The endpoint, if it is to be taken.
async fn taken(runner: &Runner, key: &Key, mailbox: &Mailbox) -> Result<Result<Loaded, Again>, StorageError> {
    let ((agent, id), storage) = (key, &*runner.storage);
    let (Some(endpoint), Some(state)) =
        (load_endpoint(storage, agent, *id).await?, load_state(storage, agent, *id).await?)
    else {
        return Ok(Err(Again::Never));
    };
    let (now, head) = (runner.now(), mailbox.head());
    let is_leased = state.value.lease.is_some_and(|lease| lease.server != runner.server && lease.until > now);
    if !endpoint.value.is_enabled() {
        if !is_leased && state.value.lease.is_some() {
            let mut state = state;
            state.value.lease = None;
            let changes = vec![state_change(*id, state.version + 1, &state.value)?];
            let write = RecordsWrite { changes, ..RecordsWrite::default() };
            storage
                .save_records(Some(agent), &write)
                .await
                .or_else(|error| if is_stale(&error) { Ok(()) } else { Err(error) })?;
        }
        return Ok(Err(Again::WhenEnabled));
    }
    if is_leased {
        return Ok(Err(Again::Elsewhere));
    }
    if !has_work(&state.value, endpoint.value.mode, head, now) {
        return Ok(Err(Again::WithEvents(head)));
    }
    if !is_active(runner, agent).await? {
        return Ok(Err(Again::After(AFTER_PAUSE)));
    }
    let webhooks = runner.webhooks();
    if endpoint.value.secrets.live(&webhooks.platform.ports().server_keys, agent, *id, now).is_err() {
        lose_secret(runner, key, &endpoint, state).await?;
        return Ok(Err(Again::WhenEnabled));
    }
    Ok(Ok((endpoint, state)))
}

/// Whether there is something to do now for an endpoint that nobody else delivers to.
fn has_work(state: &DeliveryState, mode: Mode, head: u64, now: Timestamp) -> bool {
    let is_past = |at: Option<Timestamp>| at.is_none_or(|at| at <= now);
    let has_room = match mode {
        Mode::Parallel => state.open.len() < MAX_OPEN,
        Mode::Ordered => state.open.is_empty(),
    };
    let is_late = state.cursor < head && has_room && is_past(state.rest_until) && is_past(state.probe_at);
    state.lease.is_some() || is_late || state.due_at().is_some_and(|due| due <= now)
}

/// Disables an endpoint whose messages cannot be signed.
async fn lose_secret(
    runner: &Runner,
    key: &Key,
    endpoint: &Versioned<EndpointRecord>,
    mut state: Versioned<DeliveryState>,
) -> Result<(), StorageError> {
    let (status, reason) = (StatusReason::SecretLost, EndpointReason::SecretLost);
    let (change, effects) = disabling(&runner.webhooks(), key, endpoint, status, reason)?;
    state.value.stop();
    state.value.lease = None;
    let changes = vec![change, state_change(key.1, state.version + 1, &state.value)?];
    let (agent, id) = key;
    match runner.storage.save_records(Some(agent), &RecordsWrite { changes, effects }).await {
        Err(error) if is_stale(&error) => {}
        saved => {
            saved?;
            tracing::warn!(%agent, endpoint = %id, "a webhook endpoint was disabled: the server key of its secret is gone");
        }
    }
    Ok(())
}

/// What wakes a driver.
enum Next {
    Drain,
    Changed,
    Head(u64),
    Done(Done),
    Tick,
}

/// Delivers to an endpoint until it has nothing to do, or until somebody else has changed it.
async fn deliver(
    runner: &Runner,
    key: &Key,
    mailbox: &Mailbox,
    endpoint: Versioned<EndpointRecord>,
    state: Versioned<DeliveryState>,
) -> Again {
    let settings = settings_of(runner, key, &endpoint.value);
    let Some((mut delivery, mut actions)) = Delivery::take(state.value, settings, runner.now()) else {
        return Again::After(AFTER_FAILURE);
    };
    let desk = Desk::new(runner, key, endpoint);
    let mut driver = Driver::new(&desk, state.version);
    loop {
        if let Some(again) = driver.begin(actions) {
            return again;
        }
        let wake = delivery.next_wake().map_or(AFTER_FAILURE, |wake| wake.millis_since(runner.now()).max(1));
        let next = driver.next(mailbox, wake).await;
        let now = runner.now();
        actions = match driver.happening(next) {
            ControlFlow::Continue(Some(happening)) => delivery.handle(happening, now),
            ControlFlow::Continue(None) => Vec::new(),
            ControlFlow::Break(again) => return again,
        };
    }
}

fn settings_of(runner: &Runner, (_, id): &Key, endpoint: &EndpointRecord) -> DeliverySettings {
    let retention = runner.webhooks().platform.event_retention();
    DeliverySettings {
        server: runner.server,
        mode: endpoint.mode,
        seed: u64::from_be_bytes(id.as_bytes().last_chunk().copied().unwrap_or_default()),
        failing_limit: retention.map_or(FAILING_LIMIT, |it| it.min(FAILING_LIMIT)),
    }
}

/// What runs for an endpoint, and what the state machine has seen of it.
struct Driver<'d, 'r> {
    desk: &'d Desk<'r>,
    work: FuturesUnordered<BoxFuture<'d, Done>>,
    /// The version of the progress that is stored.
    version: u64,
    /// The newest event that the state machine has seen.
    seen: u64,
    is_draining: bool,
    is_saving: bool,
}

impl<'d, 'r> Driver<'d, 'r> {
    fn new(desk: &'d Desk<'r>, version: u64) -> Self {
        let work = FuturesUnordered::new();
        Driver { desk, work, version, seen: 0, is_draining: false, is_saving: false }
    }

    /// Begins what the state machine asks for; once that is to end, when the endpoint is to be looked at again.
    fn begin(&mut self, actions: Vec<Action>) -> Option<Again> {
        let desk = self.desk;
        for action in actions {
            match action {
                Action::Read(source, after) => self.work.push(Box::pin(desk.read(source, after))),
                Action::Send(seq, attempt) => self.work.push(Box::pin(desk.send(seq, attempt))),
                Action::Save(save) => {
                    self.is_saving = true;
                    self.work.push(Box::pin(desk.save(self.version, *save)));
                }
                Action::End if self.is_draining => return Some(Again::WithEvents(u64::MAX)),
                Action::End => return Some(Again::Now),
            }
        }
        None
    }

    /// Waits for what wakes the driver, at most so many milliseconds.
    async fn next(&mut self, mailbox: &Mailbox, wake: i64) -> Next {
        let mut sleep = self.desk.runner.sleep(u64::try_from(wake).unwrap_or(1));
        poll_fn(|cx| {
            mailbox.register(cx.waker());
            if !self.is_draining && mailbox.is_draining() {
                return Poll::Ready(Next::Drain);
            }
            if mailbox.take_change() {
                return Poll::Ready(Next::Changed);
            }
            if mailbox.head() > self.seen {
                return Poll::Ready(Next::Head(mailbox.head()));
            }
            if let Poll::Ready(Some(done)) = self.work.poll_next_unpin(cx) {
                return Poll::Ready(Next::Done(done));
            }
            sleep.as_mut().poll(cx).map(|()| Next::Tick)
        })
        .await
    }

    /// What the state machine handles next, if anything; where the driver ends, when the endpoint is to be looked at again.
    fn happening(&mut self, next: Next) -> ControlFlow<Again, Option<Happening>> {
        ControlFlow::Continue(Some(match next {
            Next::Tick => Happening::Tick,
            Next::Head(head) => {
                self.seen = head;
                Happening::Head(head)
            }
            Next::Drain => {
                self.is_draining = true;
                Happening::Drain
            }
            Next::Changed => {
                self.work.push(Box::pin(self.desk.check()));
                return ControlFlow::Continue(None);
            }
            Next::Done(Done::Checked(versions)) => {
                if versions.is_ok_and(|versions| !versions.is_some_and(|it| self.is_own(it))) {
                    return ControlFlow::Break(Again::Now);
                }
                Happening::Tick
            }
            // The change has raised the version of the progress, so what runs here could not be saved.
            Next::Done(Done::Changed) => return ControlFlow::Break(Again::Now),
            Next::Done(done) => {
                self.is_saving &= !matches!(done, Done::Saved(_));
                happening(done, &mut self.version)
            }
        }))
    }

    /// Whether the stored versions of the endpoint and of its progress are those that this driver has read or written.
    fn is_own(&self, (endpoint, state): (u64, u64)) -> bool {
        let is_progress = state == self.version || (self.is_saving && state == self.version + 1);
        endpoint == self.desk.version() && is_progress
    }
}

fn happening(done: Done, version: &mut u64) -> Happening {
    match done {
        Done::Read(source, Ok(page)) => Happening::Read(source, page),
        Done::Read(source, Err(_)) => Happening::ReadFailed(source),
        Done::Ended(seq, outcome) => Happening::Ended(seq, outcome),
        Done::Absent(seq, absence) => Happening::Absent(seq, absence),
        Done::Saved(Ok(_)) => {
            *version += 1;
            Happening::Saved
        }
        Done::Saved(Err(error)) if is_stale(&error) => Happening::Stale,
        Done::Saved(Err(error)) => {
            tracing::warn!(%error, source = ?error.source, "the progress of a webhook endpoint was not saved; trying again");
            Happening::SaveFailed
        }
        Done::Changed | Done::Checked(_) => Happening::Stale,
    }
}
