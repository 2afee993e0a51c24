//! Checks `formData` against a template: one walk over the members as sent, every violation at once, with exact paths
//! (contract 2.3.1, 2.3.2, 6.2).

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::{FormField, FormFieldType, FormTemplate, Operator, ShowIf};
use crate::json::{Json, Object, RawObject};
use crate::schema::rules::{Form, Limit, Rules, too_few_items};
use crate::schema::{InvalidPattern, Pattern};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::FileId;

/// The longest multi-line text, in characters (contract 2.3.1).
pub(super) const MAX_BLOCK: usize = 20_000;
/// The most bytes of `formData` as stored (contract 9).
pub const MAX_FORM_DATA: usize = 256 * 1024;

/// A template made ready to check data: patterns compiled, names looked up. Made once for each version.
#[derive(Debug)]
pub struct CompiledTemplate {
    template: FormTemplate,
    level: Level,
}

/// The fields of a template, a group or a list's elements.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) nodes: Vec<Node>,
    names: HashMap<String, usize>,
    is_conditional: bool,
}

/// A field with what its check needs.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) field: FormField,
    pattern: Option<Pattern>,
    pub(super) level: Level,
}

/// Whether everything that is required must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Of a draft: `required` and `minItems` do not count.
    Draft,
    /// Of everything that is handed in.
    Complete,
}

/// Where a value stands, written only when something is wrong with it.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root(&'a str),
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root(root) => f.write_str(root),
            Path::Member(Path::Root(""), name) => f.write_str(name),
            Path::Member(parent, name) => write!(f, "{parent}.{name}"),
            Path::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// A walk: what it looks for, and what it found.
struct Walk<'a> {
    completeness: Completeness,
    has_file: &'a dyn Fn(FileId) -> bool,
    violations: Violations,
}

impl Walk<'_> {
    /// Notes a fault; values of sensitive fields are not repeated.
    fn fault(&mut self, path: &Path<'_>, value: Option<&Json>, is_sensitive: bool, fault: ValidationIssue) {
        let value = value.filter(|_| !is_sensitive);
        self.violations.push(ValidationError::new(Location::Body, path.to_string(), value, fault));
    }

    fn is_complete(&self) -> bool {
        self.completeness == Completeness::Complete
    }
}

impl CompiledTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    /// When a pattern is not a regular expression; templates made through the operator's port are checked before.
    pub fn new(template: FormTemplate) -> Result<Self, InvalidPattern> {
        Ok(CompiledTemplate { level: Level::new(&template.fields)?, template })
    }

    /// The template.
    #[must_use]
    pub fn template(&self) -> &FormTemplate {
        &self.template
    }

    /// The top of the template.
    pub(super) fn level(&self) -> &Level {
        &self.level
    }

    /// The files that data refers to, as far as they are well-formed ids. Data over [`MAX_FORM_DATA`], which is refused
    /// in any case, has none.
    #[must_use]
    pub fn files(&self, data: &Object) -> Vec<FileId> {
        let mut files = Vec::new();
        self.level.files(data, &mut files);
        if files.len() > MAX_FORM_DATA / 27 { Vec::new() } else { files }
    }

    /// Checks data as sent and returns it as it is stored: without members that are no answer, and with single lines in
    /// plain characters. `root` is how errors name the data; `has_file` says of an id whether it is a file of
    /// the contact.
    ///
    /// # Errors
    /// Every violation, in the order of contract 6.2.
    pub fn check(
        &self,
        data: &Object,
        completeness: Completeness,
        root: &str,
        has_file: &dyn Fn(FileId) -> bool,
    ) -> Result<RawObject, Violations> {
        let mut walk = Walk { completeness, has_file, violations: Violations::new() };
        let path = Path::Root(root);
        let plain = self.level.plain(data, completeness);
        let data = plain.as_ref().unwrap_or(data);
        let stored = match has_null(data) {
            true => RawObject::new(&answered(data)),
            false => RawObject::new(data),
        };
        if stored.as_str().len() > MAX_FORM_DATA {
            let fault =
                ValidationIssue::new(ValidationCode::MaxSize, "must have at most 256 KiB when serialised");
            walk.fault(&path, None, false, fault);
        }
        self.level.check(data, &path, false, &mut walk);
        if walk.violations.is_empty() { Ok(stored) } else { Err(walk.violations) }
    }
}

impl Level {
    pub(super) fn new(fields: &[FormField]) -> Result<Self, InvalidPattern> {
        let nodes = fields.iter().map(Node::new).collect::<Result<Vec<_>, _>>()?;
        let names = nodes.iter().enumerate().map(|(at, node)| (node.field.name.clone(), at)).collect();
        let is_conditional = nodes.iter().any(|node| node.field.show_if.is_some());
        Ok(Level { nodes, names, is_conditional })
    }

