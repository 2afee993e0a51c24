//! The context of a command: its flags, the streams and files of its caller, and the store.
//!
//! A command runs in the process that was started, or in the server that owns the store ([`crate::console`]). It uses
//! nothing but its context, so it does the same in both: it touches neither the environment nor the working directory, the
//! log, the signals or the standard streams of the process.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use conversations::Conversations;
use openapi_core::access::Actor;
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object};
use openapi_core::platform::{AuditSettings, Platform};
use openapi_core::ports::{BlobStore, NoBlobs};
use openapi_core::values::AgentId;
use parking_lot::Mutex;
use storage_blobs::{BlobsUrl, FolderBlobs};

use super::characters::{for_terminal, on_one_line};
use super::process::on_runtime;
use super::remote::Remote;
use crate::assemble::{self, Contents, Decisions, OpenStore, Ownership, StoreUrl, Stores};
use crate::config::Config;
use crate::config::extraction::knowledge_limits;
use crate::config::flags::GlobalArgs;
use crate::config::layers::FlagValues;
use crate::config::mail::mail_delay_of;
use crate::config::typed::Names;
use crate::console::Lent;
use crate::console::caller::{Caller, CallerFacts, OwnProcess, Stream, UNNAMED};
use crate::error::CliError;
use crate::search::{Embedders, Search};
use crate::server_keys::KeySource;

/// Lists of more records than this leave an entry in the audit log.
const BULK: usize = 100;

/// Where the store is.
enum Location {
    /// To be opened by this process.
    Own(Mutex<Option<Ownership>>),
    /// Open in the server that runs the command.
    Server(Box<Lent>),
}

/// The context of one command.
pub struct CommandContext {
    flags: GlobalArgs,
    caller: Arc<dyn Caller>,
    facts: CallerFacts,
    config: Option<Arc<Config>>,
    /// The console elsewhere that runs the command's operations.
    remote: Option<Arc<Remote>>,
    location: Location,
    /// Whether the store was opened and cannot be written.
    is_read_only: AtomicBool,
}

impl CommandContext {
    /// A command in the process that was started.
    #[must_use]
    pub fn of_process(flags: GlobalArgs) -> Self {
        CommandContext {
            flags,
            caller: Arc::new(OwnProcess),
            facts: OwnProcess::facts(),
            config: None,
            remote: None,
            location: Location::Own(Mutex::default()),
            is_read_only: AtomicBool::new(false),
        }
    }

    /// A command in a server. `further` are the flags of settings that only this command has.
    #[must_use]
    pub fn in_server(
        flags: GlobalArgs,
        further: Option<&FlagValues>,
        caller: Arc<dyn Caller>,
        facts: CallerFacts,
        lent: Lent,
    ) -> Self {
        let mut config = Arc::clone(&lent.config);
        if let Some(further) = further {
            Arc::make_mut(&mut config).override_with(further);
        }
        CommandContext {
            flags,
            caller,
            facts,
            config: Some(config),
            remote: None,
            location: Location::Server(Box::new(lent)),
            is_read_only: AtomicBool::new(false),
        }
    }

    /// Gives the command its settings and, for a store with an owner, the ownership.
    pub fn prepare(&mut self, config: Config, ownership: Option<Ownership>) {
        self.config = Some(Arc::new(config));
        if let Location::Own(own) = &self.location {
            *own.lock() = ownership;
        }
    }

    /// Sends the command's operations to a console elsewhere.
    pub fn send_to(&mut self, remote: Remote) {
        self.remote = Some(Arc::new(remote));
    }

    /// The console elsewhere that runs the command's operations.
    #[must_use]
    pub fn remote(&self) -> Option<&Arc<Remote>> {
        self.remote.as_ref()
    }

    /// The flags of every command.
    #[must_use]
    pub fn flags(&self) -> &GlobalArgs {
        &self.flags
    }

