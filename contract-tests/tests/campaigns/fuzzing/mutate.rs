//! Mutations of a request: of its parsed parts where possible, and of its bytes.

use contract_tests::SplitMix64;
use serde_json::{Value, json};

use super::case::{Case, End, Who};

const METHODS: [&str; 11] = [
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "get",
    "X-!#$%&'*+.^_`|~",
];

const SEGMENTS: [&str; 28] = [
    "v1",
    "open",
    "contacts",
    "chatbots",
    "schema",
    "platformid",
    "archive",
    "unarchive",
    "health",
    "files",
    "signed-url",
    "forms",
    "submit",
    "batch",
    "submissions",
    "templates",
    "latest",
    "structure",
    "document-extraction",
    "extract",
    "openapi.json",
    "..",
    ".",
    "",
    "%2e%2e",
    "%00",
    "%ff",
    "%C3%A9%F0%9F%98%80",
];

const NAMES: [&str; 10] = [
    "<A>",
    "<CONTACT>",
    "<FILE>",
    "<TEMPLATE>",
    "<SUBMISSION>",
    "crm-1001",
    "other",
    "697d00000000000000000000",
    "%41",
    "a%2Fb",
];

const PARAMETERS: [&str; 27] = [
    "page",
    "limit",
    "cursor",
    "search",
    "status",
    "tag",
    "sortBy",
    "sortOrder",
    "includeArchived",
    "primaryEmail",
    "createdSince",
    "updatedSince",
    "dryRun",
    "upsert",
    "templateId",
    "includeSuperseded",
    "clientId",
    "includeDrafts",
    "expiresIn",
    "disposition",
    "agentId",
    "locale",
    "_",
    "",
    "%70age",
    "page%00",
    "expires",
];

const VALUES: [&str; 27] = [
    "",
    "0",
    "1",
    "-1",
    "100",
    "101",
    "18446744073709551616",
    "1e3",
    "0x1",
    "true",
    "TRUE",
    "active",
    "createdAt",
    "asc",
    "zoe",
    "%25",
    "%",
    "%zz",
    "%ff%fe",
    "%ED%A0%80",
    "a+b",
    "a%2Bb",
    "2026-01-31T09:15:02.123Z",
    "9999-12-31T23:59:60%2B14:00",
    "-9999-01-01",
    "eyJhIjoxfQ",
    "<TEMPLATE>",
];