    /// The members with single lines in plain characters, and with `null` for text that is no answer; `None` when that is
    /// what they are.
    fn plain(&self, members: &Object, completeness: Completeness) -> Option<Object> {
        let mut changed = None;
        for (name, value) in members.iter() {
            let node = self.names.get(name).map(|at| &self.nodes[*at]);
            if let Some(value) = node.and_then(|node| node.plain(value, completeness)) {
                changed.get_or_insert_with(|| members.clone()).insert(name, value);
            }
        }
        changed
    }

    fn check(&self, members: &Object, path: &Path<'_>, is_sensitive: bool, walk: &mut Walk<'_>) {
        let shown = self.shown(members);
        let is_shown = |at: usize| shown.as_ref().is_none_or(|shown| shown[at]);
        for (name, value) in members.iter() {
            let path = Path::Member(path, name);
            let Some(&at) = self.names.get(name) else {
                let fault = match name.contains('\0') {
                    true => ValidationIssue::invalid_characters(),
                    false => ValidationIssue::new(ValidationCode::Unknown, "is not a field of this form"),
                };
                walk.fault(&path, Some(value), is_sensitive, fault);
                continue;
            };
            let node = &self.nodes[at];
            let is_sensitive = is_sensitive || node.field.sensitive;
            match value {
                Json::Null if node.field.required && is_shown(at) && walk.is_complete() => {
                    walk.fault(&path, None, is_sensitive, ValidationIssue::required());
                }
                Json::Null => {}
                value if !is_shown(at) => {
                    let fault = ValidationIssue::new(
                        ValidationCode::Conflict,
                        "is not asked for by the other answers",
                    );
                    walk.fault(&path, Some(value), is_sensitive, fault);
                }
                value => node.check(value, &path, is_sensitive, walk),
            }
        }
        if walk.is_complete() {
            for (at, node) in self.nodes.iter().enumerate() {
                let name = node.field.name.as_str();
                if node.field.required && is_shown(at) && members.get(name).is_none() {
                    walk.fault(&Path::Member(path, name), None, false, ValidationIssue::required());
                }
            }
        }
    }

    /// Which fields are shown; none where no condition is set and all are.
    pub(super) fn shown(&self, members: &Object) -> Option<Vec<bool>> {
        if !self.is_conditional {
            return None;
        }
        let mut known: Vec<Option<bool>> = vec![None; self.nodes.len()];
        Some((0..self.nodes.len()).map(|at| self.is_shown(at, members, &mut known)).collect())
    }

    /// Whether a field is shown. What a hidden field was sent counts as no answer. Conditions do not run in a circle,
    /// which the definition of the template rules out; one that did would end where it began, hidden.
    fn is_shown(&self, at: usize, members: &Object, known: &mut Vec<Option<bool>>) -> bool {
        if let Some(shown) = known[at] {
            return shown;
        }
        let Some(condition) = &self.nodes[at].field.show_if else {
            known[at] = Some(true);
            return true;
        };
        known[at] = Some(false);
        let controller = self.names.get(&condition.field).copied();
        let answer = controller
            .filter(|controller| self.is_shown(*controller, members, known))
            .and_then(|_| members.get(&condition.field))
            .filter(|answer| **answer != Json::Null);
        let shown = condition.holds(answer);
        known[at] = Some(shown);
        shown
    }

    fn files(&self, members: &Object, files: &mut Vec<FileId>) {
        for node in &self.nodes {
            let Some(value) = members.get(&node.field.name) else { continue };
            match (node.field.kind, value) {
                (FormFieldType::File, Json::String(text)) => files.extend(file_id(text)),
                (FormFieldType::File, Json::Array(items)) => {
                    files.extend(items.iter().filter_map(Json::as_str).filter_map(file_id));
                }
                (FormFieldType::Group, Json::Object(members)) => node.level.files(members, files),
                (FormFieldType::List, Json::Array(items)) => {
                    items.iter().filter_map(Json::as_object).for_each(|item| node.level.files(item, files));
                }
                _ => {}
            }
        }
    }
}

impl Node {
    fn new(field: &FormField) -> Result<Self, InvalidPattern> {
        let pattern = field.validation.as_ref().and_then(|rules| rules.pattern.as_deref());
        Ok(Node {
            pattern: pattern.map(Pattern::new).transpose()?,
            level: Level::new(field.fields.as_deref().unwrap_or_default())?,
            field: FormField { fields: None, ..field.clone() },
        })
    }

