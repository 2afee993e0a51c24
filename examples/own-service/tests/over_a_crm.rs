//! An existing CRM with the Open API over it: both write, and each sees the other's changes.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::Full;
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, IssuedKey, NewAgent, NewKey};
use openapi_core::api::Api;
use openapi_core::json::{Json, parse};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{FixedClock, SequentialIds};
use openapi_core::server_keys::ServerKeys;
use openapi_core::service_info::ServiceInfo;
use pollster::block_on;
use rusqlite::Connection;
use storage_memory::MemoryStorage;

const MORNING: i64 = 1_769_850_000_000;

/// The CRM with its own connection, and the API over it with keys for two tenants.
struct Host {
    crm: Connection,
    api: Api,
    clock: Arc<FixedClock>,
    acme: IssuedKey,
    globex: IssuedKey,
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Json,
}

impl Reply {
    /// A member of the body, by its path.
    fn at(&self, path: &str) -> Json {
        let member = |json: Json, name: &str| match json {
            Json::Object(members) => members.get(name).cloned().unwrap_or(Json::Null),
            Json::Array(items) => {
                items.get(name.parse::<usize>().expect("an index")).cloned().unwrap_or(Json::Null)
            }
            _ => Json::Null,
        };
        path.split('.').fold(self.body.clone(), member)
    }

    fn text(&self, path: &str) -> String {
        self.at(path).as_str().unwrap_or_else(|| panic!("{path}: {:?}", self.body)).to_owned()
    }

    fn etag(&self) -> String {
        self.headers["ETag"].to_str().expect("text").to_owned()
    }
}

impl Host {
    /// `name` separates the files of concurrent tests.
    fn new(name: &str) -> Host {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.db"));
        let _ = std::fs::remove_file(&file);
        let crm = Connection::open(&file).expect("a host of a test");
        crm.execute_batch(own_service::CRM).expect("a host of a test");
        crm.execute_batch(&format!(
            "INSERT INTO customers VALUES \
             (1, 'acme', 'C-1', 'Zoë', 'Okafor', 'zoe@example.com', '+44 20 7946 0958', {MORNING}, {MORNING}), \
             (2, 'acme', 'C-2', NULL, 'Silent', NULL, NULL, {MORNING}, {MORNING}), \
             (3, 'globex', 'C-1', 'Hank', 'Scorpio', 'hank@globex.example', NULL, {MORNING}, {MORNING});"
        ))
        .expect("a host of a test");
        let clock = Arc::new(FixedClock::at(openapi_core::values::Timestamp::from_millis(MORNING + 60_000)));
        let ids = Arc::new(SequentialIds::default());
        let keys = ServerKeys::generate(&*ids);
        let service_info = ServiceInfo::new("https://crm.example").expect("a host of a test");
        let ports = Ports::new(clock.clone(), ids, keys);
        let platform = Arc::new(Platform::new(Arc::new(MemoryStorage::new()), ports, service_info));
        let issue = |tenant: &str| {
            let by = Actor::Operator("test".to_owned());
            let agent =
                NewAgent { id: tenant.parse().ok(), name: "Tenant".parse().expect("a host of a test") };
            let agent = block_on(platform.create_agent(&by, agent)).expect("a host of a test");
            let key = NewKey::new(
                agent.id,
                "Test".parse().expect("a host of a test"),
                "all".parse().expect("a host of a test"),
            );
            block_on(platform.create_key(&by, key)).expect("a host of a test")
        };
        let (acme, globex) = (issue("acme"), issue("globex"));
        let api =
            own_service::api(Connection::open(&file).expect("a host of a test"), clock.clone(), &platform)
                .expect("a host of a test");
        Host { crm, api, clock, acme, globex }
    }

    fn call_as(&self, key: &IssuedKey, request: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let (method, path) = request.split_once(' ').expect("a host of a test");
        let mut builder = Request::builder()
            .method(method)
            .uri(format!("/v1/open{path}"))
            .header("X-API-Key", key.key.api_key.as_str())
            .header("X-API-Secret", key.secret.expose());
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let request = builder.body(Full::new(Bytes::from(body.to_owned()))).expect("a host of a test");
        let (head, body) = block_on(self.api.handle(request)).into_parts();
        let body = parse(body.as_bytes().expect("a host of a test")).unwrap_or(Json::Null);
        Reply { status: head.status.as_u16(), headers: head.headers, body }
    }

