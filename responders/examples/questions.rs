//! Measures the search and the replies over sets of questions:
//! `cargo run -p responders --features embedding --example questions -- [FOLDER] [--meaning] [--failures] [--signals FILE]`.
//!
//! A folder holds `manifest.jsonl`, one question a line, and `corpora/NAME/*.md`, one folder of documents for each corpus.
//! A question has `id`, `corpus`, `lang`, `answerable`, `kinds`, `question`, `previous` (the turn before, or null),
//! `answer` and `gold`, the passages that answer it: `file` and `passage`, words that stand there. Each corpus is an
//! index of its own, as each agent has one. The questions of `tests/questions` are measured too, as the corpus `own`.
//!
//! `--given` leaves these out. `--meaning` searches with the built-in embedder too; `--failures` prints what went wrong; `--signals` writes a line for
//! each question of what the confidence is made of, with the rank of the right passage, to fit it.
//!
//! | Column | Counts |
//! |---|---|
//! | `@1`, `@3`, `@6` | questions whose first, first three, first six passages hold one that answers |
//! | `answered`, `unsure`, `nearest` | questions to which passages are quoted: outright, as what may help, as the closest to an answer that there is not |
//! | `right`, `right?`, `right??` | those whose quotations hold the answer from a document that has it: outright, those of `unsure` too, and of all |
//! | `refused`, `declined` | unanswerable questions to which nothing is quoted outright, and those whose visitor reads that there is no answer |

#[path = "../tests/questions/set.rs"]
mod set;
#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use conversations::{ChatEvent, ChatLine, ChatResponder as _, FoundPassage, Outcome, Question, Speaker};
use futures_util::StreamExt as _;
use responders::{
    BuiltInEmbedder, CutDocument, EmbedError, Embedder, Format, Index, KnowledgeResponder, TextRole, cut,
};
use serde_json::Value;

/// Passages that a turn looks at.
const AT_MOST: usize = 12;
/// The share of the words of a passage that a text has which holds it.
const HELD: f64 = 0.6;

struct Case {
    id: String,
    corpus: String,
    lang: String,
    kinds: Vec<String>,
    question: String,
    previous: Option<String>,
    answer: String,
    /// File and passage.
    gold: Vec<(String, String)>,
}

/// What became of a question.
#[derive(Clone, Default)]
struct Fate {
    rank: Option<usize>,
    is_answered: bool,
    is_unsure: bool,
    is_nearest: bool,
    is_right: bool,
    reply: String,
}

/// An embedder that remembers vectors from run to run, in a file for each text.
struct Remembering {
    embedder: BuiltInEmbedder,
    folder: PathBuf,
}

#[async_trait::async_trait]
impl Embedder for Remembering {
    fn name(&self) -> &str {
        self.embedder.name()
    }

    fn dimension(&self) -> usize {
        self.embedder.dimension()
    }

    async fn embed(&self, role: TextRole, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::new();
        for text in texts {
            let mut hasher = DefaultHasher::new();
            (self.name(), role == TextRole::Question, &text).hash(&mut hasher);
            let path = self.folder.join(format!("{:016x}", hasher.finish()));
            let vector = match std::fs::read(&path) {
                Ok(bytes) => {
                    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
                }
                Err(_) => {
                    let vector = self.embedder.embed(role, vec![text]).await?.remove(0);
                    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                    std::fs::write(path, bytes).expect("a folder to write to");
                    vector
                }
            };
            vectors.push(vector);
        }
        Ok(vectors)
    }
}

/// The words of a text, and pairs of letters of scripts without spaces.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let text = text.to_lowercase();
    for run in text.split(|letter: char| !letter.is_alphanumeric()).filter(|run| !run.is_empty()) {
        let letters: Vec<char> = run.chars().collect();
        if letters.iter().any(|letter| u32::from(*letter) >= 0x3000) && letters.len() > 1 {
            words.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            words.push(run.to_owned());
        }
    }
    words
}

/// The share of the words of `part` that `text` has.
fn share(part: &str, text: &HashSet<String>) -> f64 {
    let part = words(part);
    let held = part.iter().filter(|word| text.contains(*word)).count();
    held as f64 / part.len().max(1) as f64
}

fn set_of(text: &str) -> HashSet<String> {
    words(text).into_iter().collect()
}

fn holds(found: &FoundPassage, gold: &[(String, String)]) -> bool {
    let text = set_of(&format!("{} {}", found.headings.join(" "), found.text));
    gold.iter().any(|(file, passage)| found.url.as_deref() == Some(file) && share(passage, &text) >= HELD)
}

