//! Examples: valid values for fields whose operator gave none, and the legacy structure built from them (contract
//! 2.3.1).

use regex_syntax::hir::{Class, Hir, HirKind};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::compiled::{CompiledTemplate, Level, Node};
use super::{FormFieldType, ValidationRules};
use crate::json::{Json, Number, Object, json_object, schemas};
use crate::schema::FieldOption;
use crate::values::{Line, TemplateId};

impl Level {
    /// Examples of the fields that are shown together; `null` for the others.
    pub(super) fn examples(&self) -> Object {
        let mut answers = Object::new();
        for node in &self.nodes {
            answers.insert(node.field.name.clone(), node.example().unwrap_or(Json::Null));
        }
        // Hiding one field may hide or show another one, each at the most once.
        for _ in &self.nodes {
            let Some(shown) = self.shown(&answers) else { break };
            let hidden = self.nodes.iter().zip(shown).filter(|(_, shown)| !shown);
            let mut changed = false;
            for (node, _) in hidden {
                changed |= answers.insert(node.field.name.clone(), Json::Null) != Some(Json::Null);
            }
            if !changed {
                break;
            }
        }
        answers
    }
}

impl Node {
    /// The example of the field, or one that fits its rules; none where no answer can be made up: a file, or a text
    /// whose rules are too narrow.
    pub(super) fn example(&self) -> Option<Json> {
        if let Some(example) = &self.field.example {
            return Some(example.clone());
        }
        let none = ValidationRules::default();
        let rules = self.field.validation.as_ref().unwrap_or(&none);
        self.candidates(rules).into_iter().find(|candidate| self.refuse(candidate).is_none())
    }

    fn candidates(&self, rules: &ValidationRules) -> Vec<Json> {
        let text = |text: &str| Json::String(text.to_owned());
        match self.field.kind {
            FormFieldType::Text | FormFieldType::Textarea => match &rules.pattern {
                Some(pattern) => {
                    let least = rules.min_length.unwrap_or(1) as usize;
                    (0..4)
                        .filter_map(|more| matching(pattern, more.max(least * usize::from(more == 3))))
                        .map(Json::String)
                        .collect()
                }
                None => vec![Json::String(fitted("Example", rules))],
            },
            FormFieldType::Email => {
                let longer = rules.min_length.unwrap_or(0).saturating_sub(12) as usize;
                vec![
                    text("name@example.com"),
                    text("a@b.de"),
                    Json::String(format!("{}@example.com", "n".repeat(longer.clamp(1, 64)))),
                ]
            }
            FormFieldType::Phone => vec![text("+44 20 7946 0999"), text("+442079460999"), text("999")],
            FormFieldType::Url => {
                let longer = (rules.min_length.unwrap_or(0) as usize).min(2_000);
                vec![
                    text("https://example.com/"),
                    text("http://a.de"),
                    Json::String(format!("https://example.com/{}", "a".repeat(longer))),
                ]
            }
            FormFieldType::Number | FormFieldType::Integer => numbers(rules),
            FormFieldType::Boolean => vec![Json::Bool(true)],
            FormFieldType::Date => moments("2026-01-31", rules),
            FormFieldType::Time => moments("09:30", rules),
            FormFieldType::Datetime => moments("2026-01-31T09:30:00Z", rules),
            FormFieldType::Select | FormFieldType::Radio => {
                self.field.options.iter().flatten().take(1).map(|option| text(&option.value)).collect()
            }
            FormFieldType::Multiselect | FormFieldType::Checkboxes => {
                let least = rules.min_items.unwrap_or(1).max(1) as usize;
                let options = self.field.options.iter().flatten().take(least);
                vec![Json::Array(options.map(|option| text(&option.value)).collect())]
            }
            FormFieldType::File => Vec::new(),
            FormFieldType::Group => vec![Json::Object(self.level.examples())],
            FormFieldType::List => {
                let least = rules.min_items.unwrap_or(1).max(1) as usize;
                vec![Json::Array(vec![Json::Object(self.level.examples()); least])]
            }
        }
    }
}

