//! Every statement finds its rows by an index: by PostgreSQL's own counters it reads, in tables and in indexes, at most
//! a few times the returned rows, however much is stored, with plans for its values and with generic plans.

use openapi_core::contacts::SearchTerm;
use openapi_core::storage::{
    AuditQuery, ContactFilter, ContactQuery, ContactSort, FileQuery, FileSort, LatestQuery, LedgerQuery,
    Order, SortKey, SortPosition, SubmissionFilter, SubmissionPosition, SubmissionQuery, TemplateQuery,
    Window,
};
use openapi_core::values::{
    AgentId, ContactId, ContactStatus, FileId, PlatformId, SubmissionId, TemplateId, Timestamp,
};
use sqlx::{Arguments, AssertSqlSafe, Connection, PgConnection, Row};
use storage_common::transfer::{TransferKey, TransferKind};

use super::support::{Database, runtime};
use crate::connect::{fetch, single};
use crate::contacts::list;
use crate::contacts::loader::{by_external_ids, by_ids};
use crate::purge::removal;
use crate::rows::Statement;
use crate::transfer::read;
use crate::{audit, credits, documents, files, forms};
use storage_common::fixtures::agent_id;

/// The number of the large agent's contacts. Each of 400 other agents has ten, so a generic plan assumes that an agent
/// has few.
pub(super) const MANY: i64 = 6_000;

/// The agents: `big` has many contacts, submissions and entries, all others have few.
const AGENTS: &str = "
INSERT INTO agent SELECT 'agent-' || n, 0, 1, 'n', n, n FROM generate_series(1, 400) n;
INSERT INTO agent VALUES ('big', 0, 1, 'n', 0, 0);
CREATE TEMPORARY TABLE of (agent text, n bigint);
INSERT INTO of SELECT 'agent-' || a, n FROM generate_series(1, 400) a, generate_series(1, 10) n;
INSERT INTO of SELECT 'big', n FROM generate_series(1, 6000) n;
";

/// An agent without statistics in PostgreSQL when lists are requested.
const LATE: &str = "
INSERT INTO agent VALUES ('late', 0, 1, 'n', 0, 0);
TRUNCATE of;
INSERT INTO of SELECT 'late', n FROM generate_series(1, 6000) n;
";

/// The rows of the agents.
pub(super) const ROWS: &str = "
INSERT INTO contact (agent, id, archived, status, created_at, updated_at, version, first_name_key, last_name_key,
    primary_email_key, primary_email, tags, source, external_reference_id)
SELECT agent, decode(lpad(to_hex(n), 24, '0'), 'hex'), CASE WHEN n % 20 = 0 THEN 1 ELSE 0 END,
    CASE WHEN n % 500 = 7 THEN 2 WHEN n % 10 = 0 THEN 1 ELSE 0 END, n * 1000, n * 1000, 1,
    CASE WHEN n % 3 = 0 THEN NULL ELSE 'f' || n % 100 END, CASE WHEN n % 500 = 0 THEN NULL ELSE 'l' || n % 900 END,
    'e' || n || '@example.com', 'e' || n || '@example.com', NULL, 'api', 'x' || n FROM of;
INSERT INTO contact_search SELECT of.agent, id, archived, status,
    first_name_key || E'\\n' || last_name_key || E'\\n' || primary_email_key || E'\\n', '44207946' || (n % 10000)
    FROM of JOIN contact c ON c.agent = of.agent AND c.id = decode(lpad(to_hex(n), 24, '0'), 'hex')
    WHERE first_name_key IS NOT NULL AND last_name_key IS NOT NULL;
INSERT INTO contact_count SELECT agent, archived, status, count(*) FROM contact WHERE agent IN (SELECT agent FROM of) GROUP BY 1, 2, 3;
INSERT INTO contact_tag SELECT agent, 'vip', archived, status, created_at, id FROM contact WHERE agent IN (SELECT agent FROM of);
INSERT INTO tag_count SELECT agent, tag, archived, status, count(*) FROM contact_tag WHERE agent IN (SELECT agent FROM of)
    GROUP BY 1, 2, 3, 4;
