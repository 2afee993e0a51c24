//! The console under the application's own sign-in.

use super::host::{Host, Reply};

const API: &str = "/admin/console/v1";
const JSON: &str = "Content-Type: application/json\r\nX-Console: 1\r\n";

/// Sends the form, from a page of this origin.
fn sign_in(host: &Host, origin: &str, name: &str, password: &str, next: &str) -> Reply {
    let form = format!("name={name}&password={password}");
    let headers = format!("Origin: {origin}\r\nContent-Type: application/x-www-form-urlencoded\r\n");
    host.call(&format!("POST /admin/sign-in?next={next}"), &headers, form.as_bytes())
}

/// The header with the cookie of a new session.
fn session(host: &Host) -> String {
    let reply = sign_in(host, &origin(host), "ada", &host.password, "");
    assert_eq!(reply.status, 303, "{}", reply.body);
    let cookie = reply.header("set-cookie");
    assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
    format!("Cookie: {}\r\n", cookie.split(';').next().expect("a cookie"))
}

fn origin(host: &Host) -> String {
    format!("http://{}", host.address)
}

#[test]
fn a_stranger_is_led_to_the_applications_own_page_and_the_console_answers_401() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path());
    let page = host.call("GET /admin/a/front-desk/inbox?view=open", "", b"");
    assert_eq!(page.status, 303);
    let to = page.header("location");
    assert_eq!(to, "/admin/sign-in?next=%2Fadmin%2Fa%2Ffront-desk%2Finbox%3Fview%3Dopen");
    let form = host.call(&format!("GET {to}"), "", b"");
    assert!(
        form.status == 200 && form.body.contains("action=\"/admin/sign-in?next=%2Fadmin%2Fa"),
        "{}",
        form.body
    );
    for headers in ["", "Cookie: staff=0\r\n", "Cookie: __Host-console=1.a.b\r\n"] {
        let refused = host.call(&format!("GET {API}/agents"), headers, b"");
        assert!(refused.status == 401 && refused.body.contains("UNAUTHENTICATED"), "{}", refused.body);
    }
    let own = origin(&host);
    for (origin, name, password, status) in [
        (own.as_str(), "ada", "guess", 401),
        (own.as_str(), "eve", host.password.as_str(), 401),
        ("https://evil.example", "ada", host.password.as_str(), 403),
    ] {
        let refused = sign_in(&host, origin, name, password, "");
        assert_eq!(refused.status, status, "{origin} {name}");
        assert!(!refused.head().contains("et-cookie"), "{origin} {name}");
    }
    // What a link says cannot lead away from the application.
    let led = sign_in(&host, &own, "ada", &host.password, "https%3A%2F%2Fevil.example");
    assert_eq!(led.header("location"), "/admin");
}

#[test]
fn a_session_of_the_application_acts_in_the_console_with_its_role_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path());
    let cookie = session(&host);
    let page = host.call("GET /admin/a/front-desk", &cookie, b"");
    assert!(page.status == 200 && page.body.contains("content=\"/admin\""), "{}", page.body);
    let shown = host.call(&format!("GET {API}/session"), &cookie, b"");
    for part in ["\"name\":\"Ada Whitfield\"", "\"hasAccounts\":false", "\"keys.manage\":\"full\""] {
        assert!(shown.body.contains(part), "{part}: {}", shown.body);
    }
    assert!(!shown.body.contains("signIn.manage"), "an admin is no owner: {}", shown.body);
    // Accounts are the application's own.
    assert_eq!(host.call(&format!("GET {API}/members"), &cookie, b"").status, 404);

    let key = br#"{"name":"CRM sync","permissions":["contacts:read"]}"#;
    let create = format!("POST {API}/agents/front-desk/keys");
    for foreign in ["", "Origin: https://evil.example\r\n"] {
        let refused = host.call(&create, &format!("{cookie}{JSON}{foreign}"), key);
        assert!(refused.status == 403 && refused.body.contains("CROSS_SITE_REQUEST"), "{}", refused.body);
    }
    let own = format!("{cookie}{JSON}Origin: {}\r\n", origin(&host));
    let created = host.call(&create, &own, key);
    assert_eq!(created.status, 201, "the sign-in is less than 10 minutes old: {}", created.body);
    let audit = host.call(&format!("GET {API}/agents/front-desk/audit?limit=1"), &cookie, b"");
    assert!(audit.body.contains("\"host:ada\"") && audit.body.contains("key.create"), "{}", audit.body);

    let abroad = host.call("GET /admin/sign-out", &format!("{cookie}Sec-Fetch-Site: cross-site\r\n"), b"");
    assert_eq!(abroad.status, 403);
    assert_eq!(host.call(&format!("GET {API}/agents"), &cookie, b"").status, 200);
    assert_eq!(host.call("GET /admin/sign-out", &cookie, b"").status, 303);
    assert_eq!(host.call(&format!("GET {API}/agents"), &cookie, b"").status, 401);
}
