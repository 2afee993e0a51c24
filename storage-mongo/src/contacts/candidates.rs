//! Searches: the choice of grams, and the comparison with the searched text.

use mongodb::bson::{Bson, Document, doc};
use openapi_core::contacts::SearchTerm;
use openapi_core::values::AgentId;

use super::grams;
use crate::document::{FieldReader, Fields};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::transaction::DocumentReader;

/// The most contacts with a gram that are counted.
const MAX_COUNTED: i64 = 1_000;

/// The most terms whose grams are counted.
const MAX_TERMS: usize = 4;

/// Grams of which every match of a search has at least one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidates {
    /// The grams, with [`grams::EVERY`].
    pub(super) grams: Vec<String>,
    /// The number of contacts with one of them, counted up to [`MAX_COUNTED`] for each.
    pub(super) at_most: u64,
}

/// The most selective grams of a search; `None` when its terms are too short.
pub(super) async fn choose(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    terms: &[SearchTerm],
) -> Result<Option<Candidates>> {
    let tried: Vec<grams::Grams> = terms.iter().filter_map(grams::of_term).take(MAX_TERMS).collect();
    if tried.is_empty() {
        return Ok(None);
    }
    let every = grams::EVERY.to_owned();
    let of_terms = tried.iter().flat_map(|term| term.text.iter().chain(term.digits.iter().flatten()));
    let mut all: Vec<&String> = of_terms.chain([&every]).collect();
    all.sort_unstable();
    all.dedup();
    let mut counts = vec![0; all.len()];
    let counted = reads.aggregate(collection::CONTACTS, counting(agent, &all), Some(index::CONTACTS_BY_GRAM));
    for counted in &counted.await? {
        let mut fields = Fields(counted);
        if let Some(count) = counts.get_mut(fields.count("_id")? as usize) {
            *count = fields.count("n")?;
        }
    }
    let count_of = |gram: &String| all.binary_search(&gram).map_or(0, |at| counts[at]);
    let fewest = |grams: &[String]| grams.iter().map(|gram| (count_of(gram), gram.clone())).min();
    let of_term = |term: &grams::Grams| {
        let mut chosen = vec![(count_of(&every), every.clone()), fewest(&term.text)?];
        for digits in &term.digits {
            chosen.push(fewest(digits)?);
        }
        let at_most = chosen.iter().map(|(count, _)| count).sum();
        Some(Candidates { grams: chosen.into_iter().map(|(_, gram)| gram).collect(), at_most })
    };
    Ok(tried.iter().filter_map(of_term).min_by_key(|candidates| candidates.at_most))
}

/// The pipeline that counts the contacts with each of some grams, in one command.
fn counting(agent: &AgentId, grams: &[&String]) -> Vec<Document> {
    let one = |(at, gram): (usize, &&String)| {
        vec![
            doc! { "$match": { "_id.agent": agent.as_str(), "keys.grams": gram.as_str() } },
            doc! { "$limit": MAX_COUNTED },
            doc! { "$group": { "_id": { "$literal": at as i64 }, "n": { "$sum": 1_i64 } } },
        ]
    };
    let mut each = grams.iter().enumerate().map(one);
    let mut pipeline = each.next().unwrap_or_default();
    for other in each {
        pipeline.push(doc! { "$unionWith": { "coll": collection::CONTACTS, "pipeline": other } });
    }
    pipeline
}

/// The conditions that every term occurs.
pub(super) fn every_term(terms: &[SearchTerm]) -> Vec<Document> {
    let occurs = |term: &SearchTerm| {
        let text = doc! { "keys.search": occurrence(&term.text) };
        if term.digits.is_empty() {
            return text;
        }
        let digits = term.digits.iter().map(|digits| doc! { "keys.digits": occurrence(digits) });
        let forms: Vec<Document> = [text].into_iter().chain(digits).collect();
        doc! { "$or": forms }
    };
    terms.iter().map(occurs).collect()
}

/// The regular expression for texts that contain a text.
fn occurrence(text: &str) -> Bson {
    let mut pattern = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        // A backslash makes every ASCII character but letters and digits literal.
        if character.is_ascii() && !character.is_ascii_alphanumeric() {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    Bson::Document(doc! { "$regex": pattern })
}

/// The command that counts what a search finds, as [`super::filter_scan`] runs it.
#[cfg(test)]
pub(crate) async fn count_of_search(
    handle: &crate::connect::Handle,
    agent: &AgentId,
    search: &str,
) -> Result<Document> {
    use openapi_core::storage::ContactFilter;

    let terms = SearchTerm::split(search);
    let candidates = choose(&mut DocumentReader::new(handle), agent, &terms).await?;
    let candidates = candidates.ok_or_else(|| crate::error::corrupt("the terms are too short"))?;
    let mut conditions =
        super::index_scan::shown(agent, &super::index_scan::View::of(&ContactFilter::default()));
    conditions.insert("keys.grams", doc! { "$in": candidates.grams });
    let mut all = vec![conditions];
    all.extend(every_term(&terms));
    Ok(doc! {
        "aggregate": collection::CONTACTS,
        "pipeline": [{ "$match": { "$and": all } }, { "$count": "n" }],
        "cursor": {},
        "hint": index::CONTACTS_BY_GRAM,
    })
}