INSERT INTO audit SELECT agent, n, decode(lpad(to_hex(n), 24, '0'), 'hex'), NULL, NULL, NULL, 'contact.create', '\"x\"',
    NULL, NULL, '{\"a\":1}' FROM of;
INSERT INTO form_template SELECT agent, decode(lpad(to_hex(n), 24, '0'), 'hex'), 't' || n, 1, 1, 1, 0, NULL, n, n
    FROM of WHERE n < 10;
INSERT INTO form_template_version SELECT agent, id, 1, 'n', NULL, 0, '[]' FROM form_template WHERE agent IN (SELECT agent FROM of);
INSERT INTO form_submission (agent, id, contact, template, status, superseded_by, submitted_at, created_at, updated_at,
    version, template_version, revision, template_name, source, created_by)
SELECT agent, decode(lpad(to_hex(n), 24, '0'), 'hex'), decode(lpad(to_hex(n % 20), 24, '0'), 'hex'),
    decode(lpad(to_hex(n % 3), 24, '0'), 'hex'), 1, CASE WHEN n < 5990 THEN '\\x00'::bytea END, n, n, n, 1, 1, 1, 'n',
    'api', '\"x\"' FROM of;
INSERT INTO file SELECT agent, decode(lpad(to_hex(n), 24, '0'), 'hex'), decode(lpad(to_hex(n % 500), 24, '0'), 'hex'),
    'f', 'f', n, 'image/png', '\\x00', 'api', '\"x\"', n, n FROM of;
INSERT INTO document SELECT agent, decode(lpad(to_hex(n), 24, '0'), 'hex'), n, '{}' FROM of;
INSERT INTO credit_entry SELECT agent, n, decode(lpad(to_hex(n), 24, '0'), 'hex'), '{}' FROM of;
INSERT INTO credit_account SELECT agent, 1, '{}' FROM of WHERE n = 1;
INSERT INTO conversation SELECT agent, decode(lpad(to_hex(n), 24, '0'), 'hex'), 1, CASE WHEN n % 40 = 0 THEN 0 ELSE 1 END,
    CASE WHEN n % 100 = 0 THEN 1 ELSE 0 END,
    CASE WHEN n % 2 = 0 THEN decode(lpad(to_hex(n % 500), 24, '0'), 'hex') END, n * 1000, n * 1000, '{}' FROM of;
INSERT INTO message SELECT agent, decode(lpad(to_hex(n % 20), 24, '0'), 'hex'), n, decode(lpad(to_hex(n), 24, '0'), 'hex'),
    CASE WHEN n % 3 > 0 THEN 't' || n / 3 END, '{}' FROM of;
INSERT INTO knowledge SELECT agent, decode(lpad(to_hex(n), 24, '0'), 'hex'), '{}' FROM of WHERE n <= 10;
INSERT INTO passage SELECT agent, decode(lpad(to_hex(n % 3), 24, '0'), 'hex'), n, '{}' FROM of;
INSERT INTO record SELECT agent, n, '', 1, NULL, NULL, NULL, '{}' FROM of WHERE n <= 3;
INSERT INTO record SELECT agent, 5, decode(lpad(to_hex(n), 24, '0'), 'hex'), 1,
    CASE WHEN n % 2 = 0 THEN decode('01' || lpad(to_hex(n % 500), 24, '0'), 'hex') END, sha256(n::text::bytea),
    CASE WHEN n % 3 = 0 THEN n END, '{}' FROM of;
INSERT INTO log SELECT agent, n, n, decode(lpad(to_hex(n), 24, '0'), 'hex'), 1,
    CASE WHEN n % 2 = 0 THEN decode(lpad(to_hex(n % 500), 24, '0'), 'hex') END, '{}' FROM of;
INSERT INTO job SELECT agent, decode(lpad(to_hex(n), 24, '0'), 'hex'), 1,
    CASE WHEN n % 100 = 1 THEN 2 WHEN n % 10 < 3 THEN 0 WHEN n % 10 = 3 THEN 1 WHEN n % 100 = 9 THEN 6 ELSE 3 + n % 3 END,
    1, n * 1000, CASE WHEN n % 100 <> 1 AND n % 10 >= 3 THEN n END, CASE WHEN n % 100 = 1 THEN '\\x01'::bytea END,
    CASE WHEN n % 100 = 1 THEN n END, 0, 0, CASE WHEN n % 2 = 0 THEN 'b' || n / 40 END,
    CASE WHEN n % 5 = 0 THEN 'c' || n / 100 END,
    CASE WHEN n % 2 = 0 THEN decode('01' || lpad(to_hex(n % 500), 24, '0'), 'hex') END, 0, 0, n, NULL, '{}', NULL FROM of;
