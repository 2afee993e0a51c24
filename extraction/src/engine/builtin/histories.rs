//! Work and studies in a resume: the sections under their headings, one entry for each period or degree, and in an entry
//! the title, the organisation, the town and the period.

use super::entities;
use super::periods::{self, Period};
use super::sections::{self, Section};
use super::text::{has_digit, is_capitalised, tidy};
use super::view::{Span, View};
use super::vocabulary::{DEGREES, JOBS, ORGANISATION_LABELS, SCHOOLS, STUDY_LABELS, Topic, Words};

/// The most entries of a section, lines of the head of one, and words of such a line.
const MAX_ENTRIES: usize = 60;
const HEAD_LINES: usize = 3;
const HEAD_WORDS: usize = 14;
/// The most words of a name of a firm, school or degree.
const NAME_WORDS: usize = 12;

/// One position or one course of study.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Entry {
    /// The job title, or the degree.
    pub(crate) title: Option<Span>,
    /// The firm, or the school.
    pub(crate) organisation: Option<Span>,
    pub(crate) town: Option<Span>,
    pub(crate) period: Option<Period>,
}

/// The history that a document has under headings.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) work: Vec<Entry>,
    pub(crate) studies: Vec<Entry>,
    /// The line of the first heading: what is above is the head of the resume.
    pub(crate) head: usize,
}

impl History {
    pub(crate) fn of(view: &View<'_>) -> Self {
        let mut all = sections::sections(view);
        if all.iter().all(|section| section.topic != Topic::Work) {
            let others = sections::sections_by_contents(view);
            if others.iter().any(|section| section.topic == Topic::Work) {
                all = others;
            }
        }
        let mut history =
            History { head: all.first().map_or(0, |first| first.first - 1), ..History::default() };
        for section in all {
            match section.topic {
                Topic::Work => history.work.extend(work(view, section)),
                Topic::Studies => history.studies.extend(studies(view, section)),
                Topic::Other => {}
            }
        }
        history
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.work.is_empty() && self.studies.is_empty()
    }
}

fn is_bullet(text: &str) -> bool {
    !text.chars().any(char::is_alphanumeric) && !text.starts_with(['(', '"', '“'])
        || text.starts_with(['•', '●', '▪', '➢', '◦', '‣'])
        || text == "o"
}

/// Whether a line could belong to the head of an entry: short, no sentence and no item of a list.
fn is_head(view: &View<'_>, line: usize) -> bool {
    let span = view.line_span(line);
    let (first, last) = (view.words[span.start].text, view.words[span.end - 1].text);
    span.end - span.start <= HEAD_WORDS
        && !is_bullet(first)
        && first.chars().find(|c| c.is_alphanumeric()).is_some_and(|c| c.is_uppercase() || c.is_ascii_digit())
        && !(last.ends_with('.') && span.end - span.start > 6 && !entities::is_company(last))
        && sections::heading(view, line).is_none()
}

/// The pieces of a line without its period: parted by dashes, bars, bullets, wide gaps and `at`.
fn pieces(view: &View<'_>, line: usize, period: Option<Period>) -> Vec<Span> {
    let mut found = Vec::new();
    for segment in view.segments_of(line) {
        let mut start = segment.start;
        let mut close = |start: usize, end: usize| {
            let mut span = Span { start, end };
            let is_mark = |at: usize| !view.words[at].text.chars().any(char::is_alphanumeric);
            while span.start < span.end && is_mark(span.start) {
                span.start += 1;
            }
            while span.start < span.end && is_mark(span.end - 1) {
                span.end -= 1;
            }
            if span.start < span.end {
                found.push(span);
            }
        };
        for at in segment.start..segment.end {
            let text = view.words[at].text;
            let is_period = period.is_some_and(|period| (period.span.start..period.span.end).contains(&at));
            let parts = matches!(
                text,
                "-" | "–" | "—" | "|" | "•" | "·" | "/" | "@" | ":" | "," | "at" | "bei" | "chez"
            );
            if is_period || parts {
                close(start, at);
                start = at + 1;
            } else if text.ends_with([',', '|', '–']) && at + 1 < segment.end {
                close(start, at + 1);
                start = at + 1;
            }
        }
        close(start, segment.end);
    }
    found
}

