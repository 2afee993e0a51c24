//! Each operation by each role: the table of roles is written here a second time, and by hand.

use console::{Access, Entry, OPERATIONS, Position};
use openapi_core::operation::Method;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use super::support::{Answer, Browser, SENSITIVE, World, call_as};
use super::tokens;

/// Capability, then one letter for each role (owner, admin, developer, agent editor, inbox, reviewer, viewer): `f` full,
/// `m` masked, `a` only with a grant on all agents, `-` none.
const TABLE: &str = "
    agents.read fffffff
    forms.read fffffff
    schema.read fffffff
    agents.manage fa-----
    credits.manage fa-----
    server.read fa-----
    inbox.read ffmmf-m
    inbox.reply ff--f--
    inbox.manage ff--f--
    contacts.write ff--f--
    files.write ff--f--
    contacts.read ffm-ffm
    sensitive.read ff--ff-
    contacts.bulk ff-----
    contacts.export ff-----
    contacts.erase ff-----
    inbox.erase ff-----
    documents.purge ff-----
    audit.read ff-----
    members.read ff-----
    members.manage ff-----
    tokens.manage ff-----
    submissions.read ff---fm
    submissions.review ff---f-
    documents.read ff---f-
    documents.correct ff---f-
    documents.run fff--f-
    studio.read ffff--f
    credits.read ffff--f
    insights.read fffff-f
    studio.write ff-f---
    studio.publish ff-f---
    studio.secret fff----
    templates.write fff----
    schema.write fff----
    keys.read fff----
    keys.manage fff----
    webhooks.read fff----
    webhooks.manage fff----
    signIn.manage f------
    server.manage f------
";

const ROLES: [&str; 7] = ["owner", "admin", "developer", "agent-editor", "inbox", "reviewer", "viewer"];

/// What the table says of a role.
fn cell(capability: &str, role: &str) -> char {
    let row = TABLE.lines().map(str::trim).find_map(|line| line.strip_prefix(capability)?.strip_prefix(' '));
    let at = ROLES.iter().position(|known| *known == role).unwrap();
    row.unwrap_or_else(|| panic!("{capability} has no row")).chars().nth(at).unwrap()
}

/// How far grants reach: none, `m` or `f`. `agent` is none for the installation.
fn reach(grants: &str, capability: &str, agent: Option<&str>) -> Option<char> {
    let cells = grants.split(',').filter_map(|grant| {
        let (role, of) = grant.split_once('@').map_or((grant, None), |(role, of)| (role, Some(of)));
        let covers = of.is_none() || agent.is_some() && of == agent;
        match cell(capability, role) {
            '-' => None,
            'a' => (of.is_none()).then_some('f'),
            cell => covers.then_some(cell),
        }
        .filter(|_| covers)
    });
    cells.min()
}

fn knows(grants: &str, agent: &str) -> bool {
    grants.split(',').any(|grant| grant.split_once('@').is_none_or(|(_, of)| of == agent))
}

/// A path and a body for an operation. Ids are those of nothing, so that nothing is changed for later calls.
pub fn request(entry: &Entry, agent: &str) -> (String, String, Value) {
    let mut path = entry.metadata.path.replace("{agent}", agent);
    let mut body = Map::new();
    for (position, name, required, schema) in (entry.members)() {
        match position {
            Position::Path => path = path.replace(&format!("{{{name}}}"), "0123456789abcdef01234567"),
            Position::Body if required => {
                body.insert(name.to_owned(), sample(name, &schema));
            }
            Position::Body | Position::Query | Position::Content => {}
        }
    }
    let body = if entry.metadata.method == Method::Get { Value::Null } else { Value::Object(body) };
    (entry.metadata.method.as_str().to_owned(), path, body)
}

