//! Query parameters: one declaration for reading and for the OpenAPI document.

use serde_json::Value;

use super::rules::Rule;
use crate::json::Json;
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};

/// A query parameter, as the OpenAPI document describes it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// What it does, with its rule.
    pub description: &'static str,
    /// The JSON Schema of its value.
    pub schema: fn() -> Value,
}

impl Parameter {
    /// The parameters of all groups in one array of their exact number.
    pub const fn concat<const COUNT: usize>(groups: &[&[Parameter]]) -> [Parameter; COUNT] {
        let mut all = [Parameter { name: "", description: "", schema: || Value::Null }; COUNT];
        let (mut group, mut at) = (0, 0);
        while group < groups.len() {
            let mut index = 0;
            while index < groups[group].len() {
                all[at] = groups[group][index];
                at += 1;
                index += 1;
            }
            group += 1;
        }
        all
    }

    /// How many parameters the groups have.
    pub const fn count(groups: &[&[Parameter]]) -> usize {
        let (mut group, mut count) = (0, 0);
        while group < groups.len() {
            count += groups[group].len();
            group += 1;
        }
        count
    }
}

/// Declares the query of a request: a struct whose fields are parameters, each with its description, its name, its
/// type and its [rule](super::rules). A list adds its paging at the end.
///
/// ```ignore
/// parameters! {
///     /// The query of a list of files (contract 4.3).
///     #[derive(Clone, Debug, Default, PartialEq)]
///     pub struct FileListQuery {
///         /// What files are sorted by; names without regard to case.
///         "sortBy" sort: FileSort = OneOf(FileSort::ALL, FileSort::as_str),
///         ..page: Paging<20>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[doc = $doc:literal])* $wire:literal $field:ident: $type:ty = $rule:expr,)*
            $(..$page:ident: $paging:ty,)?
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
            $(
                /// Which part.
                pub $page: <$paging as $crate::request::Part>::Value,
            )?
        }

        impl $crate::request::Part for $name {
            type Value = Self;

            const PARAMETERS: &'static [$crate::request::Parameter] = {
                use $crate::request::Parameter;
                const GROUPS: &[&[Parameter]] = &[
                    $(<$paging as $crate::request::Part>::PARAMETERS,)?
                    &[$(Parameter {
                        name: $wire,
                        description: concat!($($doc),*).trim_ascii_start(),
                        schema: || $crate::request::rules::Rule::<$type>::schema(&$rule),
                    }),*],
                ];
                &Parameter::concat::<{ Parameter::count(GROUPS) }>(GROUPS)
            };

            fn read(request: &mut $crate::request::Reader<'_>) -> Self {
                $name {
                    $($field: request.query.read($wire, &$rule),)*
                    $($page: <$paging as $crate::request::Part>::read(request),)?
                }
            }
        }
    };
}
pub use parameters;

/// Declares a part that is one query parameter; the field that it fills has the type of its value.
///
/// ```ignore
/// parameter! {
///     /// Whether drafts take part, by the time they were created.
///     IncludeDrafts = "includeDrafts": bool = Flag
/// }
/// ```
#[macro_export]
macro_rules! parameter {
    ($(#[doc = $doc:literal])* $visibility:vis $name:ident = $wire:literal: $type:ty = $rule:expr) => {
        $(#[doc = $doc])*
        $visibility struct $name;

        impl $crate::request::Part for $name {
            type Value = $type;
            const PARAMETERS: &'static [$crate::request::Parameter] = &[$crate::request::Parameter {
                name: $wire,
                description: concat!($($doc),*).trim_ascii_start(),
                schema: || $crate::request::rules::Rule::<$type>::schema(&$rule),
            }];

            fn read(request: &mut $crate::request::Reader<'_>) -> $type {
                request.query.read($wire, &$rule)
            }
        }
    };
}
pub use parameter;

/// The query of a request under the declaration of its endpoint. Errors are collected with their position.
pub struct Query<'a> {
    parameters: &'static [Parameter],
    pairs: &'a [(String, String)],
    found: Vec<(usize, ValidationError)>,
}

impl<'a> Query<'a> {
    /// A query, checked for unknown and repeated names.
    pub(super) fn new(parameters: &'static [Parameter], pairs: &'a [(String, String)]) -> Self {
        let mut found = Vec::new();
        let sent = pairs.iter().enumerate().filter(|(_, (name, _))| !name.starts_with('_'));
        for (at, (name, value)) in sent {
            let value = Json::String(value.clone());
            let fault = if !parameters.iter().any(|parameter| parameter.name == name) {
                ValidationIssue::new(ValidationCode::Unknown, "is not a parameter of this endpoint")
            } else if pairs[..at].iter().any(|(earlier, _)| earlier == name) {
                ValidationIssue::new(ValidationCode::Duplicate, "is given twice")
            } else {
                continue;
            };
            found.push((at, ValidationError::new(Location::Query, name, Some(&value), fault)));
        }
        Query { parameters, pairs, found }
    }

    /// The value of a parameter; empty is absent, and so is a parameter that the endpoint does not have.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let (_, value) = self.pairs.iter().find(|(known, _)| known == name)?;
        let is_declared = || self.parameters.iter().any(|parameter| parameter.name == name);
        Some(value.as_str()).filter(|value| !value.is_empty() && is_declared())
    }

    /// A parameter under its rule. An invalid value is noted and counts as absent.
    pub fn read<T: Default>(&mut self, name: &str, rule: &impl Rule<T>) -> T {
        let Some(text) = self.text(name) else { return rule.absent() };
        rule.parse(text).unwrap_or_else(|fault| {
            self.fault(name, fault);
            rule.absent()
        })
    }

    /// A parameter under its rule; an invalid value counts as absent.
    pub fn peek<T: Default>(&self, name: &str, rule: &impl Rule<T>) -> T {
        let parsed = self.text(name).and_then(|text| rule.parse(text).ok());
        parsed.unwrap_or_else(|| rule.absent())
    }

    /// Notes a fault of a parameter.
    pub fn fault(&mut self, name: &str, fault: ValidationIssue) {
        let at = self.pairs.iter().position(|(known, _)| known == name).unwrap_or(usize::MAX);
        let value = self.pairs.get(at).map(|(_, value)| Json::String(value.clone()));
        self.found.push((at, ValidationError::new(Location::Query, name, value.as_ref(), fault)));
    }

    /// The faults, in the order sent.
    pub(super) fn take_faults(&mut self) -> Violations {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|(at, _)| *at);
        let mut faults = Violations::new();
        found.into_iter().for_each(|(_, violation)| faults.push(violation));
        faults
    }
}
