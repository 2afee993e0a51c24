//! What a provider publishes of itself: OpenID Connect Discovery 1.0.

use http::Method;
use openapi_core::json::{Json, Object};
use openapi_core::ports::Outbound;

use super::fetch;
use super::provider::is_allowed_endpoint;

/// How the client proves who it is at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientAuth {
    /// By HTTP Basic.
    Basic,
    /// In the body.
    Post,
}

/// What the console uses of a provider's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Discovery {
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    pub(crate) jwks_uri: String,
    pub(crate) client_auth: ClientAuth,
    /// Whether answers name the issuer (RFC 9207).
    pub(crate) names_issuer: bool,
}

/// Fetches the description of an issuer.
pub(super) async fn fetch(outbound: &dyn Outbound, issuer: &str) -> Result<Object, String> {
    let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    let document = fetch::object(outbound, fetch::request(Method::GET, issuer, &url)).await?;
    match document.get("issuer").and_then(Json::as_str) {
        Some(named) if named == issuer => Ok(document),
        Some(named) => {
            let named: String = named.chars().take(200).collect();
            Err(format!("the description is of the issuer {named}; enter exactly this one if it is yours"))
        }
        None => Err("the description names no issuer".to_owned()),
    }
}

fn has(document: &Object, name: &str, word: &str) -> Option<bool> {
    match document.get(name)? {
        Json::Array(words) => Some(words.iter().any(|known| known.as_str() == Some(word))),
        _ => Some(false),
    }
}

impl Discovery {
    /// Reads the endpoints of a description, and checks that the provider can do what the console needs.
    pub(super) fn read(issuer: &str, document: &Object) -> Result<Self, String> {
        let endpoint = |name: &str| {
            let missing = || format!("the description has no {name}");
            let url = document.get(name).and_then(Json::as_str).ok_or_else(missing)?;
            let refused = || format!("{name} must begin with https:// and have no fragment");
            if is_allowed_endpoint(issuer, url) { Ok(url.to_owned()) } else { Err(refused()) }
        };
        if has(document, "response_types_supported", "code") == Some(false) {
            return Err("the provider does not support the response type code".to_owned());
        }
        if has(document, "code_challenge_methods_supported", "S256") == Some(false) {
            return Err("the provider does not support PKCE with S256".to_owned());
        }
        let signs = |word| has(document, "id_token_signing_alg_values_supported", word);
        if ["RS256", "ES256", "EdDSA"].into_iter().all(|word| signs(word) == Some(false)) {
            return Err("the provider signs ID tokens with none of RS256, ES256 and EdDSA".to_owned());
        }
        let accepts = |word| has(document, "token_endpoint_auth_methods_supported", word);
        let client_auth = match (accepts("client_secret_basic"), accepts("client_secret_post")) {
            (Some(false), Some(true)) => ClientAuth::Post,
            _ => ClientAuth::Basic,
        };
        Ok(Discovery {
            authorization_endpoint: endpoint("authorization_endpoint")?,
            token_endpoint: endpoint("token_endpoint")?,
            jwks_uri: endpoint("jwks_uri")?,
            client_auth,
            names_issuer: matches!(
                document.get("authorization_response_iss_parameter_supported"),
                Some(Json::Bool(true))
            ),
        })
    }
}
