//! The manifest of a backup: the digest of its database, authenticated with a server key.
//!
//! The database contains the digest of each file content, so the manifest covers the contents too.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use openapi_core::files::Sha256Digest;
use openapi_core::ports::BlobKey;
use openapi_core::server_keys::ServerKeys;
use openapi_core::values::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::encryption::Encryption;
use crate::console::caller::{BACKUP_DATABASE, BACKUP_ENCRYPTED_DATABASE, BACKUP_MANIFEST};
use crate::error::CliError;

const PURPOSE: &str = "backup manifest";

/// The form of backups that are not encrypted.
const PLAIN: u32 = 1;

/// The form of encrypted backups.
const ENCRYPTED: u32 = 2;

/// The longest manifest that is read, in bytes.
const MAX_MANIFEST: u64 = 64 << 20;

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    format: u32,
    /// When the backup was made.
    pub created_at: Timestamp,
    /// The version of the program that made it.
    pub version: String,
    /// Size of the database, in bytes.
    pub database_bytes: u64,
    /// SHA-256 of the database, as hexadecimal digits.
    pub database_sha256: String,
    /// The number of file contents.
    pub files: u64,
    /// The contents that the database names and the backup lacks, because their files were deleted while it was made, as
    /// `<agent>/<file>`.
    pub absent: Vec<String>,
    /// How the backup is encrypted, if it is. The digest is that of the encrypted database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
    /// The id of the server key of [`Manifest::mac`].
    pub server_key: String,
    /// HMAC-SHA-256 over all other members, as hexadecimal digits.
    #[serde(default)]
    mac: String,
}

/// Whether the manifest of a backup proves that the backup is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The server key has verified it.
    Authentic,
    /// The database has the digest of the manifest, but no server key is here to verify the manifest itself.
    NoServerKey,
}

/// Size and SHA-256 of a database.
pub struct DatabaseDigest {
    bytes: u64,
    sha256: String,
}

impl DatabaseDigest {
    /// Reads a whole file.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut hashing = Hashing::new(io::sink());
        io::copy(&mut File::open(path)?, &mut hashing)?;
        Ok(hashing.finish())
    }
}

/// Passes a database on and computes its digest.
pub struct Hashing<W> {
    to: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Hashing<W> {
    pub fn new(to: W) -> Self {
        Hashing { to, hash: Sha256::new(), bytes: 0 }
    }

    /// The digest of what was written.
    pub fn finish(self) -> DatabaseDigest {
        let sha256 = Sha256Digest(self.hash.finalize().into()).to_string();
        DatabaseDigest { bytes: self.bytes, sha256 }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Manifest {
    /// The manifest of a complete backup.
    #[must_use]
    pub fn sealed(
        database: DatabaseDigest,
        files: u64,
        absent: Vec<String>,
        encryption: Option<Encryption>,
        now: Timestamp,
        keys: &ServerKeys,
    ) -> Self {
        let mut manifest = Manifest {
            format: if encryption.is_some() { ENCRYPTED } else { PLAIN },
            created_at: now,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            database_bytes: database.bytes,
            database_sha256: database.sha256,
            files,
            absent,
            encryption,
            server_key: keys.current_id().to_owned(),
            mac: String::new(),
        };
        manifest.mac = Sha256Digest(keys.tag(PURPOSE, &manifest.signed())).to_string();
        manifest
    }

    /// Whether the backup lacks this content.
    #[must_use]
    pub fn lacks(&self, key: &BlobKey) -> bool {
        self.absent.contains(&key.to_string())
    }

    /// The name of the database in the backup.
    #[must_use]
    pub fn database_file(&self) -> &'static str {
        if self.encryption.is_some() { BACKUP_ENCRYPTED_DATABASE } else { BACKUP_DATABASE }
    }

    /// The file that it is stored as.
    #[must_use]
    pub fn to_file(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }

    /// Reads the manifest of the backup in a folder; `None` for a backup without one.
    ///
    /// # Errors
    /// When the file cannot be read, or is no manifest.
    pub fn read(folder: &Path) -> Result<Option<Self>, CliError> {
        let path = folder.join(BACKUP_MANIFEST);
        let mut text = Vec::new();
        match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?.take(MAX_MANIFEST).read_to_end(&mut text)?,
        };
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| {
            CliError::new(format!("{} is not the manifest of a backup: {error}", path.display()))
        })?;
        if manifest.format != if manifest.encryption.is_some() { ENCRYPTED } else { PLAIN } {
            return Err(CliError::new(format!(
                "{} has form {}, which this version does not read: use the version that made the backup, {}",
                path.display(),
                manifest.format,
                manifest.version
            )));
        }
        Ok(Some(manifest))
    }

