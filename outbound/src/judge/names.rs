//! Which host names are refused before they are resolved.

use super::rule::Rule;

/// A rule about host names in lower case.
pub(super) struct NameRule {
    pub(super) rule: Rule,
    pub(super) refuses: fn(&str) -> bool,
}

/// The rules in the order of judging.
pub(super) const NAME_RULES: &[NameRule] = &[
    NameRule { rule: Rule::TrailingDot, refuses: |name| name.ends_with('.') },
    NameRule { rule: Rule::ReservedName, refuses: is_reserved },
    NameRule { rule: Rule::SingleLabel, refuses: |name| !name.contains('.') },
];

/// Top-level names that never belong to a public host: RFC 6761, 6762, 7686, 8375 and ICANN's `internal`.
const RESERVED: [&str; 5] = ["localhost", "local", "internal", "home.arpa", "onion"];

fn is_reserved(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    RESERVED.iter().any(|reserved| {
        name.strip_suffix(reserved).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
