//! Small files of every type, each as valid as its format requires.

/// An archive of uncompressed members.
pub fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let offset = u32::try_from(archive.len()).expect("small").to_le_bytes();
        let size = u32::try_from(content.len()).expect("small").to_le_bytes();
        let length = u16::try_from(name.len()).expect("small").to_le_bytes();
        let sum = crc32(content).to_le_bytes();
        // Version, flags, method, time and date; then checksum, both sizes, the lengths of the name and of the extra
        // field.
        let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &sum, &size, &size, &length, &[0, 0]].concat();
        archive.extend([b"PK\x03\x04", &common[..], name.as_bytes(), content].concat());
        directory.extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &offset, name.as_bytes()].concat());
    }
    let offset = u32::try_from(archive.len()).expect("small").to_le_bytes();
    let size = u32::try_from(directory.len()).expect("small").to_le_bytes();
    let count = u16::try_from(members.len()).expect("small").to_le_bytes();
    archive.extend(directory);
    archive.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count, &size, &offset, &[0, 0]].concat());
    archive
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

/// A compound file of version 3: a header, one sector of allocation, one of directory.
pub fn compound(streams: &[&str]) -> Vec<u8> {
    let mut file = vec![0_u8; 512];
    file[..8].copy_from_slice(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
    // Minor and major version, byte order, sector and mini sector shift.
    file[24..34].copy_from_slice(&[0x3e, 0, 3, 0, 0xfe, 0xff, 9, 0, 6, 0]);
    // One allocation sector; the directory begins at sector 1; streams shorter than 4096 bytes are mini streams.
    file[44] = 1;
    file[48] = 1;
    file[56..60].copy_from_slice(&4_096_u32.to_le_bytes());
    for at in (60..76).step_by(8) {
        file[at..at + 4].copy_from_slice(&0xffff_fffe_u32.to_le_bytes());
    }
    file[76..512].fill(0xff);
    file[76..80].fill(0);
    let mut allocation = vec![0xff_u8; 512];
    allocation[..4].copy_from_slice(&0xffff_fffd_u32.to_le_bytes());
    allocation[4..8].copy_from_slice(&0xffff_fffe_u32.to_le_bytes());
    file.extend(allocation);
    let mut entry = |name: &str, kind: u8| {
        let mut entry = [0_u8; 128];
        let units: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        entry[..units.len()].copy_from_slice(&units);
        entry[64] = u8::try_from(units.len()).expect("short");
        entry[66] = kind;
        entry[67] = 1;
        entry[68..80].fill(0xff);
        file.extend(entry);
    };
    entry("Root Entry", 5);
    streams.iter().take(3).for_each(|name| entry(name, 2));
    file.resize(file.len().next_multiple_of(512), 0);
    file
}

/// An MPEG-4 box.
fn mpeg4(service_info: &[u8; 4], others: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + others.len()).expect("small").to_be_bytes();
    [&length[..], b"ftyp", service_info, &[0, 0, 0, 0], others, b"\0\0\0\x08free"].concat()
}

/// Every type of contract 2.2: its extension, its media type and a file.
pub fn all() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let types: (&str, &[u8]) = ("[Content_Types].xml", b"<Types/>");
    vec![
        ("pdf", "application/pdf", contract_tests::story::PDF.to_vec()),
        ("doc", "application/msword", compound(&["WordDocument", "1Table"])),
        ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", zip(&[types, ("word/document.xml", b"<w/>")])),
        ("xls", "application/vnd.ms-excel", compound(&["Workbook"])),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", zip(&[types, ("xl/workbook.xml", b"<x/>")])),
        ("ppt", "application/vnd.ms-powerpoint", compound(&["Current User", "PowerPoint Document"])),
        ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", zip(&[types, ("ppt/presentation.xml", b"<p/>")])),
        ("odt", "application/vnd.oasis.opendocument.text", zip(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", b"<a/>")])),
        ("ods", "application/vnd.oasis.opendocument.spreadsheet", zip(&[("mimetype", b"application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", b"<a/>")])),
        ("odp", "application/vnd.oasis.opendocument.presentation", zip(&[("mimetype", b"application/vnd.oasis.opendocument.presentation"), ("content.xml", b"<a/>")])),
        ("rtf", "application/rtf", b"{\\rtf1\\ansi hello}".to_vec()),
        ("txt", "text/plain", b"plain text\n".to_vec()),
        ("csv", "text/csv", b"a,b\r\n1,2\r\n".to_vec()),
        ("md", "text/markdown", b"# Title\n\ntext\n".to_vec()),
        ("json", "application/json", b"{\"a\":1}".to_vec()),
        ("xml", "application/xml", b"<?xml version=\"1.0\"?><note><to>a</to></note>".to_vec()),
        ("eml", "message/rfc822", b"From: a@b.co\r\nTo: c@d.co\r\nSubject: x\r\n\r\nhello\r\n".to_vec()),
        ("msg", "application/vnd.ms-outlook", compound(&["__properties_version1.0", "__nameid_version1.0"])),
        ("zip", "application/zip", zip(&[("readme.txt", b"hello")])),
        ("jpeg", "image/jpeg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xd9".to_vec()),
        ("png", "image/png", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0".as_slice(), &crc32(b"IHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0").to_be_bytes(), b"\0\0\0\0IEND\xaeB`\x82"].concat()),
        ("gif", "image/gif", b"GIF89a\x01\0\x01\0\0\0\0;".to_vec()),
        ("webp", "image/webp", b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0".to_vec()),
        ("tiff", "image/tiff", b"II*\0\x08\0\0\0\0\0\0\0\0\0".to_vec()),
        ("bmp", "image/bmp", [b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0".as_slice(), &[0; 28]].concat()),
        ("heic", "image/heic", mpeg4(b"heic", b"mif1heic")),
        ("mp3", "audio/mpeg", [b"ID3\x03\0\0\0\0\0\0\xff\xfb\x90\x64".as_slice(), &[0; 100]].concat()),
        ("m4a", "audio/mp4", mpeg4(b"M4A ", b"M4A mp42isom")),
        ("wav", "audio/wav", b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0data\0\0\0\0".to_vec()),
        ("ogg", "audio/ogg", [b"OggS\0\x02".as_slice(), &[0; 20], b"\x01\x1e\x01vorbis", &[0; 23]].concat()),
        ("mp4", "video/mp4", mpeg4(b"isom", b"isomiso2avc1mp41")),
        ("mov", "video/quicktime", mpeg4(b"qt  ", b"qt  ")),
        ("webm", "video/webm", [b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm\x42\x87\x81\x04\x42\x85\x81\x02\xec\x41\x00".as_slice(), &[0; 256]].concat()),
    ]
}
