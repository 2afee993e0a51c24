//! Text in any encoding as UTF-8: decoded as a stream, in the encoding of the byte order mark, of the caller, or of the
//! content.

use std::io::{self, BufRead, Read};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// The content from which an encoding is detected. It begins with the first byte that is not ASCII.
const SAMPLE: usize = 1 << 20;

/// The ASCII text before the sample that belongs to it.
const CONTEXT: usize = 64;

/// The most bytes that are decoded at a time.
const CHUNK: usize = 64 << 10;

/// The bytes by which a format is recognised; the begin of a web page is the longest.
const LONGEST_SIGNATURE: usize = 16;

/// Encodings without a byte order mark that [`TextReader`] may assume.
#[derive(Clone, Copy, Debug)]
pub enum Assume {
    /// This one.
    Given(&'static Encoding),
    /// The one that the content has.
    Detected,
    /// None: the content is UTF-8, and the format reports what is not.
    Utf8,
}

/// How the encoding of a text became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    Mark,
    Given,
    Content,
}

/// Reads text of any encoding as UTF-8.
pub struct TextReader {
    input: Box<dyn BufRead + Send>,
    assume: Assume,
    /// What precedes the names of options in messages.
    prefix: &'static str,
    /// Bytes that were read and not decoded.
    raw: Vec<u8>,
    is_read: bool,
    /// The end of the ASCII text before them, which shows what the first other character is next to.
    context: Vec<u8>,
    decoder: Option<Decoder>,
    evidence: Evidence,
    /// Decoded text, from `at`.
    text: Vec<u8>,
    at: usize,
    is_decoded: bool,
    /// The problem after the decoded text.
    failed: Option<String>,
}

impl TextReader {
    /// Reads the first bytes. Messages name options after `prefix`.
    ///
    /// # Errors
    /// When the content cannot be read.
    pub fn new(input: Box<dyn BufRead + Send>, prefix: &'static str) -> io::Result<Self> {
        let mut reader = TextReader {
            input,
            assume: Assume::Detected,
            prefix,
            raw: Vec::new(),
            is_read: false,
            context: Vec::new(),
            decoder: None,
            evidence: Evidence::Content,
            text: Vec::new(),
            at: 0,
            is_decoded: false,
            failed: None,
        };
        reader.read_ahead(LONGEST_SIGNATURE)?;
        Ok(reader)
    }

    /// Begins to decode.
    ///
    /// # Errors
    /// When the content is certainly no text.
    pub fn begin(mut self, assume: Assume) -> io::Result<Self> {
        self.assume = assume;
        if [&b"\xff\xfe\0\0"[..], b"\0\0\xfe\xff"].iter().any(|mark| self.raw.starts_with(mark)) {
            return Err(refused("is UTF-32; save it as UTF-8"));
        }
        match (assume, Encoding::for_bom(&self.raw)) {
            // `utf-16` leaves the order of the bytes to the mark.
            (Assume::Given(given), Some((marked, _))) if is_same(given, marked) => {
                self.decode_as(marked, Evidence::Given);
            }
            (Assume::Given(given), _) => self.decode_as(given, Evidence::Given),
            (Assume::Utf8, Some((marked, length))) if marked == UTF_8 => drop(self.raw.drain(..length)),
            (_, Some((marked, _))) => self.decode_as(marked, Evidence::Mark),
            (_, None) => match zeros(&self.raw) {
                Zeros::None => self.look_ahead()?,
                Zeros::High(encoding) => self.decode_as(encoding, Evidence::Content),
                Zeros::Other => return Err(refused("contains NUL bytes, so it is no text")),
            },
        }
        Ok(self)
    }

    /// Detects the encoding of a file that is not large before anything of it is used.
    fn look_ahead(&mut self) -> io::Result<()> {
        if !matches!(self.assume, Assume::Detected) {
            return Ok(());
        }
        self.read_ahead(SAMPLE)?;
        let ascii = Encoding::ascii_valid_up_to(&self.raw);
        if ascii < self.raw.len() {
            let encoding = detect(&self.raw[ascii.saturating_sub(CONTEXT)..], self.is_read, self.prefix)?;
            self.decode_as(encoding, Evidence::Content);
        }
        Ok(())
    }

