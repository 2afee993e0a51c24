//! The protocol between a command and the server that runs it: frames of a length, a kind and a body.
//!
//! The caller sends one [`Hello`]. After that the server asks and the caller answers, one call at a time, so no side ever
//! holds more than one chunk. Only two frames are unsolicited: an interrupt from the caller, and the exit status at the
//! end.

use std::ffi::OsString;
use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::caller::{BackupFile, CallerFacts, FolderEntry};

/// The most bytes of a stream or file that one frame carries.
pub const MAX_CHUNK: usize = 256 * 1024;

/// The longest body of a frame: a chunk, or a list of arguments or entries.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// Name and version of this program. Both sides must have the same, because the caller has parsed the arguments.
pub const PROGRAM: &str = concat!(env!("CARGO_PKG_VERSION"), "/2");

/// The first message of a caller. Its form never changes, so any two versions can read it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROGRAM`].
    pub program: String,
    /// The arguments with the program's name; empty to ask whether a server is there.
    pub arguments: Vec<OsString>,
    /// The caller.
    pub caller: CallerFacts,
}

/// Why a server runs no command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// It is another version.
    Program(String),
    /// It drains: the store is free soon.
    Draining,
    /// It runs the maximum number of commands.
    Busy,
}

/// An open stream or file of the caller, by its number.
pub type Handle = u32;

/// Standard input, standard output and standard error.
pub const STDIN: Handle = 0;
/// Standard output.
pub const STDOUT: Handle = 1;
/// Standard error.
pub const STDERR: Handle = 2;

/// What a server asks its caller to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Read at most so many bytes: [`Reply::Bytes`], empty at the end.
    Read(Handle, u32),
    /// Open a file: [`Reply::Opened`].
    Open(OsString),
    /// Ask for the password of a backup, which may be a new one: [`Reply::Password`].
    Password(bool),
    /// Create a file that does not exist: [`Reply::Opened`].
    Create(OsString),
    /// List a folder: [`Reply::Folder`].
    List(OsString),
    /// Begin a backup: [`Reply::Opened`]; a caller has one at a time.
    BeginBackup(OsString),
    /// Create a file of the backup: [`Reply::Opened`].
    CreateBackupFile(BackupFile),
    /// Create the content of a file in the backup, by key: [`Reply::Opened`].
    CreateBackupContent(String),
    /// Give the backup its name: [`Reply::Done`].
    FinishBackup,
    /// Discard the backup: [`Reply::Done`].
    DropBackup,
    /// Complete what is written to a handle and close it: [`Reply::Done`].
    Finish(Handle),
    /// Close a handle; what is incomplete is discarded: [`Reply::Done`].
    Close(Handle),
    /// Print a line of an event, then remember its cursor: if this server ends, run the command again with `--after` and
    /// the cursor in the next one: [`Reply::Done`]. One call, so that no event is printed twice or left out.
    PrintResumable {
        /// The line; empty to remember the cursor alone.
        line: String,
        /// The cursor.
        cursor: String,
    },
    /// Send interrupts instead of ending: [`Reply::Done`].
    CatchInterrupts,
}

/// The reply of a caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// It is done.
    Done,
    /// It is open under this number.
    Opened(Handle),
    /// The password of a backup.
    Password(String),
    /// The entries of a folder; `None` for a path that is no folder.
    Folder(Option<Vec<FolderEntry>>),
    /// The system refused.
    Failed {
        /// The number of the system's error, if it is one.
        number: Option<i32>,
        /// Whether a file exists that must not.
        exists: bool,
        /// Its text.
        text: String,
    },
    /// The bytes that were read; they are sent outside of JSON.
    #[serde(skip)]
    Bytes(Vec<u8>),
}

/// A frame.
#[derive(Debug)]
pub enum Frame {
    /// Caller to server, first.
    Hello(Hello),
    /// Server to caller, instead of everything else.
    Refused(Refusal),
    /// Server to caller.
    Call(Call),
    /// Server to caller: write to a handle. The answer is [`Reply::Done`].
    Write(Handle, Vec<u8>),
    /// Caller to server.
    Reply(Reply),
    /// Caller to server: Ctrl-C.
    Interrupt,
    /// Server to caller, last: the exit status.
    Exit(u8),
}

const HELLO: u8 = 1;
const REFUSED: u8 = 2;
const CALL: u8 = 3;
const WRITE: u8 = 4;
const REPLY: u8 = 5;
const BYTES: u8 = 6;
const INTERRUPT: u8 = 7;
const EXIT: u8 = 8;

