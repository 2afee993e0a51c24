//! The head of a part: its name and the name of its file (RFC 7578, RFC 6266, RFC 8187, and RFC 2047, which mail programs
//! and their libraries use here as well).

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::{Encoding, WINDOWS_1252};
use http::{HeaderMap, header};

/// What a part calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The name of the part.
    pub name: String,
    /// The name of the file: `filename*` where it can be read, else `filename`.
    pub file_name: Option<String>,
    /// Whether it calls itself a file.
    pub is_file: bool,
}

/// Reads the `Content-Disposition` of a part.
///
/// # Errors
/// What is wrong with it, in words.
pub fn read(headers: &HeaderMap) -> Result<Head, &'static str> {
    let mut lines = headers.get_all(header::CONTENT_DISPOSITION).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Err("every part needs exactly one Content-Disposition");
    };
    let (kind, mut rest) = split_at_semicolon(line.as_bytes());
    if !kind.trim_ascii().eq_ignore_ascii_case(b"form-data") {
        return Err("the Content-Disposition of a part must be form-data");
    }
    let (mut name, mut plain, mut extended) = (None, None, None);
    while let Some((parameter, value, after)) = parameter(rest)? {
        rest = after;
        let slot = match parameter.to_ascii_lowercase().as_slice() {
            b"name" => &mut name,
            b"filename" => &mut plain,
            b"filename*" => &mut extended,
            _ => continue,
        };
        if slot.replace(value).is_some() {
            return Err("a parameter of Content-Disposition is given twice");
        }
    }
    let name = name.ok_or("every part needs a name")?;
    let name = String::from_utf8(as_browsers_write(&name)).map_err(|_| "the name of a part is not UTF-8")?;
    let is_file = plain.is_some() || extended.is_some();
    let plain = plain.map(|name| file_name_of(&as_browsers_write(&name)));
    let file_name = extended.and_then(|name| extended_value(&name)).or(plain);
    Ok(Head { name, file_name, is_file })
}

fn split_at_semicolon(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b';') {
        Some(at) => (&bytes[..at], &bytes[at..]),
        None => (bytes, &[]),
    }
}

/// The first parameter of `; name=value…`, and what follows it.
#[expect(clippy::type_complexity, reason = "three parts of one line")]
fn parameter(rest: &[u8]) -> Result<Option<(&[u8], Vec<u8>, &[u8])>, &'static str> {
    const MALFORMED: &str = "the Content-Disposition of a part is malformed";
    let mut rest = rest.trim_ascii();
    // Empty parameters are harmless: `form-data; ; name=a;`.
    while let Some(after) = rest.strip_prefix(b";") {
        rest = after.trim_ascii();
    }
    if rest.is_empty() {
        return Ok(None);
    }
    let equals = rest.iter().position(|byte| *byte == b'=').ok_or(MALFORMED)?;
    let name = rest[..equals].trim_ascii();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.is_empty() || !name.iter().all(is_token) {
        return Err(MALFORMED);
    }
    let value = rest[equals + 1..].trim_ascii_start();
    let Some(quoted) = value.strip_prefix(b"\"") else {
        let (value, after) = split_at_semicolon(value);
        return Ok(Some((name, value.trim_ascii().to_vec(), after)));
    };
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        match (quoted.get(at).ok_or(MALFORMED)?, quoted.get(at + 1)) {
            (b'"', _) => break,
            // Only these are escaped: some clients send the path of the file with its backslashes as they are.
            (b'\\', Some(escaped @ (b'"' | b'\\'))) => {
                text.push(*escaped);
                at += 2;
            }
            (byte, _) => {
                text.push(*byte);
                at += 1;
            }
        }
    }
    let after = quoted[at + 1..].trim_ascii_start();
    if after.is_empty() || after.starts_with(b";") { Ok(Some((name, text, after))) } else { Err(MALFORMED) }
}

/// Browsers write a quote and line ends as `%22`, `%0D` and `%0A`, and nothing else so.
fn as_browsers_write(value: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((first, after)) = rest.split_first() {
        let escape = rest.get(..3).and_then(|escape| match escape.to_ascii_uppercase().as_slice() {
            b"%22" => Some(b'"'),
            b"%0D" => Some(b'\r'),
            b"%0A" => Some(b'\n'),
            _ => None,
        });
        match escape {
            Some(byte) => {
                text.push(byte);
                rest = &rest[3..];
            }
            None => {
                text.push(*first);
                rest = after;
            }
        }
    }
    text
}

/// The name of a file: UTF-8, with encoded words (RFC 2047) read. Text of another encoding is of the one that programs of
/// western languages use.
fn file_name_of(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(name) => with_words_read(name),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(name).0.into_owned(),
    }
}