    fn rules(&self, completeness: Completeness) -> Rules<'_> {
        let form = match self.field.kind {
            FormFieldType::Text | FormFieldType::File => Form::Line,
            FormFieldType::Textarea => Form::Block(MAX_BLOCK),
            FormFieldType::Email => Form::Email,
            FormFieldType::Phone => Form::Phone,
            FormFieldType::Url => Form::Url,
            FormFieldType::Number => Form::Number,
            FormFieldType::Integer => Form::Integer,
            FormFieldType::Boolean => Form::Boolean,
            FormFieldType::Date => Form::Date,
            FormFieldType::Time => Form::Time,
            FormFieldType::Datetime => Form::Datetime,
            FormFieldType::Select | FormFieldType::Radio => Form::Choice,
            FormFieldType::Multiselect | FormFieldType::Checkboxes => Form::Choices,
            FormFieldType::Group | FormFieldType::List => Form::Object,
        };
        let is_complete = completeness == Completeness::Complete;
        let plain = Rules { required: self.field.required && is_complete, ..Rules::of(form) };
        let Some(set) = &self.field.validation else {
            return Rules { options: self.field.options.as_deref().unwrap_or_default(), ..plain };
        };
        Rules {
            min_length: set.min_length,
            max_length: set.max_length,
            pattern: self.pattern.as_ref(),
            pattern_message: set.pattern_message.as_deref(),
            minimum: (set.minimum.as_ref().map(Limit::Number))
                .or_else(|| set.min_date.as_deref().map(Limit::Moment)),
            maximum: (set.maximum.as_ref().map(Limit::Number))
                .or_else(|| set.max_date.as_deref().map(Limit::Moment)),
            multiple_of: set.multiple_of.as_ref(),
            options: self.field.options.as_deref().unwrap_or_default(),
            min_items: set.min_items.filter(|_| is_complete),
            max_items: set.max_items,
            ..plain
        }
    }

    /// The value in plain characters, `null` for text that is no answer; `None` when the value stays.
    fn plain(&self, value: &Json, completeness: Completeness) -> Option<Json> {
        match (self.field.kind, value) {
            (FormFieldType::Group, Json::Object(members)) => {
                self.level.plain(members, completeness).map(Json::Object)
            }
            (FormFieldType::List, Json::Array(items)) => {
                let plain = |item: &Json| self.level.plain(item.as_object()?, completeness).map(Json::Object);
                let plain: Vec<Option<Json>> = items.iter().map(plain).collect();
                let of = |(plain, item): (Option<Json>, &Json)| plain.unwrap_or_else(|| item.clone());
                let is_changed = plain.iter().any(Option::is_some);
                is_changed.then(|| Json::Array(plain.into_iter().zip(items).map(of).collect()))
            }
            (kind, value) => {
                let rules = self.rules(completeness);
                let is_file = kind == FormFieldType::File;
                let is_unanswered =
                    |text: &str| text.trim().is_empty() && (is_file || rules.refuses_blank(text));
                let plain = rules.plain(value);
                match plain.as_ref().unwrap_or(value).as_str() {
                    Some(text) if !rules.required && is_unanswered(text) => Some(Json::Null),
                    _ => plain,
                }
            }
        }
    }

    /// Checks a value that is not `null` and stands in a field that is shown.
    fn check(&self, value: &Json, path: &Path<'_>, is_sensitive: bool, walk: &mut Walk<'_>) {
        let rules = self.rules(walk.completeness);
        match (self.field.kind, value) {
            (FormFieldType::File, _) => self.check_files(value, path, is_sensitive, &rules, walk),
            (FormFieldType::Group, Json::Object(members)) => {
                self.level.check(members, path, is_sensitive, walk);
            }
            (FormFieldType::Group, _) => {
                walk.fault(path, Some(value), is_sensitive, ValidationIssue::wrong_type("an object"));
            }
            (FormFieldType::List, Json::Array(items)) => {
                if let Err(fault) = rules.count(items) {
                    walk.fault(path, Some(value), is_sensitive, fault);
                }
                for (index, item) in items.iter().enumerate() {
                    let path = Path::Item(path, index);
                    match item {
                        Json::Object(members) => self.level.check(members, &path, is_sensitive, walk),
                        _ => walk.fault(
                            &path,
                            Some(item),
                            is_sensitive,
                            ValidationIssue::wrong_type("an object"),
                        ),
                    }
                }
            }
            (FormFieldType::List, _) => {
                walk.fault(
                    path,
                    Some(value),
                    is_sensitive,
                    ValidationIssue::wrong_type("an array of objects"),
                );
            }
            _ => rules.check(value, &mut |index, value, fault| match index {
                Some(index) => walk.fault(&Path::Item(path, index), Some(value), is_sensitive, fault),
                None => walk.fault(path, Some(value), is_sensitive, fault),
            }),
        }
    }

    fn check_files(
        &self,
        value: &Json,
        path: &Path<'_>,
        is_sensitive: bool,
        rules: &Rules<'_>,
        walk: &mut Walk<'_>,
    ) {
        let one = |value: &Json, walk: &Walk<'_>| match value {
            Json::String(text) if text.trim().is_empty() && rules.required => {
                Err(ValidationIssue::required())
            }
            Json::String(text) => match file_id(text) {
                Some(id) if (walk.has_file)(id) => Ok(()),
                Some(_) => {
                    Err(ValidationIssue::new(ValidationCode::Reference, "is not a file of this contact"))
                }
                None => Err(ValidationIssue::new(
                    ValidationCode::Format,
                    "must be a file id of 24 lowercase hexadecimal digits",
                )),
            },
            _ => Err(ValidationIssue::wrong_type("a file id")),
        };
        match value {
            Json::Array(items) if self.field.takes_many_files() => {
                let mut whole = rules.count(items);
                let mut seen = HashSet::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    if let Err(fault) = one(item, walk) {
                        walk.fault(&Path::Item(path, index), Some(item), is_sensitive, fault);
                    } else if !seen.insert(item.as_str()) && whole.is_ok() {
                        whole = Err(ValidationIssue::new(
                            ValidationCode::UniqueItems,
                            "must not repeat an element",
                        ));
                    }
                }
                if let Err(fault) = whole {
                    walk.fault(path, Some(value), is_sensitive, fault);
                }
            }
            _ => {
                let alone = match rules.min_items {
                    Some(least) if least > 1 => Err(too_few_items(least as usize)),
                    _ => Ok(()),
                };
                if let Err(fault) = one(value, walk).and(alone) {
                    walk.fault(path, Some(value), is_sensitive, fault);
                }
            }
        }
    }

    /// The first fault of a value on its own, files taken to be there: whether an example is one.
    pub(super) fn refuse(&self, value: &Json) -> Option<ValidationError> {
        let mut walk =
            Walk { completeness: Completeness::Complete, has_file: &|_| true, violations: Violations::new() };
        self.check(value, &Path::Root("example"), false, &mut walk);
        walk.violations.listed().first().cloned()
    }
}