/// The events of a reply as text, with the files of its sources.
fn reply(turn: conversations::ChatTurn) -> (String, Vec<String>, Option<Outcome>) {
    let events: Vec<ChatEvent> = pollster::block_on(KnowledgeResponder.respond(turn).collect());
    let (mut text, mut sources, mut ended) = (String::new(), Vec::new(), None);
    for event in events {
        match event {
            ChatEvent::Delta(more) => text.push_str(&more),
            ChatEvent::Done { outcome, sources: cited, .. } => {
                ended = Some(outcome);
                sources = cited.into_iter().filter_map(|source| source.url).collect();
            }
            _ => {}
        }
    }
    (text, sources, ended)
}

/// What is found for a question, by words and where the index has vectors by meaning.
fn search(
    index: &Index,
    embedder: &dyn Embedder,
    question: &Question,
) -> (conversations::Retrieved, Option<responders::Signals>) {
    if !index.has_meaning() {
        return (index.search(question, AT_MOST), None);
    }
    let text = Index::meant_by(question);
    let vector =
        pollster::block_on(embedder.embed(TextRole::Question, vec![text])).expect("a vector").remove(0);
    (index.search_with(question, &vector, AT_MOST), index.signals(question, &vector))
}

fn ask(
    index: &Index,
    embedder: &dyn Embedder,
    case: &Case,
) -> (Fate, conversations::Retrieved, Option<responders::Signals>) {
    let locale = case.lang.clone();
    let mut history = Vec::new();
    if let Some(previous) = &case.previous {
        let question = Question { text: previous.clone(), before: None, locale: locale.clone() };
        let (found, _) = search(index, embedder, &question);
        let (text, ..) = reply(support::turn(previous, &locale, found));
        history.push(ChatLine { speaker: Speaker::Visitor, text: previous.clone() });
        history.push(ChatLine { speaker: Speaker::Agent, text });
    }
    let question =
        Question { text: case.question.clone(), before: case.previous.clone(), locale: locale.clone() };
    let (found, signals) = search(index, embedder, &question);
    let rank = found.passages.iter().position(|passage| holds(passage, &case.gold)).map(|rank| rank + 1);
    let mut turn = support::turn(&case.question, &locale, found.clone());
    history.append(&mut turn.history);
    turn.history = history;
    let (text, sources, ended) = reply(turn);
    let is_unsure = ended == Some(Outcome::Unsure);
    let is_nearest = ended == Some(Outcome::Unknown) && !sources.is_empty();
    let is_answered = !sources.is_empty() && !is_unsure && !is_nearest;
    let said = set_of(&text);
    let is_right = case.gold.iter().any(|(file, passage)| {
        let has_fact =
            share(passage, &said) >= HELD || (!case.answer.is_empty() && share(&case.answer, &said) >= 1.0);
        sources.contains(file) && has_fact
    });
    (Fate { rank, is_answered, is_unsure, is_nearest, is_right, reply: text }, found, signals)
}

#[derive(Default)]
struct Tally {
    answerable: u32,
    at: [u32; 3],
    answered: u32,
    unsure: u32,
    right: u32,
    right_or_unsure: u32,
    nearest: u32,
    right_at_all: u32,
    declined: u32,
    unanswerable: u32,
    refused: u32,
}

impl Tally {
    fn add(&mut self, case: &Case, fate: &Fate) {
        if case.gold.is_empty() {
            self.unanswerable += 1;
            self.refused += u32::from(!fate.is_answered);
            self.declined += u32::from(!fate.is_answered && !fate.is_unsure);
            return;
        }
        self.answerable += 1;
        for (count, most) in self.at.iter_mut().zip([1, 3, 6]) {
            *count += u32::from(fate.rank.is_some_and(|rank| rank <= most));
        }
        self.answered += u32::from(fate.is_answered);
        self.unsure += u32::from(fate.is_unsure);
        self.right += u32::from(fate.is_right && fate.is_answered);
        self.right_or_unsure += u32::from(fate.is_right && (fate.is_answered || fate.is_unsure));
        self.nearest += u32::from(fate.is_nearest);
        self.right_at_all += u32::from(fate.is_right);
    }

    fn row(&self, name: &str) -> String {
        let of = |count: u32| match self.answerable {
            0 => "   – ".to_owned(),
            all => format!("{:5.2}", f64::from(count) / f64::from(all)),
        };
        let none = |count: u32| match self.unanswerable {
            0 => "   – ".to_owned(),
            all => format!("{:5.2}", f64::from(count) / f64::from(all)),
        };
        format!(
            "| {name:22} | {:4} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:4} | {} | {} |",
            self.answerable,
            of(self.at[0]),
            of(self.at[1]),
            of(self.at[2]),
            of(self.answered),
            of(self.right),
            of(self.unsure),
            of(self.right_or_unsure),
            of(self.nearest),
            of(self.right_at_all),
            self.unanswerable,
            none(self.refused),
            none(self.declined),
        )
    }
}

