//! Clients of the Open API. Each creates, changes, reads and lists contacts of its own, and repeats what was not
//! acknowledged under the same idempotency key.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use openapi_core::api::PeerAddress;
use serde_json::{Value, json};

use crate::executor::Simulation;
use crate::service::Service;
use crate::tenant::{COUNTER, Erased, Known, Tenant};

/// How often a request is repeated before its outcome stays unknown.
const ATTEMPTS: u32 = 12;

/// A request of the Open API.
pub struct Ask<'a> {
    pub attempts: u32,
    pub method: &'a str,
    pub path: &'a str,
    pub idempotency_key: Option<&'a str>,
    /// The header `If-Match`.
    pub version: Option<&'a str>,
    pub media_type: String,
    pub body: Bytes,
}

impl<'a> Ask<'a> {
    pub fn new(method: &'a str, path: &'a str) -> Self {
        let media_type = "application/json".to_owned();
        Ask {
            attempts: ATTEMPTS,
            method,
            path,
            idempotency_key: None,
            version: None,
            media_type,
            body: Bytes::new(),
        }
    }

    /// The request with key and secret, from an address.
    pub fn request(&self, (key, secret): &(String, String), address: [u8; 4]) -> Request<Full<Bytes>> {
        let prefix = if self.path.starts_with("/download/") { "" } else { "/v1/open" };
        let mut request = Request::builder()
            .method(self.method)
            .uri(format!("{prefix}{}", self.path))
            .header("X-API-Key", key)
            .header("X-API-Secret", secret)
            .header("content-type", &self.media_type)
            .extension(PeerAddress(address.into()));
        if let Some(key) = self.idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(version) = self.version {
            request = request.header("If-Match", version);
        }
        request.body(Full::new(self.body.clone())).expect("a request")
    }
}

/// A creation that was acknowledged.
pub struct Creation {
    external: String,
    idempotency_key: String,
    body: Value,
    /// The contact in the response.
    contact: Value,
}

pub struct Client {
    pub service: Arc<Service>,
    pub tenant: Arc<Tenant>,
    /// A tenant whose contacts it must never see.
    pub other: Arc<Tenant>,
    /// Its number among the clients of the tenant.
    pub number: usize,
    /// The external ids of its contacts.
    pub own: Vec<String>,
    pub creations: Vec<Creation>,
}

impl Client {
    /// Works until `until`.
    pub async fn run(mut self, until: i64) {
        let simulation = self.service.simulation.clone();
        while simulation.now() < until {
            simulation.sleep(simulation.below(3_000)).await;
            match (self.own.len(), simulation.below(21)) {
                (0..=2, _) | (_, 0..=1) => self.create().await,
                (_, 2..=3) => self.update().await,
                (_, 4..=5) => self.get().await,
                (_, 6..=8) => self.list().await,
                (_, 9) => self.create_again().await,
                (_, 10) => self.get_foreign().await,
                (_, 11) => self.search().await,
                (_, 12) => self.archive().await,
                (_, 13) => self.repeat().await,
                (_, 14..=15) => self.upload().await,
                (_, 16) => self.list_files().await,
                (_, 17) => self.delete_file().await,
                _ => self.increment().await,
            }
        }
    }

    pub fn simulation(&self) -> &Simulation {
        &self.service.simulation
    }