/// Text with its encoded words, such as `=?UTF-8?Q?R=C3=A9sum=C3=A9?=`, read. White space between two of them is none, and
/// a character may be split between them. What is no encoded word stays.
fn with_words_read(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut word: Option<(&'static Encoding, Vec<u8>)> = None;
    let finish = |word: &mut Option<(&'static Encoding, Vec<u8>)>, read: &mut String| {
        if let Some((encoding, bytes)) = word.take() {
            read.push_str(&encoding.decode_without_bom_handling(&bytes).0);
        }
    };
    let mut rest = text;
    while let Some(at) = rest.find("=?") {
        let Some((encoding, bytes, after)) = encoded_word(&rest[at..]) else {
            finish(&mut word, &mut read);
            read.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        };
        match &mut word {
            Some((known, before)) if *known == encoding && rest[..at].trim().is_empty() => {
                before.extend(bytes);
            }
            _ => {
                let is_between_words = word.is_some() && rest[..at].trim().is_empty();
                finish(&mut word, &mut read);
                read.push_str(if is_between_words { "" } else { &rest[..at] });
                word = Some((encoding, bytes));
            }
        }
        rest = after;
    }
    finish(&mut word, &mut read);
    read.push_str(rest);
    read
}

/// The encoding and the bytes of the encoded word at the beginning of a text, and what follows it.
fn encoded_word(text: &str) -> Option<(&'static Encoding, Vec<u8>, &str)> {
    let (charset, rest) = text.strip_prefix("=?")?.split_once('?')?;
    let (method, rest) = rest.split_once('?')?;
    let (data, after) = rest.split_once("?=")?;
    let charset = charset.split('*').next().unwrap_or(charset);
    let encoding = Encoding::for_label(charset.as_bytes())?;
    let bytes = if method.eq_ignore_ascii_case("B") {
        let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        GeneralPurpose::new(&STANDARD, lenient).decode(data).ok()?
    } else if method.eq_ignore_ascii_case("Q") {
        unescaped(&data.replace('_', " "), b'=')?
    } else {
        return None;
    };
    Some((encoding, bytes, after))
}

/// The bytes of text in which the escape and two hexadecimal digits stand for one.
fn unescaped(text: &str, escape: u8) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == escape {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            u8::try_from(digit()? * 16 + digit()?).ok()?
        } else {
            byte
        });
    }
    Some(bytes)
}

