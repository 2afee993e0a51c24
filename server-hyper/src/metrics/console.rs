//! Metrics of the console.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Constants of the program: their number is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    operation: &'static str,
    code: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SignInLabels {
    method: &'static str,
    outcome: &'static str,
}

/// The outcome of an attempt that succeeded; others are codes.
const SIGNED_IN: &str = "signed_in";

/// Counters of the console.
#[derive(Clone, Debug, Default)]
pub struct ConsoleMetrics {
    requests: Family<RequestLabels, Counter>,
    sign_ins: Family<SignInLabels, Counter>,
}

/// Sign-ins at providers.
const OIDC: &str = "oidc";

impl ConsoleMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = ConsoleMetrics::default();
        registry.register("console_requests", "Requests of operators", metrics.requests.clone());
        registry.register("sign_ins", "Attempts of operators to sign in", metrics.sign_ins.clone());
        // Series that exist from the start: a rate of them is known before anybody has signed in.
        metrics.requests.get_or_create(&RequestLabels { operation: "session.show", code: "" }).inc_by(0);
        for method in ["passkey", "password", "link", "recoveryCode", OIDC] {
            metrics.sign_ins.get_or_create(&SignInLabels { method, outcome: SIGNED_IN }).inc_by(0);
        }
        metrics
    }

    /// Counts a request; `code` is the error's, if it failed.
    pub fn record(&self, operation: Option<&'static str>, code: Option<&'static str>) {
        let labels =
            RequestLabels { operation: operation.unwrap_or("unknown"), code: code.unwrap_or_default() };
        self.requests.get_or_create(&labels).inc();
        let method = match operation {
            Some("signIn.passkey") => "passkey",
            // A right password is no sign-in yet: its code is.
            Some("signIn.password") if code.is_none() => return,
            Some("signIn.password" | "signIn.code") => "password",
            Some("signIn.recover") => "recoveryCode",
            Some("links.accept") => "link",
            _ => return,
        };
        self.record_sign_in(method, code);
    }

    /// Counts an attempt to sign in at a provider; `code` is the error's, if it failed.
    pub fn record_oidc(&self, code: Option<&'static str>) {
        self.record_sign_in(OIDC, code);
    }

    fn record_sign_in(&self, method: &'static str, code: Option<&'static str>) {
        let outcome = code.unwrap_or(SIGNED_IN);
        self.sign_ins.get_or_create(&SignInLabels { method, outcome }).inc();
    }
}