    /// Sends a request, again and again until it has a response that is final; `None` if it never gets one.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        idempotency_key: Option<&str>,
        body: Option<&Value>,
    ) -> Option<(u16, Value)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.send(&Ask { idempotency_key, body: body.into(), ..Ask::new(method, path) }).await
    }

    /// As [`Client::ask`], for any request.
    pub async fn send(&self, ask: &Ask<'_>) -> Option<(u16, Value)> {
        let Ask { method, path, .. } = ask;
        for attempt in 0..ask.attempts {
            let credentials = self.tenant.keys.lock()[self.number].clone();
            let request = ask.request(&credentials, [192, 0, 2, 1]);
            let sent = self.simulation().now();
            let answer = self.service.ask(request).await;
            let status = answer.as_ref().map(|(status, _)| status.as_u16());
            self.simulation()
                .note(format!("{} {} {method} {path} {status:?}", self.tenant.agent, self.number));
            match answer {
                Some((status, body)) if !matches!(status.as_u16(), 401 | 429 | 503) => {
                    // A download needs no key, and counts for none.
                    if !path.starts_with("/download/") {
                        let has = (sent, self.simulation().now());
                        self.tenant.admitted.lock().entry(self.number).or_default().push(has);
                    }
                    // Another attempt under the same idempotency key is still running.
                    let is_running = status == 409 && body["code"] == "IDEMPOTENCY_KEY_IN_USE";
                    assert!(status.as_u16() < 500, "{method} {path}: {body}");
                    // An error repeats the id that was asked for.
                    if status.is_success() {
                        self.check_tenant(&body);
                    }
                    if !is_running {
                        return Some((status.as_u16(), body));
                    }
                }
                Some((status, _)) if status == 429 => self.simulation().sleep(10_000).await,
                _ => {}
            }
            self.simulation().sleep(u64::from(attempt + 1) * 700).await;
        }
        None
    }

    /// No response contains anything of another tenant.
    fn check_tenant(&self, body: &Value) {
        let text = body.to_string();
        for found in text.match_indices("mark") {
            assert!(text[found.0..].starts_with(&self.tenant.mark), "{} reads {text}", self.tenant.agent);
        }
    }

    fn first_name(&self) -> String {
        format!("{} {}", self.tenant.mark, self.simulation().below(1_000_000))
    }

    pub fn idempotency_key(&self) -> String {
        format!("key-{}", self.simulation().below(u64::MAX))
    }

    async fn create(&mut self) {
        let external = format!("{}-{}-{}", self.tenant.mark, self.number, self.own.len());
        let first_name = self.first_name();
        let known = Known { first_names: vec![first_name.clone()], ..Known::default() };
        self.tenant.contacts.lock().insert(external.clone(), known);
        self.own.push(external.clone());
        let email = format!("{external}@example.com");
        let body = json!({ "externalReferenceId": external, "firstName": first_name, "primaryEmail": email });
        let path = format!("/contacts/chatbots/{}", self.tenant.agent);
        let idempotency_key = self.idempotency_key();
        let Some((status, answer)) = self.ask("POST", &path, Some(&idempotency_key), Some(&body)).await
        else {
            return;
        };
        assert_eq!(status, 201, "a creation that nobody else makes succeeds once: {answer}");
        let contact = answer["data"].clone();
        assert_eq!(contact["externalReferenceId"], external.as_str(), "the response to another creation");
        let id = contact["id"].as_str().expect("an id").to_owned();
        self.tenant.contacts.lock().get_mut(&external).expect("known").id = Some(id);
        self.creations.push(Creation { external, idempotency_key, body, contact });
    }

    /// A creation under the same idempotency key gets the same response, and with another body none.
    async fn repeat(&mut self) {
        let count = self.creations.len() as u64;
        if count == 0 {
            return;
        }
        let creation = &self.creations[self.simulation().below(count) as usize];
        if self.hold(&creation.external) {
            let path = format!("/contacts/chatbots/{}", self.tenant.agent);
            let key = Some(creation.idempotency_key.as_str());
            if let Some((status, answer)) = self.ask("POST", &path, key, Some(&creation.body)).await {
                assert_eq!((status, &answer["data"]), (201, &creation.contact), "another response: {answer}");
            }
            let mut body = creation.body.clone();
            body["firstName"] = self.first_name().into();
            if let Some((status, answer)) = self.ask("POST", &path, key, Some(&body)).await {
                assert_eq!(status, 422, "a response to another body: {answer}");
            }
        }
        self.release(&creation.external);
    }

    /// Lets the operator erase no contact until it is released; `false` if it may be erased already.
    fn hold(&self, external: &str) -> bool {
        let mut contacts = self.tenant.contacts.lock();
        let known = contacts.get_mut(external).expect("known");
        known.is_busy = true;
        known.erased == Erased::No
    }

    fn release(&self, external: &str) {
        self.tenant.contacts.lock().get_mut(external).expect("known").is_busy = false;
    }

    /// One of the contacts whose creation was acknowledged.
    pub fn pick(&self) -> Option<(String, String)> {
        let contacts = self.tenant.contacts.lock();
        let known: Vec<(String, String)> = self
            .own
            .iter()
            .filter_map(|external| Some((external.clone(), contacts[external].id.clone()?)))
            .collect();
        match known.len() {
            0 => None,
            count => Some(known[self.simulation().below(count as u64) as usize].clone()),
        }
    }

    pub fn known(&self, external: &str) -> Known {
        self.tenant.contacts.lock()[external].clone()
    }

    async fn update(&mut self) {
        let Some((external, id)) = self.pick() else { return };
        let first_name = self.first_name();
        let before = self.known(&external);
        let path = format!("/contacts/platformid/{id}/chatbots/{}", self.tenant.agent);
        self.tenant.contacts.lock().get_mut(&external).expect("known").first_names.push(first_name.clone());
        let body = json!({ "firstName": first_name });
        let Some((status, answer)) = self.ask("PUT", &path, None, Some(&body)).await else {
            return;
        };
        match status {
            200 => {
                assert_ne!(before.erased, Erased::Yes, "an erased contact was changed: {answer}");
                let mut contacts = self.tenant.contacts.lock();
                let known = contacts.get_mut(&external).expect("known");
                (known.first_names, known.was_updated) = (vec![first_name], true);
            }
            404 => self.assert_may_be_erased(&external),
            409 if answer["code"] == "CONTACT_ARCHIVED" => {
                assert_ne!(before.archived, Some(false), "{external} is not archived");
                let mut contacts = self.tenant.contacts.lock();
                contacts.get_mut(&external).expect("known").first_names.retain(|it| *it != first_name);
            }
            _ => panic!("{answer}"),
        }
    }

    async fn get(&mut self) {
        let Some((external, id)) = self.pick() else { return };
        let before = self.known(&external);
        let path = match self.simulation().one_in(2) {
            true => format!("/contacts/platformid/{id}/chatbots/{}", self.tenant.agent),
            false => format!("/contacts/{external}/chatbots/{}", self.tenant.agent),
        };
        let Some((status, answer)) = self.ask("GET", &path, None, None).await else { return };
        match status {
            200 => {
                assert_ne!(before.erased, Erased::Yes, "an erased contact is read: {answer}");
                let name = answer["data"]["firstName"].as_str().unwrap_or_default();
                assert!(
                    before.first_names.iter().any(|may| may == name),
                    "{external} has {name}, not one of {:?}",
                    before.first_names
                );
            }
            404 => self.assert_may_be_erased(&external),
            _ => panic!("{answer}"),
        }
    }

    pub fn assert_may_be_erased(&self, external: &str) {
        assert_ne!(self.known(external).erased, Erased::No, "{external} is lost");
    }

    /// A second contact with the same external id is refused, archived or not.
    async fn create_again(&mut self) {
        let Some((external, _)) = self.pick() else { return };
        if self.hold(&external) {
            let email = format!("{external}@example.com");
            let body =
                json!({ "externalReferenceId": external, "firstName": "Again", "primaryEmail": email });
            let path = format!("/contacts/chatbots/{}", self.tenant.agent);
            let answer = self.ask("POST", &path, Some(&self.idempotency_key()), Some(&body)).await;
            assert!(answer.is_none_or(|(status, _)| status == 409), "{external} is taken twice");
        }
        self.release(&external);
    }

    /// A contact of another tenant does not exist.
    async fn get_foreign(&mut self) {
        let foreign = self
            .other
            .contacts
            .lock()
            .iter()
            .find_map(|(external, known)| Some((external.clone(), known.id.clone()?)));
        let Some((external, id)) = foreign else { return };
        let agent = &self.tenant.agent;
        for path in [
            format!("/contacts/platformid/{id}/chatbots/{agent}"),
            format!("/contacts/{external}/chatbots/{agent}"),
        ] {
            let Some((status, answer)) = self.ask("GET", &path, None, None).await else { continue };
            assert_eq!(status, 404, "{agent} reads {path}: {answer}");
        }
    }

    /// A contact is found by its name, and nothing else is.
    async fn search(&mut self) {
        let Some((external, id)) = self.pick() else { return };
        let before = self.known(&external);
        let name = before.first_names[0].clone();
        let path = format!(
            "/contacts/chatbots/{}?search={}&includeArchived=true",
            self.tenant.agent,
            name.replace(' ', "%20")
        );
        let Some((status, answer)) = self.ask("GET", &path, None, None).await else { return };
        assert_eq!(status, 200, "{answer}");
        let found = answer["data"].as_array().expect("a page");
        assert_eq!(answer["pagination"]["totalItems"], found.len(), "{answer}");
        for contact in found {
            let text = contact.to_string();
            assert!(name.split(' ').all(|term| text.contains(term)), "{text} is found by {name}");
        }
        let after = self.known(&external);
        if after.erased == Erased::No && after.first_names == [name] {
            assert!(found.iter().any(|contact| contact["id"] == id.as_str()), "{external} is not found");
        }
    }

    /// Archives a contact, or takes it out of the archive.
    async fn archive(&mut self) {
        let Some((external, id)) = self.pick() else { return };
        let archives = self.simulation().one_in(2);
        let set = |archived: Option<bool>| {
            self.tenant.contacts.lock().get_mut(&external).expect("known").archived = archived;
        };
        set(None);
        let action = if archives { "archive" } else { "unarchive" };
        let path = format!("/contacts/platformid/{id}/chatbots/{}/{action}", self.tenant.agent);
        match self.ask("PATCH", &path, None, None).await {
            Some((200 | 409, _)) => set(Some(archives)),
            Some((404, _)) => self.assert_may_be_erased(&external),
            Some((status, answer)) => panic!("{status}: {answer}"),
            None => {}
        }
    }

    /// Adds 1 to the number that the clients of a tenant share: a read, and a write if nothing came in between.
    async fn increment(&mut self) {
        let agent = &self.tenant.agent;
        let path = format!("/contacts/{COUNTER}/chatbots/{agent}");
        let Some((200, answer)) = self.ask("GET", &path, None, None).await else { return };
        let contact = &answer["data"];
        let (id, version) =
            (contact["id"].as_str().expect("an id"), answer["etag"].as_str().expect("an ETag"));
        let number: u64 = contact["lastName"].as_str().expect("a number").parse().expect("a number");
        let body = json!({ "lastName": (number + 1).to_string() });
        let path = format!("/contacts/platformid/{id}/chatbots/{agent}");
        // Once: a repeated one cannot tell its own change from another's.
        let body = body.to_string().into();
        match self.send(&Ask { attempts: 1, version: Some(version), body, ..Ask::new("PUT", &path) }).await {
            Some((200, _)) => self.tenant.counted.lock().0 += 1,
            Some((412 | 409, _)) => {}
            Some((status, answer)) => panic!("{status}: {answer}"),
            None => self.tenant.counted.lock().1 += 1,
        }
    }

    /// Reads all pages. What was acknowledged before and not erased since is there, once.
    async fn list(&mut self) {
        let before = self.tenant.contacts.lock().clone();
        let mut found = Vec::new();
        let mut cursor: Option<String> = None;
        let is_all = self.simulation().one_in(2);
        let all = if is_all { "&includeArchived=true" } else { "" };
        loop {
            let after = cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let path = format!("/contacts/chatbots/{}?limit=5{all}{after}", self.tenant.agent);
            let Some((status, answer)) = self.ask("GET", &path, None, None).await else { return };
            assert_eq!(status, 200, "{answer}");
            let page = answer["data"].as_array().expect("a page");
            found.extend(page.iter().map(|contact| contact["id"].as_str().expect("an id").to_owned()));
            cursor = answer["pagination"]["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        let ids: BTreeSet<&String> = found.iter().collect();
        assert_eq!(ids.len(), found.len(), "a contact is listed twice");
        let after = self.tenant.contacts.lock().clone();
        for (external, known) in &before {
            let Some(id) = &known.id else { continue };
            let now = &after[external];
            if known.erased == Erased::Yes && now.id == known.id {
                assert!(!ids.contains(id), "the erased {external} is listed");
            } else if now.erased != Erased::No || now.archived != known.archived || now.id != known.id {
                // It changed meanwhile.
            } else if is_all || known.archived == Some(false) {
                assert!(ids.contains(id), "{external} is not listed");
            } else if known.archived == Some(true) {
                assert!(!ids.contains(id), "the archived {external} is listed");
            }
        }
    }
}
