//! Sitemaps: lists of pages, and lists of such lists, as XML or as lines of text.

use std::io::Read;

use quick_xml::Reader;
use quick_xml::events::Event;

/// The most bytes of a sitemap, decompressed.
const MAX_BYTES: u64 = 20 << 20;
/// The most addresses of a sitemap that are read.
const MAX_ADDRESSES: usize = 50_000;
/// The first bytes of what gzip has compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What a sitemap lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Pages.
    pub pages: Vec<String>,
    /// Further sitemaps.
    pub sitemaps: Vec<String>,
}

/// Reads a sitemap, which may be compressed by gzip. What is no sitemap lists nothing; of a broken one, what precedes the
/// damage counts.
#[must_use]
pub fn parse(bytes: &[u8]) -> Sitemap {
    let mut content = Vec::new();
    let read = match bytes.starts_with(&GZIP) {
        true => flate2::read::GzDecoder::new(bytes).take(MAX_BYTES).read_to_end(&mut content),
        false => bytes.take(MAX_BYTES).read_to_end(&mut content),
    };
    if let Err(error) = read {
        tracing::debug!(%error, "a sitemap is compressed wrongly; what precedes the damage counts");
    }
    let text = String::from_utf8_lossy(&content);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') { of_xml(text) } else { of_lines(text) }
}

fn of_lines(text: &str) -> Sitemap {
    let is_address = |line: &&str| line.starts_with("http://") || line.starts_with("https://");
    let pages = text.lines().map(str::trim).filter(is_address).take(MAX_ADDRESSES);
    Sitemap { pages: pages.map(str::to_owned).collect(), sitemaps: Vec::new() }
}

fn of_xml(text: &str) -> Sitemap {
    let mut reader = Reader::from_str(text);
    let mut found = Sitemap::default();
    let mut is_sitemap = false;
    // The address that is being read.
    let mut address: Option<String> = None;
    while found.pages.len() + found.sitemaps.len() < MAX_ADDRESSES {
        let Ok(event) = reader.read_event() else { break };
        match event {
            Event::Start(start) => match start.local_name().into_inner() {
                // Addresses of images and videos are `image:loc` and the like.
                b"loc" if start.name().prefix().is_none_or(|prefix| !is_media(prefix.into_inner())) => {
                    address = Some(String::new());
                }
                b"sitemap" => is_sitemap = true,
                b"url" => is_sitemap = false,
                _ => {}
            },
            Event::Text(text) => extend(&mut address, text.decode().ok().as_deref()),
            Event::CData(text) => extend(&mut address, text.decode().ok().as_deref()),
            Event::GeneralRef(reference) => {
                if let Ok(Some(letter)) = reference.resolve_char_ref() {
                    extend(&mut address, Some(letter.encode_utf8(&mut [0; 4])));
                } else if let Ok(name) = reference.decode() {
                    extend(&mut address, quick_xml::escape::resolve_predefined_entity(&name));
                }
            }
            Event::End(end) if end.local_name().into_inner() == b"loc" => {
                let list = if is_sitemap { &mut found.sitemaps } else { &mut found.pages };
                list.extend(
                    address.take().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
                );
            }
            Event::Eof => break,
            _ => {}
        }
    }
    found
}

fn is_media(prefix: &[u8]) -> bool {
    matches!(prefix, b"image" | b"video" | b"news")
}

fn extend(address: &mut Option<String>, text: Option<&str>) {
    // A longer one is no address of a page.
    if let (Some(address), Some(text)) = (address.as_mut(), text)
        && address.len() + text.len() <= 2 * crate::address::MAX_LENGTH
    {
        address.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    const PAGES: &str = "<?xml version='1.0' encoding='UTF-8'?>\n<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
        xmlns:image='x'><url><loc> https://example.com/a?x=1&amp;y=2 </loc><lastmod>2026-01-01</lastmod>\
        <image:image><image:loc>https://example.com/a.png</image:loc></image:image></url>\
        <url><loc><![CDATA[https://example.com/b]]></loc></url><url><loc/></url></urlset>";

    #[test]
    fn pages_and_sitemaps_are_read() {
        let found = parse(PAGES.as_bytes());
        assert_eq!(found.pages, ["https://example.com/a?x=1&y=2", "https://example.com/b"]);
        let index = "<sitemapindex><sitemap><loc>https://example.com/1.xml.gz</loc></sitemap>\
                     <sitemap><loc>/2.xml</loc></sitemap></sitemapindex>";
        assert_eq!(parse(index.as_bytes()).sitemaps, ["https://example.com/1.xml.gz", "/2.xml"]);
        let lines = parse(b"\xef\xbb\xbfhttps://example.com/a\r\n# no\nhttps://example.com/b\n");
        assert_eq!(lines.pages, ["https://example.com/a", "https://example.com/b"]);
        assert_eq!(parse(b"<!doctype html><p>Not found"), Sitemap::default());
    }

    #[test]
    fn a_compressed_sitemap_is_read_up_to_its_bound() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(PAGES.as_bytes()).expect("memory");
        assert_eq!(parse(&encoder.finish().expect("memory")).pages.len(), 2);
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        for _ in 0..64 {
            bomb.write_all(&[b' '; 1 << 20]).expect("memory");
        }
        bomb.write_all(b"https://example.com/beyond\n").expect("memory");
        assert_eq!(parse(&bomb.finish().expect("memory")), Sitemap::default());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_sitemap(bytes in proptest::collection::vec(any::<u8>(), 0..300), is_xml: bool) {
            let bytes = if is_xml { [b"<urlset><url><loc>".as_slice(), &bytes].concat() } else { bytes };
            let _ = parse(&bytes);
        }
    }
}