    /// What precedes the names of options in messages.
    pub fn prefix(&self) -> &'static str {
        self.prefix
    }

    /// The first bytes, undecoded.
    pub fn head(&self) -> &[u8] {
        &self.raw
    }

    /// The encoding as far as known, and how it became known.
    pub fn encoding(&self) -> String {
        let name = self.decoder.as_ref().map_or(UTF_8, Decoder::encoding).name();
        let evidence = match self.evidence {
            Evidence::Mark => " (byte order mark)",
            Evidence::Given => "",
            Evidence::Content => " (detected)",
        };
        format!("{name}{evidence}")
    }

    /// The next text up to the end of a line that is not blank: at most some more than `most` bytes.
    ///
    /// # Errors
    /// When the content cannot be read.
    pub fn peek_line(&mut self, most: usize) -> io::Result<&[u8]> {
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        loop {
            let text = &self.text[self.at..];
            let blank = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            if self.is_decoded || text.len() >= most || text[blank..].iter().any(is_end) {
                return Ok(&self.text[self.at..]);
            }
            self.decode_more()?;
        }
    }

    fn decode_as(&mut self, encoding: &'static Encoding, evidence: Evidence) {
        self.decoder = Some(encoding.new_decoder_with_bom_removal());
        self.evidence = evidence;
    }

    /// Reads what is there, and waits only if nothing is: the lines of a pipe are imported as they arrive.
    fn read_some(&mut self) -> io::Result<()> {
        let chunk = self.input.fill_buf()?;
        let count = chunk.len().min(CHUNK);
        self.raw.extend_from_slice(&chunk[..count]);
        self.input.consume(count);
        self.is_read = count == 0;
        Ok(())
    }

    /// Reads until `size` undecoded bytes are there, or the end.
    fn read_ahead(&mut self, size: usize) -> io::Result<()> {
        while !self.is_read && self.raw.len() < size {
            self.read_some()?;
        }
        Ok(())
    }

    /// Decodes the next bytes. Text that is ASCII so far leaves the encoding open.
    fn decode_more(&mut self) -> io::Result<()> {
        self.text.drain(..self.at);
        self.at = 0;
        if self.raw.is_empty() && !self.is_read {
            self.read_some()?;
        }
        if self.decoder.is_none() && !matches!(self.assume, Assume::Utf8) {
            let ascii = Encoding::ascii_valid_up_to(&self.raw);
            if ascii == 0 && !self.raw.is_empty() {
                self.read_ahead(SAMPLE)?;
                let encoding =
                    detect(&[&self.context[..], &self.raw[..]].concat(), self.is_read, self.prefix)?;
                self.decode_as(encoding, Evidence::Content);
            } else {
                self.context = self.raw[ascii.saturating_sub(CONTEXT)..ascii].to_vec();
                self.text.extend(self.raw.drain(..ascii));
                self.is_decoded = self.is_read && self.raw.is_empty();
                return Ok(());
            }
        }
        let Some(decoder) = &mut self.decoder else {
            self.text.append(&mut self.raw);
            self.is_decoded = self.is_read;
            return Ok(());
        };
        let chunk = &self.raw[..self.raw.len().min(CHUNK)];
        let is_last = self.is_read && chunk.len() == self.raw.len();
        let room = decoder.max_utf8_buffer_length_without_replacement(chunk.len()).unwrap_or(4 * CHUNK);
        let begun = self.text.len();
        self.text.resize(begun + room, 0);
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(chunk, &mut self.text[begun..], is_last);
        self.text.truncate(begun + written);
        self.raw.drain(..read);
        match result {
            DecoderResult::Malformed(..) => {
                let name = decoder.encoding().name();
                // The text before it comes first, so that the position of the problem is known.
                self.failed = Some(format!(
                    "has bytes that are not {name}; name its encoding with {}encoding",
                    self.prefix
                ));
                self.is_decoded = true;
                Ok(())
            }
            DecoderResult::InputEmpty => {
                self.is_decoded = is_last;
                Ok(())
            }
            DecoderResult::OutputFull => Ok(()),
        }
    }
}

impl Read for TextReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let text = self.fill_buf()?;
        let count = text.len().min(into.len());
        into[..count].copy_from_slice(&text[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for TextReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.text.len() && !self.is_decoded {
            self.decode_more()?;
        }
        match &self.failed {
            Some(message) if self.at == self.text.len() => Err(refused(message)),
            _ => Ok(&self.text[self.at..]),
        }
    }

    fn consume(&mut self, count: usize) {
        self.at = self.text.len().min(self.at + count);
    }
}

fn refused(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.to_owned())
}

fn is_same(given: &'static Encoding, marked: &'static Encoding) -> bool {
    given == marked || given == UTF_16LE && marked == UTF_16BE
}

