//! An axum application with the Open API beside its own routes: keys for machines, its own login for people.
//! Argument: the address to listen on.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::header::AUTHORIZATION;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use openapi_core::access::{Actor, Caller};
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::api::{PeerAddress, Settings};
use openapi_core::brand::Brand;
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::SystemIds;
use openapi_core::server_keys::ServerKeys;
use openapi_core::storage::memory::MemoryStorage;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let brand = Brand::new(&format!("http://{}", listener.local_addr()?))?;
    println!("{}", brand.public_url());

    let ports = Ports::system(ServerKeys::generate(&SystemIds::default()));
    let platform = Arc::new(Platform::new(Arc::new(MemoryStorage::new()), ports, brand.clone()));
    let agent = NewAgent { id: Some("front-desk".parse()?), name: "Front desk".parse()? };
    platform.create_agent(&Actor::Operator("example".into()), agent).await?;

    let app = Router::new()
        .route("/", get(|| async { "the application's own page\n" }))
        .fallback_service(platform.api(Settings::new(brand)))
        .layer(from_fn(introduce));
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

/// Tells the API who calls: the address always, and the user where the application knows one.
async fn introduce(ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(PeerAddress(peer.ip()));
    if let Some(caller) = logged_in(&request) {
        request.extensions_mut().insert(caller);
    }
    next.run(request).await
}

/// Stands for the application's sessions: whoever has Alice's token reads and writes at the front desk.
fn logged_in(request: &Request) -> Option<Caller> {
    let token = request.headers().get(AUTHORIZATION)?;
    let is_alice = token == "Bearer alices-session";
    is_alice.then(|| Some(Caller::user("front-desk".parse().ok()?, "alice", "contacts:all".parse().ok()?)))?
}