fn has(view: &View<'_>, span: Span, list: Words) -> bool {
    view.folded(span).any(|word| {
        list.has(word)
            || word.split(['/', '-', '(']).any(|part| list.has(part))
            || list.has(&word.replace('.', ""))
    })
}

/// Whether a piece has a degree; one of few letters is written in capitals.
fn has_degree(view: &View<'_>, span: Span) -> bool {
    view.words[span.start..span.end].iter().any(|word| {
        let plain = word.folded.replace('.', "");
        let parts = || plain.split(['/', '-', '(', ',']).any(|part| part.len() > 2 && DEGREES.has(part));
        if plain.chars().count() <= 2 {
            DEGREES.has(&plain) && word.text.chars().filter(|c| c.is_alphabetic()).all(char::is_uppercase)
        } else {
            DEGREES.has(&plain) || parts()
        }
    })
}

/// Joins the pieces that a comma parted, where they are one name: `Master of Arts, History`, `Acme, Inc.`
fn rejoin(view: &View<'_>, found: Vec<Span>, keeps: impl Fn(Span, Span) -> bool) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for piece in found {
        match joined.last_mut() {
            Some(last)
                if last.end == piece.start
                    && view.words[last.end - 1].text.ends_with(',')
                    && keeps(*last, piece) =>
            {
                last.end = piece.end;
            }
            _ => joined.push(piece),
        }
    }
    joined
}

fn named(view: &View<'_>, span: Span) -> bool {
    let text = view.text(span);
    span.end - span.start <= NAME_WORDS
        && text.chars().filter(|c| c.is_alphabetic()).count() >= 2
        && !text.contains('@')
}

fn work(view: &View<'_>, section: Section) -> Vec<Entry> {
    let mut anchors: Vec<(usize, Period)> = (section.first..section.end)
        .filter(|&line| {
            is_head(view, line) || view.line_span(line).end - view.line_span(line).start <= HEAD_WORDS
        })
        .filter_map(|line| {
            periods::find(view, line).filter(|period| period.is_range).map(|period| (line, period))
        })
        .collect();
    anchors.truncate(MAX_ENTRIES);
    let Some(&(first, _)) = anchors.first() else { return labelled(view, section) };
    // The heads of all entries of a section are laid out like that of the first one.
    let above = (section.first..first).filter(|&line| is_head(view, line)).count();
    let is_above = above > 0;
    let mut entries = Vec::new();
    let mut from = section.first;
    for (nth, &(line, period)) in anchors.iter().enumerate() {
        let own = pieces(view, line, Some(period));
        let most = match (own.is_empty(), is_above) {
            (true, true) => above.min(HEAD_LINES),
            (false, true) => above.min(1),
            (true, false) => 2,
            (false, false) => usize::from(own.len() < 2),
        };
        let next = anchors.get(nth + 1).map_or(section.end, |(next, _)| *next);
        let mut lines: Vec<usize> = if is_above {
            (from..line).rev().take(most).take_while(|&line| is_head(view, line)).collect()
        } else {
            (line + 1..next).take(most).take_while(|&line| is_head(view, line)).collect()
        };
        lines.push(line);
        lines.sort_unstable();
        let all: Vec<Vec<Span>> = lines
            .iter()
            .map(|&at| {
                let found = pieces(view, at, (at == line).then_some(period));
                rejoin(view, found, |_, next| entities::is_ending(&view.text(next)))
                    .into_iter()
                    .filter(|piece| named(view, *piece))
                    .collect()
            })
            .filter(|pieces: &Vec<Span>| !pieces.is_empty())
            .collect();
        from = line + 1;
        let entry = position(view, &all, period);
        if entry.organisation.is_some() || entry.title.is_some() {
            entries.push(entry);
        }
    }
    entries
}

