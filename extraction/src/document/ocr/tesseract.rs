//! OCR by the `tesseract` command line, a process for each image.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use thiserror::Error;

use super::engine::{OcrEngine, OcrError, OcrWord, Stop};
use super::raster::Raster;

/// The maximum size of its output in bytes.
const ANSWER: u64 = 16 << 20;
/// Seconds of processor time for one image.
const CPU: u64 = 20;
/// Bytes of address space: models and their work for the largest image.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 1 << 30;
/// How long it may take in all, and how often is looked whether anybody still waits.
const TIMEOUT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(25);

/// Where programs are looked for that are given by name.
pub(crate) const PROGRAM_FOLDERS: &str = "/usr/local/bin:/usr/bin:/bin";

/// The exit codes of a launcher whose program does not begin.
pub(crate) mod exit {
    /// The system does not enforce the sandbox.
    pub(crate) const UNCONFINED: u8 = 125;
    /// The program cannot be executed.
    pub(crate) const NOT_STARTED: u8 = 126;
    /// There is no such program.
    pub(crate) const NOT_FOUND: u8 = 127;
}

/// A program that confines itself and then becomes the one that is named after its own arguments and the folder of
/// models.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

/// Why `tesseract` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TesseractError {
    /// The program does not start, or lacks a language.
    #[error("tesseract or one of its languages is not installed")]
    NotInstalled,
    /// It was to be confined, and the system does not enforce that. The text says what is missing.
    #[error("tesseract is {0}")]
    Unconfined(String),
}

/// The `tesseract` program (version 4 or 5).
///
/// By itself it has the rights of its host and limits of memory and time alone; a host that recognises images of others
/// confines it with `worker::Worker::confine`.
#[derive(Clone, Debug)]
pub struct Tesseract {
    program: PathBuf,
    languages: String,
    models: Option<PathBuf>,
    launcher: Option<Launcher>,
}

impl Default for Tesseract {
    fn default() -> Self {
        Self::new("tesseract", &["eng"])
    }
}

impl Tesseract {
    /// The program at this path, or of this name in the usual folders, with models for these languages (`eng`, `deu`).
    /// More languages take more time and are rarely better for text in Latin letters.
    pub fn new(program: impl Into<PathBuf>, languages: &[&str]) -> Self {
        Self { program: program.into(), languages: languages.join("+"), models: None, launcher: None }
    }

    /// Takes the models from this folder.
    #[must_use]
    pub fn with_models(mut self, folder: impl Into<PathBuf>) -> Self {
        self.models = Some(folder.into());
        self
    }

    #[cfg(feature = "worker")]
    pub(crate) fn with_launcher(mut self, launcher: Launcher) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Checks that the program starts and has the models of its languages.
    ///
    /// # Errors
    /// See [`TesseractError`].
    pub fn check(&self) -> Result<(), TesseractError> {
        let mut command = self.command();
        command.arg("--list-langs").stdin(Stdio::null());
        let output = command.output().map_err(|_| TesseractError::NotInstalled)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(exit::UNCONFINED.into()) && self.launcher.is_some() {
            return Err(TesseractError::Unconfined(errors.trim().to_owned()));
        }
        let list = String::from_utf8_lossy(&output.stdout).into_owned() + &errors;
        let has = |language: &str| list.lines().any(|line| line == language);
        match output.status.success() && self.languages.split('+').all(has) {
            true => Ok(()),
            false => Err(TesseractError::NotInstalled),
        }
    }

    fn command(&self) -> Command {
        let (mut command, variables) = match &self.launcher {
            Some(Launcher { program, arguments, variables }) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(self.models.as_deref().unwrap_or("".as_ref())).arg(&self.program);
                (command, variables.as_slice())
            }
            None => (Command::new(&self.program), Default::default()),
        };
        // Nothing of what the environment holds is its business; threads would fight for our processors.
        command
            .env_clear()
            .env("PATH", PROGRAM_FOLDERS)
            .env("OMP_THREAD_LIMIT", "1")
            .env("LC_ALL", "C")
            .envs(variables.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.models {
            command.arg("--tessdata-dir").arg(folder);
        }
        command
    }

