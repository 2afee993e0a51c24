//! Characters that are invisible, or that a terminal obeys instead of showing them.

/// The characters of the general category `Cf` (format): invisible, and some of them reorder the text around them.
const FORMAT: [(char, char); 21] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{2064}'),
    ('\u{2066}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

/// Whether the character is invisible and changes how the text around it appears.
pub fn is_format(letter: char) -> bool {
    letter >= '\u{ad}' && FORMAT.iter().any(|(first, last)| (*first..=*last).contains(&letter))
}

/// Whether the character could move the cursor, end the line or reorder the text.
pub fn is_unsafe(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') || is_format(letter)
}
