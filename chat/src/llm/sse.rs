//! Server-sent events, as an endpoint streams them: the data of each, whatever the pieces they come in.

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamFault {
    /// A line, or the data of one event, is longer than allowed.
    Line,
    /// The whole is longer than allowed.
    Body,
}

/// Takes bytes and gives the data of events.
pub(super) struct EventReader {
    line: Vec<u8>,
    data: Option<String>,
    /// Whether the last byte was a carriage return, whose line feed is still to come.
    is_return: bool,
    left: usize,
    line_bytes: usize,
}

impl EventReader {
    pub(super) fn new(line_bytes: usize, body_bytes: usize) -> Self {
        EventReader { line: Vec::new(), data: None, is_return: false, left: body_bytes, line_bytes }
    }

    /// Takes more bytes; what of them completes events goes to `events`.
    pub(super) fn feed(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Result<(), StreamFault> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(StreamFault::Body)?;
        for byte in bytes {
            let is_second = std::mem::replace(&mut self.is_return, *byte == b'\r') && *byte == b'\n';
            match byte {
                b'\n' if is_second => {}
                b'\r' | b'\n' => self.end_line(events)?,
                _ if self.line.len() >= self.line_bytes => return Err(StreamFault::Line),
                byte => self.line.push(*byte),
            }
        }
        Ok(())
    }

    /// What is left at the end: some endpoints leave out the empty line behind the last event.
    pub(super) fn finish(&mut self, events: &mut Vec<String>) -> Result<(), StreamFault> {
        if !self.line.is_empty() {
            self.end_line(events)?;
        }
        events.extend(self.data.take());
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<String>) -> Result<(), StreamFault> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            events.extend(self.data.take());
            return Ok(());
        }
        // Characters are whole here, wherever the pieces were cut.
        let line = String::from_utf8_lossy(&line);
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        let Some(data) = line.strip_prefix("data:") else { return Ok(()) };
        let data = data.strip_prefix(' ').unwrap_or(data);
        match &mut self.data {
            Some(known) if known.len() + data.len() >= self.line_bytes => return Err(StreamFault::Line),
            Some(known) => {
                known.push('\n');
                known.push_str(data);
            }
            None => self.data = Some(data.to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunks: &[&[u8]]) -> Result<Vec<String>, StreamFault> {
        let mut reader = EventReader::new(64, 400);
        let mut events = Vec::new();
        for chunk in chunks {
            reader.feed(chunk, &mut events)?;
        }
        reader.finish(&mut events)?;
        Ok(events)
    }

    #[test]
    fn events_are_the_same_wherever_they_are_cut() {
        let stream = "\u{feff}data: eins\r\n\r\n: a comment\nevent: x\ndata:zwei\rdata: grün 東\r\r\ndata: drei\nid: 1\n\ndata: [DONE]";
        let wanted = ["eins", "zwei\ngrün 東", "drei", "[DONE]"];
        for cut in 0..=stream.len() {
            let (first, second) = stream.as_bytes().split_at(cut);
            assert_eq!(read(&[first, second]).expect("it is read"), wanted, "{cut}");
        }
        // One line end, though it is two bytes: the event goes on.
        assert_eq!(read(&[b"data: a\r", b"\ndata: b\r\n\r\n"]).expect("it is read"), ["a\nb"]);
        let single: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(read(&single).expect("it is read"), wanted);
    }

    #[test]
    fn long_lines_and_bodies_are_refused() {
        assert_eq!(read(&[&[b'x'; 65]]), Err(StreamFault::Line));
        assert_eq!(read(&["data: 1234567890\n".repeat(8).as_bytes()]), Err(StreamFault::Line));
        assert_eq!(read(&[":\n".repeat(201).as_bytes()]), Err(StreamFault::Body));
    }
}
