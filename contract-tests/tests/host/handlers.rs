//! Handlers are `Send` and `Sync`, so any runtime can run them: this compiles.

use contract_tests::call::ChunkedBody;
use conversations::widget::WidgetApi;
use http::Request;
use openapi_core::api::Api;
use tower_service::Service;

fn is_shared<T: Clone + Send + Sync + 'static>() {}

fn is_sent<T: Send>(_: T) {}

fn is_owned<T: Send + 'static>(_: T) {}

#[expect(dead_code, reason = "it only has to compile")]
fn futures_can_be_sent(mut api: Api, mut widget: WidgetApi, request: fn() -> Request<ChunkedBody>) {
    is_sent(api.handle(request()));
    is_sent(widget.handle(request()));
    is_owned(Service::call(&mut api, request()));
    is_owned(Service::call(&mut widget, request()));
}

#[test]
fn handlers_are_shared() {
    is_shared::<Api>();
    is_shared::<WidgetApi>();
}
