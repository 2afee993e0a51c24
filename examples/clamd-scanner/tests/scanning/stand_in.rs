//! A fake `clamd` for behaviour that a real one does not show on demand.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use clamd_scanner::Address;

/// A listener on 127.0.0.1. Its thread ends with the process.
pub struct StandIn {
    address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
}

impl StandIn {
    /// Receives a file by the protocol, then sends this and hangs up, or waits forever.
    pub fn that_answers(answer: Option<String>) -> Self {
        StandIn::that(move |mut stream, received| {
            let content = file_of(&mut stream);
            *received.lock().expect("no panic") = content;
            match &answer {
                Some(answer) => stream.write_all(answer.as_bytes()).expect("it reads"),
                None => std::mem::forget(stream),
            }
        })
    }

    /// Accepts connections and ignores them.
    pub fn that_reads_nothing() -> Self {
        StandIn::that(|stream, _| std::mem::forget(stream))
    }

    fn that(does: impl Fn(TcpStream, &Mutex<Vec<u8>>) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let received = Arc::new(Mutex::default());
        let retained = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                does(stream.expect("a connection"), &retained);
            }
        });
        StandIn { address, received }
    }

    pub fn address(&self) -> Address {
        Address::Tcp(self.address.to_string())
    }

    /// The last file.
    pub fn received(&self) -> Vec<u8> {
        self.received.lock().expect("no panic").clone()
    }
}

/// The content of a file received by INSTREAM.
fn file_of(stream: &mut TcpStream) -> Vec<u8> {
    let mut command = [0; 10];
    stream.read_exact(&mut command).expect("a command");
    assert_eq!(&command, b"zINSTREAM\0");
    let mut content = Vec::new();
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length).expect("a length");
        let length = u32::from_be_bytes(length) as usize;
        if length == 0 {
            return content;
        }
        let begun = content.len();
        content.resize(begun + length, 0);
        stream.read_exact(&mut content[begun..]).expect("a chunk");
    }
}
