//! The documents and the questions.

use std::path::Path;

use conversations::KnowledgeDocument;
use openapi_core::files::Sha256Digest;
use openapi_core::values::{KnowledgeId, PlatformId};
use responders::{CutDocument, Format, Index, IndexBuilder, cut, title};

use crate::support::NOW;

/// Documents of the project beside those under `docs/`.
const OWN: [&str; 2] = ["CONTRIBUTING.md", "SECURITY.md"];

/// What a question is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// To make the search better.
    Tune,
    /// To see how good it is.
    Final,
    /// Over facts from all over the project's own guides, whatever words they stand in.
    Drawn,
}

/// A question of the set.
pub struct Asked {
    pub part: Part,
    pub locale: &'static str,
    pub question: String,
    /// The document and words of the passages that answer it; none for one that nothing answers.
    pub expected: Vec<(String, String)>,
}

/// The questions of all languages.
pub fn questions() -> Vec<Asked> {
    let sets = [
        ("en", include_str!("en.txt")),
        ("en", include_str!("drawn.txt")),
        ("de", include_str!("de.txt")),
        ("fr", include_str!("fr.txt")),
        ("es", include_str!("es.txt")),
    ];
    let mut questions = Vec::new();
    for (locale, set) in sets {
        for line in set.lines() {
            let [part, document, words, question] = line.split(" | ").map(str::trim).collect::<Vec<_>>()[..]
            else {
                panic!("not of the form: {line}");
            };
            let passages = document.split(" / ").zip(words.split(" / "));
            questions.push(Asked {
                part: match part {
                    "tune" => Part::Tune,
                    "final" => Part::Final,
                    "drawn" => Part::Drawn,
                    other => panic!("no part: {other}"),
                },
                locale,
                question: question.to_owned(),
                expected: passages
                    .filter(|(document, _)| *document != "-")
                    .map(|(document, words)| (document.to_owned(), words.to_owned()))
                    .collect(),
            });
        }
    }
    questions
}

/// The documents, by the names of their files.
pub fn documents() -> Vec<(String, CutDocument)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("..");
    let mut files: Vec<_> = OWN.iter().map(|name| root.join(name)).collect();
    for folder in [root.join("docs"), here.join("tests/questions/documents")] {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        files.extend(paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
            let text = std::fs::read_to_string(&path).expect("a document");
            (name, cut(&[&text], Format::Markdown))
        })
        .collect()
}

/// One index over all of them, which has to tell their languages by itself.
pub fn index(documents: &[(String, CutDocument)]) -> Index {
    let id = |number: usize| KnowledgeId::from(PlatformId::new(NOW, (number as u64).to_be_bytes()));
    let records = documents.iter().enumerate().map(|(number, (name, document))| KnowledgeDocument {
        id: id(number),
        file_name: name.clone(),
        title: title(document, name),
        url: Some(name.clone()),
        language: None,
        content_type: "text/markdown".to_owned(),
        sha256: Sha256Digest([0; 32]),
        characters: document.text.chars().count() as u64,
        pages: None,
        passages: u32::try_from(document.passages.len()).expect("few"),
        source: None,
        questions: Vec::new(),
        created_at: NOW,
        updated_at: NOW,
    });
    let mut builder = IndexBuilder::new(records.collect());
    for (number, (_, document)) in documents.iter().enumerate() {
        for passage in &document.passages {
            builder.add(id(number), passage.clone());
        }
    }
    builder.finish()
}
