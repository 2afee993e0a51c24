//! `backups`: list and verify backups.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;
use serde_json::json;

use super::contents;
use super::encryption::PasswordArgs;
use super::manifest::{Manifest, Proof};
use crate::assemble::StoreUrl;
use crate::cli::context::CommandContext;
use crate::cli::process::Logged;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Backups {
    /// List the backups in a folder, the newest first
    #[command(after_help = "Examples:\n  \
        openapi-server backups list ./backups\n\n\
        It reads the manifests and verifies nothing.")]
    List {
        /// The folder that contains the backups
        folder: PathBuf,
    },
    /// Verify a backup: its manifest, its database and every file content
    #[command(after_help = "Examples:\n  \
        openapi-server backups verify ./backups/monday\n\n\
        The manifest is authenticated with the server keys of the configured store. Exit status 1: the backup is \
        incomplete or was changed, or these server keys are not those it was made under.")]
    Verify {
        /// The backup
        from: PathBuf,
        #[command(flatten)]
        password: PasswordArgs,
    },
}

/// The printed form of a backup in a listing.
#[derive(Serialize)]
struct Listed {
    backup: PathBuf,
    #[serde(flatten)]
    manifest: Manifest,
}

impl Backups {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        match self {
            Backups::List { folder } => list(context, &folder),
            Backups::Verify { from, password } => verify(context, &from, &password),
        }
    }
}

fn list(context: &CommandContext, folder: &Path) -> Result<(), CliError> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| CliError::new(format!("cannot read {}: {error}", folder.display())))?;
    let mut backups = Vec::new();
    for entry in entries {
        let backup = entry?.path();
        if !backup.is_dir() {
            continue;
        }
        match Manifest::read(&backup) {
            Ok(Some(manifest)) => backups.push(Listed { backup, manifest }),
            Ok(None) => {}
            Err(error) => context.error(&error.to_string()),
        }
    }
    backups.sort_by_key(|listed| std::cmp::Reverse(listed.manifest.created_at));
    let heads = ["backup", "created", "version", "database bytes", "files", "encrypted", "server key"];
    context.print_table(context.json(), &backups, &heads, |Listed { backup, manifest }| {
        vec![
            backup.display().to_string(),
            manifest.created_at.to_string(),
            manifest.version.clone(),
            manifest.database_bytes.to_string(),
            manifest.files.to_string(),
            if manifest.encryption.is_some() { "yes" } else { "no" }.to_owned(),
            manifest.server_key.clone(),
        ]
    })
}

fn verify(context: &CommandContext, from: &Path, password: &PasswordArgs) -> Result<(), CliError> {
    let config = context.config()?;
    let _log = Logged::install(&config)?;
    let store = StoreUrl::parse(config.store())?;
    let (manifest, proof) = contents::verify_manifest(&config, &store, from)?;
    let keys = store.key_source(&config).existing()?.filter(|_| proof == Proof::Authentic);
    let Some(keys) = keys else {
        return Err(CliError::new(format!(
            "the database has the digest of the manifest, but the server key {}, which authenticates the manifest, is not \
             here: name the store with --store, or set OPENAPI_SERVER_KEY",
            manifest.server_key
        )));
    };
    let backup_key = contents::backup_key(context, &manifest, password)?;
    let files =
        context.run(contents::verify_contents(context, from, &manifest, backup_key.as_ref(), &keys))?;
    if files != manifest.files {
        return Err(CliError::new(format!(
            "the backup has {files} file(s), and its manifest says {}",
            manifest.files
        )));
    }
    if context.json() {
        return context.print_json(&json!({ "backup": from, "intact": true, "manifest": manifest }));
    }
    context.print(&format!(
        "the backup of {} is intact and authentic: its database, and the contents of {files} file(s)\n",
        manifest.created_at
    ))
}