/// Text cut or drawn out to the lengths.
fn fitted(text: &str, rules: &ValidationRules) -> String {
    let least = rules.min_length.unwrap_or(0) as usize;
    let most = rules.max_length.map_or(usize::MAX, |most| most as usize);
    text.chars().cycle().take(text.len().max(least).min(most)).collect()
}

fn moments(usual: &str, rules: &ValidationRules) -> Vec<Json> {
    let bounds = [Some(usual), rules.min_date.as_deref(), rules.max_date.as_deref()];
    bounds.into_iter().flatten().map(Json::from).collect()
}

fn numbers(rules: &ValidationRules) -> Vec<Json> {
    let mut candidates = vec![Json::from(1_i64), Json::from(0_i64)];
    let bounds = [&rules.minimum, &rules.maximum];
    candidates.extend(bounds.into_iter().flatten().cloned().map(Json::Number));
    let least = rules.minimum.as_ref().map(Number::as_f64);
    if let Some(least) = least {
        candidates.extend(whole(least.ceil()));
    }
    if let Some(step) = &rules.multiple_of {
        candidates.push(Json::Number(step.clone()));
        let times = (least.unwrap_or(0.0) / step.as_f64()).ceil();
        candidates.extend(whole(times * step.as_f64()));
        let decimal = format!("{:.9}", times * step.as_f64());
        let decimal = decimal.trim_end_matches('0').trim_end_matches('.');
        candidates.extend(serde_json::from_str::<Json>(decimal).ok());
    }
    candidates
}

fn whole(number: f64) -> Option<Json> {
    serde_json::from_str(&format!("{number:.0}")).ok()
}

/// A text that matches a regular expression, with repetitions `more` times beyond the least; none where it looks
/// around itself in a way that text made from its parts does not meet.
fn matching(pattern: &str, more: usize) -> Option<String> {
    let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
    let mut text = String::new();
    write_match(&hir, more, &mut text);
    Some(text)
}

/// The longest text that is made.
const MAX_MATCH: usize = 20_000;

fn write_match(hir: &Hir, more: usize, text: &mut String) {
    if text.len() > MAX_MATCH {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => {
            // A letter or a digit reads better than what else a class may hold.
            let within =
                |c: &char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(c));
            let first = class.ranges().first().map(|range| range.start());
            text.extend(['a', 'A', '1', ' '].into_iter().find(within).or(first));
        }
        HirKind::Class(Class::Bytes(class)) => {
            text.extend(class.ranges().first().map(|range| char::from(range.start())));
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX) as usize;
            for _ in 0..(repetition.min as usize).saturating_add(more).min(most).min(MAX_MATCH) {
                write_match(&repetition.sub, more, text);
            }
        }
        HirKind::Capture(capture) => write_match(&capture.sub, more, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write_match(part, more, text)),
        HirKind::Alternation(branches) => {
            if let Some(first) = branches.first() {
                write_match(first, more, text);
            }
        }
    }
}

/// The legacy structure of a template: fields with examples, and `formData` that passes validation when it is sent
/// back, unless a file is required (contract 2.3.1).
#[derive(Clone, Copy, Debug)]
pub struct Structure<'a>(pub &'a CompiledTemplate);

json_object! { Structure<'_> as "TemplateStructure" = |structure| {
    "templateId": TemplateId = structure.0.template().id,
    "name": Line<100> = structure.0.template().name,
    "version": u64 { "minimum": 1 } = structure.0.template().version,
    "structure": Fields<'_> = Fields(structure.0.level()),
    "formData": Object {
        "description": "An example that passes validation when it is sent back."
    } = structure.0.level().examples(),
} }

schemas! { Fields<'_>: { "type": "object", "additionalProperties": Field::schema() }, }

struct Fields<'a>(&'a Level);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(self.0.nodes.len()))?;
        for node in &self.0.nodes {
            fields.serialize_entry(&node.field.name, &Field(node))?;
        }
        fields.end()
    }
}

struct Field<'a>(&'a Node);

json_object! { Field<'_> = |field| {
    "type": FormFieldType = field.0.field.kind,
    "required": bool = field.0.field.required,
    "label": String = field.0.field.label,
    "example": Option<Json> = field.0.example(),
    "options" optional: Vec<FieldOption> = field.0.field.options.as_ref(),
} }
