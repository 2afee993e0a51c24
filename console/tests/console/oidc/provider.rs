//! A scripted provider: it publishes, redirects and answers as a test says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use console::{AccountSettings, ConsoleSettings};
use openapi_core::ports::{Outbound, OutboundError, OutboundRequest, OutboundResponse, OutboundSchemes};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use ring::{hmac, rand::SystemRandom};
use serde_json::{Value, json};
use url::Url;

use crate::support::{Answer, Browser, World, accounts};

pub const ISSUER: &str = "https://id.example.com/realms/acme";
pub const CLIENT: &str = "console-client";
pub const SECRET: &str = "s:cr&t of the client";

pub fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A key of 2,048 bits that signs nothing but tests.
fn rsa() -> RsaKeyPair {
    let text: String = include_str!("rsa.txt").split_whitespace().collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap()
}

fn ed25519(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

/// How a token is signed.
#[derive(Clone, Copy, Debug)]
pub enum Signer {
    Rsa,
    P256,
    Ed25519(u8),
    /// HMAC with a public key as its secret.
    Hmac,
    Nothing,
}

/// One answer of the provider, which tests change.
#[derive(Clone)]
pub struct Script {
    pub discovery: Value,
    pub keys: Value,
    pub header: Value,
    pub claims: Value,
    pub signer: Signer,
    pub edit: fn(String) -> String,
    pub status: u16,
    pub content_type: &'static str,
    /// The body of the token endpoint, if it is none with the token.
    pub body: Option<Vec<u8>>,
    pub edit_body: fn(String) -> String,
    pub error: Option<OutboundError>,
    /// Why its description and its keys cannot be read.
    pub is_away: bool,
}

struct State {
    script: Script,
    p256: Vec<u8>,
    sent: Vec<OutboundRequest>,
    used: Vec<String>,
    meanwhile: Option<Box<dyn FnOnce() + Send>>,
}

#[derive(Clone)]
pub struct Provider(Arc<Mutex<State>>);

impl Provider {
    pub fn new() -> Self {
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let p256 = pair.unwrap().as_ref().to_vec();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &p256, &SystemRandom::new());
        let key = key.unwrap();
        let point = key.public_key().as_ref();
        let rsa = rsa();
        let rsa: ring::rsa::PublicKeyComponents<Vec<u8>> = rsa.public_key().into();
        let keys = json!({ "keys": [
            { "kty": "RSA", "kid": "rsa", "use": "sig", "alg": "RS256", "n": encoded(&rsa.n), "e": encoded(&rsa.e) },
            { "kty": "EC", "kid": "p256", "crv": "P-256", "x": encoded(&point[1..33]), "y": encoded(&point[33..]) },
            { "kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": encoded(ed25519(1).public_key()) },
            { "kty": "RSA", "kid": "enc", "use": "enc", "n": encoded(&rsa.n), "e": encoded(&rsa.e) },
            { "kty": "oct", "kid": "oct", "k": encoded([7; 32]) },
        ] });
        let discovery = json!({
            "issuer": ISSUER,
            "authorization_endpoint": format!("{ISSUER}/auth?kc=1"),
            "token_endpoint": format!("{ISSUER}/token"),
            "jwks_uri": format!("{ISSUER}/certs"),
            "response_types_supported": ["code", "id_token"],
            "code_challenge_methods_supported": ["plain", "S256"],
            "id_token_signing_alg_values_supported": ["RS256", "PS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "authorization_response_iss_parameter_supported": true,
        });
        let script = Script {
            discovery,
            keys,
            header: json!({ "alg": "RS256", "kid": "rsa", "typ": "JWT" }),
            claims: Value::Null,
            signer: Signer::Rsa,
            edit: |token| token,
            status: 200,
            content_type: "application/json;charset=UTF-8",
            body: None,
            edit_body: |body| body,
            error: None,
            is_away: false,
        };
        Provider(Arc::new(Mutex::new(State {
            script,
            p256,
            sent: Vec::new(),
            used: Vec::new(),
            meanwhile: None,
        })))
    }

    pub fn script<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.0.lock().unwrap().script)
    }

    /// What happens while the provider works on its next answer.
    pub fn meanwhile(&self, happens: impl FnOnce() + Send + 'static) {
        self.0.lock().unwrap().meanwhile = Some(Box::new(happens));
    }

    /// The token of the script.
    pub fn token(&self) -> String {
        self.0.lock().unwrap().token()
    }

    /// The requests to a path.
    pub fn sent(&self, path: &str) -> Vec<OutboundRequest> {
        let state = self.0.lock().unwrap();
        state.sent.iter().filter(|request| request.url.ends_with(path)).cloned().collect()
    }
}

