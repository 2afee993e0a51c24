//! The tasks that read the websites of agents.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::conversations::Conversations;
use ::conversations::admin::NewKnowledge;
use async_trait::async_trait;
use openapi_core::ports::Outbound;
use openapi_core::service_info::ServiceInfo;
use responders::Format;
use tokio::task::JoinHandle;
use websites::{CrawlLimits, Crawler, CrawlerParts, CurrentChat, PageReader, ReadPage};

use super::key_rotation::KeyRotation;
use crate::knowledge::Text;
use crate::ports::monotonic;

/// How many websites a server reads at a time.
const TASKS: usize = 4;
/// How often it is looked whether the tasks have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long the end of the server waits for the answer of a website.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest title of a document, in characters.
const MAX_TITLE: usize = 200;

/// The running crawler.
pub struct Crawling {
    crawler: Arc<Crawler>,
    tasks: Vec<JoinHandle<()>>,
}

impl Crawling {
    /// Starts the tasks.
    pub fn start(platforms: &Arc<KeyRotation>, outbound: Arc<dyn Outbound>, service: &ServiceInfo) -> Self {
        let name: String = service.service_name().chars().filter(char::is_ascii_alphabetic).collect();
        let product = if name.is_empty() { "Sources".to_owned() } else { format!("{name}-Sources") };
        let parts =
            CrawlerParts { outbound, reader: Arc::new(Passages), product, limits: CrawlLimits::default() };
        let crawler = Arc::new(Crawler::new(parts, Arc::clone(platforms) as _));
        let run = |_| {
            let crawler = Arc::clone(&crawler);
            tokio::spawn(async move { crawler.run().await })
        };
        Crawling { tasks: (0..TASKS).map(run).collect(), crawler }
    }

    /// Hands the websites back before their next page.
    pub fn stop(&self) {
        self.crawler.stop();
    }

    /// Waits for what [`Crawling::stop`] has stopped, as long as an answer usually takes. What is cut goes on when its
    /// lease has ended.
    pub async fn end(&self, until: Instant) {
        let until = until.min(monotonic() + ANSWER_TIMEOUT);
        while !self.tasks.iter().all(JoinHandle::is_finished) && monotonic() < until {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl CurrentChat for KeyRotation {
    fn chat(&self) -> Arc<Conversations> {
        self.current()
    }
}

/// Splits pages into passages, on a thread of its own: a long page takes a while.
struct Passages;

#[async_trait]
impl PageReader for Passages {
    async fn read(&self, page: ReadPage) -> NewKnowledge {
        let read = tokio::task::spawn_blocking(move || document(page));
        // The work does not panic and is not cancelled; if it were, an empty document would be refused.
        read.await.unwrap_or_else(|_| document(ReadPage::default()))
    }
}

/// The document of a page.
fn document(page: ReadPage) -> NewKnowledge {
    let ReadPage { url, title, text, language } = page;
    let (bytes, name) = (text.clone(), url.split_once("://").map_or("", |(_, rest)| rest).to_owned());
    let title =
        title.map(|title| title.chars().filter(|it| !it.is_control() || it.is_whitespace()).collect());
    let text = Text {
        pages: vec![text],
        page_count: None,
        format: Format::Markdown,
        content_type: "text/html",
        title: title.filter(|title: &String| !title.trim().is_empty()),
        warnings: Vec::new(),
    };
    let mut new = text.into_document(&name, bytes.as_bytes(), None);
    let title = if new.title.trim().is_empty() { &name } else { &new.title };
    new.title = title.chars().take(MAX_TITLE).collect::<String>().trim().to_owned();
    (new.url, new.language) = (Some(url), language);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_document_with_its_address() {
        let page = |title: Option<&str>, text: &str| ReadPage {
            url: "https://www.example.com/".to_owned(),
            title: title.map(str::to_owned),
            text: text.to_owned(),
            language: Some("en".to_owned()),
        };
        let new =
            document(page(Some(&format!("Prices\u{1}\n {}", "x".repeat(300))), "# Visits\n\nA visit is 40."));
        assert_eq!((new.title.chars().count(), new.title.starts_with("Prices x")), (MAX_TITLE, true));
        assert_eq!(
            (new.file_name.as_str(), new.url.as_deref()),
            ("www.example.com/", Some("https://www.example.com/"))
        );
        assert_eq!((new.language.as_deref(), new.passages.len()), (Some("en"), 1));
        assert_eq!(document(page(None, "# Visits\n\nA visit is 40.")).title, "Visits");
        assert_eq!(document(page(Some(" "), "A visit is 40.")).title, "www.example.com/");
    }
}
