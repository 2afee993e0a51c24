//! Serves the page. Argument: the address to listen on.

use std::net::SocketAddr;
use std::sync::Arc;

use widget_page::application;
use widget_page::opening_hours::OpeningHours;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let origin = format!("http://{}", listener.local_addr()?);
    let app = application(&origin, Arc::new(OpeningHours)).await?;
    println!("{origin}");
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
