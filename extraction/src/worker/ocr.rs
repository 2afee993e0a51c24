//! Starts an OCR engine under a sandbox: the worker's program confines itself, then becomes the engine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Worker;
use super::frame::{ASKED_OCR, Sandbox};
use crate::document::ocr::{Launcher, PROGRAM_FOLDERS, Tesseract, exit};

/// What may be missing: nothing, or whatever the system lacks.
const CONFINED: &str = "confined";
const ANYHOW: &str = "anyhow";

impl Worker {
    /// An OCR engine that this worker's program starts, under a sandbox like its own: no network, no process, no file
    /// but the engine's libraries and models. Where the system does not enforce it, the engine does not start, unless
    /// the worker [may be unconfined](Self::allow_unconfined).
    #[must_use]
    pub fn confine(&self, engine: Tesseract) -> Tesseract {
        let may_miss = if self.allow_unconfined { ANYHOW } else { CONFINED };
        engine.with_launcher(Launcher {
            program: self.program.clone(),
            arguments: vec![ASKED_OCR.into(), may_miss.into()],
            variables: self.variables.clone(),
        })
    }
}

/// Confines this process and becomes the engine: what may be missing, the folder of models or nothing, the program,
/// and its arguments.
pub(super) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(may_miss), Some(models), Some(program)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return ExitCode::from(exit::NOT_FOUND);
    };
    let Some(program) = find(Path::new(&program)) else { return ExitCode::from(exit::NOT_FOUND) };
    let models = Some(Path::new(&models)).filter(|models| !models.as_os_str().is_empty());
    let sandbox = sandbox(&program, models);
    if !sandbox.is_complete() && may_miss != ANYHOW {
        eprintln!("{sandbox}");
        return ExitCode::from(exit::UNCONFINED);
    }
    become_program(&program, arguments)
}

/// The path of a program that may be a name.
fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    PROGRAM_FOLDERS.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}

#[cfg(target_os = "linux")]
fn sandbox(program: &Path, models: Option<&Path>) -> Sandbox {
    super::sandbox::ocr(program, models)
}

#[cfg(not(target_os = "linux"))]
fn sandbox(_: &Path, _: Option<&Path>) -> Sandbox {
    Sandbox::default()
}

#[cfg(unix)]
fn become_program(program: &Path, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    use std::os::unix::process::CommandExt;
    let error = std::process::Command::new(program).args(arguments).exec();
    eprintln!("{}: {error}", program.display());
    ExitCode::from(exit::NOT_STARTED)
}

#[cfg(not(unix))]
fn become_program(program: &Path, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let status = std::process::Command::new(program).args(arguments).status();
    let code = status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(exit::NOT_STARTED))
}