/// The NUL bytes in a text without byte order mark.
enum Zeros {
    None,
    /// They are the high halves of UTF-16.
    High(&'static Encoding),
    Other,
}

fn zeros(head: &[u8]) -> Zeros {
    let count = |from: usize| head.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (first, second) = (count(0), count(1));
    let half = head.len() / 2;
    match (first, second) {
        (0, 0) => Zeros::None,
        (0, second) if second * 2 > half => Zeros::High(UTF_16LE),
        (first, 0) if first * 2 > half => Zeros::High(UTF_16BE),
        _ => Zeros::Other,
    }
}

/// The encoding of a text that is not ASCII.
fn detect(sample: &[u8], is_whole: bool, prefix: &str) -> io::Result<&'static Encoding> {
    match std::str::from_utf8(sample) {
        Ok(_) => return Ok(UTF_8),
        // The sample ends inside a character.
        Err(error) if !is_whole && error.error_len().is_none() => return Ok(UTF_8),
        // Mostly UTF-8: a broken file, and no other encoding.
        Err(error)
            if error.valid_up_to() > sample.len() / 2 && has_beyond_ascii(&sample[..error.valid_up_to()]) =>
        {
            return Ok(UTF_8);
        }
        Err(_) => {}
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, is_whole);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let mut text = String::with_capacity(sample.len() * 3 + 16);
    let (result, ..) =
        encoding.new_decoder_without_bom_handling().decode_to_string(sample, &mut text, is_whole);
    debug_assert_eq!(result, CoderResult::InputEmpty);
    match unlikely_word(&text) {
        None => Ok(encoding),
        Some(word) => Err(refused(&format!(
            "is not UTF-8, and its encoding is not certain: as {} it has words such as '{word}'; name its encoding with \
             {prefix}encoding, such as windows-1252, windows-1250, macintosh or utf-16le",
            encoding.name()
        ))),
    }
}

fn has_beyond_ascii(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| !byte.is_ascii())
}

/// A word that shows that the text was decoded wrongly, if such words are frequent.
fn unlikely_word(text: &str) -> Option<String> {
    let letters: Vec<char> = text.chars().collect();
    let (mut special, mut bad, mut first_bad) = (0_usize, 0_usize, None);
    for (at, &letter) in letters.iter().enumerate().filter(|(_, letter)| !letter.is_ascii()) {
        special += 1;
        let before = at.checked_sub(1).map_or(' ', |at| letters[at]);
        let after = letters.get(at + 1).copied().unwrap_or(' ');
        if is_unlikely(before, letter, after) {
            bad += 1;
            first_bad.get_or_insert(at);
        }
    }
    let at = first_bad.filter(|_| bad * 10 >= special)?;
    let is_inside = |letter: &&char| !letter.is_whitespace() && !matches!(letter, ',' | ';' | '"' | '|');
    let start = at - letters[..at].iter().rev().take(20).take_while(is_inside).count();
    let word = letters[start..].iter().take_while(is_inside).take(40);
    Some(word.map(|letter| if letter.is_control() { '\u{fffd}' } else { *letter }).collect())
}

fn is_unlikely(before: char, letter: char, after: char) -> bool {
    let is_latin = |letter: char| {
        letter.is_alphabetic() && (letter < '\u{250}' || ('\u{1e00}'..'\u{1f00}').contains(&letter))
    };
    let is_between = before.is_alphabetic() && after.is_alphabetic();
    if letter.is_control() || letter == '\u{fffd}' || ('\u{e000}'..='\u{f8ff}').contains(&letter) {
        return true;
    }
    if letter.is_alphabetic() {
        let is_other_script = !is_latin(letter) && !matches!(letter, 'ª' | 'º');
        return is_other_script && (before.is_ascii_alphabetic() || after.is_ascii_alphabetic())
            || letter.is_uppercase() && before.is_alphabetic() && after.is_lowercase();
    }
    // Apostrophes, hyphens and the Catalan point are parts of words.
    is_between && !matches!(letter, '’' | '‘' | '´' | '`' | '·' | '\u{ad}' | '–' | '\u{a0}' | '‑')
}

#[cfg(test)]
mod tests {
    use encoding_rs::{MACINTOSH, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253};

    use super::*;

    fn read(bytes: &[u8], assume: Assume) -> io::Result<(String, String)> {
        let mut reader = TextReader::new(Box::new(io::Cursor::new(bytes.to_vec())), "--")?.begin(assume)?;
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        Ok((text, reader.encoding()))
    }

