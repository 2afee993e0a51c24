//! How long something lasts: numbers with units of time, and the sentences that say the term of an agreement.

use super::candidate::{Candidate, Provenance};
use super::source::{MAX_HITS, Source};
use super::view::{Span, View};

const UNITS: &str = " year years month months week weeks day days jahr jahre jahren monat monate monaten woche wochen tag tage tagen an ans annee annees mois semaine semaines jour jours ano anos mes meses semana semanas dia dias anno anni mese mesi settimana settimane giorno giorni ";

/// Number words up to twelve and some tens, in the languages of the lexicon.
fn number_word(word: &str) -> Option<u32> {
    let words: [(&str, u32); 19] = [
        ("one einem einer ein einen un une una uno", 1),
        ("two zwei deux dos due", 2),
        ("three drei trois tres tre", 3),
        ("four vier quatre cuatro quattro", 4),
        ("five funf cinq cinco cinque", 5),
        ("six sechs seis sei", 6),
        ("seven sieben sept siete sette", 7),
        ("eight acht huit ocho otto", 8),
        ("nine neun neuf nueve nove", 9),
        ("ten zehn dix diez dieci", 10),
        ("eleven elf onze once undici", 11),
        ("twelve zwolf douze doce dodici", 12),
        ("fifteen", 15),
        ("eighteen", 18),
        ("twenty zwanzig", 20),
        ("twenty-four", 24),
        ("thirty dreissig", 30),
        ("sixty", 60),
        ("ninety", 90),
    ];
    words.iter().find(|(names, _)| names.split(' ').any(|name| name == word)).map(|(_, number)| *number)
}

/// A number and a unit of time in a region: `two (2) years` is 2 years.
pub(crate) fn duration(view: &View<'_>, region: Span) -> Option<(Span, String)> {
    (region.start..region.end.min(region.start + 40)).find_map(|at| duration_at(view, at, region.end))
}

fn duration_at(view: &View<'_>, at: usize, end: usize) -> Option<(Span, String)> {
    let folded = |index: usize| view.words[index].folded.as_str();
    let of_text = |text: &str| text.parse::<u32>().ok().filter(|number| *number < 1_000);
    let mut number = of_text(folded(at)).or_else(|| number_word(folded(at)))?;
    let mut next = at + 1;
    if next < end && view.words[next].text.starts_with('(') {
        number = of_text(folded(next))?;
        next += 1;
    }
    if next < end && matches!(folded(next), "full" | "calendar" | "consecutive" | "volle" | "vollen") {
        next += 1;
    }
    let unit = (next < end).then(|| folded(next))?;
    // `3-year term`
    let unit = unit.trim_end_matches("'s").trim_end_matches('’');
    UNITS
        .contains(&format!(" {unit} "))
        .then(|| (Span { start: at, end: next + 1 }, format!("{number} {unit}")))
}

/// Whether a sentence says what somebody must not do for a while, besides telling a secret.
fn is_covenant(sentence: &[&str]) -> bool {
    const ACTS: &[&str] =
        &["compete", "competing", "solicit", "soliciting", "solicitation", "hire", "recruit"];
    const SECRETS: &[&str] =
        &["disclose", "disclosed", "reveal", "use", "information", "confidential", "secret"];
    let has = |list: &[&str]| sentence.iter().any(|word| list.contains(word));
    let is_forbidden = sentence.windows(2).any(|pair| matches!(pair, ["shall" | "will" | "must", "not"]));
    has(ACTS) || is_forbidden && !has(SECRETS)
}

impl Source<'_, '_> {
    /// Candidates for the term of an agreement.
    pub(super) fn terms_of_time(&self, found: &mut Vec<Candidate>) {
        let mut hits = 0;
        for at in 0..self.view.words.len() {
            let folded = self.view.words[at].folded.as_str();
            if !(folded.parse::<u16>().is_ok() || number_word(folded).is_some()) {
                continue;
            }
            let Some((span, value)) = duration_at(self.view, at, (at + 5).min(self.view.words.len())) else {
                continue;
            };
            hits += 1;
            if hits > MAX_HITS {
                break;
            }
            let around = |from: usize, to: usize| {
                self.view.words[from..to.min(self.view.words.len())]
                    .iter()
                    .map(|word| word.folded.as_str())
                    .collect::<Vec<_>>()
            };
            let before = around(at.saturating_sub(14), at);
            let after = around(span.end, span.end + 12);
            let has = |words: &[&str], list: &[&str]| words.iter().any(|word| list.contains(word));
            let mut score = 0.3;
            if has(
                &before,
                &[
                    "term",
                    "laufzeit",
                    "duree",
                    "duracion",
                    "durata",
                    "remain",
                    "continue",
                    "effect",
                    "expire",
                    "expires",
                    "terminate",
                    "terminates",
                    "survive",
                ],
            ) {
                score += 0.22;
            }
            if has(&before, &["period", "for", "zeitraum"]) {
                score += 0.06;
            }
            if has(&after, &["date", "hereof", "agreement", "effective", "execution", "disclosure"]) {
                score += 0.12;
            }
            if has(&before, &["agreement", "obligations", "confidentiality"]) {
                score += 0.06;
            }
            if has(&before, &["notice", "within", "days'", "least"])
                || has(&after, &["notice", "employment"])
                || value.ends_with("days")
            {
                score -= 0.2;
            }
            // What lasts beyond an employment or looks back from its end is no term of an agreement.
            let next = &after[..after.len().min(6)];
            let is_beyond = has(next, &["thereafter", "preceding", "prior", "earlier"])
                || has(next, &["following", "after", "from"])
                    && has(next, &["termination", "employment", "separation", "resignation"]);
            // Nor is how long somebody must not compete or hire, or the most that is given of something.
            let of_number = before.iter().rev().take_while(|word| number_word(word).is_some()).count();
            let is_most = before[..before.len() - of_number].ends_with(&["up", "to"]);
            if is_beyond || is_most || is_covenant(&self.sentence(at)) && !has(&before, &["term", "laufzeit"])
            {
                continue;
            }
            let mut candidate = Candidate::new(span, value.as_str().into(), Provenance::Sentence, 0.5, score);
            candidate.normalised = self.view.text(span) != value;
            found.push(candidate);
        }
    }

    /// The words of the sentence around a word, at most 30 to either side.
    fn sentence(&self, at: usize) -> Vec<&str> {
        let words = &self.view.words;
        let ends = |word: usize| self.view.words[word].text.ends_with(['.', ';']);
        let start = (at.saturating_sub(30)..at)
            .rev()
            .find(|word| ends(*word))
            .map_or(at.saturating_sub(30), |it| it + 1);
        let most = (at + 30).min(words.len());
        let end = (at..most).find(|word| ends(*word)).map_or(most, |it| it + 1);
        words[start..end].iter().map(|word| word.folded.as_str()).collect()
    }
}
