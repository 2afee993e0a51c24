//! Serves the application from a folder until a shutdown signal. Arguments: the folder, the address to listen on.

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use conversations::{ChatPorts, Conversations};
use embed_axum::staff::{self, CONSOLE, Directory, Person};
use embed_axum::{PREFIX, application};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent, NewKey};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{IdGenerator, SystemIds, Timer};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::service_info::ServiceInfo;
use storage_sqlite::{SqliteConfig, SqliteStorage};
use subtle::ConstantTimeEq;
use tokio::signal::unix::{SignalKind, signal};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: embed-axum FOLDER [ADDRESS]")?);
    let address = arguments.next().unwrap_or("127.0.0.1:8080".into());
    // The application's own subscriber; the library installs none.
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let listener = tokio::net::TcpListener::bind(address).await?;
    let conversations = open(&folder, &format!("http://{}{PREFIX}", listener.local_addr()?))?;
    let platform = Arc::clone(conversations.platform());
    introduce_first_agent(&platform).await?;
    let console = staff::console(&conversations, directory()?)?;
    println!("{}", platform.service_info().public_url());

    let upkeep = tokio::spawn(maintain(Arc::clone(&platform)));
    let service = application(&platform).merge(console).into_make_service_with_connect_info::<SocketAddr>();
    // Handles signals from here on, before the server first waits for one.
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stop_requested = async move {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
    };
    // Running requests finish; after that, nothing uses the platform.
    axum::serve(listener, service).with_graceful_shutdown(stop_requested).await?;
    upkeep.abort();
    platform.drain().await?;
    println!("stopped");
    Ok(())
}

/// The platform over a database, a folder of files and a server key, all in one folder.
fn open(folder: &Path, public_url: &str) -> Outcome<Conversations> {
    let store = Arc::new(SqliteStorage::open(SqliteConfig::new(folder.join("openapi.db")))?);
    let contents = storage_blobs::open(&format!("file:{}", folder.join("blobs").display()).parse()?, [])?;
    let keys = ServerKeys::new(server_key(&folder.join("server-key"))?, vec![]);
    let ports = Ports::system(keys).with_blobs(contents).with_timer(Arc::new(TokioTimer));
    let platform = Arc::new(Platform::new(Arc::clone(&store) as _, ports, ServiceInfo::new(public_url)?));
    Ok(Conversations::new(platform, store, ChatPorts::new()))
}

/// The application's people: one, with a password that is generated at each start and printed. An application has a table
/// of them, with hashes of their passwords, and limits wrong ones.
fn directory() -> Outcome<Directory> {
    let mut bytes = [0; 16];
    SystemIds::default().fill(&mut bytes);
    let password = staff::hex(&bytes);
    println!("Sign in at {CONSOLE} as ada with the password {password}");
    let ada = Person { id: "ada".to_owned(), name: "Ada Whitfield".to_owned(), roles: "admin".parse()? };
    Ok(Arc::new(move |name, given| {
        let is_right = name == ada.id && bool::from(given.as_bytes().ct_eq(password.as_bytes()));
        is_right.then(|| ada.clone())
    }))
}

/// The server key, in a file that only this user can read; generated at the first start.
fn server_key(file: &Path) -> Outcome<ServerKey> {
    if !file.exists() {
        let mut bytes = [0; 32];
        SystemIds::default().fill(&mut bytes);
        let mut new = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        new.write_all(&bytes)?;
        new.sync_all()?;
    }
    let bytes: [u8; 32] = std::fs::read(file)?.as_slice().try_into()?;
    Ok(ServerKey::new(&bytes))
}

/// The first start creates an agent, and a key that is printed once.
async fn introduce_first_agent(platform: &Platform) -> Outcome<()> {
    if !platform.agents().await?.is_empty() {
        return Ok(());
    }
    let by = Actor::Operator("setup".to_owned());
    let agent = NewAgent { id: Some("front-desk".parse()?), name: "Front desk".parse()? };
    let agent = platform.create_agent(&by, agent).await?;
    let key = NewKey::new(agent.id, "First key".parse()?, "contacts:all".parse()?);
    let key = platform.create_key(&by, key).await?;
    println!("X-API-Key: {}\nX-API-Secret: {}", key.key.api_key, key.secret.expose());
    Ok(())
}

/// Provides the runtime's timer to the library.
struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(millis)))
    }
}

async fn maintain(platform: Arc<Platform>) {
    loop {
        tokio::time::sleep(Duration::from_secs(20)).await;
        if let Err(error) = platform.maintain().await {
            tracing::warn!(%error, "maintenance failed, trying again later");
        }
    }
}