INSERT INTO log_erased SELECT agent, decode(lpad(to_hex(n), 24, '0'), 'hex'), 3000, 0 FROM of WHERE n % 7 = 0;
";

pub(super) async fn filled(database: &Database) -> PgConnection {
    database.open().await.close().await;
    // Filling tables needs the planner's defaults.
    let mut filling = database.connect().await;
    for sql in
        ["SET search_path = openapi", AGENTS, ROWS, "VACUUM ANALYZE", LATE, ROWS, "VACUUM contact_search"]
    {
        sqlx::raw_sql(sql).execute(&mut filling).await.unwrap();
    }
    filling.close().await.unwrap();
    single(&database.config()).await.unwrap().0
}

/// How many rows and entries of indexes a statement reads, and how many rows it returns.
async fn reads(db: &mut PgConnection, statement: &Statement) -> (i64, usize) {
    // Reports what the connection has counted so far, so that only the statement is counted.
    const READ: &str = "SELECT coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid)), 0)::bigint FROM pg_class c \
                        JOIN pg_namespace n ON n.oid = c.relnamespace \
                        WHERE n.nspname = 'openapi' AND c.relkind IN ('r', 'i')";
    let mut transaction = db.begin().await.unwrap();
    let before: i64 = sqlx::query(READ).fetch_one(&mut *transaction).await.unwrap().get(0);
    let rows = fetch(&mut transaction, statement.clone()).await.unwrap();
    let read: i64 = sqlx::query(READ).fetch_one(&mut *transaction).await.unwrap().get(0);
    transaction.rollback().await.unwrap();
    (read - before, rows.len())
}

/// The plan of a statement, generic or for its values.
async fn explain(db: &mut PgConnection, statement: &Statement) -> Vec<String> {
    let mut db = db.begin().await.unwrap();
    let prepare = format!("DEALLOCATE ALL; PREPARE held AS {}", statement.sql);
    sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut *db).await.unwrap();
    let values = vec!["NULL"; statement.values.len()].join(", ");
    let rows =
        sqlx::raw_sql(AssertSqlSafe(format!("EXPLAIN EXECUTE held ({values})"))).fetch_all(&mut *db).await;
    rows.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Fails when a statement reads more than `at_most`.
pub(super) async fn hold(db: &mut PgConnection, statement: &Statement, at_most: i64) -> usize {
    let mut returned = 0;
    for mode in ["force_custom_plan", "force_generic_plan"] {
        sqlx::query(AssertSqlSafe(format!("SET plan_cache_mode = {mode}"))).execute(&mut *db).await.unwrap();
        let (read, rows) = reads(db, statement).await;
        if read > at_most {
            let plan = explain(db, statement).await;
            panic!("{read} > {at_most} read under {mode}:\n{}\n{}", statement.sql, plan.join("\n"));
        }
        returned = rows;
        if !statement.is_persistent {
            break;
        }
    }
    returned
}

