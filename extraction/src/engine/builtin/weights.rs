//! The weights of confidence, as `cargo run -p extraction --release --example evaluate -- FOLDER --also VARIED --fit`
//! printed them for labelled and varied documents, and what documents of other kinds take from them.

/// The number of features.
pub const COUNT: usize = 30;

/// Each feature with its fitted weight, in the order of [`Features`](super::confidence::Features).
pub(super) const WEIGHTS: [(&str, f64); COUNT] = [
    ("one", 0.257),
    ("score", 1.294),
    ("similarity", 0.246),
    ("lead over other values", 1.157),
    ("confirmed by sums", 0.641),
    ("normalised", 0.679),
    ("doubt of OCR", -1.993),
    ("next to or across", 0.583),
    ("below", -0.016),
    ("in a sentence", 0.223),
    ("by form alone", -0.016),
    ("row of a table", -1.143),
    ("element of a list", -0.278),
    ("part of an address", 0.209),
    ("date", -0.009),
    ("number", -0.646),
    ("email", 0.548),
    ("yes or no", 0.423),
    ("share of rows complete", -0.378),
    ("words", -0.999),
    ("others near", -0.529),
    ("no others near", 0.387),
    ("all rows complete", 0.914),
    ("text", -0.059),
    ("text by form alone", 0.000),
    ("number by form alone", -0.128),
    ("date by form alone", -0.270),
    ("text below", 0.031),
    ("text in a sentence", -0.001),
    ("text in a row", -0.485),
];

/// What is taken from the sum for documents that the rules were not made on, by the feature that it is for: the difference
/// between the odds that were said and those that were found, by type and way, on labelled documents that nobody tuned the
/// rules on. Only these sums were taken from them.
pub(super) const UNSEEN: [(&str, f64); 6] = [
    ("text", -0.35),
    ("number", -0.75),
    ("date", -0.35),
    ("element of a list", -1.1),
    ("part of an address", -1.0),
    ("row of a table", -0.4),
];
