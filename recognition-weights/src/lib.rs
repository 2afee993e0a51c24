//! The weights of the built-in recogniser, as part of the program: pages of them are read when they are first used.
//! `README.md` says where they come from.

/// The model that finds the lines of an image: PP-OCRv6 tiny, in 8 bits.
pub static DETECTOR: &[u8] = include_bytes!("../detector.onnx");
/// The model that reads a line: PP-OCRv6 small, for Latin letters, in 8 bits.
pub static RECOGNISER: &[u8] = include_bytes!("../recogniser.onnx");
/// The characters that the recogniser knows, in its order.
pub static CHARACTERS: &str = include_str!("../characters.txt");