fn sample(name: &str, schema: &Value) -> Value {
    match (name, schema["type"].as_str()) {
        ("primaryEmail" | "email", _) => json!("a@example.com"),
        // Owners who replace the schema of the contact with sensitive values leave it as it is.
        ("definition", _) => definition(),
        ("permissions", _) => json!(["contacts:read"]),
        (_, Some("object")) => json!({}),
        (_, Some("array")) => json!([]),
        (_, Some("integer")) => json!(1),
        _ => json!("some text"),
    }
}

fn capability(entry: &Entry) -> Option<(&'static str, bool)> {
    match entry.metadata.access {
        Access::Public | Access::SignedIn => None,
        Access::Agent(capability) => Some((capability.as_str(), true)),
        Access::Installation(capability) => Some((capability.as_str(), false)),
    }
}

/// Whether an answer refuses the caller, whatever the input.
fn is_refused(answer: &Answer) -> bool {
    matches!(answer.code(), "INSUFFICIENT_ROLE" | "UNAUTHENTICATED" | "SESSION_ENDED" | "STEP_UP_REQUIRED")
        || answer.code() == "NOT_FOUND" && answer.body["details"]["resource"] == "agent"
}

#[test]
fn the_table_is_that_of_the_code() {
    let rows = TABLE.lines().filter(|line| !line.trim().is_empty()).count();
    assert_eq!(rows, console::Capability::ALL.len());
    for capability in console::Capability::ALL {
        for role in console::Role::ALL {
            for on_all in [false, true] {
                let expected = match cell(capability.as_str(), role.as_str()) {
                    'f' => Some(console::Reach::Full),
                    'm' => Some(console::Reach::Masked),
                    'a' => on_all.then_some(console::Reach::Full),
                    _ => None,
                };
                assert_eq!(role.reach(*capability, on_all), expected, "{capability} {role:?}");
            }
        }
    }
}

#[test]
fn each_operation_by_each_role() {
    let world = World::hosted();
    let offered = || OPERATIONS.iter().filter(|entry| !entry.metadata.traits.of_accounts);
    assert!(offered().count() > 30);
    for entry in offered() {
        let name = entry.metadata.name;
        let (method, path, body) = request(entry, "acme");
        let nobody = Browser::default().call(&world, &method, &path, &body);
        if entry.metadata.access == Access::Public {
            assert_eq!(nobody.status, 200, "{name}");
            continue;
        }
        assert_eq!((nobody.status, nobody.code()), (401, "UNAUTHENTICATED"), "{name} by nobody");
        for role in ROLES {
            for grants in grants_of(role) {
                let answer = call_as(&world, &grants, &method, &path, &body);
                let Some((capability, is_of_agent)) = capability(entry) else {
                    assert!(!is_refused(&answer), "{name} by {grants}: {}", answer.text);
                    continue;
                };
                let agent = is_of_agent.then_some("acme");
                if is_of_agent && !knows(&grants, "acme") {
                    assert_eq!((answer.status, answer.code()), (404, "NOT_FOUND"), "{name} by {grants}");
                } else if reach(&grants, capability, agent).is_none() {
                    assert_eq!(
                        (answer.status, answer.code()),
                        (403, "INSUFFICIENT_ROLE"),
                        "{name} by {grants}"
                    );
                    assert_eq!(answer.body["details"]["capability"], capability);
                } else {
                    assert!(
                        !is_refused(&answer) || may_lack_more(name),
                        "{name} by {grants}: {}",
                        answer.text
                    );
                }
            }
        }
    }
}

