//! PgBouncer in front of PostgreSQL, in transaction mode: every transaction may have another session.

use std::os::unix::fs::chown;

use tempfile::TempDir;

use crate::postgres::{as_unprivileged, unprivileged};
use crate::process::{self, Process};

/// A pooler. It ends with the thread that started it.
pub struct Pooler {
    port: u16,
    _process: Process,
    _folder: TempDir,
}

impl Pooler {
    /// Starts a pooler in front of the server of this URL and waits until it listens. `settings` are further lines of its
    /// configuration.
    ///
    /// # Panics
    /// If PgBouncer is not installed (the message contains the install command) or does not start.
    #[must_use]
    pub fn start(server: &str, settings: &str) -> Pooler {
        let program = process::program("pgbouncer", ["/usr/sbin".into()]);
        let program = program.unwrap_or_else(|| panic!("PgBouncer is missing; run: scripts/install-tools"));
        let (folder, port) = (process::folder(), process::free_port());
        let server = server.rsplit('@').next().and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let (host, server_port) = server.rsplit_once(':').unwrap_or((server, "5432"));
        let configuration = folder.path().join("pgbouncer.ini");
        // Few sessions, so that clients meet those of others.
        let text = format!(
            "[databases]\n* = host={host} port={server_port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n\
             default_pool_size = 3\nmax_client_conn = 500\n{settings}\n"
        );
        std::fs::write(&configuration, text).expect("a temporary file can be written");
        if let Some((user, group)) = unprivileged() {
            chown(folder.path(), Some(user), Some(group)).expect("root may give folders away");
        }
        let log = folder.path().join("log");
        let mut command = as_unprivileged(&program);
        command.arg(&configuration);
        let mut process = Process::start(command, &log);
        process::await_answer("PgBouncer", &log, || {
            assert!(!process.has_ended(), "{}", std::fs::read_to_string(&log).unwrap_or_default());
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Pooler { port, _process: process, _folder: folder }
    }

    /// The URL of a database through the pooler.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}
