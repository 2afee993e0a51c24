//! A worker for hosts whose own program cannot be one. The variable `EXTRACTION_NETWORKS`, which a host sets with
//! `Worker::with_variable`, names the folder of the networks that read images: `detector.onnx`, `recogniser.onnx` and
//! `characters.txt`.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use recognition::Weights;

fn main() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "the arguments of a worker are those of the protocol")]
    let folder = std::env::var_os("EXTRACTION_NETWORKS");
    let weights = match folder.map(|folder| weights(Path::new(&folder))).transpose() {
        Ok(weights) => weights,
        Err(error) => {
            eprintln!("EXTRACTION_NETWORKS: {error}");
            return ExitCode::from(2);
        }
    };
    extraction::worker::run_if_asked_with(weights).unwrap_or_else(|| {
        eprintln!("This program reads documents for another one, which starts it.");
        ExitCode::from(2)
    })
}

/// The networks of a folder, which this process has to its end.
fn weights(folder: &Path) -> io::Result<Weights> {
    Ok(Weights {
        detector: std::fs::read(folder.join("detector.onnx"))?.leak(),
        recogniser: std::fs::read(folder.join("recogniser.onnx"))?.leak(),
        characters: std::fs::read_to_string(folder.join("characters.txt"))?.leak(),
    })
}
