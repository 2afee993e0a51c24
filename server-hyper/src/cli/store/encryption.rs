//! Encrypted backups: a key that follows from a password by scrypt, and the frames of sealed contents under it.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use clap::Args;
use openapi_core::files::Sha256Digest;
use openapi_core::ports::{
    BlobError, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
    IdGenerator,
};
use openapi_core::seal::{SealFault, SealedWriter, Sealer, Source, Unsealer, read, unsealed_bytes};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::values::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cli::context::CommandContext;
use crate::console::caller::BACKUP_PASSWORD;
use crate::error::CliError;
use crate::ports::SystemRandom;
use crate::text_file;

/// What the database of a backup is sealed as. No tenant's id has this character.
const DATABASE: &[u8] = b"\0database";

/// The shortest password of a new backup, in characters.
const MIN_PASSWORD: usize = 12;

/// The longest password file, in bytes.
const MAX_PASSWORD: u64 = 4_096;

/// Chunk size of a database, in bytes.
const CHUNK: usize = 256 * 1024;

/// The cost of a new key: 128 MiB of memory, and about half a second.
const LOG_N: u8 = 17;
const R: u32 = 8;
const P: u32 = 1;

/// The highest cost that is accepted, so that a manifest cannot take all memory: 1 GiB.
const MAX_LOG_N: u8 = 20;

/// Where the password of a backup comes from.
#[derive(Debug, Args)]
pub struct PasswordArgs {
    /// Read the password of an encrypted backup from the first line of a file [default: the environment variable
    /// OPENAPI_BACKUP_PASSWORD, or the terminal]
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

impl PasswordArgs {
    /// The password of a backup; `is_new` for one that is about to be made.
    ///
    /// # Errors
    /// When there is none, or a new one is too short.
    pub fn read(&self, context: &CommandContext, is_new: bool) -> Result<String, CliError> {
        let password = match &self.password_file {
            Some(path) => {
                let failed = |error| CliError::new(format!("cannot read {}: {error}", path.display()));
                let mut bytes = Vec::new();
                let file = context.caller().open(path).map_err(failed)?;
                file.take(MAX_PASSWORD).read_to_end(&mut bytes).map_err(failed)?;
                let text = text_file::decode(bytes).map_err(failed)?;
                text.lines().next().unwrap_or_default().to_owned()
            }
            None => context.caller().password(is_new).map_err(|error| {
                CliError::new(format!(
                    "the backup needs a password: name a file with --password-file, set {BACKUP_PASSWORD}, or use a \
                     terminal ({error})"
                ))
            })?,
        };
        if password.is_empty() {
            return Err(CliError::new("the password of the backup is empty"));
        }
        if is_new && password.chars().count() < MIN_PASSWORD {
            return Err(CliError::new(format!(
                "the password of a backup has at least {MIN_PASSWORD} characters"
            )));
        }
        Ok(password)
    }
}

/// How the key of an encrypted backup follows from its password; a part of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Encryption {
    scheme: Scheme,
    log_n: u8,
    r: u32,
    p: u32,
    /// Random, as hexadecimal digits.
    salt: Sha256Digest,
    /// The id of the key, which distinguishes a wrong password from a damaged backup.
    key: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scheme {
    Scrypt,
}

impl Encryption {
    /// The encryption of a new backup, and its key.
    ///
    /// # Errors
    /// When the key cannot be computed.
    pub fn new(password: &str) -> Result<(Self, BackupKey), CliError> {
        let mut salt = [0; 32];
        SystemRandom.fill(&mut salt);
        let salt = Sha256Digest(salt);
        let mut encryption =
            Encryption { scheme: Scheme::Scrypt, log_n: LOG_N, r: R, p: P, salt, key: String::new() };
        let key = encryption.derive(password)?;
        encryption.key = key.0.current_id().to_owned();
        Ok((encryption, key))
    }

    /// The key of a backup.
    ///
    /// # Errors
    /// When the password is wrong.
    pub fn key(&self, password: &str) -> Result<BackupKey, CliError> {
        let key = self.derive(password)?;
        if key.0.current_id() == self.key {
            return Ok(key);
        }
        Err(CliError::new("this is not the password of the backup"))
    }

    fn derive(&self, password: &str) -> Result<BackupKey, CliError> {
        let excessive =
            || CliError::new("the manifest of the backup asks for more work than any backup needs");
        if self.log_n > MAX_LOG_N || self.r > R || self.p > P {
            return Err(excessive());
        }
        let cost = scrypt::Params::new(self.log_n, self.r, self.p).map_err(|_| excessive())?;
        let mut key = [0; 32];
        scrypt::scrypt(password.as_bytes(), &self.salt.0, &cost, &mut key).map_err(|_| excessive())?;
        Ok(BackupKey(ServerKeys::new(ServerKey::new(&key), Vec::new())))
    }
}

/// The key of an encrypted backup.
pub struct BackupKey(ServerKeys);

impl BackupKey {
    /// Encrypts a database.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn encrypt(&self, mut from: impl Read, mut to: impl Write) -> io::Result<()> {
        let mut sealer = Sealer::named(&self.0, DATABASE.to_vec());
        each_chunk(&mut from, |chunk| to.write_all(&sealer.push(chunk).map_err(io::Error::other)?))?;
        to.write_all(&sealer.finish().map_err(io::Error::other)?)?;
        to.flush()
    }

