//! Settings of e-mail to visitors: the SMTP server and the sender.

use ::mail::{SmtpMailer, SmtpSettings, SmtpTls};
use openapi_core::values::Email;

use super::reader::Reader;
use super::{Config, ConfigError, values};

/// The mailer of a command without a server; [`None`] without an SMTP server.
///
/// # Errors
/// Every invalid setting.
pub fn mailer_of(config: &Config) -> Result<Option<SmtpMailer>, ConfigError> {
    let mut reader = Reader::new(config);
    let mailer = mailer(&mut reader);
    reader.finish(mailer)
}

/// How long a reply waits to be read, for a command without a server, in milliseconds.
///
/// # Errors
/// A delay out of its range.
pub fn mail_delay_of(config: &Config) -> Result<u32, ConfigError> {
    let mut reader = Reader::new(config);
    let delay = delay(&mut reader);
    reader.finish(delay)
}

/// Reads how long a reply waits to be read, in milliseconds.
pub(super) fn delay(reader: &mut Reader<'_>) -> u32 {
    reader.one("mail_delay", 120_000, |text| {
        let millis = values::duration(text)?.as_millis();
        let millis = u32::try_from(millis).ok().filter(|millis| (1_000..=86_400_000).contains(millis));
        millis.ok_or_else(|| format!("'{text}' must be from 1s to 24h"))
    })
}

/// Reads the settings; [`None`] without an SMTP server.
pub(super) fn mailer(reader: &mut Reader<'_>) -> Option<SmtpMailer> {
    let tls = reader.one("smtp_tls", SmtpTls::StartTls, tls_mode);
    let port = reader.optional("smtp_port", |text| {
        let port = text.parse().ok().filter(|port: &u16| *port != 0);
        port.ok_or_else(|| format!("'{text}' is not a port; write a number from 1 to 65535"))
    });
    let user = reader.optional("smtp_user", |text| Ok(text.to_owned()));
    let password = reader.optional("smtp_password", |text| Ok(text.to_owned()));
    let authorities = reader.optional("smtp_ca", |path| {
        std::fs::read(path).map_err(|error| format!("cannot read '{path}': {error}"))
    });
    let from = reader.optional("mail_from", address);
    let reply_to = reader.optional("mail_reply_to", address);
    let host = reader.optional("smtp_host", host)?;
    let credentials = match (user, password) {
        (Some(user), Some(password)) => Some((user, password)),
        (None, None) => None,
        (Some(_), None) => {
            reader.error("smtp_user", "a user needs a password; set smtp_password_file as well");
            None
        }
        (None, Some(_)) => {
            reader.error("smtp_password", "a password needs its user; set smtp_user as well");
            None
        }
    };
    if tls == SmtpTls::None && credentials.is_some() {
        let message = "the password would cross the network in plain text; write starttls or tls";
        reader.error("smtp_tls", message);
        return None;
    }
    let Some(from) = from else {
        reader.error("smtp_host", "e-mail needs a sender; set mail_from as well");
        return None;
    };
    let port = port.unwrap_or(tls.port());
    match SmtpMailer::new(SmtpSettings { host, port, tls, credentials, authorities, from, reply_to }) {
        Ok(mailer) => Some(mailer),
        Err(error) => {
            reader.error("smtp_host", &error.to_string());
            None
        }
    }
}

fn tls_mode(text: &str) -> Result<SmtpTls, String> {
    match text {
        "starttls" => Ok(SmtpTls::StartTls),
        "tls" => Ok(SmtpTls::Tls),
        "none" => Ok(SmtpTls::None),
        _ => Err(format!("'{text}' is no way to protect SMTP; write starttls, tls or none")),
    }
}

fn host(text: &str) -> Result<String, String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    if !text.is_empty() && text.bytes().all(is_part) {
        return Ok(text.to_owned());
    }
    Err(format!("'{text}' is not a host name; write smtp.example.com, and the port in smtp_port"))
}

fn address(text: &str) -> Result<Email, String> {
    text.parse().map_err(|_| format!("'{text}' is not an address; write support@example.com, without a name"))
}