/// Which piece of the head of an entry is what.
fn position(view: &View<'_>, lines: &[Vec<Span>], period: Period) -> Entry {
    let all: Vec<Span> = lines.iter().flatten().copied().collect();
    let is_job = |span: &Span| has(view, *span, JOBS);
    // `Store manager` is no firm.
    let is_company = |span: &Span| {
        let text = view.text(*span);
        entities::is_company(&text) && (!is_job(span) || entities::ends_as_company(&text))
    };
    let is_town = |span: &Span| entities::country(&view.text(*span)).is_some();
    let title = all
        .iter()
        .find(|span| is_job(span) && !is_company(span))
        .or_else(|| if lines.len() > 1 { lines[0].first().filter(|span| !is_company(span)) } else { None })
        .copied();
    let organisation = all
        .iter()
        .find(|span| Some(**span) != title && is_company(span))
        .or_else(|| all.iter().find(|span| Some(**span) != title && !is_town(span) && !is_job(span)))
        .or_else(|| all.iter().find(|span| Some(**span) != title && !is_town(span)))
        .copied();
    let town = organisation.and_then(|organisation| {
        let line = lines.iter().find(|line| line.contains(&organisation))?;
        line.iter().copied().find(|span| {
            span.start >= organisation.end && Some(*span) != title && !has_digit(&view.text(*span))
        })
    });
    Entry { title, organisation, town: town.map(|town| with_region(view, town, lines)), period: Some(period) }
}

/// A town with the state or country after its comma.
fn with_region(view: &View<'_>, town: Span, lines: &[Vec<Span>]) -> Span {
    let next = lines.iter().flatten().find(|next| next.start == town.end);
    match next {
        Some(next) if view.words[town.end - 1].text.ends_with(',') => {
            Span { start: town.start, end: next.end }
        }
        _ => town,
    }
}

/// `Company: Acme Ltd`, where a section has no periods.
fn labelled(view: &View<'_>, section: Section) -> Vec<Entry> {
    let mut entries = Vec::new();
    for line in section.first..section.end {
        let span = view.line_span(line);
        let mark = (span.start..span.end.min(span.start + 4)).find(|&at| view.words[at].text.ends_with(':'));
        let is_named = mark.is_some_and(|mark| {
            mark + 1 < span.end
                && ORGANISATION_LABELS.has_any(view.folded(Span { start: span.start, end: mark + 1 }))
        });
        if let Some(mark) = mark.filter(|_| is_named) {
            entries.push(Entry {
                organisation: Some(Span { start: mark + 1, end: span.end }),
                ..Entry::default()
            });
        }
    }
    entries.truncate(MAX_ENTRIES);
    entries
}

