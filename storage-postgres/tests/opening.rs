//! The errors for an operator when a database cannot be used.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use sqlx::{AssertSqlSafe, Connection};
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
