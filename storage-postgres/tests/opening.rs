//! The errors for an operator when a database cannot be used.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use database_servers::postgres::Server;
use openapi_core::storage::AgentStore;
use sqlx::{AssertSqlSafe, Connection};
use storage_common::fixtures::{agent_id, insert_agent};
use storage_postgres::{OpenError, PostgresConfig, PostgresStorage};
use support::{Database, runtime};

fn refused(url: &str) -> OpenError {
    let config = PostgresConfig::from_url(url).unwrap();
    let error = runtime().block_on(PostgresStorage::open(config)).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("secret"), "{text}");
    error
}

/// The host and the port of the shared server.
fn server(database: &Database) -> String {
    let url: url::Url = database.url("").parse().unwrap();
    format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5432))
}

#[test]
fn nothing_answers() {
    let error = refused("postgres://u:secret@127.0.0.1:1/d?connect_timeout=1");
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("postgres://u@127.0.0.1:1/d"), "{error}");
    assert!(error.to_string().contains("check that the server runs"), "{error}");
}

#[test]
fn something_answers_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let error = refused(&format!("postgres://u:secret@127.0.0.1:{port}/d?connect_timeout=1"));
    assert!(matches!(error, OpenError::Timeout { .. }), "{error}");
}

#[test]
fn the_database_is_missing() {
    let database = Database::new();
    let error = refused(&format!("postgres://postgres:secret@{}/absent_database", server(&database)));
    assert!(
        matches!(&error, OpenError::NoDatabase { database, .. } if database == "absent_database"),
        "{error}"
    );
    assert!(error.to_string().contains("createdb absent_database"), "{error}");
}

#[test]
fn the_role_is_missing() {
    let database = Database::new();
    let error = refused(&format!("postgres://absent_role:secret@{}/postgres", server(&database)));
    assert!(matches!(error, OpenError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("pg_hba.conf"), "{error}");
}

#[test]
fn rights_are_missing() {
    let database = Database::new();
    let role = format!("plain_{}", std::process::id());
    let of_plain_role = |database: &Database| {
        let url: url::Url = database.url("").parse().unwrap();
        let mut url = url;
        url.set_username(&role).unwrap();
        url.to_string()
    };
    runtime().block_on(async {
        let mut db = database.connect().await;
        sqlx::query(AssertSqlSafe(format!("CREATE ROLE {role} LOGIN"))).execute(&mut db).await.unwrap();
        db.close().await.unwrap();
    });
    let error = refused(&of_plain_role(&database));
    assert!(matches!(error, OpenError::NotAllowed { .. }), "{error}");
    assert!(error.to_string().contains("CREATE"), "{error}");
    runtime().block_on(async {
        let mut db = database.connect().await;
        let url: url::Url = database.url("").parse().unwrap();
        let name = url.path().trim_start_matches('/').to_owned();
        // A role that owns a database needs no superuser: the extensions are trusted.
        sqlx::query(AssertSqlSafe(format!("ALTER DATABASE {name} OWNER TO {role}")))
            .execute(&mut db)
            .await
            .unwrap();
        db.close().await.unwrap();
        let config = PostgresConfig::from_url(&of_plain_role(&database)).unwrap();
        PostgresStorage::open(config).await.unwrap().close().await;
        let mut db = database.connect().await;
        sqlx::query(AssertSqlSafe(format!("ALTER DATABASE {name} OWNER TO CURRENT_USER")))
            .execute(&mut db)
            .await
            .unwrap();
        sqlx::query(AssertSqlSafe(format!("DROP OWNED BY {role} CASCADE"))).execute(&mut db).await.unwrap();
        sqlx::query(AssertSqlSafe(format!("DROP ROLE {role}"))).execute(&mut db).await.unwrap();
        db.close().await.unwrap();
    });
}

#[test]
fn a_server_that_takes_no_writes() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = database.connect().await;
        let url: url::Url = database.url("").parse().unwrap();
        let name = url.path().trim_start_matches('/').to_owned();
        sqlx::query(AssertSqlSafe(format!("ALTER DATABASE {name} SET default_transaction_read_only = on")))
            .execute(&mut db)
            .await
            .unwrap();
        db.close().await.unwrap();
    });
    let error = refused(&database.url(""));
    assert!(matches!(error, OpenError::ReadOnly { .. }), "{error}");
}

#[test]
fn a_database_of_another_encoding() {
    let database = Database::new();
    let name = format!("latin_{}", std::process::id());
    runtime().block_on(async {
        let mut db = database.connect().await;
        sqlx::query(AssertSqlSafe(format!(
            "CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
        )))
        .execute(&mut db)
        .await
        .unwrap();
        db.close().await.unwrap();
    });
    let error = refused(&format!("postgres://postgres@{}/{name}", server(&database)));
    assert!(matches!(&error, OpenError::Encoding { found, .. } if found == "LATIN1"), "{error}");
    runtime().block_on(async {
        let mut db = database.connect().await;
        sqlx::query(AssertSqlSafe(format!("DROP DATABASE {name}"))).execute(&mut db).await.unwrap();
        db.close().await.unwrap();
    });
}

#[test]
fn of_several_hosts_the_first_that_can_write_is_used() {
    let mut standby = Server::with_settings(&["default_transaction_read_only=on"]);
    let mut primary = Server::start();
    let address =
        |server: &Server| server.url().rsplit_once('@').unwrap().1.split('/').next().unwrap().to_owned();
    let hosts = format!("127.0.0.1:1,{},{}", address(&standby), address(&primary));
    let url =
        format!("postgres://postgres@{hosts}/postgres?connect_timeout=2&target_session_attrs=read-write");
    let (runtime, config) = (runtime(), PostgresConfig::from_url(&url).unwrap());
    let store = runtime.block_on(PostgresStorage::open(config)).unwrap();
    runtime.block_on(async {
        insert_agent(&store, &agent_id("a")).await;
        // The primary ends, and the standby does not take over.
        primary.kill();
        standby.stop();
    });
    drop(standby);
    primary.start_again();
    let found = (0..10).find_map(|_| runtime.block_on(store.agent(&agent_id("a"))).ok());
    assert!(found.is_some_and(|agent| agent.is_some()));
    runtime.block_on(store.close());

    // Without one that can write, the first error counts.
    let reader = Server::with_settings(&["default_transaction_read_only=on"]);
    let error =
        refused(&format!("postgres://postgres@127.0.0.1:1,{}/postgres?connect_timeout=2", address(&reader)));
    assert!(error.to_string().contains("127.0.0.1:1,"), "{error}");
}
