//! A store with a configuration that lets webhooks reach this machine, the commands on it, and clients that create
//! contacts at a pace.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use openapi_core::json::Json;
use serde_json::Value;

use crate::data;
use crate::machine::{monotonic, since_epoch};
use crate::report::Failure;
use crate::servers::{self, Server};
use crate::world::{Caller, Credentials, Host, Person, SERVER_KEY_HEX};

/// A folder with a configuration file.
pub(super) struct Site {
    binary: PathBuf,
    folder: PathBuf,
}

impl Site {
    /// A site whose store is an SQLite file in its folder.
    pub(super) fn new(name: &str, ports: &[u16], more: &str) -> Result<Self, Failure> {
        let folder = data::own_folder(name)?;
        let store = format!("sqlite:{}", folder.join("openapi.db").display());
        Site::over(folder, &store, ports, more)
    }

    /// A site on the store of a database server.
    pub(super) fn on_engine(name: &str, store: &str, ports: &[u16]) -> Result<Self, Failure> {
        Site::over(data::own_folder(name)?, store, ports, "blobs = \"memory:\"\n")
    }

    fn over(folder: PathBuf, store: &str, ports: &[u16], more: &str) -> Result<Self, Failure> {
        let settings = format!(
            "store = {store:?}\noutbound_allow = [\"127.0.0.0/8\"]\noutbound_port = {ports:?}\noutbound_http = true\n\
             webhook_endpoints = 1000\n{more}"
        );
        std::fs::write(folder.join("settings.toml"), settings)?;
        Ok(Site { binary: servers::binary()?, folder })
    }

    fn settings(&self) -> Result<String, Failure> {
        Ok(self.folder.join("settings.toml").to_str().ok_or("a path that is no text")?.to_owned())
    }

    /// The platform on the SQLite file, while no server runs.
    pub(super) fn host(&self) -> Result<Host, Failure> {
        data::open(&self.folder.join("openapi.db"))
    }

    /// Starts the server, with further settings in environment variables.
    pub(super) fn serve(&self, more: &[(&str, &str)]) -> Result<Server, Failure> {
        let settings = self.settings()?;
        let variables = [("OPENAPI_CONFIG", settings.as_str()), ("OPENAPI_SERVER_KEY", SERVER_KEY_HEX)];
        Server::with_settings(&self.binary, &[&variables[..], more].concat())
    }

    /// Runs a command; its output.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        let mut command = Command::new(&self.binary);
        command.args(arguments).args(["--config", &self.settings()?]);
        let output = command.env("OPENAPI_SERVER_KEY", SERVER_KEY_HEX).output()?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(format!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)).into())
        }
    }

    /// Creates an agent with this many keys.
    pub(super) fn agent(&self, id: &str, keys: usize) -> Result<Vec<Credentials>, Failure> {
        self.run(&["agents", "create", "Benchmark", "--id", id])?;
        let key = |_| {
            let allowed = ["--allow", "all", "--per-minute", "1000", "--per-hour", "10000"];
            let create = [&["keys", "create", "--agent", id, "--name", "Benchmark", "--json"][..], &allowed];
            let key: Value = serde_json::from_slice(&self.run(&create.concat())?)?;
            let text = |name: &str| key[name].as_str().map(str::to_owned).ok_or("the key is not shown");
            Ok(Credentials { key: text("apiKey")?, secret: text("apiSecret")? })
        };
        (0..keys).map(key).collect()
    }

    /// Creates a webhook endpoint of an agent for the events of contacts; its id.
    pub(super) fn endpoint(&self, agent: &str, to: SocketAddr, path: usize) -> Result<String, Failure> {
        let url = format!("http://{to}/{path}");
        let created =
            self.run(&["webhooks", "create", &url, "--agent", agent, "--type", "contact.*", "--json"])?;
        let created: Value = serde_json::from_slice(&created)?;
        Ok(created["id"].as_str().ok_or("the endpoint has no id")?.to_owned())
    }

    /// Removes the folder.
    pub(super) fn end(self) -> Result<(), Failure> {
        Ok(std::fs::remove_dir_all(self.folder)?)
    }
}

/// Creates the contact of this number; its id.
pub(super) fn create(caller: &mut Caller, agent: &str, number: u64) -> Result<String, Failure> {
    let body = Json::Object(Person::new(number).body()).to_text();
    let created = caller.post(&format!("/v1/open/contacts/chatbots/{agent}"), &body)?;
    Ok(created["id"].as_str().ok_or("a contact has no id")?.to_owned())
}

/// A contact that was created.
pub(super) struct Created {
    pub(super) id: String,
    /// When the response arrived, in milliseconds since 1970.
    pub(super) answered: f64,
}

/// Creates contacts at a pace for this long, by the callers in turn.
pub(super) fn create_at_a_pace(
    callers: &mut [Caller],
    agent: &str,
    from: u64,
    pace: Duration,
    seconds: f64,
) -> Result<Vec<Created>, Failure> {
    let begun = monotonic();
    let mut created = Vec::new();
    for number in 0.. {
        let at = pace * number;
        std::thread::sleep(at.saturating_sub(begun.elapsed()));
        if at.as_secs_f64() >= seconds {
            break;
        }
        let caller = number as usize % callers.len();
        let id = create(&mut callers[caller], agent, from + u64::from(number))?;
        created.push(Created { id, answered: since_epoch() });
    }
    Ok(created)
}

/// Waits until a condition holds; whether it did before the deadline.
pub(super) fn within(
    deadline: Duration,
    mut holds: impl FnMut() -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let begun = monotonic();
    while !holds()? {
        if begun.elapsed() > deadline {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(true)
}
