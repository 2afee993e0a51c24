//! `migrate`, `check`, `backup`, `restore`: the store itself.

pub mod backups;
mod contents;
pub mod copy;
pub mod encryption;
mod manifest;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use encryption::{Encryption, PasswordArgs};

use crate::assemble::{self, StoreUrl};
use crate::cli::context::CommandContext;
use crate::cli::process::Logged;
use crate::console::entry::{Entry, Wish, enter, wait_for_store};
use crate::error::CliError;

/// Examples of `migrate`.
pub const MIGRATE_EXAMPLES: &str = "Examples:\n  openapi-server migrate --plan\n  openapi-server migrate";

/// Examples of `check`.
pub const CHECK_EXAMPLES: &str = "Examples:\n  openapi-server check\n  openapi-server check --repair";

/// Examples of `backup`.
pub const BACKUP_EXAMPLES: &str = "Examples:\n  \
    openapi-server backup ./backups/monday\n  \
    openapi-server backup ./backups/tuesday --encrypt --password-file backup-password\n\n\
    The folder gets a copy of the database, openapi.db, of the contents of files, blobs, and a manifest, manifest.json. \
    Every content is compared with the digest in its record. The manifest has the digest of the database and is \
    authenticated with the server key; `openapi-server backups verify` checks it. The server keys are not in the backup: keep them apart from it. \
    `openapi-server server-key list` says which are needed.\n\n\
    With --encrypt the database and the contents are encrypted with a password (scrypt, ChaCha20-Poly1305). It is read \
    from --password-file, the environment variable OPENAPI_BACKUP_PASSWORD, or the terminal. Without it nobody can \
    restore the backup. The manifest, and the names and sizes of the contents, stay readable.";

/// Examples of `restore`.
pub const RESTORE_EXAMPLES: &str = "Examples:\n  \
    openapi-server restore ./backups/monday --store sqlite:./restored/openapi.db\n\n\
    Contents of files go to the configured location (--blobs); existing contents stay. The previous database stays \
    next to the new one. A backup that was changed is refused. Put the server keys next to the new database first: \
    without them the digests are compared, but the manifest cannot be authenticated.";

#[derive(Debug, Args)]
pub struct Migrate {
    /// Only print what would be done
    #[arg(long)]
    pub(super) plan: bool,
}

#[derive(Debug, Args)]
pub struct Check {
    /// Rebuild indexes and counters from the records, remove contents that belong to no file, and
    /// delete files whose content is lost
    #[arg(long)]
    repair: bool,
}

#[derive(Debug, Args)]
pub struct Backup {
    /// The folder to create
    to: PathBuf,
    /// Encrypt the backup with a password
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    password: PasswordArgs,
}

#[derive(Debug, Args)]
pub struct Restore {
    /// The backup
    from: PathBuf,
    /// Restore a backup whose manifest is missing or does not verify
    #[arg(long)]
    unverified: bool,
    #[command(flatten)]
    password: PasswordArgs,
}

impl Migrate {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let pending = context.run(async {
            let pending = context.pending_migrations().await?;
            if !self.plan {
                context.store().await?;
            }
            Ok(pending)
        })?;
        if context.json() {
            return context.print_json(&json!({ "migrations": pending, "applied": !self.plan }));
        }
        let done = if self.plan { "would be applied" } else { "was applied" };
        if pending.is_empty() {
            return context.print("the store is up to date\n");
        }
        context.print(&pending.iter().map(|migration| format!("{migration} {done}\n")).collect::<String>())
    }
}

impl Check {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        context.check_contents()?;
        let faults = context.run(async {
            let store = context.store().await?;
            let mut faults = {
                let caller = Arc::clone(context.caller());
                assemble::check(&store, self.repair, &|text| context.info(text), move || caller.is_gone())
                    .await?
            };
            faults.extend(contents::check(context, &store, self.repair).await?);
            Ok(faults)
        })?;
        if context.json() {
            context.print_json(&json!({ "sound": faults.is_empty(), "faults": faults }))?;
        } else if faults.is_empty() {
            context.print("the store is sound\n")?;
        } else {
            context.print(&faults.iter().map(|fault| format!("{fault}\n")).collect::<String>())?;
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(CliError::new(if self.repair {
            "not everything could be repaired; restore a backup (openapi-server restore FROM)"
        } else {
            "the store is not sound; try `openapi-server check --repair`, else restore a backup"
        }))
    }
}

impl Backup {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        if self.password.password_file.is_some() && !self.encrypt {
            return Err(CliError::usage("--password-file has a meaning only with --encrypt"));
        }
        let encryption = match self.encrypt {
            true => Some(Encryption::new(&self.password.read(context, true)?)?),
            false => None,
        };
        let files = context.run(contents::backup(context, &self.to, encryption))?;
        if context.json() {
            let done = json!({ "backup": self.to, "files": files, "encrypted": self.encrypt });
            return context.print_json(&done);
        }
        context
            .print(&format!("the store is in {}, with the contents of {files} file(s)\n", self.to.display()))
    }
}

impl Restore {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let config = context.config()?;
        let _log = Logged::install(&config)?;
        let store = StoreUrl::parse(config.store())?;
        let ownership = match enter(&store, wait_for_store(&config)?, "restore", Wish::Own)? {
            Entry::Open(ownership) => ownership,
            Entry::Ran(_) => return Err(CliError::new("the store is in use")),
        };
        let files = context.run(async {
            let ownership_of_file = ownership.as_ref();
            let files = contents::restore(context, &config, &store, ownership_of_file, &self).await?;
            contents::note_restore(context, &config, &store, ownership, &self.from).await?;
            Ok(files)
        })?;
        if context.json() {
            return context.print_json(&json!({ "restored": self.from, "files": files }));
        }
        let from = self.from.display();
        context.print(&format!("the store holds what was in {from}, with the contents of {files} file(s)\n"))
    }
}
