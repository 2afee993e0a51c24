//! TLS: the certificate, its key, and changing both while the server runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate chain and its key, read from files.
#[derive(Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    http2: bool,
    config: RwLock<Arc<ServerConfig>>,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file cannot be read, or is not PEM.
    #[error("cannot read {what} from {path}: {source}; give a PEM file")]
    File {
        /// What was looked for.
        what: &'static str,
        /// The file.
        path: String,
        /// Why not.
        source: pem::Error,
    },
    /// The chain is empty.
    #[error(
        "{path} holds no certificate; give the PEM file with the chain, the server's own certificate first"
    )]
    NoCertificate {
        /// The file.
        path: String,
    },
    /// Certificate and key cannot be used.
    #[error("certificate {certificate} and key {key} cannot be used together: {source}")]
    Unusable {
        /// The file of the chain.
        certificate: String,
        /// The file of the key.
        key: String,
        /// Why not.
        source: rustls::Error,
    },
}

impl Tls {
    /// Reads both files. With `http2` clients may choose HTTP/2.
    ///
    /// # Errors
    /// When a file cannot be read or the two do not belong together.
    pub fn load(certificate: &Path, key: &Path, http2: bool) -> Result<Self, TlsError> {
        let config = read(certificate, key, http2)?;
        Ok(Tls {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            http2,
            config: RwLock::new(Arc::new(config)),
        })
    }

    /// Reads both files again; connections from now on use what they hold.
    ///
    /// # Errors
    /// As [`Tls::load`]; the former certificate stays in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let config = Arc::new(read(&self.certificate, &self.key, self.http2)?);
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// An acceptor with the present certificate.
    #[must_use]
    pub fn acceptor(&self) -> tokio_rustls::TlsAcceptor {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

fn read(certificate: &Path, key: &Path, http2: bool) -> Result<ServerConfig, TlsError> {
    let file = |what, path: &Path, source| TlsError::File { what, path: path.display().to_string(), source };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| file("the certificate chain", certificate, source))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: certificate.display().to_string() });
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|source| file("the private key", key, source))?;
    let unusable = |source| TlsError::Unusable {
        certificate: certificate.display().to_string(),
        key: key.display().to_string(),
        source,
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(unusable)?;
    if http2 {
        config.alpn_protocols.push(b"h2".to_vec());
    }
    config.alpn_protocols.push(b"http/1.1".to_vec());
    Ok(config)
}
