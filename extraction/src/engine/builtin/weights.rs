//! The weights of confidence, as `cargo run -p extraction --release --example evaluate -- FOLDER --fit` prints them.

use super::confidence::COUNT;

pub(super) const WEIGHTS: [f64; COUNT] = [
    0.026,  // one
    1.664,  // score
    -0.344, // likeness
    1.487,  // lead over other values
    0.938,  // confirmed by sums
    -0.121, // normalised
    -2.665, // doubt of recognition
    0.594,  // beside or across
    0.104,  // below
    -0.218, // in a sentence
    0.797,  // by form alone
    -1.121, // row of a table
    -0.650, // element of a list
    0.495,  // part of an address
    0.466,  // date
    -0.237, // number
    0.482,  // email
    0.789,  // yes or no
    -0.069, // share of rows complete
    -0.476, // words
    -0.886, // others near
];