const HEADERS: [(&str, &str); 40] = [
    ("content-type", "application/json"),
    ("content-type", "application/json; charset=utf-16"),
    ("content-type", "application/merge-patch+json"),
    ("content-type", "application/x-www-form-urlencoded"),
    ("content-type", "multipart/form-data"),
    ("content-type", "multipart/form-data; boundary="),
    ("content-type", "multipart/form-data; boundary=\"a b\""),
    ("content-type", "multipart/form-data; boundary=----4d8f0c7aX; boundary=y"),
    ("content-type", "multipart/mixed; boundary=x"),
    ("content-type", "text/plain"),
    ("content-type", ";;;"),
    ("content-encoding", "gzip"),
    ("content-encoding", "identity"),
    ("content-length", "0"),
    ("content-length", "99999999999999999999"),
    ("content-length", "-1"),
    ("transfer-encoding", "chunked"),
    ("expect", "100-continue"),
    ("if-match", "*"),
    ("if-match", "W/\"x\", \"y\""),
    ("if-match", "\"unfinished"),
    ("if-none-match", "*"),
    ("if-none-match", "\"x\",,\"\""),
    ("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("range", "bytes=0-0"),
    ("range", "bytes=-1"),
    ("range", "bytes=0-0,5-9,2-1"),
    ("range", "bytes=18446744073709551615-"),
    ("if-range", "\"x\""),
    ("idempotency-key", "key-1"),
    ("idempotency-key", ""),
    ("x-request-id", "a b"),
    ("x-request-id", "same"),
    ("x-api-key", "oak_k_x"),
    ("x-api-secret", "x"),
    ("x-forwarded-for", "1.2.3.4"),
    ("origin", "https://www.example.com"),
    ("origin", "null"),
    ("accept", "application/json"),
    ("host", "a@b:99999"),
];

/// Fragments that parsers often mishandle.
const TOKENS: [&[u8]; 34] = [
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\r\n",
    b"\n",
    b"\r",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\\u",
    b"1e999",
    b"-0",
    b"0.1e-400",
    b"00",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"--",
    b"------4d8f0c7aX\r\n",
    b"------4d8f0c7aX--",
    b"Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%ff\r\n",
    b"Content-Transfer-Encoding: base64\r\n",
    b"%",
    b"&=&",
];

fn texts() -> [String; 24] {
    [
        "",
        " ",
        "a",
        "é",
        "e\u{301}",
        "İ",
        "ß",
        "\u{0}",
        "\u{feff}",
        "\u{202e}x",
        "\u{fffd}",
        "𝒳",
        "👩‍👩‍👧‍👦",
        "2026-02-30",
        "2026-01-31T09:15:02Z",
        "a@b.co",
        "a@@b",
        "+44",
        "null",
        "(a+)+$",
        "<TEMPLATE>",
        "<FILE>",
        "under_review",
        &"x".repeat(300),
    ]
    .map(str::to_owned)
}

fn value(random: &mut SplitMix64) -> Value {
    match random.below(14) {
        0 => Value::Null,
        1 => json!(random.one_in(2)),
        2 => json!(random.pick(&[0_i64, 1, -1, 5, 255, i64::MAX, i64::MIN])),
        3 => json!(random.pick(&[0.5, -0.0, 1e308, 1e-308, 9_007_199_254_740_993.0])),
        4 => json!([]),
        5 => json!({}),
        6 => json!(vec![random.pick(&texts()); random.below(120) as usize]),
        7 => (0..random.pick(&[3, 30, 90])).fold(json!("deep"), |inner, _| json!([inner])),
        8 => (0..random.pick(&[3, 30, 90])).fold(json!(1), |inner, _| json!({ "a": inner })),
        9 => (0..random.below(130))
            .map(|n| (format!("k{n}"), json!(n)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        10 => json!("x".repeat(random.pick(&[29, 30, 31, 64, 100, 255, 256, 1_000, 10_001]))),
        _ => json!(random.pick(&texts())),
    }
}

/// Mutates a random position in a value.
fn harm(random: &mut SplitMix64, json: &mut Value, others: &[Value]) {
    let goes_on = !random.one_in(3);
    match json {
        Value::Array(items) if goes_on && !items.is_empty() => {
            let at = random.below(items.len() as u64) as usize;
            match random.below(6) {
                0 => drop(items.remove(at)),
                1 => {
                    let copies = random.pick(&[1, 2, 12]);
                    items.extend(vec![items[at].clone(); copies]);
                }
                _ => harm(random, &mut items[at], others),
            }
        }
        Value::Object(members) if goes_on && !members.is_empty() => {
            let names: Vec<String> = members.keys().cloned().collect();
            let name = random.pick(&names);
            match random.below(8) {
                0 => drop(members.shift_remove(&name)),
                1 => {
                    let taken = members.shift_remove(&name).unwrap_or_default();
                    drop(members.insert(random.pick(&texts()), taken));
                }
                2 => drop(members.insert(random.pick(&texts()), value(random))),
                _ => {
                    if let Some(member) = members.get_mut(&name) {
                        harm(random, member, others);
                    }
                }
            }
        }
        position if !others.is_empty() && random.one_in(4) => *position = random.pick(others),
        position => *position = value(random),
    }
}

/// Mutates bytes.
fn scramble(random: &mut SplitMix64, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(bytes.len() as u64 + 1) as usize;
    let end = bytes.len().min(at + random.pick(&[1, 1, 2, 8, 64, 4_096]));
    match random.below(8) {
        0 => drop(bytes.drain(at..end)),
        1 => bytes.truncate(at),
        2 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        3 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        4 => {
            let copy = bytes[at..end].repeat(random.pick(&[1, 2, 20]));
            bytes.splice(at..at, copy);
        }
        5 if !other.is_empty() => {
            let from = random.below(other.len() as u64) as usize;
            bytes.splice(at..end, other[from..].iter().take(200).copied());
        }
        _ => {
            let token = random.pick(&TOKENS);
            bytes.splice(at..at, token.repeat(if random.one_in(20) { 300 } else { 1 }));
        }
    }
}

fn target(random: &mut SplitMix64, target: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(target).into_owned();
    let (path, query) = text.split_once('?').unwrap_or((&text, ""));
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    let mut pairs: Vec<String> =
        query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).collect();
    let at = random.below(segments.len() as u64) as usize;
    match random.below(14) {
        0..=1 => segments[at] = random.pick(&SEGMENTS).to_owned(),
        2 => segments[at] = random.pick(&NAMES).to_owned(),
        3 => segments.insert(at, random.pick(&SEGMENTS).to_owned()),
        4 => drop(segments.remove(at)),
        5..=8 => pairs.push(format!("{}={}", random.pick(&PARAMETERS), random.pick(&VALUES))),
        9 if !pairs.is_empty() => {
            let pair = random.pick(&pairs);
            pairs.push(pair);
        }
        10 if !pairs.is_empty() => {
            let at = random.below(pairs.len() as u64) as usize;
            let name = pairs[at].split('=').next().unwrap_or_default().to_owned();
            pairs[at] = format!("{name}={}", random.pick(&VALUES));
        }
        11 => {
            *target = random
                .pick(&[
                    "*",
                    "http://other.example/v1/open/health",
                    "example.com:443",
                    "/",
                    "//",
                    "/?",
                    "/v1/open",
                ])
                .into();
            return;
        }
        12 if random.one_in(5) => segments[at] = "x".repeat(random.pick(&[200, 8_000, 9_000])),
        _ => {
            scramble(random, target, b"");
            return;
        }
    }
    let question = if pairs.is_empty() { "" } else { "?" };
    *target = format!("{}{question}{}", segments.join("/"), pairs.join("&")).into_bytes();
}

fn headers(random: &mut SplitMix64, headers: &mut Vec<(Vec<u8>, Vec<u8>)>) {
    let at = random.below(headers.len() as u64 + 1) as usize;
    match random.below(8) {
        0 if at < headers.len() => drop(headers.remove(at)),
        1 if at < headers.len() => headers.push(headers[at].clone()),
        2..=3 if at < headers.len() => scramble(random, &mut headers[at].1, b""),
        4 if random.one_in(5) => {
            let (count, length) = random.pick(&[(200, 10), (1, 17_000), (40, 400)]);
            headers.extend((0..count).map(|n| (format!("x-{n}").into_bytes(), vec![b'x'; length])));
        }
        _ => {
            let (name, value) = random.pick(&HEADERS);
            if random.one_in(2) {
                headers.retain(|(known, _)| known != name.as_bytes());
            }
            headers.push((name.into(), value.into()));
        }
    }
}

fn body(random: &mut SplitMix64, case: &mut Case, other: &Case) {
    let json = serde_json::from_slice::<Value>(&case.body);
    match random.below(16) {
        0..=9 => match json {
            Ok(mut json) => {
                let others = serde_json::from_slice::<Value>(&other.body).ok();
                let others: Vec<Value> = others
                    .iter()
                    .filter_map(Value::as_object)
                    .flat_map(|object| object.values().cloned())
                    .collect();
                harm(random, &mut json, &others);
                case.body = json.to_string().into_bytes();
            }
            Err(_) => scramble(random, &mut case.body, &other.body),
        },
        10 => case.body.clone_from(&other.body),
        11 => case.body = json!({ "formData": value(random) }).to_string().into_bytes(),
        12 if random.one_in(40) => {
            case.body = [&case.body[..], &vec![random.pick(b" [x0"); 1_100_000]].concat();
        }
        13 if random.one_in(10) => {
            case.body = random.pick(&[&b"["[..], b"{\"a\":", b"\"", b"1"]).repeat(5_000);
        }
        _ => scramble(random, &mut case.body, &other.body),
    }
}

/// Mutates one to four parts of `case`; `other` donates parts.
pub fn mutated(random: &mut SplitMix64, case: &Case, other: &Case) -> Case {
    let mut mutated = case.clone();
    for _ in 0..=random.below(4) {
        match random.below(20) {
            0 => mutated.method = random.pick(&METHODS).into(),
            1..=4 => target(random, &mut mutated.target),
            5..=7 => headers(random, &mut mutated.headers),
            8..=15 => body(random, &mut mutated, other),
            16 => mutated.piece = random.pick(&[0, 1, 7, 64, 4_096]),
            17 => match random.below(6) {
                0 => {
                    mutated.who =
                        random.pick(&[Who::Key, Who::WrongSecret, Who::Nobody, Who::Host, Who::Visitor]);
                }
                1 => mutated.version = random.pick(&["HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3"]).into(),
                _ => {
                    mutated.end = random.pick(&[End::Whole, End::Whole, End::Trailers, End::Gone, End::Late]);
                }
            },
            18 => mutated.headers.clone_from(&other.headers),
            _ => {
                let mut bytes = mutated.bytes();
                scramble(random, &mut bytes, &other.bytes());
                mutated = Case::read(&bytes).unwrap_or(mutated);
            }
        }
    }
    mutated
}
