//! Webhook endpoints: what a person does with them.

mod attempts;
mod body;
mod manage;
mod records;
mod replay;
mod requests;
mod secret;
mod service;
mod signal;
mod view;

pub use attempts::{AttemptList, AttemptView};
pub use body::{EndpointChange, NewEndpoint};
pub(crate) use manage::{id_of, remove_attempts};
pub use records::{EndpointRecord, EndpointStatus, StatusReason, secret_keys};
pub(crate) use records::{
    Versioned, all_of, attempt_record, endpoint_change, load_endpoint, load_state, state_change,
};
pub use replay::{Replayed, SkippedEvent};
pub use requests::{
    AttemptQuery, CreateEndpoint, DeleteEndpoint, EditEndpoint, EndpointTarget, ListAttempts, ListEndpoints,
    ReplayBody, ReplayEvents, RotateSecret, RotationBody, SendTest, TestBody,
};
pub use secret::{SecretView, TestResult};
pub use service::{WebhookSettings, Webhooks};
pub use view::{DeletedEndpoint, Endpoint};
