//! Requests with hostile strings: in path, query, headers, bodies and multipart heads.

use serde_json::Value;
use testkit::strategies::{hostile_header, hostile_json, hostile_percent_encoded, hostile_text};

use super::{Known, Request, Step, step};
use crate::SplitMix64;
use crate::table::endpoints;

/// The longest target: beyond it there is no URI.
const LONGEST: usize = 60_000;

/// The headers that the service reads.
const HEADERS: [&str; 14] = [
    "idempotency-key",
    "if-match",
    "if-none-match",
    "if-range",
    "range",
    "content-type",
    "content-length",
    "accept",
    "accept-encoding",
    "origin",
    "user-agent",
    "x-request-id",
    "forwarded",
    "x-forwarded-for",
];

/// The next step: a request with hostile strings, or one of [`step`], so that there is something to be hostile to.
#[must_use]
pub fn hostile_step(seed: u64, known: &Known) -> Step {
    let mut random = SplitMix64(seed);
    match step(random.next_u64(), known) {
        Step::Request(mut request) if !random.one_in(4) => {
            for _ in 0..=random.below(2) {
                let before = request.clone();
                poison(&mut random, &mut request);
                if request.path.len() > LONGEST {
                    request = before;
                }
            }
            Step::Request(request)
        }
        step => step,
    }
}

/// Puts a hostile string into a request, wherever it takes strings.
fn poison(random: &mut SplitMix64, request: &mut Request) {
    match random.below(10) {
        0..=1 => poison_path(random, request),
        2..=4 => poison_query(random, request),
        5 => poison_header(random, request),
        _ => match request.body.take() {
            Some(body) if is_form(request) => request.body = Some(poisoned_form(random, &body)),
            Some(body) => request.body = Some(poisoned_json(random, &body)),
            None => poison_query(random, request),
        },
    }
}

fn is_form(request: &Request) -> bool {
    request.headers.iter().any(|(name, value)| *name == "content-type" && value.starts_with("multipart/"))
}

/// Replaces a segment; the others still lead to the operation.
fn poison_path(random: &mut SplitMix64, request: &mut Request) {
    let (path, query) = match request.path.split_once('?') {
        Some((path, query)) => (path.to_owned(), format!("?{query}")),
        None => (request.path.clone(), String::new()),
    };
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    // Segments that name what is stored: ids, and names of the caller's own.
    let named = |segment: &&String| segment.contains(|c: char| c.is_ascii_digit()) || *segment == "<A>";
    let count = segments.iter().filter(named).count();
    if count == 0 {
        return poison_query(random, request);
    }
    let chosen = random.index(count);
    let position =
        segments.iter().enumerate().filter(|(_, segment)| named(segment)).map(|(at, _)| at).nth(chosen);
    segments[position.unwrap_or_default()] = hostile_percent_encoded(random).replace('?', "%3F");
    request.path = segments.join("/") + &query;
}

/// Replaces the value of a parameter, adds one of any endpoint, or one that is none.
fn poison_query(random: &mut SplitMix64, request: &mut Request) {
    let hostile = hostile_percent_encoded(random);
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let mut pairs: Vec<String> =
        query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).collect();
    if !pairs.is_empty() && random.one_in(2) {
        let at = random.index(pairs.len());
        let name = pairs[at].split('=').next().unwrap_or_default().to_owned();
        pairs[at] = format!("{name}={hostile}");
    } else if random.one_in(8) {
        pairs.push(format!("{hostile}=1"));
    } else {
        let of_others: Vec<&str> = endpoints()
            .flat_map(|endpoint| endpoint.meta.query.iter().map(|parameter| parameter.name))
            .chain(["signature", "kid"])
            .collect();
        pairs.push(format!("{}={hostile}", random.pick(&of_others)));
    }
    request.path = format!("{path}?{}", pairs.join("&"));
}

fn poison_header(random: &mut SplitMix64, request: &mut Request) {
    let name = random.pick(&HEADERS);
    if name != "content-length" {
        request.headers.retain(|(known, _)| *known != name || random.one_in(6));
    }
    request.headers.push((name, hostile_header(random)));
}

/// Stands for the literal that replaces it.
const MARKER: &str = "\u{1f4cd}";

/// Replaces a string, the name of a member or any other value.
fn poisoned_json(random: &mut SplitMix64, body: &[u8]) -> Vec<u8> {
    let hostile = hostile_json(random);
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else { return hostile.into_bytes() };
    let count = positions(&value);
    mark(&mut value, &mut random.index(count.max(1)), random.one_in(6));
    value.to_string().replace(&format!("\"{MARKER}\""), &hostile).into_bytes()
}

/// How many values the value has inside, itself included.
fn positions(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(positions).sum(),
        Value::Object(members) => members.values().map(positions).sum(),
        _ => 0,
    }
}

/// Marks the value of a number, in the order of [`positions`], or the name of its member.
fn mark(value: &mut Value, left: &mut usize, is_name: bool) -> bool {
    if *left == 0 {
        *value = Value::String(MARKER.to_owned());
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| mark(item, left, is_name)),
        Value::Object(members) => {
            let names: Vec<String> = members.keys().cloned().collect();
            for name in names {
                let is_next = *left == 0;
                let Some(member) = members.get_mut(&name) else { continue };
                if is_next && is_name {
                    let member = members.remove(&name).unwrap_or_default();
                    members.insert(MARKER.to_owned(), member);
                    return true;
                }
                if mark(member, left, is_name) {
                    return true;
                }
            }
            false
        }
        _ => false,
    }
}

/// Replaces the name of a part or of its file, or the beginning of a part's content.
fn poisoned_form(random: &mut SplitMix64, body: &[u8]) -> Vec<u8> {
    let hostile = match random.below(3) {
        // As browsers write it; as most other programs do; as bytes that no encoding has.
        0 => hostile_header(random).replace('"', "%22").into_bytes(),
        1 => hostile_header(random).replace('"', "\\\"").into_bytes(),
        _ => {
            [b"Z\xff\xfe".to_vec(), hostile_text(random).replace(['"', '\r', '\n'], "").into_bytes()].concat()
        }
    };
    let (open, close): (&[u8], &[u8]) = match random.below(4) {
        0 => (b" name=\"", b"\""),
        1 | 2 => (b"filename=\"", b"\""),
        _ => (b"\r\n\r\n", b"\r\n--"),
    };
    let found = |bytes: &[u8], wanted: &[u8]| bytes.windows(wanted.len()).position(|window| window == wanted);
    let Some(start) = found(body, open).map(|at| at + open.len()) else { return body.to_vec() };
    let Some(end) = found(&body[start..], close).map(|at| start + at) else { return body.to_vec() };
    [&body[..start], &hostile, &body[end..]].concat()
}
