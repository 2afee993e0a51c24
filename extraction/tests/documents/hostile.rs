//! Documents that want more than a document may: each ends in its exact error.

use extraction::document::{Limits, ReadError, Reason, Unit, read};

use crate::files::{deflated, docx, docx_of, paragraph, pdf, pdf_of, show, stream, word_document, zip};
use crate::read_default;

const MIB: usize = 1 << 20;

fn too_many_bytes(limit: u64) -> ReadError {
    ReadError::TooLarge { unit: Unit::Bytes, limit, actual: None }
}

/// So many mebibytes of spaces.
fn spaces(count: usize) -> impl Iterator<Item = Vec<u8>> {
    std::iter::repeat_n(vec![b' '; MIB], count)
}

fn pdf_with_stream(entries: &str, data: &[u8]) -> Vec<u8> {
    pdf_of(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R>>".to_vec(),
        stream(entries, data),
    ])
}

#[test]
fn a_zip_bomb_is_too_large_by_what_really_comes_out() {
    let limits = Limits { part: 1 << 19, ..Limits::default() };
    let body = paragraph(&" ".repeat(MIB));
    assert_eq!(read(&docx(&body), &limits), Err(too_many_bytes(1 << 19)));
    // Text that is as large, but is text: it does not pack as well.
    assert!(read(&docx(&paragraph("word ")), &limits).is_ok());
    // A part that says it is small.
    let mut lying = docx(&body);
    let claimed = (MIB + word_document(&paragraph("")).len()) as u32;
    let positions: Vec<usize> = lying
        .windows(4)
        .enumerate()
        .filter(|(_, size)| *size == claimed.to_le_bytes())
        .map(|(at, _)| at)
        .collect();
    assert!(!positions.is_empty());
    for at in positions {
        lying[at..at + 4].copy_from_slice(&100_u32.to_le_bytes());
    }
    let result = read(&lying, &limits);
    assert!(matches!(result, Err(ReadError::TooLarge { .. } | ReadError::Unreadable(_))), "{result:?}");
    // With the limits of the contract, by its ratio.
    assert_eq!(read_default(&docx(&paragraph(&" ".repeat(3 * MIB)))), Err(too_many_bytes(1 << 20)));
}

#[test]
fn a_package_of_too_many_parts_is_unreadable() {
    let names: Vec<String> = (0..5000).map(|index| format!("word/media/{index}")).collect();
    let main = word_document(&paragraph("text"));
    let parts = names.iter().map(|name| (name.as_str(), Vec::new()));
    let file = zip(parts.chain([("word/document.xml", main.into_bytes())]));
    assert_eq!(read_default(&file), Err(ReadError::Unreadable(Reason::Structure)));
}

#[test]
fn flate_bombs_are_too_large_once_and_twice_packed() {
    let limit = 4 << 20;
    let limits = Limits { part: limit, ..Limits::default() };
    let once = deflated(spaces(5));
    assert_eq!(read(&pdf_with_stream("/Filter/FlateDecode", &once), &limits), Err(too_many_bytes(limit)));
    let twice = deflated(std::iter::once(once));
    let file = pdf_with_stream("/Filter[/FlateDecode/FlateDecode]", &twice);
    assert!(file.len() < 2000, "{}", file.len());
    assert_eq!(read(&file, &limits), Err(too_many_bytes(limit)));
    let honest = deflated(std::iter::once(show(50.0, 700.0, 10.0, "text").into_bytes()));
    assert!(read_default(&pdf_with_stream("/Filter/FlateDecode", &honest)).is_ok());
}

#[test]
fn many_small_bombs_are_one_large_one() {
    let limits = Limits { unpacked: 8 << 20, ..Limits::default() };
    let packed = deflated(spaces(2));
    let mut objects =
        vec![b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec()];
    let contents: String = (4..10).map(|number| format!("{number} 0 R ")).collect();
    objects
        .push(format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents[{contents}]>>").into_bytes());
    objects.extend((4..10).map(|_| stream("/Filter/FlateDecode", &packed)));
    let result = read(&pdf_of(&objects), &limits);
    assert!(matches!(result, Err(ReadError::TooLarge { unit: Unit::Bytes, .. })), "{result:?}");
}

#[test]
fn pages_are_counted_before_they_are_read() {
    let content = show(50.0, 700.0, 10.0, "text");
    let limits = Limits { pages: 3, ..Limits::default() };
    assert!(read(&pdf(&[content.as_str(); 3]), &limits).is_ok());
    let too_many = |limit, actual| ReadError::TooLarge { unit: Unit::Pages, limit, actual: Some(actual) };
    assert_eq!(read(&pdf(&[content.as_str(); 4]), &limits), Err(too_many(3, 4)));
    let kids = "<</Type/Page/MediaBox[0 0 9 9]>>".repeat(10_000);
    let file = pdf_of(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Kids[{kids}]/Count 10000>>").into_bytes(),
    ]);
    assert_eq!(read_default(&file), Err(too_many(50, 10_000)));
}

