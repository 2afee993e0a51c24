//! The answers to the parts of a document become one.

use std::collections::HashSet;
use std::fmt::Write as _;

use openapi_core::extraction::{Finding, Leaf};
use openapi_core::json::Json;

use crate::engine::builtin::view::Span;

/// A finding with the words that say it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Located {
    Absent,
    Leaf(Box<Leaf>, Option<Span>),
    Array(Vec<Located>),
    Object(Vec<(String, Located)>),
}

impl Located {
    pub(super) fn is_absent(&self) -> bool {
        *self == Located::Absent
    }

    pub(super) fn finding(self) -> Finding {
        match self {
            Located::Absent => Finding::Absent,
            Located::Leaf(leaf, _) => Finding::Leaf(*leaf),
            Located::Array(elements) => Finding::Array(elements.into_iter().map(Located::finding).collect()),
            Located::Object(members) => {
                Finding::Object(members.into_iter().map(|(name, member)| (name, member.finding())).collect())
            }
        }
    }

    /// One of the answers of two parts: of scalars the better located, else the first; of arrays all elements but
    /// those of the later part that are the same words of the document, which stand where the parts overlap, and the
    /// same text, which every part may repeat.
    pub(super) fn merged(self, later: Located) -> Located {
        match (self, later) {
            (Located::Absent, other) | (other, Located::Absent) => other,
            (Located::Leaf(first, at), Located::Leaf(second, other)) => {
                let worth = |leaf: &Leaf| (leaf.value.is_ok(), leaf.confidence);
                if worth(&second) > worth(&first) {
                    Located::Leaf(second, other)
                } else {
                    Located::Leaf(first, at)
                }
            }
            (Located::Array(mut elements), Located::Array(more)) => {
                let known: HashSet<String> = elements.iter().map(Located::identity).collect();
                elements.extend(more.into_iter().filter(|element| !known.contains(&element.identity())));
                Located::Array(elements)
            }
            (Located::Object(mut members), Located::Object(more)) => {
                for (name, member) in more {
                    match members.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => {
                            *known = std::mem::replace(known, Located::Absent).merged(member);
                        }
                        None => members.push((name, member)),
                    }
                }
                Located::Object(members)
            }
            (first, _) => first,
        }
    }

    /// What two elements have in common that are the same one.
    fn identity(&self) -> String {
        let mut identity = String::new();
        match self {
            // Text in an array is a name: equal text at another position is the same element.
            Located::Leaf(leaf, _) if matches!(leaf.value, Ok(Json::String(_))) => {
                write(self, false, &mut identity);
            }
            _ => write(self, true, &mut identity),
        }
        identity
    }
}

fn write(located: &Located, with_position: bool, out: &mut String) {
    match located {
        Located::Absent => out.push('-'),
        Located::Leaf(leaf, position) => {
            let value =
                leaf.value.as_ref().map_or_else(|no| Json::from(no.raw.as_str()).to_text(), Json::to_text);
            out.push_str(&value);
            if let Some(position) = position.filter(|_| with_position) {
                // Writing to a string cannot fail.
                let _ = write!(out, "@{}-{}", position.start, position.end);
            }
        }
        Located::Array(elements) => {
            out.push('[');
            for element in elements {
                write(element, with_position, out);
                out.push(',');
            }
            out.push(']');
        }
        Located::Object(members) => {
            out.push('{');
            for (name, member) in members {
                out.push_str(name);
                out.push(':');
                write(member, with_position, out);
                out.push(',');
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use openapi_core::extraction::{Confidence, Evidence};

    use super::*;

    fn leaf(value: Json, confidence: Confidence, at: usize) -> Located {
        let evidence = Evidence::default();
        let span = Span { start: at, end: at + 1 };
        Located::Leaf(Box::new(Leaf { value: Ok(value), confidence, evidence, ambiguous: false }), Some(span))
    }

    #[test]
    fn the_better_located_scalar_stays_and_the_first_of_equals() {
        let first = leaf("a".into(), Confidence::CLOSE, 1);
        let better = leaf("b".into(), Confidence::VERBATIM, 9);
        let equal = leaf("c".into(), Confidence::CLOSE, 9);
        assert_eq!(first.clone().merged(better.clone()), better);
        assert_eq!(first.clone().merged(equal), first);
        assert_eq!(Located::Absent.merged(first.clone()), first);
        assert_eq!(first.clone().merged(Located::Absent), first);
    }

    #[test]
    fn elements_of_an_overlap_are_there_once_and_equal_rows_stay() {
        let row =
            |at| Located::Object(vec![("text".to_owned(), leaf("Coffee".into(), Confidence::VERBATIM, at))]);
        let merged = Located::Array(vec![row(1), row(5)]).merged(Located::Array(vec![row(5), row(9)]));
        assert_eq!(merged, Located::Array(vec![row(1), row(5), row(9)]));
        let name = |at| leaf("Acme".into(), Confidence::VERBATIM, at);
        let merged = Located::Array(vec![name(1)]).merged(Located::Array(vec![name(9)]));
        assert_eq!(merged, Located::Array(vec![name(1)]));
    }
}