    fn call(&self, request: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.call_as(&self.acme, request, headers, body)
    }

    /// A text value from the CRM.
    fn sql(&self, query: &str) -> String {
        self.crm.query_row(query, [], |row| row.get(0)).expect("a host of a test")
    }
}

#[test]
fn existing_customers_are_contacts() {
    let host = Host::new("there");
    let list = host.call("GET /contacts/chatbots/acme", &[], "");
    // A customer without an address is not a contact.
    assert_eq!((list.status, list.at("pagination.totalItems")), (200, Json::from(1_u64)));
    assert_eq!(list.text("data.0.lastName"), "Okafor");
    let by_number = host.call("GET /contacts/C-1/chatbots/acme", &[], "");
    let id = by_number.text("data.id");
    let by_id = host.call(&format!("GET /contacts/platformid/{id}/chatbots/acme"), &[], "");
    assert_eq!((by_id.status, by_id.body), (200, by_number.body));
    let forged = format!("{:08x}{}", 1, &id[8..]);
    assert_eq!(host.call(&format!("GET /contacts/platformid/{forged}/chatbots/acme"), &[], "").status, 404);
    let found = host.call("GET /contacts/chatbots/acme?search=zoe%2079460958", &[], "");
    assert_eq!(found.at("pagination.totalItems"), Json::from(1_u64));
    assert_eq!(host.call("GET /health", &[], "").status, 200);
}

#[test]
fn a_created_contact_is_a_complete_customer() {
    let host = Host::new("created");
    let fields = r#"{"externalReferenceId":"C-9","primaryEmail":"kai@example.com","firstName":"Kai","tags":["vip"],"customFields":{"size":7}}"#;
    let preview = host.call("POST /contacts/chatbots/acme?dryRun=true", &[], fields);
    assert_eq!((preview.status, preview.at("data.id")), (200, Json::Null));
    let created = host.call("POST /contacts/chatbots/acme", &[], fields);
    assert_eq!(created.status, 201, "{:?}", created.body);
    assert_eq!(
        host.sql("SELECT given_name || ' ' || mail FROM customers WHERE number = 'C-9'"),
        "Kai kai@example.com"
    );
    let read = host.call("GET /contacts/C-9/chatbots/acme", &[], "");
    assert_eq!(read.at("data"), created.at("data"));
    assert_eq!(
        (read.text("data.tags.0"), read.at("data.customFields.size")),
        ("vip".to_owned(), Json::from(7_u64))
    );
    let again = host.call("POST /contacts/chatbots/acme", &[], fields);
    assert_eq!((again.status, again.text("code")), (409, "DUPLICATE_EXTERNAL_REFERENCE_ID".to_owned()));
    assert_eq!(again.at("details.existingContactId"), created.at("data.id"));
    // The number of a customer that is not a contact is taken too.
    let silent = r#"{"externalReferenceId":"C-2","primaryEmail":"kai@example.com"}"#;
    assert_eq!(host.call("POST /contacts/chatbots/acme", &[], silent).status, 409);
    assert_eq!(host.call("POST /contacts/chatbots/acme", &[], "{}").status, 400);
    assert_eq!(host.sql("SELECT count(*) || '' FROM customers"), "4");
}

