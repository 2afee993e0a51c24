//! The names of a service (contract 1).

use crate::access::ApiKeyPrefix;
use crate::validation::{ValidationCode, ValidationIssue};
use crate::values::{ExternalId, Invalid};

/// The names that an operator gives the service. A name outside its allowed form cannot be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceInfo {
    service_name: String,
    id_segment: String,
    api_key_prefix: ApiKeyPrefix,
    public_url: String,
}

impl ServiceInfo {
    /// The default names with {origin} at `public_url`.
    ///
    /// # Errors
    /// As [`ServiceInfo::with_public_url`].
    pub fn new(public_url: &str) -> Result<Self, Invalid> {
        let service_info = ServiceInfo {
            service_name: "Service".to_owned(),
            id_segment: "platformid".to_owned(),
            api_key_prefix: ApiKeyPrefix::default(),
            public_url: String::new(),
        };
        service_info.with_public_url(public_url)
    }

    /// Sets the service name: `^[A-Za-z][A-Za-z0-9]{0,31}$`, `Service` by default. The widget's global carries it.
    ///
    /// # Errors
    /// When the name has another form.
    pub fn with_service_name(mut self, name: &str) -> Result<Self, Invalid> {
        let valid = (1..=32).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && name.as_bytes()[0].is_ascii_alphabetic();
        if !valid {
            return Err(invalid("the service name must match ^[A-Za-z][A-Za-z0-9]{0,31}$"));
        }
        name.clone_into(&mut self.service_name);
        Ok(self)
    }

    /// Sets the literal segment of contact paths that take a platform id: `^[a-z][a-z0-9-]{1,31}$` and no other
    /// literal of those paths; `platformid` by default.
    ///
    /// # Errors
    /// When the segment has another form.
    pub fn with_id_segment(mut self, segment: &str) -> Result<Self, Invalid> {
        let valid = (2..=32).contains(&segment.len())
            && segment.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && segment.as_bytes()[0].is_ascii_lowercase();
        if !valid || matches!(segment, "schema" | "chatbots" | "archive" | "unarchive") {
            return Err(invalid(
                "the id segment must match ^[a-z][a-z0-9-]{1,31}$ and not be schema, chatbots, archive or unarchive",
            ));
        }
        segment.clone_into(&mut self.id_segment);
        Ok(self)
    }

    /// Sets the tag of keys issued from now on; keys of other tags stay valid.
    #[must_use]
    pub fn with_api_key_prefix(mut self, tag: ApiKeyPrefix) -> Self {
        self.api_key_prefix = tag;
        self
    }

    /// Sets {origin}: an absolute http or https URL without a trailing slash.
    ///
    /// # Errors
    /// When the URL has another form.
    pub fn with_public_url(mut self, url: &str) -> Result<Self, Invalid> {
        let uri = url.parse::<http::Uri>().ok();
        let valid = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|host| !host.is_empty())
                && uri.query().is_none()
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
        });
        if !valid || url.ends_with('/') || url.contains('#') {
            return Err(invalid(
                "the public URL must be an absolute http or https URL without a trailing slash, such as https://api.example.com",
            ));
        }
        url.clone_into(&mut self.public_url);
        Ok(self)
    }

    /// The service name.
    #[must_use]
    pub fn service_name(&self) -> &str {
        &self.service_name
    }

    /// The id segment.
    #[must_use]
    pub fn id_segment(&self) -> &str {
        &self.id_segment
    }

    /// The key tag.
    #[must_use]
    pub fn api_key_prefix(&self) -> &ApiKeyPrefix {
        &self.api_key_prefix
    }

    /// {origin}, without a trailing slash.
    #[must_use]
    pub fn public_url(&self) -> &str {
        &self.public_url
    }

    /// The path of {origin}, which stands before the service's own paths where a host or a proxy serves it below one:
    /// `/platform` of `https://example.com/platform`, empty at the root of a host.
    #[must_use]
    pub fn base_path(&self) -> &str {
        let after_scheme = self.public_url.split_once("://").map_or("", |(_, rest)| rest);
        after_scheme.find('/').map_or("", |at| &after_scheme[at..])
    }

    /// Refuses an external id that equals the id segment (contract 2.1.2).
    ///
    /// # Errors
    /// `reserved`.
    pub fn refuse_reserved(&self, id: &ExternalId) -> Result<(), ValidationIssue> {
        if id.as_str() == self.id_segment { Err(ExternalId::reserved()) } else { Ok(()) }
    }
}

fn invalid(words: &'static str) -> Invalid {
    Invalid(ValidationIssue::new(ValidationCode::Pattern, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_forms() {
        let service_info = ServiceInfo::new("https://api.example.com").unwrap();
        for bad in ["", "1A", "A b", &"A".repeat(33)] {
            assert!(service_info.clone().with_service_name(bad).is_err(), "{bad}");
        }
        for bad in ["", "a", "A1", "schema", "archive", "1a", &"a".repeat(33)] {
            assert!(service_info.clone().with_id_segment(bad).is_err(), "{bad}");
        }
        for bad in [
            "",
            "example.com",
            "https://example.com/",
            "ftp://example.com",
            "https://",
            "https://u:p@example.com",
            "https://example.com?x=1",
        ] {
            assert!(ServiceInfo::new(bad).is_err(), "{bad}");
        }
        assert_eq!(service_info.base_path(), "");
        let below = ServiceInfo::new("http://127.0.0.1:8080/prefix/v2").unwrap();
        assert_eq!(below.base_path(), "/prefix/v2");
        let id = "acme-id".parse().unwrap();
        assert!(service_info.refuse_reserved(&id).is_ok());
        assert!(service_info.with_id_segment("acme-id").unwrap().refuse_reserved(&id).is_err());
    }
}
