//! A complete host: the Open API on bare hyper, in memory. Argument: the address to listen on.

use hyper::{server::conn::http1::Builder, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use openapi_core::{access::*, admin::*, api::*, platform::*, ports::*, server_keys::*, service_info::*};
use std::sync::Arc;
use storage_memory::MemoryStorage;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let service_info = ServiceInfo::new(&format!("http://{}", listener.local_addr()?))?;
    let ports = Ports::system(ServerKeys::generate(&SystemIds::default()));
    let platform = Arc::new(Platform::new(Arc::new(MemoryStorage::new()), ports, service_info.clone()));
    let by = Actor::Operator("example".into());
    let id = platform.create_agent(&by, NewAgent::new("Support".parse()?)).await?.id;
    let key = NewKey::new(id.clone(), "CRM".parse()?, "contacts:all".parse()?);
    let key = platform.create_key(&by, key).await?;
    println!("{}/v1/open/contacts/chatbots/{id}", service_info.public_url());
    println!("X-API-Key: {}\nX-API-Secret: {}", key.key.api_key, key.secret.expose());
    let api = platform.api(Settings::new(service_info));
    loop {
        let (stream, peer) = listener.accept().await?;
        let api = api.clone();
        let service = service_fn(move |mut request| {
            request.extensions_mut().insert(PeerAddress(peer.ip()));
            tower_service::Service::call(&mut api.clone(), request)
        });
        tokio::spawn(Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service));
    }
}
