//! JSON: one object a line, or one array of objects.

use std::io::{self, BufRead};

use openapi_core::json::{Json, Object, parse};

use super::lines::{Line, LineCounter};

/// The longest object; longer than any valid contact.
const MAX_LENGTH: usize = 2 * 1024 * 1024;

/// The lines of an NDJSON file; empty lines are skipped.
pub fn ndjson(mut input: impl BufRead) -> impl Iterator<Item = io::Result<Line>> {
    let mut number = 0;
    std::iter::from_fn(move || {
        loop {
            let line = match read_line(&mut input) {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            };
            number += 1;
            match line {
                Some(text) if text.trim_ascii().is_empty() => {}
                Some(text) => return Some(Ok((number, object(&text)))),
                None => return Some(Ok((number, Err(too_long())))),
            }
        }
    })
}

fn too_long() -> String {
    format!("is longer than {MAX_LENGTH} bytes")
}

fn object(text: &[u8]) -> Result<Object, String> {
    match parse(text) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err("is not a JSON object".to_owned()),
        Err(error) => Err(format!("is not JSON: {error} at column {}", error.column())),
    }
}

/// One line without its line feed; the inner `None` is a line that is too long and was skipped.
#[expect(clippy::option_option, reason = "the end of the file, or a line that may be too long")]
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    let mut any = false;
    let mut too_long = false;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            return Ok(any.then(|| (!too_long).then_some(line)));
        }
        any = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        too_long |= line.len() + part.len() > MAX_LENGTH;
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(Some((!too_long).then_some(line)));
        }
    }
}

/// The position in an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Before the opening bracket.
    Start,
    /// Before an element.
    Element,
    /// After the closing bracket.
    End,
}

/// The elements of an array, each with the number of its first line.
pub struct ArrayElements<R> {
    input: R,
    lines: LineCounter,
    position: Position,
}

impl<R: BufRead> ArrayElements<R> {
    /// Begins to read.
    pub fn new(input: R) -> Self {
        ArrayElements { input, lines: LineCounter::new(), position: Position::Start }
    }

    fn read(&mut self) -> io::Result<Option<Line>> {
        if self.position == Position::Start {
            if self.next_byte()? != Some(b'[') {
                return Err(self.wrong("a JSON array begins with ["));
            }
            self.pass(1);
            self.position = Position::Element;
        }
        match self.next_byte()? {
            _ if self.position == Position::End => return self.after_array(),
            Some(b']') => {
                self.pass(1);
                self.position = Position::End;
                return self.after_array();
            }
            None => return Err(self.wrong("the JSON array has no end; the file was cut off")),
            Some(_) => {}
        }
        let line = self.lines.line();
        let element = self.element()?;
        match self.next_byte()? {
            Some(b',') => self.pass(1),
            Some(b']') => {}
            _ => return Err(self.wrong("the JSON array has no end; the file was cut off")),
        }
        Ok(Some((line, element.map_or_else(|| Err(too_long()), |text| object(&text)))))
    }

    fn after_array(&mut self) -> io::Result<Option<Line>> {
        match self.next_byte()? {
            None => Ok(None),
            Some(_) => Err(self.wrong("more text follows the JSON array")),
        }
    }

    /// The text of an element up to the comma or bracket after it; `None` if it is too long and was skipped.
    fn element(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut text = Vec::new();
        let (mut depth, mut is_string, mut is_escaped) = (0_u64, false, false);
        let mut is_too_long = false;
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok((!is_too_long).then_some(text));
            }
            let end = chunk.iter().position(|byte| {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if is_string => is_escaped = true,
                    b'"' => is_string = !is_string,
                    _ if is_string => {}
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' if depth > 0 => depth -= 1,
                    b',' | b']' => return depth == 0,
                    _ => {}
                }
                false
            });
            let used = end.unwrap_or(chunk.len());
            is_too_long |= text.len() + used > MAX_LENGTH;
            if !is_too_long {
                text.extend_from_slice(&chunk[..used]);
            }
            self.pass(used);
            if end.is_some() {
                return Ok((!is_too_long).then_some(text));
            }
        }
    }

    /// The next byte that is not blank, which is not consumed.
    fn next_byte(&mut self) -> io::Result<Option<u8>> {
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let blank = chunk.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let next = chunk.get(blank).copied();
            self.pass(blank);
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    fn pass(&mut self, count: usize) {
        if let Ok(chunk) = self.input.fill_buf() {
            self.lines.pass(&chunk[..count.min(chunk.len())]);
        }
        self.input.consume(count);
    }

    fn wrong(&self, message: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("line {}: {message}", self.lines.line()))
    }
}

impl<R: BufRead> Iterator for ArrayElements<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_long_ones_passed_over() {
        let long = format!("\"{}\"", "x".repeat(MAX_LENGTH));
        let text = format!("{{\"a\":1}}\r\n\n[]\n{long}\n{{\n{{}}");
        let lines: Vec<_> = ndjson(text.as_bytes()).map(Result::unwrap).collect();
        let shown: Vec<_> = lines.iter().map(|(number, contact)| (*number, contact.is_ok())).collect();
        assert_eq!(shown, [(1, true), (3, false), (4, false), (5, false), (6, true)]);
    }

    fn elements(text: &str) -> io::Result<Vec<(u64, bool)>> {
        let read = |size| {
            let input = io::BufReader::with_capacity(size, text.as_bytes());
            let lines: io::Result<Vec<_>> = ArrayElements::new(input).collect();
            lines.map(|lines| {
                lines.into_iter().map(|(line, object)| (line, object.is_ok())).collect::<Vec<_>>()
            })
        };
        let (whole, bytewise) = (read(1 << 16), read(1));
        assert_eq!(whole.as_ref().ok(), bytewise.as_ref().ok());
        whole
    }

    #[test]
    fn elements_of_an_array_are_found_one_by_one() {
        let pretty = "\n[\n  {\n    \"a\": \"],\\\"{\",\n    \"b\": [1, [2]]\n  },\r\n  {\"c\": {}},\n 5, {\"d\": nope}\n]\n";
        assert_eq!(elements(pretty).unwrap(), [(3, true), (7, true), (8, false), (8, false)]);
        assert_eq!(elements("[]").unwrap(), []);
        assert_eq!(elements("[{},]").unwrap(), [(1, true)]);
        let long = format!("[{{\"a\":\"{}\"}},\n{{}}]", "x".repeat(MAX_LENGTH));
        let input = io::BufReader::new(long.as_bytes());
        let found: Vec<_> = ArrayElements::new(input).map(|line| line.unwrap().1.is_ok()).collect();
        assert_eq!(found, [false, true]);
        for (text, expected) in [
            ("{}", "begins with ["),
            ("", "begins with ["),
            ("[{}", "cut off"),
            ("[{\n\"a\":\"", "cut off"),
            ("[{}]\n[", "more text"),
        ] {
            let error = elements(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