    /// Decrypts the database of a backup into a file that does not exist.
    ///
    /// # Errors
    /// When it was changed, or a file cannot be read or written.
    pub fn decrypt(&self, from: &Path, to: &Path) -> Result<(), CliError> {
        let damaged = |fault: SealFault| {
            CliError::new(format!("the database of the backup, {}, is damaged: {fault}", from.display()))
        };
        let mut source = std::fs::File::open(from)?;
        let stored = source.metadata()?.len();
        let size = unsealed_bytes(stored).ok_or_else(|| damaged(SealFault::Unsealed))?;
        let mut unsealer = Unsealer::named(&self.0, DATABASE.to_vec(), size).map_err(damaged)?;
        let mut target = std::fs::File::create_new(to)?;
        let mut fault = None;
        each_chunk(&mut source, |chunk| match unsealer.push(chunk) {
            Ok(opened) => target.write_all(&opened),
            Err(error) => {
                fault = Some(error);
                Err(io::ErrorKind::InvalidData.into())
            }
        })
        .map_err(|error| fault.map_or_else(|| error.into(), damaged))?;
        unsealer.finish().map_err(damaged)?;
        Ok(target.sync_all()?)
    }

    /// The contents of the backup, decrypted as they are read and encrypted as they are written.
    #[must_use]
    pub fn contents(&self, inner: Arc<dyn BlobStore>) -> Arc<dyn BlobStore> {
        Arc::new(EncryptedContents { inner, keys: self.0.clone() })
    }
}

fn each_chunk(from: &mut impl Read, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&chunk[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A store whose contents are encrypted with the key of a backup.
struct EncryptedContents {
    inner: Arc<dyn BlobStore>,
    keys: ServerKeys,
}

struct Writer(SealedWriter);

#[async_trait]
impl BlobStore for EncryptedContents {
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        Ok(Box::new(Writer(SealedWriter::create(&*self.inner, &self.keys, key).await?)))
    }

    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        Ok(Box::new(Writer(SealedWriter::replace(&*self.inner, &self.keys, key).await?)))
    }

    async fn read(&self, key: &BlobKey, range: Range<u64>) -> BlobResult<BlobStream> {
        let size = self.size(key).await?.ok_or(BlobErrorKind::Missing)?;
        if range.end > size {
            return Err(BlobErrorKind::Missing.into());
        }
        read(Source { blobs: &*self.inner, keys: &self.keys, key, size }, range).await
    }

    async fn size(&self, key: &BlobKey) -> BlobResult<Option<u64>> {
        let Some(stored) = self.inner.size(key).await? else { return Ok(None) };
        match unsealed_bytes(stored) {
            Some(size) => Ok(Some(size)),
            None => Err(BlobError::new(BlobErrorKind::Internal, SealFault::Unsealed)),
        }
    }

    async fn remove(&self, key: &BlobKey) -> BlobResult<()> {
        self.inner.remove(key).await
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        self.inner.list().await
    }

    async fn sweep_unfinished(&self, before: Timestamp) -> BlobResult<u64> {
        self.inner.sweep_unfinished(before).await
    }

    async fn probe(&self) -> BlobResult<()> {
        self.inner.probe().await
    }
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: Bytes) -> BlobResult<()> {
        self.0.write(&bytes).await
    }

    async fn finish(self: Box<Self>) -> BlobResult<()> {
        self.0.finish().await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PASSWORD: &str = "correct horse battery staple";

    #[test]
    fn a_key_follows_from_its_password_alone() {
        let (encryption, _) = Encryption::new(PASSWORD).unwrap();
        let (other, _) = Encryption::new(PASSWORD).unwrap();
        assert_ne!(encryption, other, "each backup has a salt of its own");
        let text = serde_json::to_string(&encryption).unwrap();
        let read: Encryption = serde_json::from_str(&text).unwrap();
        assert_eq!(read, encryption);
        read.key(PASSWORD).unwrap();
        let wrong = read.key("correct horse battery stapler").err().unwrap();
        assert_eq!(wrong.to_string(), "this is not the password of the backup");
        let greedy = Encryption { log_n: 30, ..encryption };
        assert!(greedy.key(PASSWORD).err().unwrap().to_string().contains("more work"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn a_database_comes_back_or_is_refused(
            content in prop::collection::vec(any::<u8>(), 0..200_000), at: prop::sample::Index, bit in 0..8_u8,
        ) {
            let key = BackupKey(ServerKeys::new(ServerKey::new(&[3; 32]), Vec::new()));
            let folder = tempfile::tempdir().unwrap();
            let (from, to) = (folder.path().join("encrypted"), folder.path().join("plain"));
            let mut encrypted = Vec::new();
            key.encrypt(&content[..], &mut encrypted).unwrap();
            std::fs::write(&from, &encrypted).unwrap();
            key.decrypt(&from, &to).unwrap();
            prop_assert!(std::fs::read(&to).unwrap() == content);
            std::fs::remove_file(&to).unwrap();
            let damaged = at.index(encrypted.len());
            encrypted[damaged] ^= 1 << bit;
            std::fs::write(&from, &encrypted).unwrap();
            let refused = key.decrypt(&from, &to).err().unwrap().to_string();
            prop_assert!(refused.contains("is damaged"), "{}", refused);
        }
    }
}
