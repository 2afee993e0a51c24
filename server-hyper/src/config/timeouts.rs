//! Timeouts of a connection.

use std::time::Duration;

/// How long the server waits for a client.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From the first byte of a request head to its end; for the first request, from the start of the connection.
    pub head: Duration,
    /// Between two requests of a connection.
    pub idle: Duration,
    /// Between two reads of a request body (contract 9).
    pub body_idle: Duration,
    /// For a whole request body (contract 9).
    pub body_total: Duration,
    /// While the client reads no byte of a response; in HTTP/2 while it takes no piece of 16 KiB.
    pub write: Duration,
    /// For a TLS handshake.
    pub handshake: Duration,
    /// For reading what a client still sends after the last response of a connection.
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

/// For the head of a request to the widget listener.
const WIDGET_HEAD: Duration = Duration::from_secs(5);
/// For the body of such a request.
const WIDGET_BODY: Duration = Duration::from_secs(10);
/// For a response that a visitor's browser does not read.
const WIDGET_WRITE: Duration = Duration::from_secs(15);
/// For a file that a visitor uploads.
const WIDGET_UPLOAD: Duration = Duration::from_secs(60);

impl Timeouts {
    /// The timeouts of the widget listener, which is public: its own or `self`, whichever is shorter.
    #[must_use]
    pub fn of_widget(self) -> Self {
        Timeouts {
            head: self.head.min(WIDGET_HEAD),
            body_total: self.body_total.min(WIDGET_BODY),
            write: self.write.min(WIDGET_WRITE),
            ..self
        }
    }

    /// The timeouts of the console listener. It waits for the body of a signed-in operator as long as the API does; what
    /// anybody may send, the console itself bounds.
    #[must_use]
    pub fn of_console(self) -> Self {
        Timeouts { head: self.head.min(WIDGET_HEAD), write: self.write.min(WIDGET_WRITE), ..self }
    }

    /// For a whole file that a visitor uploads. It may stall as long as any other body.
    #[must_use]
    pub fn of_upload(self) -> Duration {
        self.body_total.min(WIDGET_UPLOAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widget_listener_has_shorter_timeouts() {
        let ours = Timeouts::default().of_widget();
        let upload = Timeouts::default().of_upload();
        let times = [ours.head, ours.body_total, upload, ours.body_idle, ours.idle, ours.write];
        assert_eq!(times.map(|time| time.as_secs()), [5, 10, 60, 30, 75, 15]);
        let second = Duration::from_secs(1);
        let short = Timeouts { head: second, body_total: second, ..Timeouts::default() };
        let ours = short.of_widget();
        assert_eq!(
            [ours.head, ours.body_total, short.of_upload()],
            [second; 3],
            "the operator's shorter timeouts apply"
        );
    }
}
