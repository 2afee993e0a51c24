//! Formats one log line, field by field.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::time::Duration;

use openapi_core::values::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata};

use crate::config::typed::LogFormat;

/// Appends one line to a buffer.
pub struct Line<'a> {
    format: LogFormat,
    coloured: bool,
    buffer: &'a mut Vec<u8>,
}

impl<'a> Line<'a> {
    /// Starts a line at the end of `buffer`.
    pub fn new(format: LogFormat, coloured: bool, buffer: &'a mut Vec<u8>) -> Self {
        Line { format, coloured, buffer }
    }

    /// Writes timestamp, level and target.
    pub fn begin(&mut self, metadata: &Metadata<'_>, since_epoch: Duration) {
        let at = Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX));
        let target = metadata.target();
        // Writing to a vector never fails.
        match self.format {
            LogFormat::Json => {
                let level = match *metadata.level() {
                    Level::ERROR => "error",
                    Level::WARN => "warn",
                    Level::INFO => "info",
                    Level::DEBUG => "debug",
                    Level::TRACE => "trace",
                };
                self.buffer.extend_from_slice(br#"{"timestamp":""#);
                let _ = write!(self.buffer, "{at}");
                for piece in [r#"","level":""#, level, r#"","target":""#, target, "\""] {
                    self.buffer.extend_from_slice(piece.as_bytes());
                }
            }
            LogFormat::Text => {
                let level = metadata.level();
                let (colour, plain) = match (self.coloured, *level) {
                    (false, _) => ("", ""),
                    (true, Level::ERROR) => ("\x1b[31m", "\x1b[0m"),
                    (true, Level::WARN) => ("\x1b[33m", "\x1b[0m"),
                    (true, _) => ("\x1b[2m", "\x1b[0m"),
                };
                let _ = write!(self.buffer, "{at} {colour}{level:>5}{plain} {target}:");
            }
        }
    }

    /// Ends the line.
    pub fn end(self) {
        if self.format == LogFormat::Json {
            self.buffer.push(b'}');
        }
        self.buffer.push(b'\n');
    }

    fn name(&mut self, field: &Field) {
        match (self.format, field.name()) {
            (LogFormat::Json, name) => {
                self.buffer.extend_from_slice(b",\"");
                self.buffer.extend_from_slice(name.as_bytes());
                self.buffer.extend_from_slice(b"\":");
            }
            (LogFormat::Text, "message") => self.buffer.push(b' '),
            (LogFormat::Text, name) => {
                self.buffer.push(b' ');
                self.buffer.extend_from_slice(name.as_bytes());
                self.buffer.push(b'=');
            }
        }
    }

    fn plain(&mut self, field: &Field, value: impl fmt::Display) {
        self.name(field);
        let _ = write!(self.buffer, "{value}");
    }

    fn integer(&mut self, field: &Field, value: impl itoa::Integer) {
        self.name(field);
        self.buffer.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    fn text(&mut self, field: &Field, text: &str) {
        self.name(field);
        let is_word = || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
        match self.format {
            LogFormat::Json => {
                let escaped =
                    |byte: u8| u8::from(byte < b' ') | u8::from(byte == b'"') | u8::from(byte == b'\\');
                // Free of branches, so the compiler vectorises it.
                if text.bytes().fold(0, |found, byte| found | escaped(byte)) != 0 {
                    // Serializing a string never fails.
                    let _ = serde_json::to_writer(&mut *self.buffer, text);
                } else {
                    self.buffer.push(b'"');
                    self.buffer.extend_from_slice(text.as_bytes());
                    self.buffer.push(b'"');
                }
            }
            // Unescaped control characters would let a client forge lines.
            LogFormat::Text if field.name() == "message" => {
                let _ = write!(self.buffer, "{}", text.escape_debug());
            }
            LogFormat::Text if is_word() => self.buffer.extend_from_slice(text.as_bytes()),
            LogFormat::Text => {
                let _ = write!(self.buffer, "{text:?}");
            }
        }
    }
}

impl Visit for Line<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.integer(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.integer(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.plain(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // Only durations in milliseconds are floating-point numbers. Three decimals are enough for them, and formatting
        // an integer is several times as fast as the shortest exact decimal.
        let thousandths = (value * 1_000.0).round();
        if (0.0..1e15).contains(&thousandths) {
            let thousandths = thousandths as u64;
            self.integer(field, thousandths / 1_000);
            let digit = |unit: u64| b'0' + (thousandths / unit % 10) as u8;
            self.buffer.extend_from_slice(&[b'.', digit(100), digit(10), digit(1)]);
        } else if value.is_finite() {
            self.plain(field, format_args!("{value:.3}"));
        } else {
            self.text(field, &value.to_string());
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            let _ = write!(text, ": {cause}");
            source = cause.source();
        }
        self.text(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        let _ = write!(text, "{value:?}");
        self.text(field, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use tracing_subscriber::layer::SubscriberExt;

    #[derive(Clone)]
    struct Captured(LogFormat, Arc<Mutex<Vec<u8>>>);

    impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Captured {
        fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            let mut buffer = self.1.lock().unwrap();
            let mut line = Line::new(self.0, false, &mut buffer);
            line.begin(event.metadata(), Duration::from_millis(1_769_850_902_123));
            event.record(&mut line);
            line.end();
        }
    }

    fn logged(format: LogFormat, log: impl FnOnce()) -> String {
        let captured = Captured(format, Arc::default());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(captured.clone()), log);
        let bytes = captured.1.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn log_event() {
        let none: Option<&str> = None;
        tracing::info!(target: "access", status = 200, took = 1.23456, key = "a", none, path = %"x \"y\"\n", "it's\nso");
    }

    #[test]
    fn json_is_one_document_per_line() {
        let text = logged(LogFormat::Json, log_event);
        assert_eq!(text.lines().count(), 1);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "timestamp": "2026-01-31T09:15:02.123Z", "level": "info", "target": "access", "message": "it's\nso",
                "status": 200, "took": 1.235, "key": "a", "path": "x \"y\"\n"
            })
        );
    }

    #[test]
    fn text_is_one_line_whatever_is_in_it() {
        assert_eq!(
            logged(LogFormat::Text, log_event),
            "2026-01-31T09:15:02.123Z  INFO access: it\\'s\\nso status=200 took=1.235 key=a path=\"x \\\"y\\\"\\n\"\n"
        );
    }
}
