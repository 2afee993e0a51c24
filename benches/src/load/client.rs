//! A minimal HTTP/1.1 client on one thread: it does little work per request, because the generator shares the machine
//! with the server that it measures.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::rc::Rc;
use std::time::{Duration, Instant};

use openapi_core::json::Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use super::{Outcome, Plan, Work};
use crate::machine::monotonic;
use crate::report::Failure;
use crate::statistics::Samples;
use crate::world::{Credentials, Person, SplitMix64};

/// The maximum response size, head and body.
const LONGEST_ANSWER: usize = 1 << 20;

/// The response timeout.
const TIMEOUT: Duration = Duration::from_secs(30);

/// State shared by the connections.
struct Shared {
    plan: Plan,
    ends: Instant,
    next_key: Cell<usize>,
    next_contact: Cell<u64>,
    counts: RefCell<Counts>,
}

#[derive(Default)]
struct Counts {
    answers: u64,
    body_bytes: u64,
    latencies_us: Samples,
}

pub(super) async fn run(plan: Plan) -> Result<Outcome, Failure> {
    let mut streams = Vec::with_capacity(plan.connections);
    for _ in 0..plan.connections {
        let stream = TcpStream::connect(plan.address).await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let begun = monotonic();
    let shared = Rc::new(Shared {
        ends: begun + Duration::from_secs_f64(plan.seconds),
        next_key: Cell::new(0),
        next_contact: Cell::new(match &plan.work {
            Work::Create { from } => *from,
            Work::Get { .. } | Work::Submit { .. } => 0,
        }),
        counts: RefCell::default(),
        plan,
    });
    let tasks = LocalSet::new();
    let work = tasks.run_until(async {
        if shared.plan.awake {
            tokio::task::spawn_local(async {
                loop {
                    tokio::task::yield_now().await;
                }
            });
        }
        let work: Vec<_> = streams
            .into_iter()
            .enumerate()
            .map(|(number, stream)| {
                let connection = Connection::new(stream, Rc::clone(&shared), number as u64);
                tokio::task::spawn_local(connection.run())
            })
            .collect();
        for task in work {
            task.await??;
        }
        Ok::<(), Failure>(())
    });
    work.await?;
    let counts = shared.counts.borrow();
    Ok(Outcome {
        answers: counts.answers,
        body_bytes: counts.body_bytes,
        seconds: begun.elapsed().as_secs_f64(),
        keys_used: shared.next_key.get(),
        median_us: counts.latencies_us.median(),
        p99_us: counts.latencies_us.quantile(0.99),
    })
}

struct Connection {
    stream: TcpStream,
    shared: Rc<Shared>,
    random: SplitMix64,
    key: Option<Credentials>,
    left: u32,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    fn new(stream: TcpStream, shared: Rc<Shared>, number: u64) -> Self {
        Connection {
            stream,
            shared,
            random: SplitMix64(number),
            key: None,
            left: 0,
            request: Vec::new(),
            answer: Vec::with_capacity(16 * 1_024),
        }
    }

    async fn run(mut self) -> Result<(), Failure> {
        let expected: &[u8] = match &self.shared.plan.work {
            Work::Get { .. } => b"200",
            Work::Create { .. } | Work::Submit { .. } => b"201",
        };
        loop {
            let sent = monotonic();
            if sent >= self.shared.ends {
                return Ok(());
            }
            self.write_request()?;
            self.stream.write_all(&self.request).await?;
            let body_bytes = self.read_answer(expected, sent).await?;
            let mut counts = self.shared.counts.borrow_mut();
            counts.answers += 1;
            counts.body_bytes += body_bytes as u64;
            counts.latencies_us.push(sent.elapsed().as_secs_f64() * 1e6);
        }
    }

    fn write_request(&mut self) -> Result<(), Failure> {
        let shared = &self.shared;
        if self.left == 0 {
            let number = shared.next_key.replace(shared.next_key.get() + 1);
            let key = shared.plan.keys.get(number).ok_or("the plan has too few keys for its seconds")?;
            self.key = Some(key.clone());
            self.left = shared.plan.requests_of_a_key;
        }
        self.left -= 1;
        let Some(Credentials { key, secret }) = &self.key else { return Ok(()) };
        let (agent, request) = (&shared.plan.agent, &mut self.request);
        let headers = format_args!(
            "Host: 127.0.0.1\r\nUser-Agent: benches\r\nAccept: application/json\r\nX-API-Key: {key}\r\nX-API-Secret: {secret}\r\n"
        );
        request.clear();
        match &shared.plan.work {
            Work::Get { contacts } => {
                let id = Person::external_id_of(self.random.below(*contacts));
                write!(request, "GET /v1/open/contacts/{id}/chatbots/{agent} HTTP/1.1\r\n{headers}\r\n")?;
            }
            Work::Create { .. } => {
                let number = shared.next_contact.replace(shared.next_contact.get() + 1);
                let body = Json::Object(Person::new(number).body()).to_text();
                write!(
                    request,
                    "POST /v1/open/contacts/chatbots/{agent} HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                )?;
            }
            Work::Submit { contacts, template, body } => {
                let number = shared.next_contact.replace(shared.next_contact.get() + 1);
                let id = Person::external_id_of(number % contacts);
                write!(
                    request,
                    "POST /v1/open/forms/submit/{template}/contacts/{id} HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                )?;
            }
        }
        Ok(())
    }

    /// Reads one response and returns the size of its body.
    async fn read_answer(&mut self, expected: &[u8], sent: Instant) -> Result<usize, Failure> {
        self.answer.clear();
        let mut whole = None;
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err("the server closed a connection in the middle of an answer".into());
            }
            if whole.is_none() {
                whole = head_of(&self.answer)?;
            }
            match whole {
                Some((head, body)) if self.answer.len() == head + body => {
                    if self.answer.get(9..12) != Some(expected) {
                        return Err(format!("answered {}", String::from_utf8_lossy(&self.answer)).into());
                    }
                    return Ok(body);
                }
                Some((head, body)) if self.answer.len() > head + body => {
                    return Err("the server sent more than its Content-Length".into());
                }
                _ if self.answer.len() > LONGEST_ANSWER || sent.elapsed() > TIMEOUT => {
                    return Err("an answer is too long or took too long".into());
                }
                _ => {}
            }
        }
    }
}

/// The sizes of head and body, once the head is complete.
fn head_of(answer: &[u8]) -> Result<Option<(usize, usize)>, Failure> {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    const NAME: &[u8] = b"content-length:";
    let line = answer[..end]
        .split(|byte| *byte == b'\n')
        .find(|line| line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME))
        .ok_or("an answer has no Content-Length")?;
    let value = std::str::from_utf8(&line[NAME.len()..])?.trim();
    Ok(Some((end + 4, value.parse()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_heads_are_measured() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-Length: 7\r\nX: y\r\n\r\n{\"a\":1}";
        assert_eq!(head_of(answer).unwrap(), Some((answer.len() - 7, 7)));
        assert_eq!(head_of(&answer[..30]).unwrap(), None);
        assert!(head_of(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
