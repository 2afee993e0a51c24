//! The weights of confidence, as `cargo run -p extraction --release --example evaluate -- FOLDER --part tuning --fit`
//! printed them for the tuning part of a mixture of real and generated documents.

use super::confidence::COUNT;

pub(super) const WEIGHTS: [f64; COUNT] = [
    0.450,  // one
    1.051,  // score
    0.316,  // likeness
    1.394,  // lead over other values
    0.811,  // confirmed by sums
    -0.035, // normalised
    -2.752, // doubt of recognition
    0.842,  // beside or across
    0.307,  // below
    -0.437, // in a sentence
    0.984,  // by form alone
    -1.051, // row of a table
    -0.944, // element of a list
    0.300,  // part of an address
    0.486,  // date
    -0.743, // number
    0.351,  // email
    0.516,  // yes or no
    -0.073, // share of rows complete
    -0.543, // words
    -1.207, // others near
];