#[test]
fn a_tree_of_pages_that_is_a_circle_has_an_end() {
    let file = pdf_of(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R 2 0 R]/Count 1>>".to_vec(),
        b"<</Type/Pages/Parent 2 0 R/Kids[2 0 R 3 0 R]/Count 1>>".to_vec(),
    ]);
    assert_eq!(read_default(&file), Err(ReadError::Unreadable(Reason::Damaged)));
}

#[test]
fn too_many_characters_are_refused_in_every_format() {
    let limits = Limits { characters: 20, ..Limits::default() };
    let too_many = Err(ReadError::TooLarge { unit: Unit::Characters, limit: 20, actual: None });
    let text = "one two three four five six";
    assert_eq!(read(text.as_bytes(), &limits), too_many);
    assert_eq!(read(&docx(&paragraph(text)), &limits), too_many);
    assert_eq!(read(&pdf(&[&show(50.0, 700.0, 10.0, text)]), &limits), too_many);
    assert!(read(&pdf(&[&show(50.0, 700.0, 10.0, "one two three four")]), &limits).is_ok());
    // Glyphs upon glyphs, that make few words.
    let upon = show(50.0, 700.0, 10.0, "aaa").repeat(20);
    assert_eq!(read(&pdf(&[&upon]), &limits), too_many);
}

#[test]
fn bytes_are_counted_first() {
    let limits = Limits { bytes: 10, ..Limits::default() };
    let too_large = ReadError::TooLarge { unit: Unit::Bytes, limit: 10, actual: Some(11) };
    assert_eq!(read(b"eleven octs", &limits), Err(too_large));
}

#[test]
fn encrypted_documents_are_distinguished_from_broken_ones() {
    let mut file = pdf(&[&show(50.0, 700.0, 10.0, "text")]);
    let trailer = file.windows(9).rposition(|window| window == b"trailer\n<").expect("it has one");
    let entry = b"trailer\n<</ID[(abcdefghijklmnop)(abcdefghijklmnop)]/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -44\
        /O(01234567890123456789012345678901)/U(01234567890123456789012345678901)>>";
    file.splice(trailer..trailer + 10, entry.iter().copied());
    assert_eq!(read_default(&file), Err(ReadError::Encrypted));

    let mut package = docx(&paragraph("text"));
    // The flag of each entry, in its own head and in the directory.
    for (signature, flags) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let heads: Vec<usize> =
            package.windows(4).enumerate().filter(|(_, head)| head == signature).map(|(at, _)| at).collect();
        for at in heads {
            package[at + flags] |= 1;
        }
    }
    assert_eq!(read_default(&package), Err(ReadError::Encrypted));

    let mut office = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    assert_eq!(read_default(&office), Err(ReadError::Unsupported));
    office.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(read_default(&office), Err(ReadError::Encrypted));
}

#[test]
fn other_types_are_unsupported_and_broken_ones_unreadable() {
    let sheet =
        zip([("xl/workbook.xml", b"<workbook/>".to_vec()), ("[Content_Types].xml", b"<Types/>".to_vec())]);
    assert_eq!(read_default(&sheet), Err(ReadError::Unsupported));
    assert_eq!(read_default(b""), Err(ReadError::Unsupported));
    assert_eq!(read_default(b"\x7fELF\0\0\0"), Err(ReadError::Unsupported));
    assert_eq!(read_default(b"%PDF-1.7\nnothing more"), Err(ReadError::Unreadable(Reason::Damaged)));
    assert_eq!(read_default(b"\x89PNG\r\n\x1a\nnothing"), Err(ReadError::Unreadable(Reason::Damaged)));
    assert_eq!(read_default(b"II*\0\x08\0\0\0"), Err(ReadError::Unreadable(Reason::Damaged)));
    let whole = docx_of(&word_document(&paragraph("text")), &[]);
    assert_eq!(read_default(&whole[..whole.len() - 30]), Err(ReadError::Unreadable(Reason::Damaged)));
}