impl FormField {
    /// Whether a file field takes an array of ids besides one: when the number of its elements is bounded.
    #[must_use]
    pub fn takes_many_files(&self) -> bool {
        self.kind == FormFieldType::File
            && self
                .validation
                .as_ref()
                .is_some_and(|rules| rules.min_items.is_some() || rules.max_items.is_some())
    }
}

impl ShowIf {
    /// Whether an answer meets the condition; none when there is no answer.
    #[must_use]
    pub fn holds(&self, answer: Option<&Json>) -> bool {
        match self.op {
            Operator::Equals => answer.is_some_and(|answer| is_equal(answer, &self.value)),
            Operator::NotEquals => !answer.is_some_and(|answer| is_equal(answer, &self.value)),
            Operator::In => match (&self.value, answer) {
                (Json::Array(values), Some(answer)) => values.iter().any(|value| is_equal(answer, value)),
                _ => false,
            },
            Operator::Contains => match answer {
                Some(Json::Array(items)) => items.iter().any(|item| is_equal(item, &self.value)),
                Some(Json::String(text)) => self.value.as_str().is_some_and(|part| text.contains(part)),
                _ => false,
            },
            Operator::Answered => answer.is_some() != (self.value == Json::Bool(false)),
        }
    }
}

/// Whether two values are the same; numbers however they are written.
fn is_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a.compare(b).is_eq(),
        _ => a.same(b),
    }
}

/// A file id as stored and as published: in lowercase, since text of a form is stored as sent.
fn file_id(text: &str) -> Option<FileId> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    text.parse().ok().filter(|_| is_plain)
}

fn has_null(members: &Object) -> bool {
    fn within(value: &Json) -> bool {
        match value {
            Json::Null => true,
            Json::Object(members) => has_null(members),
            Json::Array(items) => items.iter().any(|item| *item != Json::Null && within(item)),
            _ => false,
        }
    }
    members.iter().any(|(_, value)| within(value))
}

/// The members without those that are `null`, in objects of lists too: what is not answered is not stored.
pub(crate) fn answered(members: &Object) -> Object {
    fn within(value: &Json) -> Json {
        match value {
            Json::Object(members) => Json::Object(answered(members)),
            Json::Array(items) => Json::Array(items.iter().map(within).collect()),
            other => other.clone(),
        }
    }
    let set = members.iter().filter(|(_, value)| **value != Json::Null);
    set.map(|(name, value)| (name.to_owned(), within(value))).collect()
}
