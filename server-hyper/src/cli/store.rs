//! `migrate`, `check`, `backup`, `restore`: the store itself.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::output::{print, print_json};
use super::{Logged, on_runtime};
use crate::assemble::{self, StoreUrl};
use crate::config::Config;
use crate::config::flags::GlobalArgs;
use crate::contents;
use crate::error::CliError;

/// Examples of `migrate`.
pub const MIGRATE_EXAMPLES: &str = "Examples:\n  openapi-server migrate --plan\n  openapi-server migrate";

/// Examples of `check`.
pub const CHECK_EXAMPLES: &str = "Examples:\n  openapi-server check\n  openapi-server check --repair";

/// Examples of `backup`.
pub const BACKUP_EXAMPLES: &str = "Examples:\n  \
    openapi-server backup ./backups/monday\n\n\
    The folder gets a copy of the database, openapi.db, and of the contents of files, blobs; every content is compared \
    with the digest in its record. The server keys are not in the backup: keep them apart from it. \
    `openapi-server server-key list` says which are needed.";

/// Examples of `restore`.
pub const RESTORE_EXAMPLES: &str = "Examples:\n  \
    openapi-server restore ./backups/monday --store sqlite:./restored/openapi.db\n\n\
    Contents of files go to the configured place (--blobs), those that are there already stay. The former database is \
    kept beside the new one.";

#[derive(Debug, Args)]
pub struct Migrate {
    /// Only say what would be done
    #[arg(long)]
    plan: bool,
}

#[derive(Debug, Args)]
pub struct Check {
    /// Mend what can be made anew from the records, indexes and counters; remove contents that belong to no file, and
    /// delete files whose content is lost
    #[arg(long)]
    repair: bool,
}

#[derive(Debug, Args)]
pub struct Backup {
    /// The folder to be made
    to: PathBuf,
}

#[derive(Debug, Args)]
pub struct Restore {
    /// The backup
    from: PathBuf,
}

/// The settings and the configured store, with the log on.
fn configured(every: &GlobalArgs) -> Result<(Config, StoreUrl, Logged), CliError> {
    let config = Config::read(every, None)?;
    let log = Logged::install(&config)?;
    let store = StoreUrl::parse(config.store())?;
    Ok((config, store, log))
}

impl Migrate {
    pub fn run(self, every: &GlobalArgs) -> Result<(), CliError> {
        let (_, store, _log) = configured(every)?;
        let pending = on_runtime(async {
            let pending = assemble::pending_migrations(&store).await?;
            if !self.plan {
                assemble::open(&store).await?;
            }
            Ok(pending)
        })?;
        if every.json {
            return print_json(&json!({ "migrations": pending, "applied": !self.plan }));
        }
        let done = if self.plan { "would be applied" } else { "was applied" };
        if pending.is_empty() {
            return print("the store is up to date\n");
        }
        print(&pending.iter().map(|migration| format!("{migration} {done}\n")).collect::<String>())
    }
}

impl Check {
    pub fn run(self, every: &GlobalArgs) -> Result<(), CliError> {
        let (config, store, _log) = configured(every)?;
        let faults = on_runtime(async {
            let mut faults = assemble::check(&store, self.repair).await?;
            faults.extend(contents::check(&config, self.repair).await?);
            Ok(faults)
        })?;
        if every.json {
            print_json(&json!({ "sound": faults.is_empty(), "faults": faults }))?;
        } else if faults.is_empty() {
            print("the store is sound\n")?;
        } else {
            print(&faults.iter().map(|fault| format!("{fault}\n")).collect::<String>())?;
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(CliError::new(if self.repair {
            "not everything could be mended; restore a backup (openapi-server restore FROM)"
        } else {
            "the store is not sound; try `openapi-server check --repair`, else restore a backup"
        }))
    }
}

impl Backup {
    pub fn run(self, every: &GlobalArgs) -> Result<(), CliError> {
        let (config, store, _log) = configured(every)?;
        let files = on_runtime(contents::backup(&config, &store, &self.to))?;
        if every.json {
            return print_json(&json!({ "backup": self.to, "files": files }));
        }
        print(&format!("the store is in {}, with the contents of {files} file(s)\n", self.to.display()))
    }
}

impl Restore {
    pub fn run(self, every: &GlobalArgs) -> Result<(), CliError> {
        let (config, store, _log) = configured(every)?;
        let files = on_runtime(contents::restore(&config, &store, &self.from))?;
        if every.json {
            return print_json(&json!({ "restored": self.from, "files": files }));
        }
        let from = self.from.display();
        print(&format!("the store holds what was in {from}, with the contents of {files} file(s)\n"))
    }
}