/// The operations on accounts, each by an operator of the console's own with each role.
#[test]
fn each_operation_on_accounts_by_each_role() {
    let world = World::with_accounts().with_agents();
    let mut owner = world.owner();
    let offered = || OPERATIONS.iter().filter(|entry| entry.metadata.traits.of_accounts);
    let mut of_members = 0;
    for (nth, grants) in ROLES.into_iter().flat_map(grants_of).enumerate() {
        // So that the proof of identity of the owner is recent.
        world.clock.advance_millis(11 * 60_000);
        world.step_up(&mut owner, super::support::EMAIL).data();
        let mut browser = world.invited(&mut owner, &format!("op-{nth}@example.com"), &grants);
        for entry in offered().filter(|entry| entry.metadata.name != "session.end") {
            let name = entry.metadata.name;
            let (method, path, body) = request(entry, "acme");
            let mut call = browser.request(&method, &path, &body);
            call.headers_mut().insert("if-match", "*".parse().unwrap());
            world.clock.advance_millis(120);
            let answer = browser.send(&world, call.clone());
            let Some((capability, false)) = capability(entry) else {
                // A made-up answer of an authenticator proves nothing.
                let proves = (entry.members)().iter().any(|(_, member, ..)| *member == "credential");
                let is_open = entry.metadata.access == Access::Public || proves && answer.status == 401;
                assert!(is_open || !is_refused(&answer), "{name} by {grants}: {}", answer.text);
                continue;
            };
            of_members += 1;
            if reach(&grants, capability, None).is_none() {
                assert_eq!((answer.status, answer.code()), (403, "INSUFFICIENT_ROLE"), "{name} by {grants}");
                assert_eq!(answer.body["details"]["capability"], capability);
            } else {
                assert!(!is_refused(&answer), "{name} by {grants}: {}", answer.text);
            }
            call.headers_mut().remove("cookie");
            assert_eq!(world.send(call).code(), "UNAUTHENTICATED", "{name} by nobody");
        }
    }
    assert!(of_members >= 11 * 19, "{of_members}");
}

/// Whether no token may call an operation. Written a second time, and by hand.
fn is_for_people(name: &str) -> bool {
    let families = ["session.", "signIn.", "links.", "me.", "members.", "tokens.", "providers.", "setup."];
    families.iter().any(|family| name.starts_with(family))
}

/// Calls an operation with a service token, and compares the answer with the table.
fn check_token(world: &World, entry: &Entry, (grants, dangerous, token): (&str, &[&str], &str), agent: &str) {
    let name = entry.metadata.name;
    let (method, path, body) = request(entry, agent);
    // So that no test meets a limit.
    world.clock.advance_millis(110);
    let response = pollster::block_on(world.console.handle(tokens::request(token, &method, &path, &body)));
    if entry.metadata.traits.is_landing {
        assert_eq!(response.status(), 303, "{name} leads a browser to a page, with any caller");
        return;
    }
    if response.headers()["content-type"] == "text/event-stream" {
        return;
    }
    let answer = Answer::of(response);
    let what = format!("{name} by a token with {grants} on {agent}: {}", answer.text);
    let refused = (answer.status, answer.code());
    assert!(answer.status < 500, "{what}");
    if is_for_people(name) {
        assert_eq!(refused, (403, "INSUFFICIENT_ROLE"), "{what}");
        assert_eq!(answer.body["details"]["operation"], name, "{what}");
        return;
    }
    if let Some((capability, is_of_agent)) = capability(entry) {
        if is_of_agent && !knows(grants, agent) {
            assert_eq!(refused, (404, "NOT_FOUND"), "{what}");
            return;
        }
        if reach(grants, capability, is_of_agent.then_some(agent)).is_none() {
            assert_eq!(refused, (403, "INSUFFICIENT_ROLE"), "{what}");
            assert_eq!(answer.body["details"]["capability"], capability, "{what}");
            return;
        }
    }
    if entry.metadata.step_up && !dangerous.contains(&name) {
        assert_eq!(refused, (403, "INSUFFICIENT_ROLE"), "{what}");
        assert_eq!(answer.body["details"]["operation"], name, "{what}");
    } else if agent != "no-such-agent" {
        assert!(!is_refused(&answer) || may_lack_more(name), "{what}");
    }
}

