//! Sends the e-mail of the service through an SMTP server of the operator.
//!
//! [`SmtpMailer`] implements the port [`Mailer`]. It opens a connection for each message, because a person writes them:
//! there are few. It believes only certificates that the system or the operator trusts, and without TLS it sends no
//! password.

use async_trait::async_trait;
use conversations::mail::{MailError, Mailer, OutgoingMail};
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use openapi_core::values::Email;

/// Replies of a server that say nothing about a message: it wants other credentials.
const CREDENTIALS_REFUSED: [u16; 4] = [530, 534, 535, 538];

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpTls {
    /// It begins in plain text and must change to TLS before anything else.
    StartTls,
    /// TLS from the first byte.
    Tls,
    /// Not at all.
    None,
}

impl SmtpTls {
    /// The usual port.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            SmtpTls::StartTls => 587,
            SmtpTls::Tls => 465,
            SmtpTls::None => 25,
        }
    }
}

/// The settings of an SMTP server.
#[derive(Clone)]
pub struct SmtpSettings {
    /// Its name.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How connections are protected.
    pub tls: SmtpTls,
    /// User and password.
    pub credentials: Option<(String, String)>,
    /// Certificates of authorities to trust besides those of the system, as PEM.
    pub authorities: Option<Vec<u8>>,
    /// The address of the sender.
    pub from: Email,
    /// Where replies go; by default to the sender.
    pub reply_to: Option<Email>,
}

impl std::fmt::Debug for SmtpSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SmtpSettings")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("tls", &self.tls)
            .field("has_credentials", &self.credentials.is_some())
            .finish_non_exhaustive()
    }
}

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSmtp {
    /// The certificates cannot be read.
    #[error("the certificates of the authorities cannot be read: {0}")]
    Authorities(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up for {host}: {error}")]
    Tls {
        /// The server.
        host: String,
        /// The error.
        error: String,
    },
    /// An address of the settings is none for SMTP.
    #[error("'{0}' is no address that SMTP can use")]
    Address(String),
    /// A password would be sent in plain text.
    #[error("a password needs TLS")]
    PlainPassword,
}

/// Sends e-mail through an SMTP server.
#[derive(Clone)]
pub struct SmtpMailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Address,
    reply_to: Option<Address>,
}

impl std::fmt::Debug for SmtpMailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SmtpMailer").field("from", &self.from).finish_non_exhaustive()
    }
}

impl SmtpMailer {
    /// A mailer. It connects to nothing yet.
    ///
    /// # Errors
    /// When the settings contradict each other or a certificate cannot be read.
    pub fn new(settings: SmtpSettings) -> Result<Self, InvalidSmtp> {
        let SmtpSettings { host, port, tls, credentials, authorities, from, reply_to } = settings;
        if tls == SmtpTls::None && credentials.is_some() {
            return Err(InvalidSmtp::PlainPassword);
        }
        let from = address(&from)?;
        let tls = match tls {
            SmtpTls::None => Tls::None,
            SmtpTls::StartTls => Tls::Required(parameters(&host, authorities.as_deref())?),
            SmtpTls::Tls => Tls::Wrapper(parameters(&host, authorities.as_deref())?),
        };
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
            .port(port)
            .tls(tls)
            .hello_name(ClientId::Domain(from.domain().to_owned()));
        if let Some((user, password)) = credentials {
            transport = transport.credentials(Credentials::new(user, password));
        }
        let reply_to = reply_to.as_ref().map(address).transpose()?;
        Ok(SmtpMailer { transport: transport.build(), from, reply_to })
    }

    fn message(&self, mail: &OutgoingMail) -> Result<Message, String> {
        let to: Address = mail.to.as_str().parse().map_err(|_| "SMTP cannot use the address".to_owned())?;
        let name = Some(header_text(&mail.from_name)).filter(|name| !name.is_empty());
        let mut message = Message::builder()
            .message_id(Some(format!("<{}@{}>", mail.id, self.from.domain())))
            .from(Mailbox::new(name, self.from.clone()))
            .to(Mailbox::new(None, to))
            .subject(header_text(&mail.subject))
            .raw_header(raw("Auto-Submitted", "auto-generated".to_owned()))
            .raw_header(raw("X-Auto-Response-Suppress", "All".to_owned()));
        if let Some(reply_to) = &self.reply_to {
            message = message.reply_to(Mailbox::new(None, reply_to.clone()));
        }
        if let Some(url) = mail.unsubscribe_url.as_deref().filter(|url| is_url(url)) {
            // RFC 8058: programs stop e-mail by a POST to this address.
            message = message
                .raw_header(raw("List-Unsubscribe", format!("<{url}>")))
                .raw_header(raw("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()));
        }
        let body = MultiPart::alternative_plain_html(mail.text.clone(), mail.html.clone());
        message.multipart(body).map_err(|error| error.to_string())
    }
}

#[async_trait]
impl Mailer for SmtpMailer {
    async fn send(&self, mail: &OutgoingMail) -> Result<(), MailError> {
        let message = self.message(mail).map_err(MailError::Permanent)?;
        match self.transport.send(message).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let code = error.status().map(u16::from);
                let is_about_us = code.is_some_and(|code| CREDENTIALS_REFUSED.contains(&code));
                // The server cannot send to an address that is not in ASCII.
                let is_about_address = error.is_client() && !mail.to.as_str().is_ascii();
                let said = with_causes(&error);
                if error.is_permanent() && !is_about_us || is_about_address {
                    return Err(MailError::Permanent(said));
                }
                Err(MailError::Temporary(said))
            }
        }
    }
}

fn address(email: &Email) -> Result<Address, InvalidSmtp> {
    email.as_str().parse().map_err(|_| InvalidSmtp::Address(email.to_string()))
}

fn parameters(host: &str, authorities: Option<&[u8]>) -> Result<TlsParameters, InvalidSmtp> {
    let mut parameters = TlsParameters::builder(host.to_owned());
    if let Some(pem) = authorities {
        let read =
            Certificate::from_pem(pem).map_err(|error| InvalidSmtp::Authorities(with_causes(&error)))?;
        parameters = parameters.add_root_certificate(read);
    }
    let tls = |error| InvalidSmtp::Tls { host: host.to_owned(), error: with_causes(&error) };
    parameters.build_rustls().map_err(tls)
}

/// The value of a header that needs no encoding.
fn raw(name: &'static str, value: String) -> HeaderValue {
    HeaderValue::dangerous_new_pre_encoded(HeaderName::new_from_ascii_str(name), value.clone(), value)
}

/// Whether a text is of the characters of a URL alone, and so neither ends a header nor its angle brackets.
fn is_url(text: &str) -> bool {
    text.len() <= 900 && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'))
}

/// A text on one line.
fn header_text(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect::<String>()
        .trim()
        .to_owned()
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        cause = inner.source();
    }
    said
}