fn studies(view: &View<'_>, section: Section) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut current = Entry::default();
    // What comes first in an entry comes first in each: the degree or the school.
    let mut close = |current: &mut Entry| {
        let done = std::mem::take(current);
        if (done.title.is_some() || done.organisation.is_some()) && entries.len() < MAX_ENTRIES {
            entries.push(done);
        }
    };
    for line in section.first..section.end {
        let span = view.line_span(line);
        let bulleted = is_bullet(view.words[span.start].text);
        let period = periods::find(view, line);
        let is_long = span.end - span.start > HEAD_WORDS + 6;
        let found = pieces(view, line, period);
        // `B.E in Physics, Mathematics` is one degree, `Town, State` one town.
        let found = rejoin(view, found, |last, next| {
            has_degree(view, last) && !has(view, next, SCHOOLS) && !has_degree(view, next)
                || entities::is_ending(&view.text(next))
        });
        let mut after_school: Option<Span> = None;
        for piece in found.into_iter().filter(|piece| named(view, *piece)) {
            let piece = without_label(view, piece);
            if piece.start >= piece.end {
                continue;
            }
            let (degree, school) = (has_degree(view, piece), has(view, piece, SCHOOLS));
            let (degree_span, school_span) = match (degree, school) {
                (true, true) => split_at_school(view, piece),
                (true, false) => (Some(piece), None),
                (false, true) => (None, Some(piece)),
                (false, false) => (None, None),
            };
            if let Some(degree) = degree_span {
                if current.title.is_some() {
                    close(&mut current);
                }
                current.title = Some(degree);
            }
            if let Some(school) = school_span {
                if current.organisation.is_some() {
                    close(&mut current);
                }
                current.organisation = Some(school);
                after_school = Some(school);
                continue;
            }
            if degree {
                continue;
            }
            let text = view.text(piece);
            let is_plain = !is_long
                && !bulleted
                && is_capitalised(text.trim_start_matches(|c: char| !c.is_alphanumeric()))
                && !has_digit(&text);
            if let Some(school) = after_school {
                if current.town.is_none() && is_plain && piece.start >= school.end {
                    current.town = Some(piece);
                }
            } else if current.title.is_some() && current.organisation.is_none() && is_plain {
                current.organisation = Some(piece);
                after_school = Some(piece);
            }
        }
        if current.period.is_none() {
            current.period = period;
        }
    }
    close(&mut current);
    entries
}

/// A piece without the label before it: `University: Leeds`.
fn without_label(view: &View<'_>, piece: Span) -> Span {
    let mark = (piece.start..piece.end.min(piece.start + 3)).find(|&at| view.words[at].text.ends_with(':'));
    let is_label = mark
        .is_some_and(|mark| STUDY_LABELS.has_any(view.folded(Span { start: piece.start, end: mark + 1 })));
    if is_label { Span { start: mark.map_or(piece.start, |mark| mark + 1), end: piece.end } } else { piece }
}

/// `B.Tech from Kestrel College`: the degree and the school.
fn split_at_school(view: &View<'_>, piece: Span) -> (Option<Span>, Option<Span>) {
    let from = (piece.start + 1..piece.end)
        .find(|&at| matches!(view.words[at].folded.as_str(), "from" | "at" | "an" | "a" | "presso" | "de"));
    match from {
        Some(at) if at + 1 < piece.end && has_degree(view, Span { start: piece.start, end: at }) => {
            (Some(Span { start: piece.start, end: at }), Some(Span { start: at + 1, end: piece.end }))
        }
        // `Bachelor of Arts` of a `College of Arts`: what names a school is one.
        _ => (None, Some(piece)),
    }
}

/// The town in the head of a resume: `Leeds, West Yorkshire - mail@example.com`; with or without its region.
pub(crate) fn town_of_head(view: &View<'_>, head: usize, with_region: bool) -> Option<Span> {
    for line in 1..head.min(8) {
        for piece in pieces(view, line, None).into_iter().filter(|piece| named(view, *piece)) {
            let text = view.text(piece);
            let is_town = text
                .trim_end_matches(',')
                .chars()
                .all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '.' | '\''))
                && piece.end - piece.start <= 3
                && view.words[piece.start..piece.end].iter().all(|word| is_capitalised(word.text))
                && !has(view, piece, JOBS)
                && !entities::is_company(&text)
                && view.words[piece.end - 1].text.ends_with(',');
            if !is_town {
                continue;
            }
            let next = pieces(view, line, None).into_iter().find(|next| next.start == piece.end);
            let end = next.filter(|next| {
                let region = tidy(&view.text(*next));
                region.split_whitespace().count() <= 3
                    && is_capitalised(&region)
                    && !has_digit(&region)
                    && !region.contains('@')
            });
            if let Some(next) = end {
                return Some(if with_region { Span { start: piece.start, end: next.end } } else { piece });
            }
        }
    }
    None
}
