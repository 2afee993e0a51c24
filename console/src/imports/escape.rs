//! Cells that a spreadsheet would interpret as formulas: escaped by an apostrophe on export, unescaped on import.

use super::characters::is_format;

/// Whether a spreadsheet could interpret the cell as a formula. Spreadsheets pass over blanks and invisible characters
/// before a formula, and some normalise full-width signs.
fn is_risky(cell: &str) -> bool {
    let is_passed_over = |letter: char| letter.is_whitespace() || letter.is_control() || is_format(letter);
    cell.starts_with(['\t', '\r', '\n'])
        || cell
            .trim_start_matches(is_passed_over)
            .starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '−'])
}

/// Prefixes a cell with an apostrophe if it could be a formula, or if import would remove its own apostrophe.
pub fn escaped(cell: &str) -> String {
    if is_risky(cell.trim_start_matches('\'')) { format!("'{cell}") } else { cell.to_owned() }
}

/// The cell without the apostrophe of [`escaped`].
pub fn unescaped(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if is_risky(rest.trim_start_matches('\'')) => rest,
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cells_are_safe_and_come_back(cell in "['=+@\\-\\t\\r\\n \u{a0}\u{200b}\u{feff}＝＋－＠a0]{0,6}") {
            let safe = escaped(&cell);
            prop_assert!(!is_risky(&safe), "{safe:?}");
            prop_assert_eq!(unescaped(&safe), cell);
        }
    }

    #[test]
    fn formulas_are_escaped_and_other_text_is_not() {
        for cell in [
            "=1",
            "+1",
            "-1",
            "@x",
            "\t1",
            "\r1",
            "\n=1",
            " =1+1",
            "\u{a0}=1",
            "＝1+1",
            "＋1",
            "－1",
            "＠x",
            "\u{200b}=1",
            " \u{202e}@x",
        ] {
            assert_eq!(escaped(cell), format!("'{cell}"));
        }
        for cell in ["", "a=1", "'a", "O'Brien", "1-2", " a", "5", "’=1"] {
            assert_eq!(escaped(cell), cell);
        }
    }
}
