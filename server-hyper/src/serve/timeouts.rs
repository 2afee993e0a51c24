//! How long a connection may take for what.

use std::time::Duration;

/// The patience of the server with a client.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From the first byte of a request head (of a new connection: from its start) to its end.
    pub head: Duration,
    /// Between two requests of a connection.
    pub idle: Duration,
    /// Without an byte of a request body (contract 9).
    pub body_idle: Duration,
    /// For a request body as a whole (contract 9).
    pub body_total: Duration,
    /// Without a client taking an byte of an answer.
    pub write: Duration,
    /// For a TLS handshake.
    pub handshake: Duration,
    /// For what a client still sends after it was answered and the connection is to end.
    pub linger: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body_idle: Duration::from_secs(30),
            body_total: Duration::from_secs(300),
            write: Duration::from_secs(30),
            handshake: Duration::from_secs(10),
            linger: Duration::from_secs(5),
        }
    }
}

/// For the head of a request to the widget's listener.
const WIDGET_HEAD: Duration = Duration::from_secs(5);
/// For the body of one.
const WIDGET_BODY: Duration = Duration::from_secs(10);
/// For a file of a visitor.
const WIDGET_UPLOAD: Duration = Duration::from_secs(60);

impl Timeouts {
    /// The patience of the widget's listener, which anybody may talk to: no more than this, and no more than `self`.
    #[must_use]
    pub fn of_widget(self) -> Self {
        Timeouts { head: self.head.min(WIDGET_HEAD), body_total: self.body_total.min(WIDGET_BODY), ..self }
    }

    /// For a file of a visitor as a whole. In between it may stall as long as any other body.
    #[must_use]
    pub fn of_upload(self) -> Duration {
        self.body_total.min(WIDGET_UPLOAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widgets_listener_is_less_patient() {
        let ours = Timeouts::default().of_widget();
        let upload = Timeouts::default().of_upload();
        let times = [ours.head, ours.body_total, upload, ours.body_idle, ours.idle];
        assert_eq!(times.map(|time| time.as_secs()), [5, 10, 60, 30, 75]);
        let second = Duration::from_secs(1);
        let short = Timeouts { head: second, body_total: second, ..Timeouts::default() };
        let ours = short.of_widget();
        assert_eq!(
            [ours.head, ours.body_total, short.of_upload()],
            [second; 3],
            "what the operator set is kept"
        );
    }
}
