//! The weights of confidence, as `cargo run -p extraction --release --example evaluate -- FOLDER --also VARIED --fit`
//! printed them for labelled and varied documents, and what documents of other kinds take from them.

/// The number of features.
pub const COUNT: usize = 37;

/// Each feature with its fitted weight, in the order of [`Features`](super::confidence::Features). The last three and that of
/// lists were fitted later than the others, with these held: a new fit of all on documents without scans made the
/// confidence of unseen documents worse.
pub(super) const WEIGHTS: [(&str, f64); COUNT] = [
    ("one", 0.392),
    ("score", 1.509),
    ("similarity", 0.000),
    ("lead over other values", 1.970),
    ("confirmed by sums", 1.005),
    ("normalised", 0.766),
    ("doubt of OCR", -2.920),
    ("next to or across", 0.795),
    ("below", 0.794),
    ("in a sentence", 0.514),
    ("by form alone", 0.794),
    ("row of a table", -1.752),
    ("element of a list", 0.551),
    ("part of an address", 0.077),
    ("date", -0.322),
    ("number", -1.136),
    ("email", 1.055),
    ("yes or no", 0.685),
    ("share of rows complete", -0.142),
    ("words", -0.667),
    ("others near", -1.572),
    ("no others near", 0.082),
    ("all rows complete", 1.747),
    ("text", 0.110),
    ("text by form alone", 0.000),
    ("number by form alone", -0.451),
    ("date by form alone", -0.028),
    ("text below", 0.000),
    ("text in a sentence", 0.281),
    ("text in a row", -0.824),
    ("doubt of the worst word", -1.395),
    ("text that is cut", -1.403),
    ("left over", 0.794),
    ("party", -0.831),
    ("of another type", -3.541),
    ("a sentence", -3.892),
    ("contradicted by sums", -3.587),
];

/// What is taken from the sum for documents that the rules were not made on, by the feature that it is for: the difference
/// between the odds that were said and those that were found, by type and way, on labelled documents that nobody tuned the
/// rules on. Only these sums were taken from them.
pub(super) const UNSEEN: [(&str, f64); 6] = [
    ("text", -0.35),
    ("number", -0.75),
    ("date", -0.35),
    ("party", -1.1),
    ("part of an address", -1.0),
    ("row of a table", -0.4),
];
