//! Shared by the extraction tests.

use std::pin::Pin;
use std::sync::Arc;

pub use contract_tests::Script;
use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Call, Form, Reply, Sandbox};
use openapi_core::admin::{Admin, CreditChange};
use openapi_core::credits::CreditPool;
use openapi_core::platform::{ExtractionSettings, FileSettings};
use openapi_core::ports::Timer;

pub const PATH: &str = "/document-extraction/extract";

/// A schema of one field.
pub const SCHEMA: &str = r#"{"total":{"type":"string"}}"#;

/// A timer that fires immediately.
pub struct Over;

impl Timer for Over {
    fn sleep(&self, _: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async {})
    }
}

/// A sandbox with the extractor.
pub fn sandbox(backend: Backend) -> Sandbox {
    sandbox_with(backend, |_, _| {}).0
}

/// A sandbox with the extractor and another policy.
pub fn sandbox_with(
    backend: Backend,
    change: impl FnOnce(&mut FileSettings, &mut ExtractionSettings),
) -> (Sandbox, Script) {
    let script = Script::default();
    let (mut files, mut extraction) = (FileSettings::default(), ExtractionSettings::default());
    change(&mut files, &mut extraction);
    let cx = Sandbox::new(backend);
    let ports = cx.ports().with_extractor(Arc::new(script.clone()));
    (cx.deciding(ports, files, extraction), script)
}

/// A form with a document of this text and the schema of one field.
pub fn form(text: &str) -> Form {
    Form::new().document("a.txt", text.as_bytes()).text("schema", SCHEMA)
}

/// A request with this form.
pub fn call<'a>(cx: &'a Sandbox, form: &Form) -> Call<'a> {
    cx.call("POST", PATH).form(form)
}

/// A request for an extraction.
pub fn send(cx: &Sandbox, form: &Form) -> Reply {
    call(cx, form).send()
}

/// Sets the plan's credits.
#[track_caller]
pub fn plan(cx: &Sandbox, credits: u64) {
    set(cx, CreditPool::Plan, credits);
}

/// Sets a pool's credits.
#[track_caller]
pub fn set(cx: &Sandbox, pool: CreditPool, credits: u64) {
    let change = CreditChange::Set { pool, credits, note: None };
    let _ = wait(cx.platform.change_credits(&operator(), &cx.agent, &change)).expect("credits are set");
}

/// The balance of both pools, and the reserved credits.
pub fn balance(cx: &Sandbox) -> (u64, u64) {
    let account = wait(cx.platform.credits(&cx.agent)).expect("an account");
    (account.available(), account.reserved())
}
