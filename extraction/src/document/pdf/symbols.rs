//! Characters of symbol fonts that mean something: boxes, ticked or not, ticks and crosses.

/// A font whose codes are no characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SymbolFont {
    Wingdings,
    Wingdings2,
    Other,
}

/// Which symbol font this is, by its PostScript name.
pub(super) fn font(name: &str) -> Option<SymbolFont> {
    let name = name.to_ascii_lowercase().replace(['-', ' '], "");
    if name.contains("wingdings2") {
        Some(SymbolFont::Wingdings2)
    } else if name.contains("wingdings3") || name.contains("webdings") {
        Some(SymbolFont::Other)
    } else if name.contains("wingdings") {
        Some(SymbolFont::Wingdings)
    } else {
        None
    }
}

/// What a code of such a font shows.
pub(super) fn character(font: SymbolFont, code: u32) -> Option<char> {
    match (font, code & 0xff) {
        (_, 0x20) => Some(' '),
        (SymbolFont::Wingdings, 0xfd | 0xfe | 0x78) | (SymbolFont::Wingdings2, 0x51..=0x54) => Some('☒'),
        (SymbolFont::Wingdings, 0x6f | 0x71 | 0xa8) | (SymbolFont::Wingdings2, 0xa3 | 0x2a) => Some('☐'),
        (SymbolFont::Wingdings, 0xfc) | (SymbolFont::Wingdings2, 0x50) => Some('✓'),
        (SymbolFont::Wingdings, 0xfb) | (SymbolFont::Wingdings2, 0x4f) => Some('✗'),
        (SymbolFont::Wingdings, 0x6c | 0x6e | 0x9f | 0xa7) => Some('•'),
        // Subset fonts renumber their glyphs, so their codes carry no meaning.
        _ => None,
    }
}

/// The usual character for one that only symbol fonts have.
pub(super) fn plain(character: char) -> char {
    match character {
        '\u{f06c}' | '\u{f06e}' | '\u{f0a7}' | '\u{f0b7}' => '•',
        '\u{f06f}' | '\u{f071}' | '\u{f0a8}' => '☐',
        '\u{f078}' | '\u{f0fd}' | '\u{f0fe}' => '☒',
        '\u{f0fc}' => '✓',
        '\u{f020}' => ' ',
        other => other,
    }
}

/// Whether this glyph in a box ticks it.
pub(super) fn is_tick(text: &str) -> bool {
    matches!(text.trim(), "x" | "X" | "✓" | "✔" | "✗" | "✘" | "✕" | "✖" | "☓" | "×" | "•" | "●" | "■" | "★")
}
