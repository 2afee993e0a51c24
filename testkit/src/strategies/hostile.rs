//! Hostile strings: what a string from outside may hold at its worst. One list (`hostile.json`) for every test that sends
//! strings: the differential test of the stores, the fuzzer, the strategies here, and the hooks of schemathesis.

use std::sync::LazyLock;

use proptest::prelude::*;

use crate::SplitMix64;

/// The list.
struct Pieces {
    /// Text.
    text: Vec<String>,
    /// Bytes that are no UTF-8.
    invalid: Vec<Vec<u8>>,
    /// Escapes of JSON that are no text.
    surrogates: Vec<String>,
}

static PIECES: LazyLock<Pieces> = LazyLock::new(|| {
    let list: serde_json::Value =
        serde_json::from_str(include_str!("hostile.json")).expect("the list of hostile strings is JSON");
    let strings = |name: &str| -> Vec<String> {
        let items = list[name].as_array().expect("an array");
        items.iter().map(|item| item.as_str().expect("a string").to_owned()).collect()
    };
    let bytes = |hexadecimal: &String| -> Vec<u8> {
        let pairs = (0..hexadecimal.len()).step_by(2);
        pairs
            .map(|at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).expect("hexadecimal digits"))
            .collect()
    };
    Pieces {
        text: strings("text"),
        invalid: strings("invalidUtf8").iter().map(bytes).collect(),
        surrogates: strings("loneSurrogates"),
    }
});

/// Words of the small domain of random requests, among which hostile pieces stand.
const WORDS: [&str; 8] = ["zoe", "Zoë", "ann b", "crm-1", "a@example.com", "vip", "794", "李明"];

/// A hostile text: pieces of the list, alone, among plain words, repeated, or very long.
#[must_use]
pub fn hostile_text(random: &mut SplitMix64) -> String {
    let piece = |random: &mut SplitMix64| random.pick(&PIECES.text);
    match random.below(12) {
        0..=1 => piece(random),
        2..=3 => random.pick(&WORDS).to_owned() + &piece(random),
        4..=5 => piece(random) + random.pick(&WORDS),
        6..=8 => [random.pick(&WORDS), &piece(random), random.pick(&WORDS)].concat(),
        9 => (0..=random.below(4)).map(|_| piece(random)).collect(),
        10 => piece(random).repeat(1 + random.index(300)),
        // Longer than any field, and as long as a search may be.
        _ => random.pick(&WORDS).repeat(random.pick(&[66, 200, 5_001])) + &piece(random),
    }
}

/// A hostile text, percent-encoded, or an escape that is no text: invalid UTF-8, or no escape at all.
#[must_use]
pub fn hostile_percent_encoded(random: &mut SplitMix64) -> String {
    let escaped = |bytes: &[u8]| bytes.iter().map(|byte| format!("%{byte:02X}")).collect::<String>();
    match random.below(10) {
        0 => random.pick(&WORDS).replace(' ', "+") + &escaped(&random.pick(&PIECES.invalid)),
        1 => random.pick(&["%", "%2", "%zz", "%u0000", "%C3%28", "+", "%2B"]).to_owned(),
        _ => escaped(hostile_text(random).as_bytes()),
    }
}

/// A literal of a JSON string with hostile content, quotes included. Some hold lone surrogates, or control characters
/// that JSON demands to be escaped.
#[must_use]
pub fn hostile_json(random: &mut SplitMix64) -> String {
    match random.below(10) {
        0 => format!("\"{}\"", random.pick(&PIECES.surrogates)),
        1 => format!("\"{}{}\"", random.pick(&WORDS), random.pick(&PIECES.surrogates)),
        2 => format!("\"{}\"", hostile_text(random).replace(['"', '\\'], "")),
        _ => serde_json::Value::String(hostile_text(random)).to_string(),
    }
}

/// A hostile value of a header: what HTTP lets through.
#[must_use]
pub fn hostile_header(random: &mut SplitMix64) -> String {
    hostile_text(random).chars().filter(|c| !c.is_ascii_control() || *c == '\t').collect()
}

/// The same as a strategy: [`hostile_text`] of any seed.
pub fn hostile() -> impl Strategy<Value = String> {
    any::<u64>().prop_map(|seed| hostile_text(&mut SplitMix64(seed)))
}

/// A piece of the list without control characters.
pub(super) fn piece() -> impl Strategy<Value = String> {
    let visible = PIECES.text.iter().filter(|piece| !piece.contains(char::is_control)).cloned();
    proptest::sample::select(visible.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator means something only if it makes every kind of string that has ever been answered wrongly.
    #[test]
    fn every_kind_is_made() {
        let mut random = SplitMix64(1);
        let texts: Vec<String> = (0..4_000).map(|_| hostile_text(&mut random)).collect();
        type Kind = (&'static str, fn(&str) -> bool);
        let kinds: [Kind; 10] = [
            ("U+0000", |text| text.contains('\0')),
            ("U+0000 inside", |text| text.trim_matches('\0').contains('\0')),
            ("C1 controls", |text| text.contains('\u{9b}')),
            ("noncharacters", |text| text.contains('\u{ffff}') && !text.contains('\0')),
            ("the replacement character", |text| text.contains('\u{fffd}')),
            ("four bytes", |text| text.contains('\u{10ffff}')),
            ("marks of direction", |text| text.contains('\u{202e}')),
            ("LIKE", |text| text.contains("\\%")),
            ("operators", |text| text.contains("$gt")),
            ("very long", |text| text.len() > 20_000),
        ];
        for (name, is_kind) in kinds {
            assert!(texts.iter().any(|text| is_kind(text)), "{name}");
        }
        let encoded: Vec<String> = (0..500).map(|_| hostile_percent_encoded(&mut random)).collect();
        assert!(
            encoded.iter().any(|text| text.contains("%ED%A0%80")) && encoded.iter().any(|text| text == "%")
        );
        let literals: Vec<String> = (0..500).map(|_| hostile_json(&mut random)).collect();
        assert!(literals.iter().any(|text| text.contains("\\ud800")));
        assert!(literals.iter().any(|text| text.contains('\n')), "a control character that is not escaped");
        for _ in 0..500 {
            assert!(!hostile_header(&mut random).contains(['\0', '\r', '\n']));
        }
    }
}
