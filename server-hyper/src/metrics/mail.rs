//! Metrics of e-mail to visitors.

use std::sync::Arc;

use conversations::mail::MailOutcome;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

/// Metrics of e-mail to visitors.
#[derive(Clone, Debug)]
pub struct MailMetrics {
    attempts: Family<OutcomeLabels, Counter>,
    /// Why the last attempt failed.
    problem: Arc<Mutex<Option<String>>>,
}

impl MailMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = MailMetrics { attempts: Family::default(), problem: Arc::default() };
        // From the start, so that alerts see the first of each.
        for outcome in MailOutcome::ALL {
            drop(metrics.counter(outcome));
        }
        let help = "Attempts to send e-mail to visitors, by outcome";
        registry.register("mail_attempts", help, metrics.attempts.clone());
        metrics
    }

    fn counter(&self, outcome: MailOutcome) -> impl std::ops::Deref<Target = Counter> + '_ {
        self.attempts.get_or_create(&OutcomeLabels { outcome: outcome.as_str() })
    }

    /// Counts an attempt.
    pub fn note(&self, outcome: MailOutcome, error: Option<&str>) {
        self.counter(outcome).inc();
        let problem = match outcome {
            MailOutcome::Sent => None,
            // That of a recipient is none of the server's.
            MailOutcome::Refused => return,
            MailOutcome::Retried | MailOutcome::GivenUp => {
                Some(format!("e-mail to visitors cannot be sent: {}", error.unwrap_or_default()))
            }
        };
        *self.problem.lock() = problem;
    }

    /// What readiness says: nothing while e-mail is sent.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }
}