#[test]
fn each_side_sees_the_others_writes() {
    let host = Host::new("both");
    let before = host.call("GET /contacts/C-1/chatbots/acme", &[], "");
    host.clock.advance_millis(1_000);
    let tagged = host.call(
        "PUT /contacts/C-1/chatbots/acme",
        &[("If-Match", &before.etag())],
        r#"{"tags":["vip"],"lastName":"Adeyemi"}"#,
    );
    assert_eq!(tagged.status, 200, "{:?}", tagged.body);
    assert_eq!(host.sql("SELECT family_name FROM customers WHERE id = 1"), "Adeyemi");
    host.crm
        .execute(
            "UPDATE customers SET mail = 'new@example.com', changed = ?1 WHERE id = 1",
            [MORNING + 90_000],
        )
        .unwrap();
    let after = host.call("GET /contacts/C-1/chatbots/acme", &[], "");
    assert_eq!(
        (after.text("data.primaryEmail"), after.text("data.tags.0")),
        ("new@example.com".to_owned(), "vip".to_owned())
    );
    // An earlier reader must not overwrite the CRM's change.
    let stale = host.call("PUT /contacts/C-1/chatbots/acme", &[("If-Match", &tagged.etag())], "{}");
    assert_eq!((stale.status, stale.text("code")), (412, "PRECONDITION_FAILED".to_owned()));
    assert_eq!(host.call("PATCH /contacts/C-1/chatbots/acme/archive", &[], "").status, 200);
    assert_eq!(host.call("PUT /contacts/C-1/chatbots/acme", &[], r#"{"firstName":"Z"}"#).status, 409);
    assert_eq!(
        host.call("GET /contacts/chatbots/acme", &[], "").at("pagination.totalItems"),
        Json::from(0_u64)
    );
    assert_eq!(host.call("PATCH /contacts/C-1/chatbots/acme/unarchive", &[], "").status, 200);
    // The CRM deletes a customer, leaves the API's record, and reuses the number.
    host.crm.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM customers WHERE id = 1").unwrap();
    assert_eq!(host.call("GET /contacts/C-1/chatbots/acme", &[], "").status, 404);
    let new =
        "INSERT INTO customers VALUES (1, 'globex', 'C-7', NULL, NULL, 'ada@example.com', NULL, ?1, ?1)";
    host.crm.execute(new, [MORNING + 100_000]).unwrap();
    let other = host.call_as(&host.globex, "GET /contacts/C-7/chatbots/globex", &[], "");
    assert_eq!((other.status, other.at("data.tags")), (200, Json::Array(Vec::new())), "{:?}", other.body);
}

#[test]
fn a_repeated_request_creates_nothing_more() {
    let host = Host::new("again");
    let fields = r#"{"primaryEmail":"kai@example.com"}"#;
    let key = [("Idempotency-Key", "order-4711")];
    let first = host.call("POST /contacts/chatbots/acme", &key, fields);
    let again = host.call("POST /contacts/chatbots/acme", &key, fields);
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!((&again.body, &again.headers["Location"]), (&first.body, &first.headers["Location"]));
    assert_eq!(again.headers["Idempotent-Replayed"], "true");
    let other = host.call("POST /contacts/chatbots/acme", &key, r#"{"primaryEmail":"other@example.com"}"#);
    assert_eq!((other.status, other.text("code")), (422, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    assert_eq!(host.sql("SELECT count(*) || '' FROM customers"), "4");
    host.clock.advance_millis(25 * 3_600_000);
    assert_eq!(host.call("POST /contacts/chatbots/acme", &key, fields).status, 201);
    assert_eq!(host.sql("SELECT count(*) || '' FROM customers"), "5");
}

#[test]
fn tenants_are_isolated() {
    let host = Host::new("tenants");
    let own = host.call("GET /contacts/C-1/chatbots/acme", &[], "");
    let id = own.text("data.id");
    let path = format!("/contacts/platformid/{id}/chatbots/globex");
    assert_eq!(host.call_as(&host.globex, &format!("GET {path}"), &[], "").status, 404);
    assert_eq!(
        host.call_as(&host.globex, &format!("PUT {path}"), &[], r#"{"firstName":"Mine"}"#).status,
        404
    );
    assert_eq!(host.call_as(&host.globex, "GET /contacts/C-1/chatbots/acme", &[], "").status, 403);
    let theirs = host.call_as(&host.globex, "GET /contacts/C-1/chatbots/globex", &[], "");
    assert_eq!(theirs.text("data.firstName"), "Hank");
    assert_eq!(host.call("GET /contacts/C-1/chatbots/acme", &[], "").body, own.body);
}

#[test]
fn unsupported_features_are_reported() {
    let host = Host::new("without");
    let files = host.call("GET /files/chatbots/acme/697dc2e60000000000000001", &[], "");
    assert_eq!((files.status, files.text("code")), (503, "STORAGE_UNAVAILABLE".to_owned()));
    assert_eq!(host.call("GET /contacts/chatbots/acme?cursor=x", &[], "").status, 400);
    assert_eq!(host.call("PUT /contacts/C-5/chatbots/acme?upsert=true", &[], "{}").status, 404);
    assert_eq!(host.call("GET /contacts/schema/chatbots/acme", &[], "").status, 200);
}
