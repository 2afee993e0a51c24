//! The published OpenAPI document as an oracle: the replies that an operation may give, and the schemas of their
//! bodies.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use jsonschema::Validator;
use openapi_core::endpoints::ENDPOINTS;
use openapi_core::service_info::ServiceInfo;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// {origin} of the examples.
pub const ORIGIN: &str = "https://api.example.com";

/// The service names of the examples.
///
/// # Panics
/// Never: the default names are valid.
#[must_use]
pub fn service_info() -> ServiceInfo {
    ServiceInfo::new(ORIGIN).expect("the default names are valid")
}

/// The document under the default names.
pub static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| openapi_core::openapi::document(&service_info(), events::endpoints::GROUPS));

/// The operations that were asked for, by id. One takes a hundredth of the time of the whole document, which would be half
/// of what most tests take.
static OPERATIONS: Mutex<BTreeMap<String, &'static Value>> = Mutex::new(BTreeMap::new());

/// The schemas of the document, which those of an operation refer to.
static COMPONENTS: LazyLock<Value> =
    LazyLock::new(|| json!({ "schemas": openapi_core::openapi::schemas(events::endpoints::GROUPS) }));

type Validators = Mutex<HashMap<(String, u16), Arc<Validator>>>;

static VALIDATORS: LazyLock<Validators> = LazyLock::new(Mutex::default);

/// The members of an object.
///
/// # Panics
/// If the value is not an object.
#[must_use]
pub fn members(value: &Value) -> &serde_json::Map<String, Value> {
    value.as_object().expect("an object")
}

/// One operation.
///
/// # Panics
/// If the document does not contain it.
#[must_use]
pub fn operation(id: &str) -> &'static Value {
    let mut operations = OPERATIONS.lock();
    operations.entry(id.to_owned()).or_insert_with(|| {
        let groups = events::endpoints::GROUPS.iter().flat_map(|group| group.endpoints);
        let endpoint = ENDPOINTS.iter().chain(groups).find(|endpoint| endpoint.meta.id == id);
        let endpoint = endpoint.unwrap_or_else(|| panic!("the document has no operation {id}"));
        Box::leak(Box::new(openapi_core::openapi::operation(endpoint)))
    })
}

/// The response of an operation for a status.
///
/// # Panics
/// If it is not documented.
#[must_use]
pub fn response(id: &str, status: u16) -> &'static Value {
    let response = &operation(id)["responses"][status.to_string()];
    assert!(response.is_object(), "the status {status} is not documented for {id}");
    response
}

/// The error codes documented for a status of an operation.
#[must_use]
pub fn codes(id: &str, status: u16) -> Vec<&'static str> {
    let examples = &response(id, status)["content"]["application/json"]["examples"];
    examples.as_object().into_iter().flatten().map(|(code, _)| code.as_str()).collect()
}

/// A self-contained validator for a schema of the document; formats are asserted.
///
/// # Panics
/// If the schema is not valid.
#[must_use]
pub fn compile(schema: &Value) -> Validator {
    let mut standalone =
        json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": [schema] });
    standalone["components"] = COMPONENTS.clone();
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .build(&standalone)
        .unwrap_or_else(|error| panic!("not a schema: {error}\n{schema:#}"))
}

/// Validates a body against the published schema.
///
/// # Panics
/// If the body does not match.
pub fn validate(id: &str, status: u16, body: &Value) {
    let validator = {
        let mut validators = VALIDATORS.lock();
        let entry = validators.entry((id.to_owned(), status));
        Arc::clone(entry.or_insert_with(|| {
            Arc::new(compile(&response(id, status)["content"]["application/json"]["schema"]))
        }))
    };
    let faults: Vec<String> =
        validator.iter_errors(body).map(|error| format!("{} at {}", error, error.instance_path())).collect();
    assert!(faults.is_empty(), "{id} {status} breaks its own schema: {faults:?}\n{body:#}");
}