/// The operations that a token with these grants may be made for.
fn dangerous_within(grants: &str) -> Vec<&'static str> {
    let asks = OPERATIONS.iter().filter(|it| it.metadata.step_up && !is_for_people(it.metadata.name));
    let within = asks.filter(|entry| {
        let agents = ["acme", "beta"].map(Some);
        capability(entry).is_some_and(|(capability, is_of_agent)| {
            let of: &[Option<&str>] = if is_of_agent { &agents } else { &[None] };
            of.iter().any(|agent| reach(grants, capability, *agent).is_some())
        })
    });
    within.map(|entry| entry.metadata.name).collect()
}

#[test]
fn each_operation_by_a_token_of_each_role() {
    let world = World::with_accounts().with_agents();
    let mut owner = world.owner();
    for grants in ROLES.into_iter().filter(|role| *role != "owner").flat_map(grants_of) {
        world.clock.advance_millis(11 * 60_000);
        world.step_up(&mut owner, super::support::EMAIL).data();
        for dangerous in [Vec::new(), dangerous_within(&grants)] {
            let (_, token) = tokens::token(&world, &mut owner, &[grants.as_str()], &dangerous);
            for entry in OPERATIONS {
                check_token(&world, entry, (&grants, &dangerous, &token), "acme");
            }
        }
    }
}

/// Random calls by tokens with random roles: the table and the names of each token decide.
#[test]
fn random_calls_of_tokens_stay_within_their_grants() {
    let count: usize =
        std::env::var("CONSOLE_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4_000);
    let world = World::with_accounts().with_agents();
    sensitive_contact(&world);
    let mut owner = world.owner();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let grant = (1..ROLES.len(), prop::sample::select(vec!["", "@acme", "@beta"]))
        .prop_map(|(role, of)| format!("{}{of}", ROLES[role]));
    let made = (prop::collection::vec(grant, 1..4), any::<u64>());
    let mut all = Vec::new();
    for _ in 0..40 {
        let (grants, mask) = made.new_tree(&mut runner).unwrap().current();
        let dangerous = dangerous_within(&grants.join(","));
        let dangerous: Vec<&str> =
            dangerous.into_iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|it| it.1).collect();
        let words: Vec<&str> = grants.iter().map(String::as_str).collect();
        let (_, token) = tokens::token(&world, &mut owner, &words, &dangerous);
        all.push((grants.join(","), dangerous, token));
    }
    let calls =
        (0..OPERATIONS.len(), 0..all.len(), prop::sample::select(vec!["acme", "beta", "no-such-agent"]));
    for _ in 0..count {
        let (at, of, agent) = calls.new_tree(&mut runner).unwrap().current();
        let (grants, dangerous, token) = &all[of];
        if OPERATIONS[at].metadata.name != "agents.create" {
            check_token(&world, &OPERATIONS[at], (grants, dangerous, token), agent);
        }
    }
}

/// On all agents, on the agent of the call, on another one.
fn grants_of(role: &str) -> Vec<String> {
    if role == "owner" {
        return vec![role.to_owned()];
    }
    vec![role.to_owned(), format!("{role}@acme"), format!("{role}@beta")]
}

/// Operations whose input needs further capabilities.
fn may_lack_more(name: &str) -> bool {
    matches!(name, "keys.create" | "keys.edit" | "keys.rotate" | "contacts.reveal" | "contacts.notes")
}

#[test]
fn old_proofs_do_not_count() {
    let world = World::hosted();
    for entry in
        OPERATIONS.iter().filter(|entry| entry.metadata.step_up && !entry.metadata.traits.of_accounts)
    {
        let (method, path, body) = request(entry, "acme");
        for authenticated_at in [
            None,
            Some(world.platform.now().plus_millis(-600_001)),
            Some(world.platform.now().plus_millis(60_000)),
        ] {
            let mut request = Browser::default().request(&method, &path, &body);
            let mut operator = console::Operator::new("u", "U", "owner".parse().unwrap());
            operator.authenticated_at = authenticated_at;
            request.extensions_mut().insert(operator);
            assert_eq!(world.send(request).code(), "STEP_UP_REQUIRED", "{}", entry.metadata.name);
        }
    }
}

