//! An actix-web application with the Open API next to its own routes, in memory. Argument: the address to listen on.

use std::sync::Arc;

use actix_web::{App, HttpServer, web};
use embed_actix::open_api;
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent, NewKey};
use openapi_core::api::Settings;
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{MemoryBlobs, SystemIds};
use openapi_core::server_keys::ServerKeys;
use openapi_core::service_info::ServiceInfo;
use storage_memory::MemoryStorage;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    actix_web::rt::System::new().block_on(serve())
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".into());
    let listener = std::net::TcpListener::bind(address)?;
    let service_info = ServiceInfo::new(&format!("http://{}", listener.local_addr()?))?;
    let ports =
        Ports::system(ServerKeys::generate(&SystemIds::default())).with_blobs(Arc::new(MemoryBlobs::new()));
    let platform = Arc::new(Platform::new(Arc::new(MemoryStorage::new()), ports, service_info.clone()));
    let by = Actor::Operator("example".into());
    let id = platform.create_agent(&by, NewAgent::new("Support".parse()?)).await?.id;
    let key = NewKey::new(id.clone(), "CRM".parse()?, "contacts:all".parse()?);
    let key = platform.create_key(&by, key).await?;
    println!("{}/v1/open/contacts/chatbots/{id}", service_info.public_url());
    println!("X-API-Key: {}\nX-API-Secret: {}", key.key.api_key, key.secret.expose());
    let api = platform.api(Settings::new(service_info));
    let app = move || {
        App::new()
            .app_data(web::Data::new(api.clone()))
            .route("/", web::get().to(async || "the application's own page\n"))
            .default_service(web::to(open_api))
    };
    Ok(HttpServer::new(app).listen(listener)?.run().await?)
}