impl State {
    fn token(&self) -> String {
        let script = &self.script;
        let part = |json: &Value| encoded(json.to_string());
        let message = format!("{}.{}", part(&script.header), part(&script.claims));
        let bytes = message.as_bytes();
        let signature = match script.signer {
            Signer::Rsa => {
                let rsa = rsa();
                let mut signature = vec![0; rsa.public().modulus_len()];
                rsa.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), bytes, &mut signature).unwrap();
                signature
            }
            Signer::P256 => {
                let random = SystemRandom::new();
                let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &self.p256, &random);
                key.unwrap().sign(&random, bytes).unwrap().as_ref().to_vec()
            }
            Signer::Ed25519(seed) => ed25519(seed).sign(bytes).as_ref().to_vec(),
            Signer::Hmac => {
                let secret = script.keys["keys"][0]["n"].as_str().unwrap();
                let key = hmac::Key::new(hmac::HMAC_SHA256, &URL_SAFE_NO_PAD.decode(secret).unwrap());
                hmac::sign(&key, bytes).as_ref().to_vec()
            }
            Signer::Nothing => Vec::new(),
        };
        (script.edit)(format!("{message}.{}", encoded(signature)))
    }

    fn answer_code(&mut self, request: &OutboundRequest) -> (u16, Vec<u8>) {
        let form: HashMap<String, String> = url::form_urlencoded::parse(&request.body).into_owned().collect();
        if self.used.contains(&form["code"]) {
            return (400, br#"{"error":"invalid_grant"}"#.to_vec());
        }
        self.used.push(form["code"].clone());
        let body = json!({ "access_token": "opaque", "token_type": "Bearer", "id_token": self.token() });
        let body = (self.script.edit_body)(body.to_string()).into_bytes();
        (self.script.status, self.script.body.clone().unwrap_or(body))
    }
}

#[async_trait]
impl Outbound for Provider {
    fn check(&self, _: &str, _: OutboundSchemes) -> Result<(), OutboundError> {
        Ok(())
    }

    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        let meanwhile = self.0.lock().unwrap().meanwhile.take();
        if let Some(happens) = meanwhile {
            happens();
        }
        let mut state = self.0.lock().unwrap();
        let url = request.url.clone();
        assert_eq!(request.max_redirects, 0, "a redirect would be followed");
        state.sent.push(request.clone());
        let mut content_type = "application/json";
        if state.script.is_away && !url.ends_with("/token") {
            return Err(OutboundError::Timeout("the answer"));
        }
        let (status, body) = if url.ends_with("/.well-known/openid-configuration") {
            (200, state.script.discovery.to_string().into_bytes())
        } else if url.ends_with("/certs") {
            (200, state.script.keys.to_string().into_bytes())
        } else {
            if let Some(error) = &state.script.error {
                return Err(error.clone());
            }
            content_type = state.script.content_type;
            state.answer_code(&request)
        };
        let is_truncated = body.len() > request.max_body_bytes;
        let body: Bytes = body[..body.len().min(request.max_body_bytes)].to_vec().into();
        let headers = [("content-type", content_type), ("location", "https://evil.example/")];
        let headers = headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let status = http::StatusCode::from_u16(status).unwrap();
        Ok(OutboundResponse { status, headers: headers.into_iter().collect(), body, is_truncated, url })
    }
}

/// A console with an owner, and a provider that is switched on.
pub struct Setting {
    pub world: World,
    pub provider: Provider,
    pub owner: Browser,
}

/// What an owner sets of the provider.
pub fn saved() -> Value {
    json!({
        "name": "Acme ID", "issuer": ISSUER, "clientId": CLIENT, "clientSecret": SECRET, "isEnabled": true,
        "domains": ["Acme.example"], "groups": { "support": ["inbox@acme"], "staff": ["viewer"] },
    })
}

impl Setting {
    pub fn new() -> Self {
        Setting::with(accounts())
    }

