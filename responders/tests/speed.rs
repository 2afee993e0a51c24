//! How fast a large index is, in an optimised build: `cargo test --release -p responders --test speed -- --ignored --nocapture`

#![expect(clippy::disallowed_methods, reason = "time is what is measured")]

#[path = "support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use conversations::{ChatEvent, ChatResponder as _, KnowledgeDocument, Passage, Question};
use futures_util::StreamExt as _;
use openapi_core::files::Sha256Digest;
use openapi_core::values::{KnowledgeId, PlatformId};
use responders::{EmbedError, Embedder, Index, IndexBuilder, KnowledgeResponder, TextRole};

use support::{NOW, turn};

const DOCUMENTS: u64 = 1_000;
const PASSAGES: u32 = 50;
const VOCABULARY: f64 = 60_000.0;

/// Words as rare as in a language: the one of rank r comes with a share of about 1/r.
struct Words(u64);

impl Words {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 11
    }

    fn rank(&mut self) -> u64 {
        let share = self.draw() as f64 / (1_u64 << 53) as f64;
        VOCABULARY.powf(share) as u64
    }

    fn word(&mut self, rank: u64) -> String {
        // The most frequent words are function words, as they are in a text.
        const FUNCTION: [&str; 12] =
            ["the", "of", "and", "to", "a", "in", "is", "for", "that", "with", "on", "are"];
        match FUNCTION.get(rank as usize) {
            Some(word) => (*word).to_owned(),
            None => {
                let syllables = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "wen", "tor", "dal"];
                let mut left = rank;
                let mut word = String::new();
                while left > 0 {
                    word.push_str(syllables[(left % 12) as usize]);
                    left /= 12;
                }
                word.push_str(["", "s", "ing", "ed"][(self.draw() % 4) as usize]);
                word
            }
        }
    }

    fn text(&mut self, words: u64) -> String {
        (0..words)
            .map(|_| {
                let rank = self.rank();
                self.word(rank)
            })
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Vectors of chance, as many numbers as the built-in embedder's have.
struct Chance;

fn vector(words: &mut Words) -> Vec<f32> {
    (0..384).map(|_| words.draw() as f32 / (1_u64 << 53) as f32 - 0.4).collect()
}

#[async_trait::async_trait]
impl Embedder for Chance {
    fn name(&self) -> &str {
        "chance"
    }

    fn dimension(&self) -> usize {
        384
    }

    async fn embed(&self, _: TextRole, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vector(&mut Words(text.len() as u64))).collect())
    }
}

fn index(words: &mut Words) -> Index {
    let id = |number: u64| KnowledgeId::from(PlatformId::new(NOW, number.to_be_bytes()));
    let document = |number: u64| KnowledgeDocument {
        id: id(number),
        file_name: String::new(),
        title: format!("Document {number}"),
        url: None,
        language: Some("en".to_owned()),
        content_type: String::new(),
        sha256: Sha256Digest([0; 32]),
        characters: 0,
        pages: None,
        passages: PASSAGES,
        source: None,
        questions: Vec::new(),
        created_at: NOW,
        updated_at: NOW,
    };
    let mut all = Vec::new();
    for number in 0..DOCUMENTS {
        for position in 0..PASSAGES {
            let length = 60 + words.draw() % 120;
            let headings = vec![words.text(3)];
            let text = words.text(length);
            all.push((id(number), Passage { position, headings, page: None, start: 0, end: 0, text }));
        }
    }
    let begun = Instant::now();
    let mut builder = IndexBuilder::new((0..DOCUMENTS).map(document).collect());
    let mut slowest = Duration::ZERO;
    for page in all.chunks(200) {
        let begun = Instant::now();
        for (document, passage) in page {
            builder.add(*document, passage.clone());
        }
        slowest = slowest.max(begun.elapsed());
    }
    let last = Instant::now();
    let index = builder.finish();
    println!("{} passages in {:?}, {} MiB", index.len(), begun.elapsed(), index.bytes() >> 20);
    println!("at one go: 200 passages at most {slowest:?}, the end {:?}", last.elapsed());
    index
}

#[test]
#[ignore = "holds for an optimised build; takes a while"]
fn a_large_index() {
    let mut words = Words(1);
    let index = index(&mut words);
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..1_000 {
        let length = 4 + words.draw() % 12;
        let question = Question { text: words.text(length), before: None, locale: "en".to_owned() };
        let begun = Instant::now();
        let found = index.search(&question, 6);
        times.push(begun.elapsed());
        assert!(found.passages.len() <= 6);
    }
    hold("a question", &mut times, Duration::from_millis(10));
    // By meaning too, without the vector of the question, which takes about 20 ms of the built-in embedder.
    pollster::block_on(index.give_meaning(&Chance)).expect("vectors");
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..1_000 {
        let length = 4 + words.draw() % 12;
        let question = Question { text: words.text(length), before: None, locale: "en".to_owned() };
        let vector = vector(&mut words);
        let begun = Instant::now();
        let found = index.search_with(&question, &vector, 6);
        times.push(begun.elapsed());
        assert_eq!(found.passages.len(), 6);
    }
    hold("a question by meaning", &mut times, Duration::from_millis(20));
    // From the question to the first words of the answer.
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..1_000 {
        let length = 4 + words.draw() % 12;
        let text = words.text(length);
        let begun = Instant::now();
        let found = index.search(&Question { text: text.clone(), before: None, locale: "en".to_owned() }, 12);
        let mut events = KnowledgeResponder.respond(turn(&text, "en", found));
        let first = pollster::block_on(events.next());
        times.push(begun.elapsed());
        assert!(matches!(first, Some(ChatEvent::Delta(_))), "{first:?}");
    }
    hold("its first words", &mut times, Duration::from_millis(100));
}

/// Prints how long something took a thousand times; 95 of 100 are to be below `most`.
fn hold(what: &str, times: &mut [Duration], most: Duration) {
    times.sort_unstable();
    println!("{what}: median {:?}, p95 {:?}, slowest {:?}", times[500], times[950], times[999]);
    assert!(times[950] <= most, "{what}: {:?}", times[950]);
}
