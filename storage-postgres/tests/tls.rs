//! TLS as PostgreSQL's own tools have it, and what an operator reads where it fails.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use std::path::PathBuf;

use database_servers::postgres::Server;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use storage_postgres::{OpenError, PostgresConfig, PostgresStorage};
use support::runtime;

fn parameters(name: &str, is_authority: IsCa) -> CertificateParams {
    let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
    parameters.is_ca = is_authority;
    parameters
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let parameters = parameters("authority.example", IsCa::Ca(BasicConstraints::Unconstrained));
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
}

/// Opens a store with these parameters of the URL.
fn open(server: &Server, parameters: &str) -> Result<(), OpenError> {
    let (runtime, url) = (runtime(), format!("{}?{parameters}", server.url()));
    let opened = runtime.block_on(PostgresStorage::open(PostgresConfig::from_url(&url).unwrap()));
    opened.map(|store| runtime.block_on(store.close()))
}

fn refused(server: &Server, parameters: &str, expected: &str) {
    let error = open(server, parameters).unwrap_err().to_string();
    assert!(
        error.contains(expected) && !error.contains("check that the server runs"),
        "{parameters}: {error}"
    );
}

struct Roots(tempfile::TempDir);

impl Roots {
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

#[test]
fn an_authority_of_ones_own_is_trusted() {
    let (issuer, other, roots) = (authority(), authority(), Roots(tempfile::tempdir().unwrap()));
    let key = KeyPair::generate().unwrap();
    let certificate = parameters("db.example", IsCa::ExplicitNoCa).signed_by(&key, &issuer).unwrap();
    let server = Server::with_certificate(&certificate.pem(), &key.serialize_pem());
    let (root, wrong) = (roots.file("root", &issuer.pem()), roots.file("wrong", &other.pem()));
    let (root, wrong) = (root.display(), wrong.display());
    open(&server, "sslmode=require").unwrap();
    open(&server, &format!("sslmode=verify-ca&sslrootcert={root}")).unwrap();
    // As psql has it, a root makes `require` verify the authority.
    open(&server, &format!("sslmode=require&sslrootcert={root}")).unwrap();
    refused(&server, &format!("sslmode=require&sslrootcert={wrong}"), "sslrootcert=FILE");
    refused(&server, &format!("sslmode=verify-ca&sslrootcert={wrong}"), "sslrootcert=FILE");
    refused(&server, "sslmode=verify-ca", "sslrootcert=FILE");
    refused(
        &server,
        &format!("sslmode=verify-full&sslrootcert={root}"),
        "sslmode=verify-ca to accept any name",
    );
    refused(
        &server,
        "sslmode=verify-ca&sslrootcert=/nowhere/root.crt",
        "/nowhere/root.crt, which the parameter sslrootcert",
    );
}

#[test]
fn a_self_signed_certificate_is_its_own_root() {
    let roots = Roots(tempfile::tempdir().unwrap());
    for (is_authority, expected) in [
        (IsCa::ExplicitNoCa, None),
        (IsCa::Ca(BasicConstraints::Unconstrained), Some("basicConstraints=critical,CA:FALSE")),
    ] {
        let key = KeyPair::generate().unwrap();
        let certificate = parameters("db.example", is_authority).self_signed(&key).unwrap();
        let root = roots.file("root", &certificate.pem());
        let server = Server::with_certificate(&certificate.pem(), &key.serialize_pem());
        let url = format!("sslmode=verify-ca&sslrootcert={}", root.display());
        match expected {
            None => open(&server, &url).unwrap(),
            Some(expected) => refused(&server, &url, expected),
        }
    }
}

#[test]
fn a_server_without_tls_is_refused_where_it_is_required() {
    let server = Server::start();
    open(&server, "sslmode=prefer").unwrap();
    refused(&server, "sslmode=require", "ssl = on");
}