/// `charset'language'percent-encoded` (RFC 8187); `None` when it is not that.
fn extended_value(value: &[u8]) -> Option<String> {
    let mut parts = value.splitn(3, |byte| *byte == b'\'');
    let (charset, _, encoded) = (parts.next()?, parts.next()?, parts.next()?);
    let bytes = unescaped(std::str::from_utf8(encoded).ok()?, b'%')?;
    if charset.eq_ignore_ascii_case(b"UTF-8") {
        return String::from_utf8(bytes).ok();
    }
    let encoding = Encoding::for_label(charset)?;
    encoding.decode_without_bom_handling_and_without_replacement(&bytes).map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn of(line: &[u8]) -> Result<Head, &'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_bytes(line).expect("a value"));
        read(&headers)
    }

    fn file_name(line: &str) -> Option<String> {
        of(line.as_bytes()).expect("a head").file_name
    }

    #[test]
    fn names_as_clients_write_them() {
        for (line, name) in [
            (r#"form-data; name="file"; filename="a.pdf""#, "a.pdf"),
            (r#"Form-Data;name=file;filename=a.pdf"#, "a.pdf"),
            (r#"form-data; NAME="file"; FileName="a.pdf""#, "a.pdf"),
            (r#"form-data; name="file"; filename="a;b=c.pdf""#, "a;b=c.pdf"),
            (r#"form-data; name="file"; filename="a\"b.pdf""#, "a\"b.pdf"),
            (r#"form-data; name="file"; filename="a%22b.pdf""#, "a\"b.pdf"),
            (r#"form-data; name="file"; filename="100%.pdf""#, "100%.pdf"),
            (r#"form-data; name="file"; filename="C:\dir\a.pdf""#, r"C:\dir\a.pdf"),
            (r#"form-data; name="file"; filename="Zoë.pdf""#, "Zoë.pdf"),
            (r#"form-data; name="file"; filename="x"; filename*=UTF-8''Zo%C3%AB.pdf"#, "Zoë.pdf"),
            (r#"form-data; name="file"; filename*=utf-8'en'Zo%C3%AB.pdf; filename="x""#, "Zoë.pdf"),
            (r#"form-data; name="file"; filename="x"; filename*=iso-8859-1''Zo%EB.pdf"#, "Zoë.pdf"),
            (r#"form-data; name="file"; filename="x"; filename*=UTF-8''%FF"#, "x"),
            (r#"form-data; name="file"; filename="x"; filename*=UTF-8''%4"#, "x"),
            (r#"form-data; name="file"; filename="x"; filename*=koi8-r''%CD%C9%D2"#, "мир"),
            (r#"form-data; name="file"; filename="x"; filename*=klingon''a"#, "x"),
            (
                r#"form-data; name="file"; filename="=?UTF-8?B_UsOpc3Vtw6kudHh0?=""#,
                "=?UTF-8?B_UsOpc3Vtw6kudHh0?=",
            ),
            (r#"form-data; name="file"; filename="=?UTF-8?B?UsOpc3Vtw6kudHh0?=""#, "Résumé.txt"),
            (r#"form-data; name="file"; filename="=?utf-8?q?R=C3=A9sum=C3=A9_2.txt?=""#, "Résumé 2.txt"),
            (
                r#"form-data; name="file"; filename="=?ISO-8859-1?Q?R=E9sum=E9?= =?ISO-8859-1?Q?.txt?=""#,
                "Résumé.txt",
            ),
            (
                r#"form-data; name="file"; filename="=?UTF-8?Q?R=C3?= =?UTF-8?Q?=A9sum=C3=A9?=.txt""#,
                "Résumé.txt",
            ),
            (r#"form-data; name="file"; filename="a =?UTF-8*fr?B?w6k?= b.txt""#, "a é b.txt"),
            (
                r#"form-data; name="file"; filename="=?UTF-8?X?a?= =?klingon?Q?b?=""#,
                "=?UTF-8?X?a?= =?klingon?Q?b?=",
            ),
            (r#"form-data; name="file"; filename="""#, ""),
            (r#"form-data; ; name="file"; filename = "a.pdf" ; other=1;"#, "a.pdf"),
        ] {
            assert_eq!(file_name(line).as_deref(), Some(name), "{line}");
        }
        assert_eq!(file_name(r#"form-data; name="file""#), None);
        assert_eq!(
            of(b"form-data; name=\"file\"; filename=\"R\xe9sum\xe9 \x96 \xff.pdf\"")
                .expect("a head")
                .file_name
                .as_deref(),
            Some("Résumé – ÿ.pdf")
        );
    }

    #[test]
    fn broken_heads() {
        for line in [
            "",
            "form-data",
            "form-data; filename=\"a\"",
            "attachment; name=\"file\"",
            "form-data; name=\"file",
            "form-data; name=\"file\" filename=\"a\"",
            "form-data; name=\"a\"; name=\"b\"",
            "form-data; name=\"file\"; filename=\"a\"; filename=\"b\"",
            "form-data; name",
            "form-data; =file",
            "form-data; na me=file",
        ] {
            assert!(of(line.as_bytes()).is_err(), "{line}");
        }
        assert!(of(b"form-data; name=\"\xff\"").is_err());
        assert!(read(&HeaderMap::new()).is_err());
        let mut twice = HeaderMap::new();
        twice.append(header::CONTENT_DISPOSITION, HeaderValue::from_static("form-data; name=a"));
        twice.append(header::CONTENT_DISPOSITION, HeaderValue::from_static("form-data; name=b"));
        assert!(read(&twice).is_err());
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in proptest::collection::vec(any::<u8>(), 0..80)) {
            if HeaderValue::from_bytes(&line).is_ok() {
                let _ = of(&line);
            }
        }

        #[test]
        fn encoded_words_are_read_back(name in "\\PC{0,40}", in_base64 in any::<bool>(), pieces in 1_usize..20) {
            let encoded: Vec<String> = name
                .as_bytes()
                .chunks(pieces)
                .map(|piece| match in_base64 {
                    true => format!("=?UTF-8?B?{}?=", base64::engine::general_purpose::STANDARD.encode(piece)),
                    false => {
                        let escaped: String = piece.iter().map(|byte| format!("={byte:02X}")).collect();
                        format!("=?UTF-8?Q?{escaped}?=")
                    }
                })
                .collect();
            prop_assert_eq!(with_words_read(&encoded.join(" ")), name);
        }

        #[test]
        fn any_text_has_its_words_read(text in "(=\\?|\\?|=|utf-8|[bq]|[a-z_ ]){0,30}") {
            let _ = with_words_read(&text);
        }

        #[test]
        fn what_a_browser_writes_is_read_back(name in "[^\\p{Cc}\\\\%]{0,40}") {
            let written = name.replace('"', "%22");
            let line = format!("form-data; name=\"file\"; filename=\"{written}\"");
            prop_assert_eq!(of(line.as_bytes()).expect("a head").file_name, Some(name));
        }
    }
}
