//! The weights of confidence, as `cargo run -p extraction --release --example evaluate -- FOLDER --also VARIED --fit`
//! printed them for labelled and varied documents, and what documents of other kinds take from them.

/// The number of features.
pub const COUNT: usize = 38;

/// Each feature with its fitted weight, in the order of [`Features`](super::confidence::Features).
pub(super) const WEIGHTS: [(&str, f64); COUNT] = [
    ("one", 0.881),
    ("score", 1.740),
    ("similarity", 0.000),
    ("lead over other values", 2.078),
    ("confirmed by sums", 0.454),
    ("normalised", 0.529),
    ("doubt of OCR", -3.320),
    ("next to or across", 0.641),
    ("below", 0.641),
    ("in a sentence", 0.817),
    ("by form alone", 0.641),
    ("row of a table", -1.556),
    ("element of a list", 0.502),
    ("part of an address", -0.002),
    ("date", 0.171),
    ("number", -0.593),
    ("email", 0.883),
    ("yes or no", 0.657),
    ("share of rows complete", -0.371),
    ("words", -0.393),
    ("others near", -1.865),
    ("no others near", -0.292),
    ("all rows complete", 1.226),
    ("text", -0.237),
    ("text by form alone", 0.000),
    ("number by form alone", -0.630),
    ("date by form alone", -0.369),
    ("text below", 0.001),
    ("text in a sentence", 0.484),
    ("text in a row", 0.106),
    ("doubt of the worst word", -1.820),
    ("text that is cut", -2.239),
    ("left over", 1.059),
    ("party", -1.861),
    ("of another type", -3.526),
    ("a sentence", -3.893),
    ("contradicted by sums", -4.047),
    ("form of its role", 1.084),
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