pub(super) fn id(number: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub(super) fn big() -> AgentId {
    agent_id("big")
}

fn views() -> [ContactFilter; 4] {
    let all = ContactFilter::default;
    [
        all(),
        ContactFilter { include_archived: true, ..all() },
        ContactFilter { status: Some(ContactStatus::Blocked), ..all() },
        ContactFilter { status: Some(ContactStatus::Active), include_archived: true, ..all() },
    ]
}

#[test]
fn lists_walk_along_their_index() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        let mut held = 0;
        for sort in ContactSort::ALL {
            let middle = match sort {
                ContactSort::CreatedAt | ContactSort::UpdatedAt => {
                    vec![SortKey::Time(Timestamp::from_millis(MANY / 2 * 1_000))]
                }
                ContactSort::FirstName => vec![SortKey::Text(Some("f5".into())), SortKey::Text(None)],
                ContactSort::LastName => vec![SortKey::Text(Some("l5".into())), SortKey::Text(None)],
                ContactSort::PrimaryEmail => vec![SortKey::Text(Some("e5".into()))],
            };
            let position = |key| SortPosition { key, id: ContactId::from_bytes(id(MANY as u64 / 2)) };
            let mut windows =
                vec![Window::Page { offset: 0, limit: 20 }, Window::Page { offset: 7, limit: 5 }];
            windows
                .extend(middle.into_iter().map(|key| Window::After { position: position(key), limit: 20 }));
            for order in [Order::Ascending, Order::Descending] {
                for filter in views() {
                    let mut filters = vec![filter.clone()];
                    if sort == ContactSort::CreatedAt {
                        filters.push(ContactFilter { tag: Some("vip".to_owned()), ..filter.clone() });
                    }
                    for filter in filters {
                        for (agent, window) in [big(), agent_id("late")]
                            .iter()
                            .flat_map(|agent| windows.iter().map(move |window| (agent, window)))
                        {
                            let query =
                                ContactQuery { filter: filter.clone(), sort, order, window: window.clone() };
                            let statement = list::page(agent, &query).unwrap();
                            // At most a page of each of twelve ranges; the contacts by key; the counters.
                            hold(&mut db, &statement, 12 * 20 + 30).await;
                            held += 1;
                        }
                    }
                }
            }
        }
        assert!(held > 150, "{held}");
        db.close().await.unwrap();
    });
}

#[test]
fn other_lists_read_what_matches_and_little_else() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        let page = |filter| ContactQuery {
            filter,
            sort: ContactSort::LastName,
            order: Order::Descending,
            window: Window::Page { offset: 0, limit: 20 },
        };
        let search =
            |text: &str| ContactFilter { search: SearchTerm::split(text), ..ContactFilter::default() };
        for (filter, at_most, rows) in [
            (search("e4711@example"), 60, 1),
            (search("e4711@ nobody"), 40, 1),
            (search("2079464711"), 60, 1),
            (
                ContactFilter {
                    primary_email: Some("e4711@example.com".to_owned()),
                    ..ContactFilter::default()
                },
                20,
                1,
            ),
            (
                ContactFilter {
                    created_since: Some(Timestamp::from_millis((MANY - 30) * 1_000)),
                    ..ContactFilter::default()
                },
                220,
                20,
            ),
        ] {
            let query = page(filter.clone());
            let statement = list::page(&big(), &query).unwrap();
            let returned = hold(&mut db, &statement, at_most).await;
            assert_eq!(returned, rows, "{filter:?}");
        }
        db.close().await.unwrap();
    });
}

#[test]
fn single_records_are_found_by_key() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        let contact = ContactId::from_bytes(id(4_711));
        let external = |n: u32| (big(), format!("x{n}").parse().unwrap());
        let several: Vec<_> = (0..64).map(|n| (big(), ContactId::from_bytes(id(100 * n + 1)))).collect();
        let named: Vec<_> = (0..64).map(|n| external(100 * n + 1)).collect();
        for (statement, rows) in [
            (by_ids(&[(big(), contact)]).unwrap(), 1),
            (by_external_ids(&[(big(), "absent".parse().unwrap())]).unwrap(), 0),
            (
                forms::read::head(&big(), ContactId::from_bytes(id(12)), TemplateId::from_bytes(id(1)))
                    .unwrap(),
                1,
            ),
        ] {
            assert_eq!(hold(&mut db, &statement, 6).await, rows, "{}", statement.sql);
        }
        for (statement, rows) in [(by_ids(&several).unwrap(), 60), (by_external_ids(&named).unwrap(), 60)] {
            assert_eq!(hold(&mut db, &statement, 64 * 6).await, rows, "many together");
        }
        let latest = LatestQuery {
            contact: ContactId::from_bytes(id(12)),
            template: TemplateId::from_bytes(id(1)),
            include_drafts: true,
        };
        hold(&mut db, &forms::read::latest(&big(), &latest).unwrap(), 12).await;
        db.close().await.unwrap();
    });
}

