//! A network between a store and its server that can fail.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The current state of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// It forwards everything.
    Fair,
    /// It forwards nothing, and reports nothing.
    Frozen,
    /// It cuts every connection, and refuses new ones.
    Down,
}

struct Shared {
    weather: watch::Sender<Weather>,
    /// How many pieces are forwarded until every connection is cut once; negative for ever.
    left: AtomicI64,
    carried: AtomicU64,
}

pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Forwards connections to a server.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("test support");
        let port = listener.local_addr().expect("test support").port();
        let shared = Arc::new(Shared {
            weather: watch::channel(Weather::Fair).0,
            left: AtomicI64::new(-1),
            carried: AtomicU64::new(0),
        });
        let own = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *own.weather.borrow() == Weather::Down {
                    continue;
                }
                tokio::spawn(carry(client, server, Arc::clone(&own)));
            }
        });
        Proxy { port, shared }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn set(&self, weather: Weather) {
        self.shared.weather.send_replace(weather);
    }

    /// Cuts every connection once, after `pieces` further pieces in either direction.
    pub fn cut_after(&self, pieces: i64) {
        self.shared.left.store(pieces, Ordering::SeqCst);
    }

    /// How many pieces were forwarded so far.
    pub fn carried(&self) -> u64 {
        self.shared.carried.load(Ordering::SeqCst)
    }

    /// Whether the requested cut has happened.
    pub fn has_cut(&self) -> bool {
        self.shared.left.load(Ordering::SeqCst) < 0
    }
}

async fn carry(client: TcpStream, server: SocketAddr, shared: Arc<Shared>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    let mut weather = shared.weather.subscribe();
    tokio::select! {
        () = copy(client_in, server_out, &shared) => {}
        () = copy(server_in, client_out, &shared) => {}
        _ = weather.wait_for(|weather| *weather == Weather::Down) => {}
    }
}

async fn copy(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin, shared: &Shared) {
    let mut buffer = vec![0; 65_536];
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let mut weather = shared.weather.subscribe();
        if weather.wait_for(|weather| *weather != Weather::Frozen).await.is_err() {
            return;
        }
        let left = shared.left.load(Ordering::SeqCst);
        if left == 0 {
            shared.left.store(-1, Ordering::SeqCst);
            shared.weather.send_replace(Weather::Down);
            let weather = shared.weather.clone();
            // In a separate task: this one ends with its connection.
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                weather.send_replace(Weather::Fair);
            });
            return;
        }
        if left > 0 {
            shared.left.fetch_sub(1, Ordering::SeqCst);
        }
        shared.carried.fetch_add(1, Ordering::SeqCst);
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
