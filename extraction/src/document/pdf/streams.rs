//! What the compressed streams of a PDF unpack to, counted before anything is unpacked for good: the interpreter has
//! no limit of its own.

use flate2::{Decompress, FlushDecompress, Status};
use memchr::memmem;

use crate::document::error::ReadError;
use crate::document::limits::Limits;

/// The maximum number of bytes that Deflate produces from one byte.
const RATIO: u64 = 1032;
/// Bytes that a sample may be of a pixel.
const PIXEL: u64 = 6;
/// How many streams have to be counted together for their sum to matter.
const SMALL_STREAMS: u64 = 256;
/// How many filters one upon the other are followed.
const CHAIN: usize = 4;
/// How much before a stream its dictionary is looked for.
const DICTIONARY: usize = 4096;

/// Refuses a file with streams that unpack to more than the limits.
pub(super) fn check(bytes: &[u8], limits: &Limits) -> Result<(), ReadError> {
    let mut left = limits.unpacked;
    let mut position = 0;
    while let Some(found) = find(&bytes[position..], b"stream") {
        let keyword = position + found;
        position = keyword + b"stream".len();
        if bytes[..keyword].ends_with(b"end") {
            continue;
        }
        let data = match &bytes[position..] {
            [b'\r', b'\n', data @ ..] | [b'\n' | b'\r', data @ ..] => data,
            _ => continue,
        };
        let data = &data[..find(data, b"endstream").unwrap_or(data.len())];
        position += data.len();
        let dictionary = dictionary(&bytes[..keyword]);
        let filters = memmem::find_iter(dictionary, b"FlateDecode").count()
            + memmem::find_iter(dictionary, b"/Fl ").count()
            + memmem::find_iter(dictionary, b"/Fl]").count();
        if filters == 0 {
            continue;
        }
        let is_image = find(dictionary, b"/Image").is_some();
        let allowed = if is_image { limits.pixels * PIXEL } else { limits.part.min(left) };
        let at_most = data.len() as u64 * RATIO;
        if filters == 1 && at_most <= allowed {
            // It cannot become too large by itself; only many of its kind can.
            if is_image || at_most * SMALL_STREAMS <= limits.unpacked {
                continue;
            }
        }
        let unpacked =
            unpacked(data, filters.min(CHAIN), allowed).ok_or(ReadError::too_many_bytes(allowed))?;
        if !is_image {
            left -= unpacked.min(left);
        }
    }
    Ok(())
}

/// How much a stream unpacks to; `None` if more than allowed.
fn unpacked(data: &[u8], filters: usize, allowed: u64) -> Option<u64> {
    let mut total = 0_u64;
    let mut chain: Vec<Decompress> = (0..filters).map(|_| Decompress::new(true)).collect();
    // What the first filter makes goes straight into the next, a piece at a time.
    fn feed(chain: &mut [Decompress], mut data: &[u8], total: &mut u64, allowed: u64) -> Option<bool> {
        let Some((first, rest)) = chain.split_first_mut() else { return Some(true) };
        let mut buffer = vec![0; 32 << 10];
        loop {
            let (before_in, before_out) = (first.total_in(), first.total_out());
            let status = first.decompress(data, &mut buffer, FlushDecompress::None);
            let used = (first.total_in() - before_in) as usize;
            let made = (first.total_out() - before_out) as usize;
            data = &data[used..];
            *total += made as u64;
            if *total > allowed {
                return None;
            }
            if made > 0 && !rest.is_empty() {
                feed(rest, &buffer[..made], total, allowed)?;
            }
            match status {
                Ok(Status::StreamEnd) | Err(_) => return Some(true),
                Ok(_) if used == 0 && made == 0 => return Some(false),
                Ok(_) => {}
            }
        }
    }
    feed(&mut chain, data, &mut total, allowed)?;
    Some(total)
}

/// The bytes between the beginning of the object and its stream.
fn dictionary(before: &[u8]) -> &[u8] {
    let window = &before[before.len().saturating_sub(DICTIONARY)..];
    let begin = window.windows(4).rposition(|window| window == b" obj").unwrap_or(0);
    &window[begin..]
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    memmem::find(bytes, needle)
}
