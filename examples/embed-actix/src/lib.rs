//! The Open API through actix-web's types: a handler for `App::default_service` or a route of any depth.
//!
//! ```no_run
//! # fn add(api: openapi_core::api::Api) {
//! use actix_web::{App, web};
//! let app = App::new().app_data(web::Data::new(api)).default_service(web::to(embed_actix::open_api));
//! # }
//! ```

mod answer;
mod upload;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use http::Request;
use openapi_core::api::{Api, PeerAddress};

use answer::Answer;
use upload::Upload;

/// Answers a request with the [`Api`] in the application's data.
///
/// The payload streams to the API, at most one part ahead of it, and a file's content streams back in the same way.
/// When the client disconnects, actix-web drops this future and all work in it.
pub async fn open_api(request: HttpRequest, payload: web::Payload, api: web::Data<Api>) -> HttpResponse {
    let (upload, pump) = Upload::of(payload);
    let Some(translated) = translated(&request, upload) else {
        // Anything that actix-web parsed is also a valid request for `http`.
        return HttpResponse::BadRequest().finish();
    };
    tokio::select! {
        response = api.handle(translated) => answered(response),
        never = pump => match never {},
    }
}

fn translated(request: &HttpRequest, upload: Upload) -> Option<Request<Upload>> {
    let mut builder = Request::builder().method(request.method().as_str()).uri(request.uri().to_string());
    for (name, value) in request.headers() {
        builder = builder.header(name.as_str(), value.as_bytes());
    }
    if let Some(peer) = request.peer_addr() {
        builder = builder.extension(PeerAddress(peer.ip()));
    }
    builder.body(upload).ok()
}

fn answered(response: http::Response<openapi_core::api::ApiBody>) -> HttpResponse {
    let (head, body) = response.into_parts();
    let status = StatusCode::from_u16(head.status.as_u16()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut builder = HttpResponseBuilder::new(status);
    for (name, value) in &head.headers {
        builder.append_header((name.as_str(), value.as_bytes()));
    }
    builder.body(Answer::new(body, &head.headers))
}
