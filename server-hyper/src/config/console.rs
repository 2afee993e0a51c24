//! The settings of the console.

use std::net::SocketAddr;
use std::time::Duration;

use super::reader::Reader;
use super::values;

/// The settings of the console's listener.
#[derive(Clone, Debug)]
pub struct ConsoleServing {
    /// Its address; none when it is off.
    pub listen: Option<SocketAddr>,
    /// The public origin, such as `https://console.example.com`.
    pub public_url: Option<String>,
    /// How long a session lives without use.
    pub session_idle: Duration,
    /// How long a session lives at most.
    pub session_total: Duration,
}

impl ConsoleServing {
    /// Reads the settings.
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        const HOUR: Duration = Duration::from_secs(3_600);
        let serving = ConsoleServing {
            listen: reader.one("console_listen", None, values::optional_listen_address),
            public_url: reader.optional("console_public_url", public_origin),
            session_idle: reader.positive("console_session_idle", 12 * HOUR),
            session_total: reader.positive("console_session_total", 30 * 24 * HOUR),
        };
        if serving.listen.is_some_and(|address| !address.ip().is_loopback()) && serving.public_url.is_none() {
            let message = "other machines can reach this address, so browsers need the name of the console: set \
                           console_public_url, such as https://console.example.com";
            reader.error("console_listen", message);
        }
        if serving.session_idle > serving.session_total {
            reader
                .error("console_session_idle", "a session without use cannot outlive console_session_total");
        }
        serving
    }
}

/// A public origin: `https`, or plain text on this machine.
fn public_origin(text: &str) -> Result<String, String> {
    let origin = super::widget::public_origin(text)?;
    let is_local = ["http://localhost", "http://127.0.0.1", "http://[::1]"]
        .into_iter()
        .any(|local| origin.strip_prefix(local).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')));
    if origin.starts_with("https://") || is_local {
        return Ok(origin);
    }
    Err(format!("'{text}' sends operators' sessions in plain text; write https://…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_on_this_machine() {
        for good in ["https://console.example.com", "http://localhost:8082", "http://127.0.0.1"] {
            assert_eq!(public_origin(good).as_deref(), Ok(good));
        }
        for bad in [
            "http://console.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "x",
        ] {
            assert!(public_origin(bad).is_err(), "{bad}");
        }
    }
}
