//! Forms: labels and values, in one of several layouts.

use serde_json::Value;

use super::values::{Style, WORDS, company};
use crate::pieces::{Document, Piece};
use crate::random::Random;

/// A field of a form.
struct Field {
    name: &'static str,
    kind: &'static str,
    value: &'static str,
    description: &'static str,
    /// Labels by language.
    labels: Vec<Vec<&'static str>>,
}

/// A kind of form.
pub struct Form {
    pub name: &'static str,
    titles: Vec<&'static str>,
    fields: Vec<Field>,
}

/// The forms of the word list.
pub fn forms() -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for line in WORDS.lines() {
        if let Some((name, titles)) = line.strip_prefix("kind ").and_then(|rest| rest.split_once(": ")) {
            forms.push(Form { name, titles: titles.split("; ").collect(), fields: Vec::new() });
        } else if let Some((head, labels)) =
            line.strip_prefix("field ").and_then(|rest| rest.split_once("\": "))
            && let Some((start, description)) = head.split_once(" \"")
            && let [name, kind, value] = start.split(' ').collect::<Vec<_>>()[..]
            && let Some(form) = forms.last_mut()
        {
            let labels = labels.split(" | ").map(|of| of.split("; ").collect()).collect();
            form.fields.push(Field { name, kind, value, description, labels });
        }
    }
    forms
}

/// How a form is laid out.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Pairs,
    /// The label over its value.
    Over,
    /// Two fields on a line.
    Two,
    /// Sentences.
    Letter,
}

impl Form {
    pub fn make(&self, random: &mut Random) -> Document {
        let style = Style::any(random);
        let mut document = Document::default();
        let layout = *random.pick(&[Layout::Pairs, Layout::Pairs, Layout::Over, Layout::Two, Layout::Letter]);
        if random.chance(40) && self.fields.iter().all(|field| field.value != "company") {
            document.line(company(random));
        }
        document.pieces.push(Piece::Title((*random.pick::<&str>(&self.titles)).to_owned()));
        document.blank();
        let mut waiting: Option<String> = None;
        for field in &self.fields {
            let (written, value) = style.value(field.value, random);
            let label = *random.pick::<&str>(&field.labels[style.language]);
            let fate = random.below(100);
            let value = if fate < 12 { Value::Null } else { value };
            document.field(field.name, field.kind, field.description, value.clone());
            if fate < 6 {
                continue;
            }
            let written = match fate {
                6..12 => {
                    (*random.pick(&["", "n/a", "[to be filled in]", "________", "see attached"])).to_owned()
                }
                _ => written,
            };
            if let Value::Bool(yes) = value
                && random.chance(60)
            {
                let mark = if yes { "[x]" } else { "[ ]" };
                match random.below(3) {
                    0 => document.line(format!("{mark} {label}")),
                    1 => document.line(format!("{label} {mark}")),
                    _ => document.line(format!("{label}? {}", style.yes(yes))),
                }
                continue;
            }
            match layout {
                Layout::Over => {
                    document.line(label);
                    document.line(if written.is_empty() { "-".to_owned() } else { written });
                    document.blank();
                }
                Layout::Two => match waiting.take() {
                    Some(first) => document.line(format!("{first}   {label}: {written}")),
                    None => waiting = Some(format!("{label}: {written}")),
                },
                Layout::Letter if style.language == 0 && value.is_number() && fate >= 12 => {
                    let text = format!("We note a {} of {written} for this matter.", label.to_lowercase());
                    document.pieces.push(Piece::Paragraph(text));
                }
                _ => document.pair(label, written),
            }
        }
        if let Some(first) = waiting {
            document.line(first);
        }
        document.blank();
        document
            .pieces
            .push(Piece::Paragraph("Please check this sheet and return it within ten days.".to_owned()));
        document
    }
}
