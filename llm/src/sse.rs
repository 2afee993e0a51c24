//! A reader of server-sent events with a limit on the size of an event.
//!
//! It is written by hand because `eventsource-stream` limits neither a line nor an event and scans its whole buffer again
//! with each chunk. It also fails on invalid UTF-8 and drops a last event that has no empty line after it.

/// Which limit a stream exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SseError {
    /// That of a line, or of the data of one event.
    EventTooLong,
    /// That of the whole response.
    ResponseTooLong,
}

/// Turns bytes into the data of events, wherever the chunks are cut.
pub(crate) struct EventReader {
    line: Vec<u8>,
    data: Option<String>,
    /// Whether the last byte was a carriage return, which a line feed may follow.
    is_return: bool,
    left: usize,
    max_event_bytes: usize,
}

impl EventReader {
    pub(crate) fn new(max_event_bytes: usize, max_response_bytes: usize) -> Self {
        EventReader {
            line: Vec::new(),
            data: None,
            is_return: false,
            left: max_response_bytes,
            max_event_bytes,
        }
    }

    /// Reads more bytes and appends the data of completed events to `events`.
    pub(crate) fn feed(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Result<(), SseError> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(SseError::ResponseTooLong)?;
        for byte in bytes {
            let is_second = std::mem::replace(&mut self.is_return, *byte == b'\r') && *byte == b'\n';
            match byte {
                b'\n' if is_second => {}
                b'\r' | b'\n' => self.end_line(events)?,
                _ if self.line.len() >= self.max_event_bytes => return Err(SseError::EventTooLong),
                byte => self.line.push(*byte),
            }
        }
        Ok(())
    }

    /// Ends the stream. Some endpoints omit the empty line after the last event.
    pub(crate) fn finish(&mut self, events: &mut Vec<String>) -> Result<(), SseError> {
        if !self.line.is_empty() {
            self.end_line(events)?;
        }
        events.extend(self.data.take());
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<String>) -> Result<(), SseError> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            events.extend(self.data.take());
            return Ok(());
        }
        // A line holds whole characters, wherever the chunks were cut.
        let line = String::from_utf8_lossy(&line);
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        let Some(data) = line.strip_prefix("data:") else { return Ok(()) };
        let data = data.strip_prefix(' ').unwrap_or(data);
        match &mut self.data {
            Some(known) if known.len() + data.len() >= self.max_event_bytes => {
                return Err(SseError::EventTooLong);
            }
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

    fn read(chunks: &[&[u8]]) -> Result<Vec<String>, SseError> {
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
        let expected = ["eins", "zwei\ngrün 東", "drei", "[DONE]"];
        for cut in 0..=stream.len() {
            let (first, second) = stream.as_bytes().split_at(cut);
            assert_eq!(read(&[first, second]).expect("it is read"), expected, "{cut}");
        }
        // Two bytes are one line end, so the event goes on.
        assert_eq!(read(&[b"data: a\r", b"\ndata: b\r\n\r\n"]).expect("it is read"), ["a\nb"]);
        let single: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(read(&single).expect("it is read"), expected);
    }

    #[test]
    fn long_lines_and_bodies_are_refused() {
        assert_eq!(read(&[&[b'x'; 65]]), Err(SseError::EventTooLong));
        assert_eq!(read(&["data: 1234567890\n".repeat(8).as_bytes()]), Err(SseError::EventTooLong));
        assert_eq!(read(&[":\n".repeat(201).as_bytes()]), Err(SseError::ResponseTooLong));
    }
}