/// An agent without a grant is answered like one that does not exist.
#[test]
fn nothing_tells_that_an_agent_exists() {
    let world = World::hosted();
    for entry in OPERATIONS.iter().filter(|entry| matches!(entry.metadata.access, Access::Agent(_))) {
        let answer = |agent: &str| {
            let (method, path, body) = request(entry, agent);
            let mut answer = call_as(&world, "admin@beta", &method, &path, &body);
            answer.body["requestId"] = Value::Null;
            answer.body["details"]["id"] = Value::Null;
            (answer.status, answer.body)
        };
        assert_eq!(answer("acme"), answer("no-such-agent"), "{}", entry.metadata.name);
    }
}

/// A contact schema with sensitive fields.
fn definition() -> Value {
    json!({
        "fields": [{ "name": "lastName", "sensitive": true }],
        "customFields": [{ "name": "note", "type": "text", "label": "Note", "sensitive": true }],
    })
}

/// A contact of `acme` with a sensitive value.
fn sensitive_contact(world: &World) -> String {
    use openapi_core::admin::Admin;
    let agent = world.agent();
    let by = super::support::by();
    let parse = |text: String| match openapi_core::json::parse(text.as_bytes()).unwrap() {
        openapi_core::json::Json::Object(object) => object,
        _ => unreachable!(),
    };
    let contact = json!({
        "primaryEmail": "c@example.com", "firstName": "Ada", "lastName": SENSITIVE, "customFields": { "note": SENSITIVE },
    });
    pollster::block_on(async {
        world.platform.replace_contact_schema(&by, &agent, &parse(definition().to_string())).await.unwrap();
        match world.platform.import_contact(&by, &agent, &parse(contact.to_string())).await.unwrap() {
            openapi_core::admin::Imported::Created(contact) => contact.id.to_string(),
            _ => unreachable!(),
        }
    })
}

#[test]
fn sensitive_values_are_shown_when_revealed_alone() {
    let world = World::hosted();
    let id = sensitive_contact(&world);
    for grants in ["owner", "admin@acme", "inbox@acme", "reviewer@acme", "viewer@acme", "developer@acme"] {
        for path in ["/agents/acme/contacts".to_owned(), format!("/agents/acme/contacts/{id}")] {
            let answer = call_as(&world, grants, "GET", &path, &Value::Null);
            let record = if answer.data().is_array() { &answer.data()[0] } else { answer.data() };
            assert_eq!(record["masked"], json!(["customFields.note", "lastName"]), "{grants}");
            assert_eq!((&record["lastName"], &record["firstName"]), (&Value::Null, &json!("Ada")));
            assert!(!answer.text.contains(SENSITIVE));
        }
        let path = format!("/agents/acme/contacts/{id}/reveal");
        let revealed = call_as(&world, grants, "POST", &path, &json!({}));
        let may = reach(grants, "sensitive.read", Some("acme")).is_some();
        assert_eq!(revealed.text.contains(SENSITIVE), may, "{grants}: {}", revealed.text);
        // Nor do filters and sorts tell them.
        let sorted = call_as(&world, grants, "GET", "/agents/acme/contacts?sortBy=lastName", &Value::Null);
        assert_eq!(sorted.status, if may { 200 } else { 403 }, "{grants}");
    }
    let log = call_as(&world, "owner", "GET", "/agents/acme/audit", &Value::Null);
    assert_eq!(log.text.matches("contact.reveal").count(), 4, "{}", log.text);
}