    /// Compares the backup in a folder with its manifest. `keys` are the server keys, if there are any here.
    ///
    /// # Errors
    /// When something was changed, or the server key of the manifest is not among the keys.
    pub fn verify(&self, folder: &Path, keys: Option<&ServerKeys>) -> Result<Proof, CliError> {
        let refused = |what: &str| CliError::new(format!("the backup {} {what}", folder.display()));
        let proof = match keys {
            None => Proof::NoServerKey,
            Some(keys) => {
                let Some(tag) = keys.tag_with(&self.server_key, PURPOSE, &self.signed()) else {
                    return Err(refused(&format!(
                        "was made under the server key {}, which is not among the server keys here; \
                         `openapi-server server-key list` shows those",
                        self.server_key
                    )));
                };
                if Sha256Digest(tag).to_string() != self.mac {
                    return Err(refused(
                        "is not authentic: its manifest was changed, or made with another key",
                    ));
                }
                Proof::Authentic
            }
        };
        let database = DatabaseDigest::of(&folder.join(self.database_file()))?;
        if (database.bytes, &database.sha256) != (self.database_bytes, &self.database_sha256) {
            return Err(refused("is not intact: its database was changed since it was made"));
        }
        Ok(proof)
    }

    /// The authenticated bytes: all members but the MAC, in one form.
    fn signed(&self) -> Vec<u8> {
        let unsigned = Manifest { mac: String::new(), ..self.clone() };
        serde_json::to_vec(&unsigned).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use openapi_core::server_keys::ServerKey;

    use super::*;

    fn keys(byte: u8) -> ServerKeys {
        ServerKeys::new(ServerKey::new(&[byte; 32]), Vec::new())
    }

    fn backup() -> (tempfile::TempDir, Manifest) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(BACKUP_DATABASE), "records").unwrap();
        let digest = DatabaseDigest::of(&folder.path().join(BACKUP_DATABASE)).unwrap();
        let manifest = Manifest::sealed(
            digest,
            3,
            vec!["acme/0".to_owned()],
            None,
            Timestamp::from_millis(1_769_856_000_000),
            &keys(1),
        );
        std::fs::write(folder.path().join(BACKUP_MANIFEST), manifest.to_file()).unwrap();
        (folder, manifest)
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let (folder, manifest) = backup();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Some(manifest.clone()));
        assert_eq!(manifest.verify(folder.path(), Some(&keys(1))).unwrap(), Proof::Authentic);
        assert_eq!(manifest.verify(folder.path(), None).unwrap(), Proof::NoServerKey);
        assert!(
            manifest.verify(folder.path(), Some(&keys(2))).unwrap_err().to_string().contains("server key")
        );
    }

    #[test]
    fn each_changed_member_is_found() {
        let (folder, manifest) = backup();
        let text = String::from_utf8(manifest.to_file()).unwrap();
        let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
        for (name, value) in &members {
            let mut changed = members.clone();
            let other = match value {
                serde_json::Value::Number(number) => (number.as_u64().unwrap() + 1).into(),
                serde_json::Value::Array(_) => serde_json::json!([]),
                serde_json::Value::String(text) if name == "createdAt" => text.replace("2026", "2027").into(),
                value => value.as_str().unwrap().replace(|c: char| c.is_ascii_digit(), "e").into(),
            };
            changed.insert(name.clone(), other);
            std::fs::write(folder.path().join(BACKUP_MANIFEST), serde_json::to_vec(&changed).unwrap())
                .unwrap();
            let read = Manifest::read(folder.path())
                .and_then(|manifest| manifest.unwrap().verify(folder.path(), Some(&keys(1))));
            assert!(read.is_err(), "{name}");
        }
    }

    #[test]
    fn a_changed_database_is_found_without_a_key() {
        let (folder, manifest) = backup();
        std::fs::write(folder.path().join(BACKUP_DATABASE), "recordS").unwrap();
        for keys in [None, Some(&keys(1))] {
            assert!(manifest.verify(folder.path(), keys).unwrap_err().to_string().contains("not intact"));
        }
    }
}
