//! The weights of confidence, as `cargo run -p extraction --release --example evaluate -- FOLDER --part tuning --fit`
//! printed them for the tuning part of a mixture of real and generated documents.

/// The number of features.
pub const COUNT: usize = 23;

/// Each feature with its fitted weight, in the order of [`Features`](super::confidence::Features).
pub(super) const WEIGHTS: [(&str, f64); COUNT] = [
    ("one", 0.594),
    ("score", 1.092),
    ("similarity", -0.153),
    ("lead over other values", 1.369),
    ("confirmed by sums", 0.671),
    ("normalised", 0.632),
    ("doubt of OCR", -3.852),
    ("next to or across", 0.794),
    ("below", 0.204),
    ("in a sentence", -0.014),
    ("by form alone", 0.908),
    ("row of a table", -0.938),
    ("element of a list", -1.191),
    ("part of an address", 0.238),
    ("date", -0.158),
    ("number", -1.125),
    ("email", 0.839),
    ("yes or no", 0.473),
    ("share of rows complete", -0.111),
    ("words", -0.837),
    ("others near", -0.744),
    ("no others near", 0.546),
    ("all rows complete", 0.820),
];