#[test]
fn a_key_gets_only_what_its_creator_may() {
    let world = World::hosted();
    let create = |grants: &str, permission: &str| {
        let body = json!({ "name": "Key", "permissions": [permission] });
        call_as(&world, grants, "POST", "/agents/acme/keys", &body)
    };
    for (grants, permission, capability) in [
        ("developer@acme", "contacts:read", "contacts.read"),
        ("developer@acme", "contacts:create", "contacts.write"),
        ("developer@acme", "forms:read", "submissions.read"),
        ("developer@acme", "document-extraction:read", "documents.read"),
    ] {
        let refused = create(grants, permission);
        assert_eq!(refused.code(), "INSUFFICIENT_ROLE", "{permission}");
        assert_eq!(refused.body["details"]["capability"], capability);
    }
    let own = create("developer@acme", "document-extraction:create");
    assert_eq!(own.status, 201);
    let made = create("admin@acme", "contacts:read");
    assert_eq!(made.status, 201);
    // Nor the secret of another's key, or the same key from anywhere and for longer.
    let path = |made: &Answer| format!("/agents/acme/keys/{}", made.data()["key"]["id"].as_str().unwrap());
    let changes = |by: &str, made: &Answer| {
        let rotated = call_as(&world, by, "POST", &format!("{}/rotate", path(made)), &json!({}));
        let widened = call_as(&world, by, "PATCH", &path(made), &json!({ "allowedAddresses": [] }));
        [rotated, widened]
    };
    for refused in changes("developer@acme", &made) {
        assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_ROLE"), "{}", refused.text);
        assert_eq!(refused.body["details"]["capability"], "contacts.read");
    }
    for (by, made) in [("developer@acme", &own), ("admin@acme", &made)] {
        for answer in changes(by, made) {
            assert_ne!(answer.code(), "INSUFFICIENT_ROLE", "{by}: {}", answer.text);
            assert!(answer.status < 300 || answer.status == 428, "{by}: {}", answer.text);
        }
    }
}

/// Random calls under random grants: what the table does not grant is refused, and nothing masked is shown.
#[test]
fn random_calls_stay_within_their_grants() {
    let count: usize =
        std::env::var("CONSOLE_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let world = World::hosted();
    let contact = sensitive_contact(&world);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let grant = (0..ROLES.len(), 0..4_usize).prop_map(|(role, of)| match (ROLES[role], of) {
        ("owner", _) => "owner".to_owned(),
        (role, 0) => role.to_owned(),
        (role, 1) => format!("{role}@beta"),
        (role, _) => format!("{role}@acme"),
    });
    let calls = (0..OPERATIONS.len(), prop::collection::vec(grant, 1..4), 0..3_usize, any::<bool>());
    let mut done = 0;
    while done < count {
        let (at, grants, of, is_real) = calls.new_tree(&mut runner).unwrap().current();
        let entry = &OPERATIONS[at];
        // An agent that is disabled or a key that is made a million times tells nothing more.
        if entry.metadata.traits.of_accounts || entry.metadata.name == "agents.create" {
            continue;
        }
        done += 1;
        let agent = ["acme", "beta", "no-such-agent"][of];
        let grants = grants.join(",");
        let (method, path, body) = request(entry, agent);
        let is_erasure = entry.metadata.name == "contacts.erase";
        let path =
            if is_real && !is_erasure { path.replace("0123456789abcdef01234567", &contact) } else { path };
        let answer = call_as(&world, &grants, &method, &path, &body);
        let name = entry.metadata.name;
        if let Some((capability, is_of_agent)) = capability(entry) {
            let reached = reach(&grants, capability, is_of_agent.then_some(agent));
            let is_known = !is_of_agent || knows(&grants, agent);
            if !is_known {
                assert_eq!(
                    (answer.status, answer.code()),
                    (404, "NOT_FOUND"),
                    "{name} by {grants} on {agent}"
                );
            } else if reached.is_none() {
                assert_eq!(
                    (answer.status, answer.code()),
                    (403, "INSUFFICIENT_ROLE"),
                    "{name} by {grants} on {agent}"
                );
            } else if agent != "no-such-agent" {
                assert!(!is_refused(&answer) || may_lack_more(name), "{name} by {grants}: {}", answer.text);
            }
        }
        assert!(answer.status < 500, "{name}: {}", answer.text);
        assert!(
            name == "contacts.reveal" || !answer.text.contains(SENSITIVE),
            "{name} by {grants}: {}",
            answer.text
        );
    }
}
