//! `upload`, `download`, `upload-memory`: files of 25 MiB through the server against the disk, bare hyper and a bound.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::Options;
use crate::data;
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::servers::{self, Server};
use crate::statistics::Samples;
use crate::world::Credentials;

/// The file size: the contract's default maximum.
const BYTES: usize = 25 * 1024 * 1024;

/// Rounds; the speed of a shared disk varies by the second.
const ROUNDS: usize = 45;

/// Concurrent uploads of `upload-memory`.
const AT_ONCE: usize = 64;

pub(super) const BOUNDARY: &str = "a9f27c4e";

/// A server with one contact.
pub(super) struct Site {
    server: Server,
    folder: PathBuf,
    key: Credentials,
    agent: String,
    contact: String,
}

impl Site {
    pub(super) fn new(name: &str) -> Result<Self, Failure> {
        let binary = servers::binary()?;
        let folder = data::own_folder(name)?;
        let database = folder.join("openapi.db");
        let (key, contact) = data::with_one_contact(&database)?;
        let server = Server::openapi(&binary, &database)?;
        Ok(Site { server, folder, key, agent: data::agent()?.to_string(), contact })
    }

    fn head(&self, method: &str, target: &str, more: &str) -> String {
        let Credentials { key, secret } = &self.key;
        format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nX-API-Key: {key}\r\nX-API-Secret: {secret}\r\nConnection: close\r\n{more}\r\n",
            self.server.address()
        )
    }

    fn files(&self) -> String {
        format!("/v1/open/files/chatbots/{}/{}", self.agent, self.contact)
    }

    /// Posts a form whose last part is a file.
    pub(super) fn post(&self, target: &str, begin: &str, content: &[u8]) -> Result<String, Failure> {
        let end = format!("\r\n--{BOUNDARY}--\r\n");
        let length = begin.len() + content.len() + end.len();
        let more =
            format!("Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {length}\r\n");
        let mut stream = TcpStream::connect(self.server.address())?;
        stream.write_all(self.head("POST", target, &more).as_bytes())?;
        stream.write_all(begin.as_bytes())?;
        stream.write_all(content)?;
        stream.write_all(end.as_bytes())?;
        answer_of(stream)
    }

    /// Uploads a text file and returns its id.
    fn upload(&self, content: &[u8]) -> Result<String, Failure> {
        let begin = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
        );
        let answer = self.post(&self.files(), &begin, content)?;
        member(&answer, "id").filter(|_| answer.starts_with("HTTP/1.1 201")).ok_or_else(|| answer.into())
    }

    /// The target of a signed URL.
    fn link(&self, file: &str) -> Result<String, Failure> {
        let target = format!("{}/files/{file}/signed-url", self.files());
        let mut stream = TcpStream::connect(self.server.address())?;
        stream.write_all(self.head("GET", &target, "").as_bytes())?;
        let url = member(&answer_of(stream)?, "url").ok_or("no signed URL")?;
        let at = url.find("/download/").ok_or("no download in a signed URL")?;
        Ok(url[at..].to_owned())
    }

    pub(super) fn end(self) -> Result<(), Failure> {
        self.server.stop()?;
        Ok(std::fs::remove_dir_all(&self.folder)?)
    }
}

