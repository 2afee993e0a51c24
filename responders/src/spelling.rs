//! The word that a misspelt one is most likely meant to be.

use strsim::osa_distance;

/// Letters from which on a word may have one mistake, and two.
const ONE_MISTAKE: usize = 4;
const TWO_MISTAKES: usize = 7;

/// Of `known` words with the number of positions that have them the one that is nearest to `word`: with the same first letter and one
/// mistake, or two in a long word; of equals the most frequent, then the first of the alphabet. Names with digits are
/// spelled as they are.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = (&'a str, u32)>) -> Option<String> {
    let letters = word.chars().count();
    let most = match letters {
        TWO_MISTAKES.. => 2,
        ONE_MISTAKE.. => 1,
        _ => return None,
    };
    if !word.chars().all(char::is_alphabetic) {
        return None;
    }
    let first = word.chars().next()?;
    let mut best: Option<(usize, u32, &str)> = None;
    for (other, count) in
        known.filter(|(other, _)| other.starts_with(first) && other.len().abs_diff(word.len()) <= 2 * most)
    {
        // A word of three letters is another word after a change of one.
        let is_long = other.chars().nth(ONE_MISTAKE - 2).is_some();
        if !is_long || other.chars().count().abs_diff(letters) > most {
            continue;
        }
        let distance = osa_distance(word, other);
        let is_better = best.is_none_or(|(least, frequent, name)| {
            (distance, std::cmp::Reverse(count), other) < (least, std::cmp::Reverse(frequent), name)
        });
        if distance <= most && is_better {
            best = Some((distance, count, other));
        }
    }
    best.map(|(_, _, other)| other.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found() {
        let known = [
            ("collect", 3),
            ("click", 5),
            ("clock", 2),
            ("keep", 4),
            ("delivery", 9),
            ("refund", 1),
            ("refunds", 2),
            ("max9", 1),
        ];
        let nearest = |word| nearest(word, known.into_iter());
        for (word, meant) in [
            ("colect", Some("collect")),
            ("clik", Some("click")),
            ("clcik", Some("click")),
            ("delivrey", Some("delivery")),
            ("devilery", Some("delivery")),
            ("refnud", Some("refund")),
            ("kep", None),
            ("ollect", None),
            ("clack", Some("click")),
            ("elephant", None),
            ("max8", None),
            ("", None),
        ] {
            assert_eq!(nearest(word).as_deref(), meant, "{word}");
        }
    }
}
