//! Makers of files.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A PDF out of numbered objects; the first is the catalog.
pub fn pdf_of(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.extend(format!("{} 0 obj\n", index + 1).bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let xref = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for offset in offsets {
        file.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    file.extend(
        format!("trailer\n<</Size {}/Root 1 0 R>>\nstartxref\n{xref}\n%%EOF\n", objects.len() + 1).bytes(),
    );
    file
}

/// A stream with these entries in its dictionary.
pub fn stream(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut object = format!("<<{entries}/Length {}>>\nstream\n", data.len()).into_bytes();
    object.extend(data);
    object.extend(b"\nendstream");
    object
}

/// A PDF with a page of A4 for each content. `/F1` is Helvetica, `/F2` its bold; more objects come after.
pub fn pdf_with(contents: &[&str], page_entries: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let first = 5 + more.len();
    let kids: String = (0..contents.len()).map(|index| format!("{} 0 R ", first + 2 * index)).collect();
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Kids[{kids}]/Count {}>>", contents.len()).into_bytes(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>".to_vec(),
    ];
    objects.extend(more.iter().cloned());
    for (index, content) in contents.iter().enumerate() {
        let page = format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>/Contents {} 0 R\
             {page_entries}>>",
            first + 2 * index + 1
        );
        objects.push(page.into_bytes());
        objects.push(stream("", content.as_bytes()));
    }
    pdf_of(&objects)
}

/// A PDF with a page of A4 for each content.
pub fn pdf(contents: &[&str]) -> Vec<u8> {
    pdf_with(contents, "", &[])
}

/// Shows text at a position, in points from the lower left corner.
pub fn show(x: f32, y: f32, size: f32, text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
    format!("BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n")
}

/// Bytes packed by deflate.
pub fn deflated(data: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    for part in data {
        encoder.write_all(&part).expect("memory takes it");
    }
    encoder.finish().expect("memory takes it")
}

/// A ZIP of these parts.
pub fn zip<'a>(parts: impl IntoIterator<Item = (&'a str, Vec<u8>)>) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(name, SimpleFileOptions::default()).expect("memory takes it");
        archive.write_all(&content).expect("memory takes it");
    }
    archive.finish().expect("memory takes it").into_inner()
}

const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

/// The main part of a DOCX around a body.
pub fn word_document(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><w:document xmlns:w=\"{WORD}\" \
         xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\"><w:body>{body}</w:body></w:document>"
    )
}

/// A DOCX with this main part and these further parts, each with the kind of its relation.
pub fn docx_of(document: &str, more: &[(&str, &str, &str)]) -> Vec<u8> {
    const KINDS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relation = |index: usize, kind: &str, target: &str| {
        format!("<Relationship Id=\"r{index}\" Type=\"{KINDS}/{kind}\" Target=\"{target}\"/>")
    };
    let relations = |inner: String| {
        format!("<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">{inner}</Relationships>")
            .into_bytes()
    };
    let of_document =
        more.iter().enumerate().map(|(index, (name, kind, _))| relation(index, kind, name)).collect();
    let types = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Override \
        PartName=\"/word/document.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.\
        document.main+xml\"/></Types>";
    let mut parts = vec![
        ("[Content_Types].xml".to_owned(), types.as_bytes().to_vec()),
        ("_rels/.rels".to_owned(), relations(relation(0, "officeDocument", "word/document.xml"))),
        ("word/document.xml".to_owned(), document.as_bytes().to_vec()),
        ("word/_rels/document.xml.rels".to_owned(), relations(of_document)),
    ];
    for (name, _, content) in more {
        let content = content.replacen('>', &format!(" xmlns:w=\"{WORD}\">"), 1);
        parts.push((format!("word/{name}"), content.into_bytes()));
    }
    zip(parts.iter().map(|(name, content)| (name.as_str(), content.clone())))
}

/// A DOCX around a body.
pub fn docx(body: &str) -> Vec<u8> {
    docx_of(&word_document(body), &[])
}

/// A paragraph of one run.
pub fn paragraph(text: &str) -> String {
    format!("<w:p><w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>")
}

/// An image of an A4 page with these lines, the first 100 points from the top, at 180 pixels an inch.
pub fn drawn(texts: &[&str]) -> image::GrayImage {
    use hayro::hayro_interpret::InterpreterSettings;
    use hayro::vello_cpu::color::palette::css::WHITE;
    use hayro::{PixmapSettings, RenderCache, RenderSettings};

    let content: String = texts
        .iter()
        .enumerate()
        .map(|(row, text)| show(60.0, 742.0 - 30.0 * row as f32, 14.0, text))
        .collect();
    let drawn = hayro::hayro_syntax::Pdf::new(pdf(&[&content])).expect("it is a PDF");
    let settings = PixmapSettings { x_scale: 2.5, y_scale: 2.5, bg_color: WHITE };
    let pixmap = hayro::render(
        &drawn.pages()[0],
        &RenderCache::new(),
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &settings,
    );
    let grey = pixmap.data_as_u8_slice().chunks_exact(4).map(|pixel| pixel[0]).collect();
    image::GrayImage::from_raw(pixmap.width().into(), pixmap.height().into(), grey).expect("a shade each")
}

/// A PDF of one A4 page that consists of an image of these lines.
pub fn scan(texts: &[&str]) -> Vec<u8> {
    let page = drawn(texts);
    let entries = format!(
        "/Type/XObject/Subtype/Image/Width {}/Height {}/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/FlateDecode",
        page.width(),
        page.height()
    );
    pdf_of(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</XObject<</I 4 0 R>>>>/Contents 5 0 R>>"
            .to_vec(),
        stream(&entries, &deflated(std::iter::once(page.into_raw()))),
        stream("", b"q 595 0 0 842 0 0 cm /I Do Q"),
    ])
}

/// A TIFF of two small frames.
pub fn tiff() -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = tiff::encoder::TiffEncoder::new(&mut bytes).expect("memory takes it");
    for _ in 0..2 {
        encoder.write_image::<tiff::encoder::colortype::Gray8>(30, 20, &[200; 600]).expect("memory takes it");
    }
    bytes.into_inner()
}

/// A small image in this format.
pub fn sample_image(format: image::ImageFormat) -> Vec<u8> {
    let sample_image = image::RgbImage::from_fn(40, 30, |x, y| image::Rgb([x as u8 * 5, y as u8 * 7, 90]));
    let mut bytes = Cursor::new(Vec::new());
    sample_image.write_to(&mut bytes, format).expect("memory takes it");
    bytes.into_inner()
}