    /// Whether records are printed as JSON.
    #[must_use]
    pub fn json(&self) -> bool {
        self.flags.json
    }

    /// The streams and files of the caller.
    #[must_use]
    pub fn caller(&self) -> &Arc<dyn Caller> {
        &self.caller
    }

    /// What is known of the caller.
    #[must_use]
    pub fn facts(&self) -> &CallerFacts {
        &self.facts
    }

    /// The operator, as the audit log names the caller.
    #[must_use]
    pub fn operator(&self) -> Actor {
        Actor::Operator(self.facts.operator.clone())
    }

    /// The name of the person who runs the command; none for the superuser, who may be anybody.
    #[must_use]
    pub fn person(&self) -> Option<String> {
        Some(self.facts.operator.clone()).filter(|name| !matches!(name.as_str(), "root" | UNNAMED))
    }

    /// The settings: in a server those of the server.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn config(&self) -> Result<Arc<Config>, CliError> {
        match &self.config {
            Some(config) => Ok(Arc::clone(config)),
            None => Ok(Arc::new(Config::read(&self.flags, None)?)),
        }
    }

    /// The origin of the console of the server that runs the command.
    #[must_use]
    pub fn console_origin(&self) -> Option<String> {
        match &self.location {
            Location::Own(_) => None,
            Location::Server(lent) => lent.console_origin.clone(),
        }
    }

    /// Runs a future of the command to its end.
    ///
    /// # Errors
    /// Those of the future.
    pub fn run<T>(&self, work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
        match &self.location {
            Location::Own(_) => on_runtime(work),
            Location::Server(lent) => lent.runtime.block_on(async {
                tokio::select! {
                    result = work => result,
                    _ = self.caller.gone() => Err(CliError::new("the caller has disconnected")),
                }
            }),
        }
    }

    /// The store: opened, or that of the server.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn store(&self) -> Result<OpenStore, CliError> {
        match &self.location {
            Location::Own(ownership) => {
                let ownership = ownership.lock().take();
                let store = assemble::open(&StoreUrl::parse(self.config()?.store())?, ownership).await?;
                if store.is_read_only() {
                    self.is_read_only.store(true, Ordering::Relaxed);
                    self.info(
                        "the store cannot be written here: this command can only read it, and leaves no entry in the \
                         audit log",
                    );
                }
                Ok(store)
            }
            Location::Server(lent) => Ok(lent.store.clone()),
        }
    }

    /// The migrations that opening the store would apply. A server has applied all.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn pending_migrations(&self) -> Result<Vec<String>, CliError> {
        match &self.location {
            Location::Own(_) => assemble::pending_migrations(&StoreUrl::parse(self.config()?.store())?).await,
            Location::Server(_) => Ok(Vec::new()),
        }
    }

    /// The contents of files that go with a store.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub fn blobs(&self, store: &OpenStore) -> Result<Arc<dyn BlobStore>, CliError> {
        match &self.location {
            Location::Own(_) if store.is_read_only() => {
                match assemble::blobs_url(&*self.config()?, store.url())? {
                    // A folder that was never needed has no contents.
                    BlobsUrl::Folder(folder) if !folder.exists() => {
                        assemble::open_contents(&BlobsUrl::Memory)
                    }
                    BlobsUrl::Folder(folder) => {
                        let folder = FolderBlobs::open_for_reading(folder);
                        Ok(Arc::new(folder.map_err(|error| CliError::caused_by(&error))?))
                    }
                    url => assemble::open_contents(&url),
                }
            }
            Location::Own(_) => assemble::open_blobs(&*self.config()?, store.url()),
            Location::Server(lent) => Ok(Arc::clone(&lent.blobs)),
        }
    }

    /// Checks the server keys before the store is opened and migrated.
    ///
    /// # Errors
    /// When they are missing or malformed.
    pub fn check_keys(&self) -> Result<(), CliError> {
        if let Location::Own(_) = &self.location {
            let config = self.config()?;
            StoreUrl::parse(config.store())?.key_source(&config).check()?;
        }
        Ok(())
    }

    /// Checks the location of file contents before the store is opened and migrated.
    ///
    /// # Errors
    /// When it is missing or malformed.
    pub fn check_contents(&self) -> Result<(), CliError> {
        if let Location::Own(_) = &self.location {
            let config = self.config()?;
            assemble::blobs_url(&config, &StoreUrl::parse(config.store())?)?;
        }
        Ok(())
    }

    /// The platform over a store, with the chat.
    ///
    /// # Errors
    /// When the contents of files or the server keys cannot be opened.
    pub fn conversations(
        &self,
        store: &OpenStore,
        contents: Contents,
    ) -> Result<Arc<Conversations>, CliError> {
        let blobs: Arc<dyn BlobStore> = match contents {
            Contents::Closed => Arc::new(NoBlobs),
            Contents::Open => self.blobs(store)?,
        };
        self.over(&*self.config()?, store, blobs, None)
    }

    /// The same over a store of other settings than the command's, without the contents of files.
    ///
    /// # Errors
    /// When the server keys cannot be opened.
    pub fn conversations_of(
        &self,
        config: &Config,
        store: &OpenStore,
    ) -> Result<Arc<Conversations>, CliError> {
        self.over(config, store, Arc::new(NoBlobs), None)
    }

    /// The same with a search: that of the server that runs the command, else one that compares only questions by meaning.
    /// Without the contents of files.
    ///
    /// # Errors
    /// When the server keys cannot be opened.
    pub fn searching(&self, store: &OpenStore, memory_bytes: usize) -> Result<Arc<Conversations>, CliError> {
        let config = self.config()?;
        let search = match &self.location {
            Location::Server(lent) => lent.search.clone(),
            Location::Own(_) => {
                let is_by_meaning = config.text("knowledge_embedder") != Some("none");
                let embedders = if is_by_meaning { Embedders::OfQuestions } else { Embedders::None };
                Search::new(store.storage(), memory_bytes, embedders)
            }
        };
        self.over(&config, store, Arc::new(NoBlobs), Some(search))
    }

    /// Whether a server runs the command.
    #[must_use]
    pub fn is_in_server(&self) -> bool {
        matches!(self.location, Location::Server(_))
    }

    fn over(
        &self,
        config: &Config,
        store: &OpenStore,
        blobs: Arc<dyn BlobStore>,
        search: Option<Search>,
    ) -> Result<Arc<Conversations>, CliError> {
        let stores = Stores { storage: store.storage(), blobs };
        let audit = AuditSettings { os_user: self.facts.os_user.clone(), ..AuditSettings::default() };
        let (knowledge, mail_delay_millis) = (knowledge_limits(config)?, mail_delay_of(config)?);
        let decisions = Decisions { knowledge, mail_delay_millis, audit, search, ..Decisions::default() };
        let service_info = Names::of(config)?.brand_without_listener();
        let keys = match store.url().key_source(config) {
            // A backup has no server keys, and none can be written next to it. What is read here needs none.
            KeySource::File(path) if store.is_read_only() && !path.exists() => KeySource::Drawn,
            keys => keys,
        };
        assemble::conversations_over(&stores, &keys, service_info, decisions)
    }

    /// Runs work on the chat over the configured store.
    ///
    /// # Errors
    /// When the store cannot be opened, and those of the work.
    pub fn with_conversations(
        &self,
        contents: Contents,
        work: impl AsyncFnOnce(&Arc<Conversations>) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        self.check_keys()?;
        if contents == Contents::Open {
            self.check_contents()?;
        }
        self.run(async {
            let store = self.store().await?;
            let conversations = self.conversations(&store, contents)?;
            work(&conversations).await
        })
    }

    /// Runs work on the platform over the configured store.
    ///
    /// # Errors
    /// When the store cannot be opened, and those of the work.
    pub fn with_platform(
        &self,
        contents: Contents,
        work: impl AsyncFnOnce(&Arc<Platform>) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        self.with_conversations(contents, async |conversations| work(conversations.platform()).await)
    }

    /// Adds an entry to the audit log about something that the operator is about to see or do.
    ///
    /// # Errors
    /// When the store does not take it; the operator must then not see or do it.
    pub async fn note<const N: usize>(
        &self,
        platform: &Platform,
        action: AuditAction,
        agent: Option<&AgentId>,
        resource: &str,
        details: [(&str, Json); N],
    ) -> Result<(), CliError> {
        if self.is_read_only.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut members = Object::new();
        for (name, value) in details {
            members.insert(name, value);
        }
        let resource = Some(resource.to_owned()).filter(|resource| !resource.is_empty());
        platform.note(&self.operator(), action, agent, resource, &members).await?;
        Ok(())
    }

    /// The same about more than [`BULK`] records that the operator is about to see.
    ///
    /// # Errors
    /// As [`CommandContext::note`].
    pub async fn note_bulk(
        &self,
        platform: &Platform,
        agent: Option<&AgentId>,
        records: &str,
        count: usize,
    ) -> Result<(), CliError> {
        if count <= BULK {
            return Ok(());
        }
        let count = Json::Number((count as u64).into());
        self.note(platform, AuditAction::BulkRead, agent, records, [("count", count)]).await
    }

    /// Prints text. An output that its reader has closed, such as `head`, is not an error.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn print(&self, text: &str) -> Result<(), CliError> {
        self.print_unless_closed(text).map(drop)
    }

    /// Prints text; `false` when the output is closed.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn print_unless_closed(&self, text: &str) -> Result<bool, CliError> {
        self.print_with(text, |text| self.caller.write(Stream::Output, text.as_bytes()))
    }

    /// Prints the line of an event; `false` when the output is closed. If this server ends, the command goes on after the
    /// cursor in the next one.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn print_resumable(&self, line: &str, cursor: &str) -> Result<bool, CliError> {
        self.print_with(line, |line| self.caller.print_resumable(line, cursor))
    }

    fn print_with(&self, text: &str, write: impl Fn(&str) -> io::Result<()>) -> Result<bool, CliError> {
        let safe = self.facts.is_output_terminal.then(|| for_terminal(text));
        match write(safe.as_deref().unwrap_or(text)) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            written => Ok(written.map(|()| true)?),
        }
    }

    /// Standard output, for large output.
    #[must_use]
    pub fn output(&self) -> impl Write + use<> {
        Output {
            caller: Arc::clone(&self.caller),
            is_terminal: self.facts.is_output_terminal,
            partial: Vec::new(),
        }
    }

    /// Writes to standard error unchanged. A closed stream is not an error.
    pub fn write_error(&self, text: &str) {
        let _ = self.caller.write(Stream::Error, text.as_bytes());
    }

    /// Prints a message on standard error, without characters that a terminal would obey.
    pub fn info(&self, message: &str) {
        let lines: Vec<String> = message.lines().map(on_one_line).collect();
        self.write_error(&format!("{}\n", lines.join("\n")));
    }

    /// Prints an error on standard error.
    pub fn error(&self, message: &str) {
        self.info(&format!("openapi-server: {message}"));
    }

    /// Prints the error of a command that failed.
    pub fn fail(&self, failure: &CliError) {
        failure.to_string().lines().for_each(|line| self.error(line));
    }
}

struct Output {
    caller: Arc<dyn Caller>,
    is_terminal: bool,
    /// The first bytes of a character that a terminal gets as a whole.
    partial: Vec<u8>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            self.caller.write(Stream::Output, bytes)?;
            return Ok(bytes.len());
        }
        self.partial.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.partial) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.partial.len(),
        };
        let text = for_terminal(&String::from_utf8_lossy(&self.partial[..whole]));
        self.partial.drain(..whole);
        self.caller.write(Stream::Output, text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
