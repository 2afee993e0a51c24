//! The chat: a server whose agent answers visitors through a model.

mod abuse;
mod streams;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;

pub(super) use abuse::run as abuse;
pub(super) use streams::run as streams;

use crate::data;
use crate::report::Failure;
use crate::servers::{self, Server};
use crate::world::{Chat, Manner, Model, ORIGIN, SERVER_KEY_HEX};

/// A server with a widget listener, and its model endpoint.
struct Site {
    server: Server,
    folder: PathBuf,
    chat: Chat,
    model: Model,
    /// The single-threaded runtime of the endpoint and the visitors.
    runtime: Runtime,
}

impl Site {
    /// Starts both; `limits` override the widget's built-in ones. The store may already contain data.
    fn start(folder: PathBuf, manner: Manner, limits: &[&str]) -> Result<Self, Failure> {
        let binary = servers::binary()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let model = Model::start(&runtime, manner)?;
        let agent = data::agent()?.to_string();
        let chat = Chat { widget: free_address()?, agent };
        let settings = settings(&folder, &chat, model.address(), limits)?;
        configure(&binary, &settings, &chat.agent)?;
        let variables = [("OPENAPI_CONFIG", settings.as_str()), ("OPENAPI_SERVER_KEY", SERVER_KEY_HEX)];
        let server = Server::with_settings(&binary, &variables)?;
        Ok(Site { server, folder, chat, model, runtime })
    }

    fn end(self) -> Result<(), Failure> {
        self.server.stop()?;
        Ok(std::fs::remove_dir_all(&self.folder)?)
    }
}

/// The path of a site's store.
fn database_in(folder: &Path) -> PathBuf {
    folder.join("openapi.db")
}

/// A free address.
fn free_address() -> Result<SocketAddr, Failure> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Writes the configuration file.
fn settings(folder: &Path, chat: &Chat, model: SocketAddr, limits: &[&str]) -> Result<String, Failure> {
    let path = folder.join("settings.toml");
    let mut file = std::fs::File::create(&path)?;
    let store = database_in(folder);
    writeln!(file, "store = \"sqlite:{}\"\nwidget_listen = \"{}\"", store.display(), chat.widget)?;
    // A reply may take as long as a round does.
    writeln!(file, "answer_timeout = [\"whole=600s\"]\nwidget_limit = {limits:?}")?;
    writeln!(file, "[llm.default]\nurl = \"http://{model}/v1\"\nmodel = \"paced\"")?;
    Ok(path.to_str().ok_or("a path that is no text")?.to_owned())
}

/// Lets the model answer the agent's visitors on one origin.
fn configure(binary: &Path, settings: &str, agent: &str) -> Result<(), Failure> {
    let origins = format!("origins=[\"{ORIGIN}\"]");
    let changes = [
        "chat.responder=llm",
        "chat.turnsPerDay=0",
        "chat.llm.tokensPerDay=0",
        "chat.llm.grounding=open",
        "chat.fallback=error",
        origins.as_str(),
    ];
    let mut command = Command::new(binary);
    command
        .args(["agents", "configure", agent, "--config", settings])
        .env("OPENAPI_SERVER_KEY", SERVER_KEY_HEX);
    let output = command.args(changes.iter().flat_map(|change| ["--set", change])).output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("agents configure: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

/// Raises the open-file limit of this process and its children.
pub(super) fn allow_files(needed: usize) -> Result<(), Failure> {
    let limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < needed as u64) {
        return Err(format!("the system lets a process open too few files; {needed} are needed").into());
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}