impl Frame {
    /// Writes the frame at once, so that frames of several threads do not mix.
    ///
    /// # Errors
    /// As the socket reports them.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (kind, body) = match self {
            Frame::Hello(hello) => (HELLO, serde_json::to_vec(hello)?),
            Frame::Refused(refusal) => (REFUSED, serde_json::to_vec(refusal)?),
            Frame::Call(call) => (CALL, serde_json::to_vec(call)?),
            Frame::Write(handle, bytes) => (WRITE, [&handle.to_le_bytes()[..], bytes].concat()),
            Frame::Reply(Reply::Bytes(bytes)) => (BYTES, bytes.clone()),
            Frame::Reply(reply) => (REPLY, serde_json::to_vec(reply)?),
            Frame::Interrupt => (INTERRUPT, Vec::new()),
            Frame::Exit(status) => (EXIT, vec![*status]),
        };
        if body.len() > MAX_BODY {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "too much for one frame"));
        }
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let mut frame = Vec::with_capacity(body.len() + 5);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.push(kind);
        frame.extend_from_slice(&body);
        to.write_all(&frame)
    }

    /// Reads a frame; `None` at the end of the connection.
    ///
    /// # Errors
    /// As the socket reports them, and [`io::ErrorKind::InvalidData`] for an invalid frame.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; 5];
        let mut filled = 0;
        while filled < head.len() {
            match from.read(&mut head[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let [length @ .., kind] = head;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_BODY {
            return Err(invalid("a frame is too long"));
        }
        // Memory grows with the received bytes, not with the announced length.
        let mut body = Vec::new();
        if from.take(length as u64).read_to_end(&mut body)? < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let frame = match (kind, &*body) {
            (HELLO, body) => Frame::Hello(json(body)?),
            (REFUSED, body) => Frame::Refused(json(body)?),
            (CALL, body) => Frame::Call(json(body)?),
            (WRITE, [a, b, c, d, bytes @ ..]) => {
                Frame::Write(Handle::from_le_bytes([*a, *b, *c, *d]), bytes.to_vec())
            }
            (REPLY, body) => Frame::Reply(json(body)?),
            (BYTES, _) => Frame::Reply(Reply::Bytes(body)),
            (INTERRUPT, []) => Frame::Interrupt,
            (EXIT, [status]) => Frame::Exit(*status),
            _ => return Err(invalid("a frame of no known kind")),
        };
        Ok(Some(frame))
    }
}

fn json<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    serde_json::from_slice(body).map_err(|error| invalid(&error.to_string()))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the console's protocol was broken: {what}"))
}

impl Reply {
    /// An error in its wire form.
    #[must_use]
    pub fn failed(error: &io::Error) -> Self {
        Reply::Failed {
            number: error.raw_os_error(),
            exists: error.kind() == io::ErrorKind::AlreadyExists,
            text: error.to_string(),
        }
    }

    /// The error, if it is one. It has the text and the kind that it had in the caller.
    ///
    /// # Errors
    /// [`Reply::Failed`].
    pub fn succeeded(self) -> io::Result<Self> {
        match self {
            Reply::Failed { number: Some(number), .. } => Err(io::Error::from_raw_os_error(number)),
            Reply::Failed { exists: true, text, .. } => {
                Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
            }
            Reply::Failed { text, .. } => Err(io::Error::other(text)),
            reply => Ok(reply),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn travelled(frame: &Frame) -> Frame {
        let mut bytes = Vec::new();
        frame.write(&mut bytes).unwrap();
        let mut rest = &bytes[..];
        let read = Frame::read(&mut rest).unwrap().unwrap();
        assert!(rest.is_empty() && Frame::read(&mut rest).unwrap().is_none());
        for cut in 1..bytes.len().min(40) {
            assert!(Frame::read(&mut &bytes[..cut]).is_err(), "{cut} of {}", bytes.len());
        }
        read
    }

    proptest! {
        #[test]
        fn frames_arrive_as_they_were_sent(
            bytes in proptest::collection::vec(any::<u8>(), 0..2_000), handle: u32, status: u8, text in ".*",
        ) {
            let sent = format!("{:?}", Frame::Write(handle, bytes.clone()));
            prop_assert_eq!(format!("{:?}", travelled(&Frame::Write(handle, bytes.clone()))), sent);
            let sent = Frame::Reply(Reply::Bytes(bytes));
            prop_assert_eq!(format!("{:?}", travelled(&sent)), format!("{sent:?}"));
            let name = OsString::from(&text);
            let entry = FolderEntry { name: name.clone(), is_folder: status > 9, is_file: status < 9 };
            for sent in [
                Frame::Exit(status),
                Frame::Interrupt,
                Frame::Call(Call::Read(handle, u32::from(status))),
                Frame::Call(Call::Create(text.clone().into())),
                Frame::Refused(Refusal::Program(text.clone())),
                Frame::Reply(Reply::Folder(Some(vec![entry]))),
                Frame::Reply(Reply::Failed { number: Some(2), exists: false, text: text.clone() }),
                Frame::Hello(Hello {
                    program: text.clone(),
                    arguments: vec![name],
                    caller: CallerFacts { operator: text.clone(), is_output_terminal: false, is_error_terminal: true, locale: text.clone(), os_user: None },
                }),
            ] {
                prop_assert_eq!(format!("{:?}", travelled(&sent)), format!("{sent:?}"));
            }
        }

        #[test]
        fn anything_may_be_sent(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut rest = &bytes[..];
            while let Ok(Some(_)) = Frame::read(&mut rest) {}
        }
    }

    #[test]
    fn a_long_frame_is_refused_before_it_is_read() {
        let mut bytes = u32::MAX.to_le_bytes().to_vec();
        bytes.push(WRITE);
        assert_eq!(Frame::read(&mut &bytes[..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(Frame::Write(1, vec![0; MAX_BODY + 1]).write(&mut Vec::new()).is_err());
    }

    #[test]
    fn errors_keep_their_kind_and_their_text() {
        for error in [
            io::Error::from_raw_os_error(2),
            io::Error::from_raw_os_error(32),
            io::Error::new(io::ErrorKind::AlreadyExists, "it exists"),
            io::Error::other("anything"),
        ] {
            let arrived = Reply::failed(&error).succeeded().unwrap_err();
            assert_eq!((arrived.kind(), arrived.to_string()), (error.kind(), error.to_string()));
        }
    }
}