#[test]
fn files_forms_and_entries_walk_along_their_index() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        let first = || Window::Page { offset: 0, limit: 20 };
        let contact = ContactId::from_bytes(id(3));
        for sort in FileSort::ALL {
            let query = FileQuery { contact, sort, order: Order::Descending, window: first() };
            // All 12 files of the contact are counted.
            hold(&mut db, &files::page(&big(), &query).unwrap(), 60).await;
        }
        for after in [
            None,
            Some((Timestamp::from_millis(3_000), openapi_core::values::AuditId::from_bytes(id(3_000)))),
        ] {
            for (agent, newest_first) in
                [(None, true), (None, false), (Some(big()), true), (Some(big()), false)]
            {
                let query = AuditQuery { agent, after, newest_first, limit: 20 };
                assert_eq!(hold(&mut db, &audit::entries(&query).unwrap(), 60).await, 20);
            }
        }
        for agent in [big(), agent_id("late"), agent_id("agent-7")] {
            for before in [None, Some((Timestamp::from_millis(3_000), PlatformId::from_bytes(id(3_000))))] {
                let query = LedgerQuery { agent: agent.clone(), before, limit: 20 };
                hold(&mut db, &credits::entries(&query).unwrap(), 60).await;
            }
            for after in [None, Some(FileId::from_bytes(id(3_000)))] {
                hold(&mut db, &documents::list(&agent, after, 20).unwrap(), 60).await;
            }
        }
        let templates = TemplateQuery { only_active: true, window: Window::Page { offset: 0, limit: 20 } };
        hold(&mut db, &forms::templates::page(&big(), &templates).unwrap(), 60).await;
        let position = SubmissionPosition {
            created_at: Timestamp::from_millis(3_000),
            id: SubmissionId::from_bytes(id(3_000)),
        };
        for window in [Window::Page { offset: 0, limit: 20 }, Window::After { position, limit: 20 }] {
            let filter = SubmissionFilter {
                contact: Some(contact),
                include_superseded: true,
                ..SubmissionFilter::default()
            };
            let query = SubmissionQuery { filter, window };
            // All 300 submissions of the contact are counted.
            hold(&mut db, &forms::read::page(&big(), &query).unwrap(), 480).await;
        }
        db.close().await.unwrap();
    });
}

#[test]
fn a_portion_of_a_tenant_is_removed_by_key() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        for agent in [big(), agent_id("late")] {
            // The other tables are small.
            for kind in [
                TransferKind::CreditEntry,
                TransferKind::Message,
                TransferKind::Conversation,
                TransferKind::Passage,
                TransferKind::Record,
                TransferKind::Log,
                TransferKind::Job,
            ] {
                // Each row with its index entries, twice.
                hold(&mut db, &removal(&agent, kind, 20).unwrap(), 20 * 6 + 10).await;
            }
        }
        db.close().await.unwrap();
    });
}

#[test]
fn records_are_moved_along_their_key() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        let middle = id(2_000);
        for agent in [big(), agent_id("late"), agent_id("agent-7")] {
            for kind in TransferKind::ALL {
                let after = match kind {
                    TransferKind::ContactSchema | TransferKind::Log => TransferKey::of_number(2_000),
                    TransferKind::TemplateVersion | TransferKind::Revision => {
                        TransferKey::of_version(&middle, 1)
                    }
                    TransferKind::Passage | TransferKind::Message => TransferKey::of_version(&id(1), 2_000),
                    TransferKind::CreditAccount => TransferKey::of_number(0),
                    TransferKind::Record => TransferKey::of_named(5, &middle),
                    TransferKind::CreditEntry | TransferKind::Audit => {
                        TransferKey::of_time(Timestamp::from_millis(2_000), &middle)
                    }
                    _ => TransferKey(middle.to_vec()),
                };
                for after in [None, Some(&after)] {
                    // A row with its index entry, the joined rows, and the agent.
                    hold(&mut db, &read::after(&agent, kind, after, 20).unwrap(), 20 * 4 + 4).await;
                }
                hold(&mut db, &read::last(&agent, kind).unwrap(), 6).await;
            }
        }
        hold(&mut db, &read::agents_after(Some(&big()), 20).unwrap(), 45).await;
        db.close().await.unwrap();
    });
}
