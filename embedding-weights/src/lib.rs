//! The weights of the built-in embedder, as part of the program: pages of it are read when they are first used.
//! `README.md` says where they come from.

/// multilingual-e5-small in 4 bits, as `embedding::Model` reads it.
pub static WEIGHTS: &[u8] = include_bytes!("../multilingual-e5-small.bin");
