//! Redirects: off by default, bounded, and judged like first URLs.

use std::io;

use http::{HeaderValue, Method, header};
use openapi_core::ports::{Outbound, OutboundError, OutboundRequest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Receiver, client, crawl, get, read_head};

async fn respond(stream: &mut TcpStream, status: &str, fields: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).await
}

/// Answers `/STATUS/PATH` with a redirect to `/PATH`, and everything else with what was received.
async fn redirecting() -> Receiver {
    Receiver::new(|mut stream, _| async move {
        while let Some(head) = read_head(&mut stream).await? {
            let mut body = Vec::new();
            let lower = head.to_lowercase();
            if let Some((_, rest)) = lower.split_once("content-length: ") {
                body.resize(rest.split("\r\n").next().unwrap_or_default().parse().unwrap(), 0);
                stream.read_exact(&mut body).await?;
            }
            let path = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
            match path.split_once('/').filter(|(status, _)| status.parse::<u16>().is_ok()) {
                Some((status, next)) => {
                    respond(
                        &mut stream,
                        &format!("{status} Moved"),
                        &format!("Location: /{next}\r\n"),
                        "moved",
                    )
                    .await?;
                }
                None => {
                    let seen = format!("{head}{}", String::from_utf8_lossy(&body));
                    respond(&mut stream, "200 OK", "", &seen).await?;
                }
            }
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn without_redirects_they_are_responses() {
    let receiver = redirecting().await;
    let client = client(receiver.port());
    let response = client.send(get(receiver.url("/302/end"))).await.unwrap();
    assert_eq!((response.status.as_u16(), response.body.as_ref()), (302, b"moved".as_slice()));
}

#[tokio::test]
async fn five_are_followed_and_no_more() {
    let receiver = redirecting().await;
    let client = client(receiver.port());
    let response = client.send(crawl(receiver.url("/301/302/303/307/308/end"))).await.unwrap();
    assert_eq!((response.status.as_u16(), response.url), (200, receiver.url("/end")));
    let six = client.send(crawl(receiver.url("/301/302/303/307/308/301/end"))).await;
    assert_eq!(six.unwrap_err(), OutboundError::Redirects(5));
    let greedy =
        OutboundRequest { max_redirects: 200, ..crawl(receiver.url("/301/302/303/307/308/301/end")) };
    assert_eq!(client.send(greedy).await.unwrap_err(), OutboundError::Redirects(5));
    let two = OutboundRequest { max_redirects: 2, ..crawl(receiver.url("/301/302/303/end")) };
    assert_eq!(client.send(two).await.unwrap_err(), OutboundError::Redirects(2));
    // What is no redirect, or leads nowhere, is a response.
    assert_eq!(client.send(crawl(receiver.url("/300/end"))).await.unwrap().status, 300);
    assert_eq!(client.send(crawl(receiver.url("/304/end"))).await.unwrap().status, 304);
}

#[tokio::test]
async fn methods_bodies_and_credentials() {
    let receiver = redirecting().await;
    let other = redirecting().await;
    let client = client(receiver.port());
    let mut request = crawl(receiver.url("/307/end"));
    request.method = Method::POST;
    request.body = "xyz".into();
    request.headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer abc"));
    request.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    let seen = |response: openapi_core::ports::OutboundResponse| {
        String::from_utf8(response.body.to_vec()).unwrap().to_lowercase()
    };
    let same = seen(client.send(request.clone()).await.unwrap());
    assert!(same.starts_with("post ") && same.ends_with("xyz") && same.contains("bearer abc"), "{same}");
    let get = OutboundRequest { url: receiver.url("/302/end"), ..request.clone() };
    let get = seen(client.send(get).await.unwrap());
    assert!(get.starts_with("get ") && !get.contains("xyz") && !get.contains("text/plain"), "{get}");
    assert!(get.contains("bearer abc"), "{get}");
    // Another port is another origin.
    let ports = crate::support::policy(&["127.0.0.2"], &[receiver.port(), other.port()]);
    let answers = crate::support::Answers::of(&[("receiver.example", &[&["127.0.0.2"]])]);
    let client = outbound::HttpOutbound::new(
        ports,
        crate::support::parts(answers, std::sync::Arc::new(outbound::SystemDialer)),
    );
    let location = other.url("/end");
    let first = Receiver::at(&format!("127.0.0.3:{}", receiver.port()), move |mut stream, _| {
        let location = location.clone();
        async move {
            read_head(&mut stream).await?;
            respond(&mut stream, "307 Moved", &format!("Location: {location}\r\n"), "").await
        }
    })
    .await;
    drop(client);
    let ports = crate::support::policy(&["127.0.0.0/8"], &[first.port(), other.port()]);
    let answers = crate::support::Answers::of(&[
        ("first.example", &[&["127.0.0.3"]]),
        ("receiver.example", &[&["127.0.0.2"]]),
    ]);
    let client = outbound::HttpOutbound::new(
        ports,
        crate::support::parts(answers, std::sync::Arc::new(outbound::SystemDialer)),
    );
    let url = format!("http://first.example:{}/", first.port());
    request.method = Method::GET;
    request.body.clear();
    let elsewhere = seen(client.send(OutboundRequest { url, ..request }).await.unwrap());
    assert!(elsewhere.starts_with("get ") && !elsewhere.contains("bearer"), "{elsewhere}");
}

/// The time of a call covers its redirects.
#[tokio::test]
async fn all_redirects_share_one_timeout() {
    let receiver = Receiver::new(|mut stream, _| async move {
        while read_head(&mut stream).await?.is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(150)).await;
            respond(&mut stream, "302 Moved", "Location: /\r\n", "").await?;
        }
        Ok(())
    })
    .await;
    let request = OutboundRequest { timeout_millis: 400, ..crawl(receiver.url("/")) };
    let error = client(receiver.port()).send(request).await.unwrap_err();
    assert_eq!(error, OutboundError::Timeout("response"));
}
