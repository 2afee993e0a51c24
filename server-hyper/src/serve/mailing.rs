//! The tasks that send e-mail to visitors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use conversations::mail::{MailOutcome, MailParts};
use tokio::task::JoinHandle;

use super::key_rotation::KeyRotation;
use crate::config::typed::Serving;
use crate::metrics::MailMetrics;
use crate::ports::monotonic;

/// How many e-mails a server sends at a time.
const TASKS: usize = 4;
/// How often it is looked for e-mail that is due.
const IDLE: Duration = Duration::from_secs(2);
/// How often it is looked whether the tasks have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The running tasks; none without an SMTP server.
#[derive(Default)]
pub struct Mailing {
    tasks: Vec<JoinHandle<()>>,
    is_stopped: Arc<AtomicBool>,
}

impl Mailing {
    /// Starts the tasks, if there is an SMTP server and a listener for the links.
    pub fn start(
        platforms: &Arc<KeyRotation>,
        serving: &Serving,
        widget_origin: Option<&str>,
        metrics: MailMetrics,
    ) -> Self {
        let Some((mailer, origin)) = serving.mailer.clone().zip(widget_origin) else {
            return Mailing::default();
        };
        let parts = MailParts {
            mailer: Arc::new(mailer),
            widget_origin: origin.to_owned(),
            observer: Arc::new(move |outcome: MailOutcome, error: Option<&str>| metrics.note(outcome, error)),
        };
        let is_stopped = Arc::new(AtomicBool::new(false));
        let run = |_| {
            let (platforms, parts, is_stopped) =
                (Arc::clone(platforms), parts.clone(), Arc::clone(&is_stopped));
            tokio::spawn(async move { run(&platforms, &parts, &is_stopped).await })
        };
        Mailing { tasks: (0..TASKS).map(run).collect(), is_stopped: Arc::clone(&is_stopped) }
    }

    /// Begins nothing new.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Waits for what is being sent. What is cut is sent again when its lease has ended.
    pub async fn end(&self, until: Instant) {
        while !self.tasks.iter().all(JoinHandle::is_finished) && monotonic() < until {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn run(platforms: &KeyRotation, parts: &MailParts, is_stopped: &AtomicBool) {
    let current = platforms.current();
    let server = current.platform().ports().ids.platform_id(current.platform().now());
    drop(current);
    while !is_stopped.load(Ordering::Relaxed) {
        match platforms.current().send_due_mail(server, parts).await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "failed to look for e-mail to send; retrying"),
        }
        let until = monotonic() + IDLE;
        while monotonic() < until && !is_stopped.load(Ordering::Relaxed) {
            tokio::time::sleep(IDLE / 10).await;
        }
    }
}
