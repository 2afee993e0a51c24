//! The weights of confidence, as `cargo run -p extraction --release --example evaluate -- FOLDER --part tuning --fit`
//! printed them for the tuning part of a mixture of real and generated documents.

use super::confidence::COUNT;

pub(super) const WEIGHTS: [f64; COUNT] = [
    0.594,  // one
    1.092,  // score
    -0.153, // likeness
    1.369,  // lead over other values
    0.671,  // confirmed by sums
    0.632,  // normalised
    -3.852, // doubt of recognition
    0.794,  // beside or across
    0.204,  // below
    -0.014, // in a sentence
    0.908,  // by form alone
    -0.938, // row of a table
    -1.191, // element of a list
    0.238,  // part of an address
    -0.158, // date
    -1.125, // number
    0.839,  // email
    0.473,  // yes or no
    -0.111, // share of rows complete
    -0.837, // words
    -0.744, // others near
    0.546,  // no others near
    0.820,  // all rows complete
];
