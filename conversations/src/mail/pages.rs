//! The pages of the widget host to which the links of an e-mail lead: one that goes back to the conversation and one that
//! stops e-mail. Opening them changes nothing; a button does, because programs open links in e-mail before people do.

use openapi_core::values::AgentId;

use super::escape::escape;
use super::texts::MailTexts;

/// The pages of a widget host.
#[derive(Clone, Copy, Debug)]
pub struct MailPages;

/// What the page that stops e-mail says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptOutPage {
    /// It asks.
    Ask,
    /// It was done.
    Done,
    /// The link is altered.
    Invalid,
}

impl MailPages {
    /// The path before the agent of the page that goes back to a conversation. The token is in the fragment.
    pub const RESUME: &'static str = "/resume/";
    /// The path before the agent of the page with the opened widget.
    pub const CHAT: &'static str = "/chat/";
    /// The path before the token of the page that stops e-mail.
    pub const UNSUBSCRIBE: &'static str = "/unsubscribe/";
    /// The script and the style of the pages, by path.
    pub const FILES: [(&'static str, &'static str); 2] =
        [("/resume.js", include_str!("resume.js")), ("/mail.css", include_str!("mail.css"))];

    /// The page that goes back to a conversation. `storage_key` is where the widget looks for its session.
    #[must_use]
    pub fn resume(agent: &AgentId, storage_key: &str, locale: &str) -> String {
        let texts = MailTexts::of_locale(locale);
        let (key, resume) = (escape(storage_key), escape(texts.resume));
        let (ended, failed) = (escape(texts.ended), escape(texts.failed));
        let main = format!(
            "<main data-agent=\"{agent}\" data-key=\"{key}\" data-chat=\"{}{agent}?lang={}\">\n\
             <p data-when=\"ended\" role=\"alert\" hidden>{ended}</p>\n\
             <p data-when=\"failed\" role=\"alert\" hidden>{failed}</p>\n\
             <button type=\"button\">{resume}</button>\n</main>\n<script src=\"/resume.js\"></script>\n",
            MailPages::CHAT,
            texts.tag
        );
        page(texts, texts.resume, &main)
    }

    /// The page with the opened widget.
    #[must_use]
    pub fn chat(agent: &AgentId, locale: &str) -> String {
        let texts = MailTexts::of_locale(locale);
        let main = format!(
            "<main></main>\n<script src=\"/embed.js\" data-agent-id=\"{agent}\" data-open=\"true\" data-open-on-mobile=\"true\" \
             data-locale=\"{}\" async></script>\n",
            texts.tag
        );
        page(texts, texts.resume, &main)
    }

    /// The page that stops e-mail. Its form goes to the address that it is under.
    #[must_use]
    pub fn opt_out(state: OptOutPage, locale: &str) -> String {
        let texts = MailTexts::of_locale(locale);
        let main = match state {
            OptOutPage::Ask => format!(
                "<main>\n<p>{}</p>\n<form method=\"post\">\n<input type=\"hidden\" name=\"List-Unsubscribe\" \
                 value=\"One-Click\">\n<button>{}</button>\n</form>\n</main>\n",
                escape(texts.ask_stop),
                escape(texts.stop)
            ),
            OptOutPage::Done => {
                format!("<main>\n<p role=\"status\">{}</p>\n</main>\n", escape(texts.stopped))
            }
            OptOutPage::Invalid => {
                format!("<main>\n<p role=\"alert\">{}</p>\n</main>\n", escape(texts.invalid))
            }
        };
        page(texts, texts.stop, &main)
    }
}

fn page(texts: &MailTexts, title: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"{}\" dir=\"{}\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<meta name=\"robots\" content=\"noindex\">\n<meta name=\"color-scheme\" \
         content=\"light dark\">\n<title>{}</title>\n<link rel=\"stylesheet\" href=\"/mail.css\">\n{main}</html>\n",
        texts.tag,
        texts.direction(),
        escape(title)
    )
}
