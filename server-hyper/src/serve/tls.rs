//! TLS: the certificate and its key, which can be reloaded while the server runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
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
    /// The file is unreadable or not PEM.
    #[error("cannot read {what} from {path}: {source}; give a PEM file")]
    File {
        /// The expected content.
        what: &'static str,
        /// The file.
        path: String,
        /// The cause.
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
    /// Certificate and key do not match or are invalid.
    #[error("certificate {certificate} and key {key} cannot be used together: {source}")]
    Unusable {
        /// The file of the chain.
        certificate: String,
        /// The file of the key.
        key: String,
        /// The cause.
        source: rustls::Error,
    },
}

crate::error::from_error!(TlsError);

impl Tls {
    /// Reads both files. `http2` offers HTTP/2 to clients.
    ///
    /// # Errors
    /// A file is unreadable, or certificate and key do not match.
    pub fn load(certificate: &Path, key: &Path, http2: bool) -> Result<Self, TlsError> {
        let config = read(certificate, key, http2)?;
        Ok(Tls {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            http2,
            config: RwLock::new(Arc::new(config)),
        })
    }

    /// Reads both files again, for future connections.
    ///
    /// # Errors
    /// As [`Tls::load`]; the current certificate then stays in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let config = Arc::new(read(&self.certificate, &self.key, self.http2)?);
        *self.config.write() = config;
        Ok(())
    }

    /// An acceptor with the current certificate.
    #[must_use]
    pub fn acceptor(&self) -> tokio_rustls::TlsAcceptor {
        Arc::clone(&self.config.read()).into()
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