    pub fn with(accounts: AccountSettings) -> Self {
        let provider = Provider::new();
        let origin = if accounts.is_plain { "http://localhost:8082" } else { crate::support::ORIGIN };
        let mut settings = ConsoleSettings::with_accounts(origin, accounts);
        settings.outbound = Arc::new(provider.clone());
        settings.hosts = vec![crate::support::HOST.to_owned()];
        let world = World::new(settings).with_agents();
        let mut owner = Browser { origin, ..Browser::default() };
        let body = json!({
            "token": world.setup_token(), "name": "Zoë", "email": crate::support::EMAIL,
            "password": crate::support::PASSWORD,
        });
        world.accept(&mut owner, &body).data();
        let mut setting = Setting { world, provider, owner };
        setting.save(&saved()).data();
        setting
    }

    /// Saves the provider, whatever its version.
    pub fn save(&mut self, body: &Value) -> Answer {
        self.changed("PUT", body)
    }

    /// Changes the provider, whatever its version.
    pub fn changed(&mut self, method: &str, body: &Value) -> Answer {
        let mut request = self.owner.request(method, "/providers/acme-id", body);
        request.headers_mut().insert("if-match", "*".parse().unwrap());
        self.owner.send(&self.world, request)
    }

    /// The query of the URL that an operation leads to.
    pub fn leave(&self, browser: &mut Browser, path: &str, body: &Value) -> HashMap<String, String> {
        let answer = browser.call(&self.world, "POST", path, body);
        let url = Url::parse(answer.data()["url"].as_str().unwrap()).unwrap();
        assert!(url.as_str().starts_with(&format!("{ISSUER}/auth?kc=1&")), "{url}");
        url.query_pairs().into_owned().collect()
    }

    /// The claims of a right answer to a request.
    pub fn claims(&self, sent: &HashMap<String, String>, subject: &str) -> Value {
        let now = self.world.platform.now().millis() / 1_000;
        json!({
            "iss": ISSUER, "aud": CLIENT, "sub": subject, "nonce": sent["nonce"], "iat": now, "exp": now + 300,
            "auth_time": now, "email": format!("{subject}@acme.example"), "email_verified": true,
            "name": "Ada Whitfield", "groups": ["support"],
        })
    }

    /// The query of a right answer to a request.
    pub fn query(&self, sent: &HashMap<String, String>) -> Vec<(String, String)> {
        let code = format!("code of {}", sent["nonce"]);
        let pairs = [("code", code), ("state", sent["state"].clone()), ("iss", ISSUER.to_owned())];
        let more = [("session_state", "4711".to_owned())];
        pairs.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Comes back from the provider as a browser does: another site leads here, so no `Strict` cookie is sent.
    pub fn come_back(&self, browser: &mut Browser, query: &[(String, String)]) -> Answer {
        self.come_back_as(browser, query, "document")
    }

    /// The same as what a browser fetches for: a page, or an image of one.
    pub fn come_back_as(&self, browser: &mut Browser, query: &[(String, String)], dest: &str) -> Answer {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let mut outside = browser.clone();
        outside.cookies.retain(|(name, _)| name.ends_with("-oidc"));
        let mut request = outside.request("GET", &format!("/sign-in/oidc/callback?{query}"), &Value::Null);
        for name in ["origin", "x-console", "content-type"] {
            request.headers_mut().remove(name);
        }
        request.headers_mut().insert("sec-fetch-site", "cross-site".parse().unwrap());
        request.headers_mut().insert("sec-fetch-dest", dest.parse().unwrap());
        browser.send(&self.world, request)
    }

    /// Leaves for the provider and comes back as a person whom it knows.
    pub fn as_person(&self, browser: &mut Browser, path: &str, body: &Value, subject: &str) -> Answer {
        let sent = self.leave(browser, path, body);
        self.provider.script(|script| script.claims = self.claims(&sent, subject));
        self.come_back(browser, &self.query(&sent))
    }

    pub fn sign_in(&self, browser: &mut Browser, subject: &str) -> Answer {
        let body = json!({ "provider": "acme-id", "returnTo": "/a/acme/inbox?view=mine" });
        self.as_person(browser, "/sign-in/oidc/start", &body, subject)
    }

    /// The operator of a browser's session.
    pub fn who(&self, browser: &mut Browser) -> Value {
        browser.call(&self.world, "GET", "/session", &Value::Null).body["data"]["operator"].clone()
    }
}

/// Where an answer leads.
#[track_caller]
pub fn location(answer: &Answer) -> &str {
    assert_eq!(answer.status, 303, "{}", answer.text);
    answer.headers["location"].to_str().unwrap()
}

/// Where an answer leads, without the id of the request.
#[track_caller]
pub fn outcome(answer: &Answer) -> &str {
    location(answer).rsplit_once('.').map_or_else(|| location(answer), |(before, _)| before)
}
