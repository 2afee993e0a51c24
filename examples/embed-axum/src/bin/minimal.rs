//! The smallest host: the Open API in axum over SQLite, with a server key in the current folder.

use axum::{Router, extract::ConnectInfo, extract::Request, middleware::map_request};
use openapi_core::api::{PeerAddress, Settings};
use openapi_core::{platform::*, server_keys::*, service_info::ServiceInfo};
use std::{net::SocketAddr, sync::Arc};
use storage_sqlite::{SqliteConfig, SqliteStorage};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let names = ServiceInfo::new(&format!("http://{}", listener.local_addr()?))?;
    println!("{}", names.public_url());
    let keys = ServerKeys::new(ServerKey::new(std::fs::read("server-key")?.as_slice().try_into()?), vec![]);
    let store = Arc::new(SqliteStorage::open(SqliteConfig::new("openapi.db"))?);
    let platform = Arc::new(Platform::new(store, Ports::system(keys), names.clone()));
    let greet = |ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request| async move {
        request.extensions_mut().insert(PeerAddress(peer.ip()));
        request
    };
    let app = Router::new().fallback_service(platform.api(Settings::new(names))).layer(map_request(greet));
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