fn text_of(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn cases(manifest: &Path) -> Vec<Case> {
    let lines = std::fs::read_to_string(manifest).expect("the manifest");
    let mut cases = Vec::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).expect("JSON");
        let list = |name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        cases.push(Case {
            id: text_of(&value, "id"),
            corpus: text_of(&value, "corpus"),
            lang: text_of(&value, "lang"),
            kinds: list("kinds").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            question: text_of(&value, "question"),
            previous: value.get("previous").and_then(Value::as_str).map(str::to_owned),
            answer: text_of(&value, "answer"),
            gold: list("gold").iter().map(|gold| (text_of(gold, "file"), text_of(gold, "passage"))).collect(),
        });
    }
    cases
}

fn corpus(folder: &Path) -> Vec<(String, CutDocument)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a corpus").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let named = |path: PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let text = std::fs::read_to_string(&path).expect("a document");
        (name, cut(&[&text], Format::Markdown))
    };
    files.into_iter().map(named).collect()
}

fn own_cases() -> Vec<Case> {
    let case = |(number, asked): (usize, set::Asked)| Case {
        id: format!("own-{number}"),
        corpus: "own".to_owned(),
        lang: asked.locale.to_owned(),
        kinds: vec![format!("own-{:?}", asked.part).to_lowercase()],
        question: asked.question,
        previous: None,
        answer: String::new(),
        gold: asked.expected,
    };
    set::questions().into_iter().enumerate().map(case).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().filter(|first| !first.starts_with("--")).map(PathBuf::from);
    let shows_failures = arguments.iter().any(|argument| argument == "--failures");
    let mut all = Vec::new();
    let mut indexes: HashMap<String, Index> = HashMap::new();
    if !arguments.iter().any(|argument| argument == "--given") {
        all = own_cases();
        indexes.insert("own".to_owned(), set::index(&set::documents()));
    }
    if let Some(folder) = &folder {
        all.extend(cases(&folder.join("manifest.jsonl")));
        for case in &all {
            if !indexes.contains_key(&case.corpus) {
                let documents = corpus(&folder.join("corpora").join(&case.corpus));
                indexes.insert(case.corpus.clone(), set::index(&documents));
            }
        }
    }
    let folder = std::env::temp_dir().join("responders-vectors");
    std::fs::create_dir_all(&folder).expect("a folder");
    let embedder = Remembering { embedder: BuiltInEmbedder::new(embedding_weights::WEIGHTS), folder };
    if arguments.iter().any(|argument| argument == "--meaning") {
        for index in indexes.values() {
            pollster::block_on(index.give_meaning(&embedder)).expect("vectors");
        }
    }
    let signals_path =
        arguments.iter().position(|argument| argument == "--signals").map(|at| &arguments[at + 1]);
    let mut signals_file = signals_path.map(|_| String::new());
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut failures = String::new();
    for case in &all {
        let (fate, found, signals) = ask(&indexes[&case.corpus], &embedder, case);
        if let (Some(file), Some(signals)) = (&mut signals_file, signals) {
            let numbers = signals.numbers().map(|number| number.to_string()).join(",");
            let rank = fate.rank.unwrap_or(0);
            let _ = writeln!(
                file,
                "{},{},{},{rank},{numbers}",
                case.id,
                case.corpus,
                u8::from(!case.gold.is_empty())
            );
        }
        let is_own = case.corpus == "own";
        let mut rows =
            vec![format!("corpus {}", case.corpus), format!("all {}", if is_own { "own" } else { "given" })];
        if !is_own {
            rows.push(format!("language {}", case.lang));
        }
        rows.extend(case.kinds.iter().map(|kind| format!("kind {kind}")));
        for row in rows {
            tallies.entry(row).or_default().add(case, &fate);
        }
        let is_fine =
            if case.gold.is_empty() { !fate.is_answered } else { fate.is_right && fate.is_answered };
        if !is_fine {
            let _ = writeln!(
                failures,
                "{} {:?} rank {:?} coverage {:.2}\n  {}{}\n  gold {:?} {:?}\n  {}\n",
                case.id,
                case.kinds,
                fate.rank,
                found.coverage,
                case.previous.as_ref().map(|previous| format!("{previous} → ")).unwrap_or_default(),
                case.question,
                case.answer,
                case.gold.first(),
                fate.reply.replace('\n', "\n  "),
            );
        }
    }
    if let (Some(path), Some(lines)) = (signals_path, signals_file) {
        std::fs::write(path, lines).expect("the file of signals");
    }
    if shows_failures {
        println!("{failures}");
    }
    println!(
        "| set | n | @1 | @3 | @6 | answered | right | unsure | right? | nearest | right?? | n | refused | declined |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, tally) in &tallies {
        println!("{}", tally.row(name));
    }
}
