//! The weights of confidence, as `evaluate FOLDER --fit` prints them.

use super::confidence::COUNT;

pub(super) const WEIGHTS: [f64; COUNT] = [
    -2.5, 3.0, 0.5, 2.0, 1.2, 0.0, -3.0, 0.5, 0.2, 0.0, 0.0, 0.3, 0.2, 0.2, 0.0, 0.0, 0.8, 0.5, 1.0, -0.4,
    -0.5,
];