    fn run(&self, raster: &Raster, arguments: &[&str], stop: &Stop) -> Result<String, OcrError> {
        let mut command = self.command();
        command.args(["stdin", "stdout", "--dpi", "300"]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = Running(command.spawn().map_err(|_| OcrError::Unavailable)?);
        // Before it is given anything.
        #[cfg(target_os = "linux")]
        if !is_limited(&child.0) {
            return Err(OcrError::Failed);
        }
        let (input, output) = (child.0.stdin.take(), child.0.stdout.take());
        let header = format!("P5\n{} {}\n255\n", raster.width, raster.height);
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                if let Some(mut input) = input {
                    // The exit status reports a program that ends early.
                    let _ = input.write_all(header.as_bytes()).and_then(|()| input.write_all(&raster.pixels));
                }
            });
            scope.spawn(move || {
                let mut answer = Vec::new();
                if let Some(output) = output {
                    let _ = output.take(ANSWER).read_to_end(&mut answer);
                }
                let _ = sender.send(answer);
            });
            let mut waited = Duration::ZERO;
            let answer = loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(answer) => break Some(answer),
                    Err(RecvTimeoutError::Disconnected) => break None,
                    Err(RecvTimeoutError::Timeout) => waited += LOOK,
                }
                if stop.is_stopped() || waited > TIMEOUT {
                    break None;
                }
            };
            // Both threads end with it.
            let code = answer.as_ref().and_then(|_| child.0.wait().ok()?.code());
            drop(child);
            match (answer, code.and_then(|code| u8::try_from(code).ok())) {
                (Some(answer), Some(0)) => Ok(String::from_utf8_lossy(&answer).into_owned()),
                (_, Some(exit::UNCONFINED | exit::NOT_STARTED | exit::NOT_FOUND)) => {
                    Err(OcrError::Unavailable)
                }
                _ => Err(OcrError::Failed),
            }
        })
    }
}

impl OcrEngine for Tesseract {
    fn words(&self, raster: &Raster, stop: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        // A line that it reads with less than this confidence is read again as white on black: at its own 0.7 it would
        // do so with most lines of a poor photograph.
        let inverted = "invert_threshold=0.5";
        Ok(words(&self.run(raster, &["--psm", "6", "-l", &self.languages, "-c", inverted, "tsv"], stop)?))
    }

    fn turn(&self, raster: &Raster, stop: &Stop) -> Result<u16, OcrError> {
        let answer = self.run(raster, &["--psm", "0", "-l", "osd"], stop)?;
        let turn = answer
            .lines()
            .find_map(|line| line.strip_prefix("Rotate: "))
            .and_then(|turn| turn.trim().parse().ok());
        turn.ok_or(OcrError::Failed)
    }
}

/// A process that does not outlive its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Limits what a process may consume, and says whether that has succeeded.
#[cfg(target_os = "linux")]
fn is_limited(child: &Child) -> bool {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return false };
    let limits = [
        (Resource::Cpu, CPU),
        (Resource::As, MEMORY),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 32),
    ];
    limits.into_iter().all(|(resource, most)| {
        // Never more than there is already.
        let most = most.min(getrlimit(resource).maximum.unwrap_or(u64::MAX));
        prlimit(Some(pid), resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok()
    })
}

/// The words of its table: level, page, block, paragraph, line, word, left, top, width, height, confidence, text.
fn words(table: &str) -> Vec<OcrWord> {
    let mut words = Vec::new();
    let mut line = 0;
    for row in table.lines() {
        let fields: Vec<&str> = row.splitn(12, '\t').collect();
        let [level, _, _, _, _, _, left, top, width, height, confidence, text] = fields[..] else { continue };
        match level {
            "4" => line += 1,
            "5" if !text.trim().is_empty() => {
                let (Ok(left), Ok(top), Ok(width), Ok(height), Ok(confidence)) =
                    (left.parse(), top.parse(), width.parse(), height.parse(), confidence.parse())
                else {
                    continue;
                };
                words.push(OcrWord {
                    text: text.trim().to_owned(),
                    left,
                    top,
                    width,
                    height,
                    confidence,
                    line,
                });
            }
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_with_their_lines() {
        let table = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n\
            4\t1\t1\t1\t1\t0\t10\t20\t300\t20\t-1\t\n\
            5\t1\t1\t1\t1\t1\t10\t20\t60\t20\t96.5\tTotal\n\
            5\t1\t1\t1\t1\t2\t80\t20\t60\t20\t12\t \n\
            4\t1\t1\t1\t2\t0\t10\t50\t300\t20\t-1\t\n\
            5\t1\t1\t1\t2\t1\t10\t50\t60\t20\t90.25\t12.00\n";
        let words = words(table);
        assert_eq!(words.len(), 2);
        assert_eq!((words[0].text.as_str(), words[0].line, words[0].confidence), ("Total", 1, 96.5));
        assert_eq!((words[1].text.as_str(), words[1].line, words[1].top), ("12.00", 2, 50));
    }

    #[test]
    fn a_program_that_is_not_there_is_unavailable() {
        let engine = Tesseract::new("no-such-program", &["eng"]);
        let raster = Raster { width: 1, height: 1, dpi: 72.0, pixels: vec![255] };
        assert_eq!(engine.check(), Err(TesseractError::NotInstalled));
        assert_eq!(engine.words(&raster, &Stop::default()), Err(OcrError::Unavailable));
    }
}
