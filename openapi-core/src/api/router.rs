//! The router of a table of operations.

use std::borrow::Cow;

use http::{HeaderValue, header};

use crate::operation::Method;
use crate::reply::{ApiError, ErrorCode};

/// What a [`Router`] finds for a request.
pub enum Route<'a, O: 'static> {
    /// The operation at this path with this method.
    Found {
        /// The row of the table.
        operation: &'static O,
        /// The names and values of the path's parameters, in order.
        path_values: Vec<(&'a str, &'a str)>,
    },
    /// The path exists and the method is OPTIONS.
    Options {
        /// The header `Allow`.
        allow: HeaderValue,
    },
}

enum Segment {
    Literal(String),
    /// With its name.
    Parameter(String),
}

struct PathEntry<O: 'static> {
    segments: Vec<Segment>,
    operations: Vec<(Method, &'static O)>,
    allow: HeaderValue,
}

/// The operations of a table by path and method. Paths are grouped by their number of segments. Within a group, a path
/// with a literal precedes one with a parameter in the same position, so the first match is the right one.
pub struct Router<O: 'static> {
    by_length: Vec<Vec<PathEntry<O>>>,
    head_as_get: bool,
}

impl<O> Router<O> {
    /// A router of the operations at these paths, whose parameters are segments such as `{agentId}`. With
    /// `head_as_get`, an operation with the method GET also takes HEAD.
    #[must_use]
    pub fn new(rows: impl IntoIterator<Item = (String, Method, &'static O)>, head_as_get: bool) -> Self {
        let mut templates: Vec<(String, Vec<(Method, &'static O)>)> = Vec::new();
        for (template, method, operation) in rows {
            match templates.iter_mut().find(|(known, _)| *known == template) {
                Some((_, operations)) => operations.push((method, operation)),
                None => templates.push((template, vec![(method, operation)])),
            }
        }
        let mut by_length: Vec<Vec<PathEntry<O>>> = Vec::new();
        for (template, operations) in templates {
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
            let allow = allow(&operations, head_as_get);
            by_length[segments.len()].push(PathEntry { segments, operations, allow });
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
        Router { by_length, head_as_get }
    }

    /// Finds the operation of a request by its method and the segments of its path.
    ///
    /// # Errors
    /// 404 ROUTE_NOT_FOUND, 405 METHOD_NOT_ALLOWED.
    pub fn find<'a>(
        &'a self,
        method: &http::Method,
        segments: &'a [Cow<'_, str>],
    ) -> Result<Route<'a, O>, ApiError> {
        let matches = |entry: &&PathEntry<O>| {
            entry.segments.iter().zip(segments).all(|(expected, segment)| match expected {
                Segment::Literal(literal) => literal == segment,
                Segment::Parameter(_) => !segment.is_empty(),
            })
        };
        let Some(entry) = self.by_length.get(segments.len()).and_then(|entries| entries.iter().find(matches))
        else {
            return Err(ApiError::new(ErrorCode::RouteNotFound, "There is nothing at this path"));
        };
        if method == http::Method::OPTIONS {
            return Ok(Route::Options { allow: entry.allow.clone() });
        }
        let is_head = method == http::Method::HEAD && self.head_as_get;
        let name = if is_head { "GET" } else { method.as_str() };
        let Some((_, operation)) = entry.operations.iter().find(|(method, _)| method.as_str() == name) else {
            return Err(method_not_allowed(method, entry.allow.clone()));
        };
        let values = entry.segments.iter().zip(segments).filter_map(|(expected, segment)| match expected {
            Segment::Literal(_) => None,
            Segment::Parameter(name) => Some((&**name, &**segment)),
        });
        Ok(Route::Found { operation, path_values: values.collect() })
    }
}

fn allow<O>(operations: &[(Method, &O)], head_as_get: bool) -> HeaderValue {
    let mut methods: Vec<&str> = Vec::new();
    for method in [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete] {
        if operations.iter().any(|(known, _)| *known == method) {
            methods.push(method.as_str());
            if method == Method::Get && head_as_get {
                methods.push("HEAD");
            }
        }
    }
    methods.push("OPTIONS");
    HeaderValue::from_str(&methods.join(", ")).unwrap_or_else(|_| HeaderValue::from_static("OPTIONS"))
}

fn method_not_allowed(method: &http::Method, allow: HeaderValue) -> ApiError {
    // A method is a token of any length; what is repeated of it stays short.
    let shown: String = method.as_str().chars().take(32).collect();
    ApiError::new(ErrorCode::MethodNotAllowed, format!("{shown} is not allowed here"))
        .with_header(header::ALLOW, allow)
}
