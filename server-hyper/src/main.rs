//! The binary `openapi-server`.

use std::process::ExitCode;

fn main() -> ExitCode {
    server_hyper::cli::run(std::env::args_os())
}
