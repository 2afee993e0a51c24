//! The router, made from the table of endpoints.

use std::borrow::Cow;

use http::{HeaderValue, header};

use crate::endpoints::ENDPOINTS;
use crate::operation::{Endpoint, Method};
use crate::reply::{ApiError, ErrorCode};

/// What stands at a path.
pub(super) enum Route<'a> {
    Found { endpoint: &'static Endpoint, path_values: Vec<(&'a str, &'a str)> },
    Options { allow: HeaderValue },
    WrongMethod { allow: HeaderValue },
    Unknown,
}

enum Segment {
    Literal(String),
    /// With its name.
    Parameter(String),
}

struct PathEntry {
    segments: Vec<Segment>,
    endpoints: Vec<&'static Endpoint>,
    allow: HeaderValue,
}

/// Paths by their number of segments; within one number those with a literal where others have a parameter come first,
/// so that the first match is the right one.
pub(super) struct Router {
    by_length: Vec<Vec<PathEntry>>,
}

impl Router {
    pub(super) fn new(id_segment: &str) -> Self {
        let mut by_length: Vec<Vec<PathEntry>> = Vec::new();
        let mut templates: Vec<(String, Vec<&'static Endpoint>)> = Vec::new();
        for endpoint in ENDPOINTS {
            let template = endpoint.meta.template(id_segment);
            match templates.iter_mut().find(|(known, _)| *known == template) {
                Some((_, endpoints)) => endpoints.push(endpoint),
                None => templates.push((template, vec![endpoint])),
            }
        }
        for (template, endpoints) in templates {
            let segments: Vec<Segment> = template
                .trim_start_matches('/')
                .split('/')
                .map(|segment| match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                    Some(name) => Segment::Parameter(name.to_owned()),
                    None => Segment::Literal(segment.to_owned()),
                })
                .collect();
            if by_length.len() <= segments.len() {
                by_length.resize_with(segments.len() + 1, Vec::new);
            }
            let allow = allow(&endpoints);
            by_length[segments.len()].push(PathEntry { segments, endpoints, allow });
        }
        for entries in &mut by_length {
            entries.sort_by_key(|entry| {
                entry
                    .segments
                    .iter()
                    .map(|segment| matches!(segment, Segment::Parameter(_)))
                    .collect::<Vec<_>>()
            });
        }
        Router { by_length }
    }

    pub(super) fn find<'a>(&'a self, method: &http::Method, segments: &'a [Cow<'_, str>]) -> Route<'a> {
        let matches = |entry: &&PathEntry| {
            entry.segments.iter().zip(segments).all(|(expected, segment)| match expected {
                Segment::Literal(literal) => literal == segment,
                Segment::Parameter(_) => !segment.is_empty(),
            })
        };
        let Some(entry) = self.by_length.get(segments.len()).and_then(|entries| entries.iter().find(matches))
        else {
            return Route::Unknown;
        };
        if method == http::Method::OPTIONS {
            return Route::Options { allow: entry.allow.clone() };
        }
        let name = if method == http::Method::HEAD { "GET" } else { method.as_str() };
        match entry.endpoints.iter().find(|endpoint| endpoint.meta.method.as_str() == name) {
            Some(endpoint) => {
                let values =
                    entry.segments.iter().zip(segments).filter_map(|(expected, segment)| match expected {
                        Segment::Literal(_) => None,
                        Segment::Parameter(name) => Some((&**name, &**segment)),
                    });
                Route::Found { endpoint, path_values: values.collect() }
            }
            None => Route::WrongMethod { allow: entry.allow.clone() },
        }
    }
}

fn allow(endpoints: &[&Endpoint]) -> HeaderValue {
    let mut methods: Vec<&str> = Vec::new();
    for method in [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete] {
        if endpoints.iter().any(|endpoint| endpoint.meta.method == method) {
            methods.push(method.as_str());
            if method == Method::Get {
                methods.push("HEAD");
            }
        }
    }
    methods.push("OPTIONS");
    HeaderValue::from_str(&methods.join(", ")).unwrap_or_else(|_| HeaderValue::from_static("OPTIONS"))
}

pub(super) fn method_not_allowed(method: &http::Method, allow: HeaderValue) -> ApiError {
    // A method is a token of any length; what is repeated of it stays short.
    let shown: String = method.as_str().chars().take(32).collect();
    ApiError::new(ErrorCode::MethodNotAllowed, format!("{shown} is not allowed here"))
        .with_header(header::ALLOW, allow)
}
