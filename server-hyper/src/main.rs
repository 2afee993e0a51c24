//! The binary `openapi-server`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

// Document workers need it as well: `documents::confined`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // A document is read by this program, started once more.
    if let Some(code) = extraction::worker::run_if_asked_with(Some(server_hyper::documents::NETWORKS)) {
        return code;
    }
    server_hyper::cli::run(std::env::args_os())
}
