//! The bare server: hyper with its defaults, the same response to every request. It is the lower bound for a server on
//! hyper.

use std::convert::Infallible;
use std::io::Write;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::report::Failure;

/// The name of this subprocess.
pub(crate) const COMMAND: &str = "bare";

/// Serves bodies of this many bytes until the process is killed.
pub(crate) fn serve(bytes: &str) -> Result<(), Failure> {
    let bytes: usize = bytes.parse()?;
    let body = Bytes::from(vec![b'x'; bytes]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening bare http://{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let body = body.clone();
            tokio::spawn(async move {
                let answer = service_fn(move |_| {
                    let body = body.clone();
                    async move { Ok::<_, Infallible>(answer(body)) }
                });
                // The client closes the connection.
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), answer)
                    .await;
            });
        }
    })
}

fn answer(body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    let json = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