fn answer_of(mut stream: TcpStream) -> Result<String, Failure> {
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The first text member of this name in a JSON body.
fn member(answer: &str, name: &str) -> Option<String> {
    let (_, rest) = answer.split_once(&format!("\"{name}\":\""))?;
    rest.split_once('"').map(|(value, _)| value.to_owned())
}

/// Text, so that it is accepted, without repeated lines, so that it does not compress.
fn content() -> Vec<u8> {
    let mut content = Vec::with_capacity(BYTES + 32);
    let mut line = 0_u64;
    while content.len() < BYTES {
        let _ = writeln!(content, "{:016x}", line.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        line += 1;
    }
    content.truncate(BYTES);
    content
}

/// Writes the content to a new file, syncs and digests it: the lower bound of an upload. The file stays, as an
/// uploaded one does: its removal would cost disk time during the server's next turn.
fn bare_write(path: &Path, content: &[u8]) -> Result<Duration, Failure> {
    let begun = monotonic();
    let mut file = File::create(path)?;
    for chunk in content.chunks(128 * 1024) {
        file.write_all(chunk)?;
    }
    file.sync_all()?;
    std::hint::black_box(Sha256::digest(content));
    Ok(begun.elapsed())
}

const MIB: f64 = 1024.0 * 1024.0;

fn rate(took: Duration) -> f64 {
    BYTES as f64 / MIB / took.as_secs_f64()
}

pub(super) fn upload(_: &Options) -> Measured {
    let site = Site::new("upload")?;
    let content = content();
    site.upload(&content)?;
    let (mut ours, mut bare, mut ratios) = (Samples::default(), Samples::default(), Samples::default());
    for round in 0..ROUNDS {
        let begun = monotonic();
        site.upload(&content)?;
        let took = begun.elapsed();
        let least = bare_write(&site.folder.join(format!("bare-{round}.txt")), &content)?;
        ours.push(rate(took));
        bare.push(rate(least));
        ratios.push(least.as_secs_f64() / took.as_secs_f64());
    }
    site.end()?;
    let mut report = Report::new("upload");
    report.condition(format!(
        "a text of 25 MiB uploaded to openapi-server with its default settings, one request at a time over a connection \
         of its own, from the first byte to the answer; in turns with writing the same bytes into a new file of the \
         same disk in chunks of 128 KiB, fsync, and SHA-256 of them; {ROUNDS} rounds, medians"
    ));
    report.detail("openapi-server", ours.median(), "MiB/s");
    report.detail("write, fsync, SHA-256", bare.median(), "MiB/s");
    report.detail("best round", ratios.quantile(1.0), "×");
    report.detail("worst round", ratios.quantile(0.0), "×");
    report.figure("throughput of an upload, against the disk", ratios.median(), "×", Reach::AtLeast(0.7));
    Ok(report)
}

/// Reads a whole response; returns the length of its body and the time taken.
fn fetch(address: SocketAddr, target: &str, scratch: &mut [u8]) -> Result<Duration, Failure> {
    let begun = monotonic();
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut bytes = 0;
    loop {
        match stream.read(scratch)? {
            0 => break,
            read => bytes += read,
        }
    }
    let took = begun.elapsed();
    if bytes < BYTES { Err(format!("{bytes} bytes of an answer").into()) } else { Ok(took) }
}

pub(super) fn download(_: &Options) -> Measured {
    let site = Site::new("download")?;
    let content = content();
    let file = site.upload(&content)?;
    let link = site.link(&file)?;
    let same = site.folder.join("same.txt");
    std::fs::write(&same, &content)?;
    let bare = Server::bare_file(&same)?;
    let mut scratch = vec![0; 256 * 1024];
    let (mut ours, mut theirs, mut ratios) = (Samples::default(), Samples::default(), Samples::default());
    for round in 0..=2 * ROUNDS {
        let took = fetch(site.server.address(), &link, &mut scratch)?;
        let least = fetch(bare.address(), "/", &mut scratch)?;
        if round > 0 {
            ours.push(rate(took));
            theirs.push(rate(least));
            ratios.push(least.as_secs_f64() / took.as_secs_f64());
        }
    }
    drop(bare);
    site.end()?;
    let mut report = Report::new("download");
    report.condition(format!(
        "a file of 25 MiB from openapi-server with its default settings under a signed URL, in turns with a bare hyper \
         server that reads the same bytes from a file of the same disk in chunks of 128 KiB; one request at a time over \
         a connection of its own, both files in the system's cache; {} rounds, medians",
        2 * ROUNDS
    ));
    report.detail("openapi-server", ours.median(), "MiB/s");
    report.detail("bare hyper", theirs.median(), "MiB/s");
    report.detail("best round", ratios.quantile(1.0), "×");
    report.detail("worst round", ratios.quantile(0.0), "×");
    report.figure("throughput of a download, against bare hyper", ratios.median(), "×", Reach::AtLeast(0.9));
    Ok(report)
}

pub(super) fn upload_memory(_: &Options) -> Measured {
    let site = Arc::new(Site::new("upload-memory")?);
    let content: Arc<[u8]> = content().into();
    site.upload(&content)?;
    std::thread::sleep(Duration::from_secs(1));
    let (before, _) = site.server.memory()?;
    let over = Arc::new(AtomicBool::new(false));
    let watching = {
        let (site, over) = (Arc::clone(&site), Arc::clone(&over));
        std::thread::spawn(move || -> Result<f64, String> {
            let mut most = 0.0_f64;
            while !over.load(Ordering::Relaxed) {
                most = most.max(site.server.memory().map_err(|error| error.to_string())?.0);
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(most)
        })
    };
    let uploads: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (site, content) = (Arc::clone(&site), Arc::clone(&content));
            std::thread::spawn(move || site.upload(&content).map_err(|error| error.to_string()))
        })
        .collect();
    for upload in uploads {
        upload.join().map_err(|_| "an upload panicked")??;
    }
    over.store(true, Ordering::Relaxed);
    let most = watching.join().map_err(|_| "watching panicked")??;
    let site = Arc::into_inner(site).ok_or("the server is still in use")?;
    site.end()?;
    let mut report = Report::new("upload-memory");
    report.condition(format!(
        "resident memory of openapi-server with its default settings, read every 20 ms while {AT_ONCE} uploads of 25 MiB \
         are sent at once, as fast as it takes them; against its memory at rest after one upload"
    ));
    report.detail("at rest", before, "MiB");
    report.detail("most", most, "MiB");
    report.detail("of each upload", (most - before) * 1024.0 / AT_ONCE as f64, "KiB");
    report.figure(
        format!("growth of memory with {} uploads at once", number(AT_ONCE as f64)),
        most - before,
        "MiB",
        Reach::AtMost(64.0),
    );
    Ok(report)
}