    fn utf16(text: &str, is_big: bool) -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    }

    const GERMAN: &str = "Vorname;Ort\r\nJürgen;Köln\r\nZoë;Straße 5 – „Mühle“\r\nFrançois;Nîmes\r\n";

    #[test]
    fn encodings_are_those_of_the_mark_or_of_the_content() {
        let marked = format!("\u{feff}{GERMAN}");
        for (bytes, encoding) in [
            (GERMAN.as_bytes().to_vec(), "UTF-8 (detected)"),
            (marked.as_bytes().to_vec(), "UTF-8 (byte order mark)"),
            (utf16(&marked, false), "UTF-16LE (byte order mark)"),
            (utf16(&marked, true), "UTF-16BE (byte order mark)"),
            (utf16(GERMAN, false), "UTF-16LE (detected)"),
            (utf16(GERMAN, true), "UTF-16BE (detected)"),
            (WINDOWS_1252.encode(GERMAN).0.into_owned(), "windows-1252 (detected)"),
        ] {
            let (text, found) = read(&bytes, Assume::Detected).unwrap();
            assert_eq!((text.as_str(), found.as_str()), (GERMAN, encoding));
        }
        for (text, encoding, name) in [
            ("Łukasz;Łódź\nJiří;Plzeň\nZażółć;Kraków\nŻaneta;Gdańsk\n", WINDOWS_1250, "windows-1250"),
            ("Наталья;Москва\nИван;Казань\nЮлия;Новосибирск\n", WINDOWS_1251, "windows-1251"),
            ("Ελένη;Αθήνα\nΓιώργος;Θεσσαλονίκη\nΜαρία;Πάτρα\n", WINDOWS_1253, "windows-1253"),
            ("名前;住所\n山田太郎;東京都千代田区\n佐藤花子;大阪府大阪市\n", SHIFT_JIS, "Shift_JIS"),
        ] {
            let bytes = encoding.encode(text).0;
            let (read, found) = read(&bytes, Assume::Detected).unwrap();
            assert_eq!((read.as_str(), found.as_str()), (text, format!("{name} (detected)").as_str()));
        }
    }

    #[test]
    fn what_is_not_certain_is_refused_unless_the_caller_names_it() {
        let mac = MACINTOSH.encode("name;town\nMüller;Köln\nJäger;Düsseldorf\n").0.into_owned();
        // Code page 850 of DOS.
        let dos = b"name;town\nM\x81ller;K\x94ln\nJ\x84ger;D\x81sseldorf\n";
        for bytes in [&mac[..], dos] {
            let error = read(bytes, Assume::Detected).unwrap_err().to_string();
            assert!(
                error.contains("--encoding") && error.contains("not UTF-8, and its encoding is not certain"),
                "{error}"
            );
        }
        let (text, found) = read(&mac, Assume::Given(MACINTOSH)).unwrap();
        assert_eq!((text.contains("Müller"), found.as_str()), (true, "macintosh"));
        for (bytes, expected) in [
            (&b"a;b\0\0\n"[..], "NUL"),
            (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
            ("Jürgen;Köln;Zoë and Ægir\nM\u{fc}ller \u{20ac}".as_bytes(), ""),
        ] {
            match read(bytes, Assume::Detected) {
                Err(error) => {
                    assert!(!expected.is_empty() && error.to_string().contains(expected), "{error}");
                }
                Ok(_) => assert!(expected.is_empty()),
            }
        }
        // A single letter that is wrong in its word, after much that is ASCII.
        let late = [&b"a;b\n".repeat(CHUNK)[..], b"M\x81ller\n"].concat();
        assert!(read(&late, Assume::Detected).unwrap_err().to_string().contains("'M"));
        for (bytes, expected) in [
            (&b"name\nZo\xeb\n"[..], "Zoë"),
            (b"name\nM\xfcller\n", "Müller"),
            (b"name\nJos\xe9\n", "José"),
            (b"name\n\xd8rsted\n", "Ørsted"),
            (b"name\nFran\xe7ois\n", "François"),
            (b"name\nMu\xf1oz\n", "Muñoz"),
            (b"name\nO\x92Brien\n", "O’Brien"),
        ] {
            let (text, encoding) = read(bytes, Assume::Detected).unwrap();
            assert_eq!((text.trim(), &*encoding), (&*format!("name\n{expected}"), "windows-1252 (detected)"));
        }
        let broken = [GERMAN.as_bytes(), b"\xff"].concat();
        let error = read(&broken, Assume::Detected).unwrap_err().to_string();
        assert!(error.contains("not UTF-8"), "{error}");
    }

    #[test]
    fn a_late_letter_decides_and_characters_cross_chunks() {
        let late = format!("{}Jürgen Köln\n", "a;b\n".repeat(CHUNK));
        let bytes = WINDOWS_1252.encode(&late).0.into_owned();
        assert_eq!(read(&bytes, Assume::Detected).unwrap(), (late, "windows-1252 (detected)".to_owned()));
        let long = "aé€😀\n".repeat(CHUNK / 4);
        assert_eq!(read(long.as_bytes(), Assume::Detected).unwrap().0, long);
        let marked = format!("\u{feff}{long}");
        assert_eq!(read(&utf16(&marked, true), Assume::Detected).unwrap().0, long);
        assert_eq!(read(b"", Assume::Detected).unwrap().0, "");
        // JSON is UTF-8; what is not is the parser's to report.
        let mut bytes = Vec::new();
        let mut reader = TextReader::new(Box::new(io::Cursor::new(b"{\xff}".to_vec())), "--").unwrap();
        reader = reader.begin(Assume::Utf8).unwrap();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"{\xff}");
    }
}
