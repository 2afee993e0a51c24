//! A store of documents that counts how often it is read.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use conversations::storage::{KnowledgeStore, KnowledgeWrite};
use conversations::{KnowledgeDocument, Passage};
use openapi_core::files::Sha256Digest;
use openapi_core::json::RawObject;
use openapi_core::storage::{
    RecordId, RecordKey, RecordKind, RecordStore, RecordsWrite, StorageError, StorageErrorKind, StoredRecord,
};
use openapi_core::values::{AgentId, KnowledgeId, PlatformId, Timestamp};
use responders::{Format, cut, title};

use crate::NOW;

/// Whose it is, if not everybody's, and what.
type Owned = (Option<AgentId>, KnowledgeDocument, Vec<Passage>);
type Result<T> = std::result::Result<T, StorageError>;

/// Documents of one agent, or of every agent.
#[derive(Default)]
pub struct Store {
    documents: Mutex<Vec<Owned>>,
    version: AtomicUsize,
    pub readings: AtomicUsize,
    pub checks: AtomicUsize,
    pub is_broken: AtomicBool,
}

impl Store {
    pub fn add(&self, file_name: &str, language: Option<&str>, text: &str) {
        self.add_of(None, file_name, language, text);
    }

    pub fn add_of(&self, owner: Option<&AgentId>, file_name: &str, language: Option<&str>, text: &str) {
        let format = if file_name.ends_with(".md") { Format::Markdown } else { Format::Plain };
        let cut = cut(&[text], format);
        let mut documents = self.documents.lock().expect("no panic");
        let number = u64::try_from(documents.len()).expect("few");
        let document = KnowledgeDocument {
            id: KnowledgeId::from(PlatformId::new(NOW, number.to_be_bytes())),
            file_name: file_name.to_owned(),
            title: title(&cut, file_name),
            url: Some(format!("https://docs.example.com/{file_name}")),
            language: language.map(str::to_owned),
            content_type: "text/markdown".to_owned(),
            sha256: Sha256Digest([0; 32]),
            characters: cut.text.chars().count() as u64,
            pages: None,
            passages: u32::try_from(cut.passages.len()).expect("few"),
            source: None,
            questions: Vec::new(),
            created_at: NOW,
            updated_at: NOW,
        };
        documents.push((owner.cloned(), document, cut.passages));
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Adds a question-and-answer pair, of one agent or of every agent.
    pub fn teach(&self, owner: Option<&AgentId>, questions: &[&str], answer: &str) {
        self.add_of(owner, questions[0], None, answer);
        let mut documents = self.documents.lock().expect("no panic");
        let (_, document, passages) = documents.last_mut().expect("a document");
        document.title = questions[0].to_owned();
        document.questions = questions.iter().map(|&question| question.to_owned()).collect();
        let text = answer.to_owned();
        *passages = vec![Passage { position: 0, headings: Vec::new(), page: None, start: 0, end: 1, text }];
    }

    /// Removes all documents.
    pub fn clear(&self) {
        self.documents.lock().expect("no panic").clear();
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    fn check(&self) -> Result<()> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(StorageError::from(StorageErrorKind::Unavailable));
        }
        Ok(())
    }
}

#[async_trait]
impl KnowledgeStore for Store {
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>> {
        self.check()?;
        self.readings.fetch_add(1, Ordering::SeqCst);
        let documents = self.documents.lock().expect("no panic");
        let own = documents.iter().filter(|(owner, ..)| owner.as_ref().is_none_or(|owner| owner == agent));
        Ok(own.map(|(_, document, _)| document.clone()).collect())
    }

    async fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Result<Vec<(KnowledgeId, Passage)>> {
        self.check()?;
        let documents = self.documents.lock().expect("no panic");
        let all = documents
            .iter()
            .filter(|(owner, ..)| owner.as_ref().is_none_or(|owner| owner == agent))
            .flat_map(|(_, document, passages)| {
                passages.iter().map(|passage| (document.id, passage.clone()))
            });
        let rest =
            all.filter(|(document, passage)| after.is_none_or(|after| (*document, passage.position) > after));
        Ok(rest.take(at_most as usize).collect())
    }

    async fn change_knowledge(&self, _: &AgentId, _: &KnowledgeWrite) -> Result<()> {
        Err(StorageError::from(StorageErrorKind::Missing))
    }
}

#[async_trait]
impl RecordStore for Store {
    async fn record(&self, _: Option<&AgentId>, key: &RecordKey) -> Result<Option<StoredRecord>> {
        self.check()?;
        self.checks.fetch_add(1, Ordering::SeqCst);
        // Another task of this thread runs in between.
        yielded().await;
        let version = self.version.load(Ordering::SeqCst) as u64;
        Ok((version > 0).then(|| StoredRecord::single(key.kind, version, RawObject::default())))
    }

    async fn record_by_unique(
        &self,
        _: Option<&AgentId>,
        _: RecordKind,
        _: &[u8; 32],
    ) -> Result<Option<StoredRecord>> {
        Ok(None)
    }

    async fn records_of(
        &self,
        _: Option<&AgentId>,
        _: RecordKind,
        _: Option<&RecordId>,
        _: u32,
    ) -> Result<Vec<StoredRecord>> {
        Ok(Vec::new())
    }

    async fn all_records(
        &self,
        _: RecordKind,
        _: Option<&(Option<AgentId>, RecordId)>,
        _: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>> {
        Ok(Vec::new())
    }

    async fn due_records(
        &self,
        _: RecordKind,
        _: Timestamp,
        _: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>> {
        Ok(Vec::new())
    }

    async fn save_records(&self, _: Option<&AgentId>, _: &RecordsWrite) -> Result<()> {
        Err(StorageError::from(StorageErrorKind::Missing))
    }
}

async fn yielded() {
    let mut has_waited = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
