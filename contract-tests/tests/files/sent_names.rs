//! Encodings of a file name in its part: `filename`, `filename*` (contract 2.2, RFC 7578, RFC 8187).

use contract_tests::{Backend, Form, on_every_backend};

use crate::support::{nothing_is_stored, sandbox, send};

on_every_backend!(forms_of_the_name, names_in_latin_1, malformed_parts, any_bytes_in_the_name);

fn forms_of_the_name(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (parameters, name) in [
        (r#"name="file"; filename="a.txt""#, "a.txt"),
        (r#"name=file; filename=a.txt"#, "a.txt"),
        (r#"filename="a.txt"; name="file""#, "a.txt"),
        (r#"NAME="file"; FILENAME="a.txt""#, "a.txt"),
        (r#"name="file";filename="a.txt""#, "a.txt"),
        (r#"name = "file" ; filename = "a.txt""#, "a.txt"),
        (r#"name="file"; filename="a;b.txt""#, "a;b.txt"),
        (r#"name="file"; filename="a; name=x.txt""#, "a; name=x.txt"),
        (r#"name="file"; filename="a=b.txt""#, "a=b.txt"),
        (r#"name="file"; filename="a\"b.txt""#, "a_b.txt"),
        (r#"name="file"; filename="a%22b.txt""#, "a_b.txt"),
        (r#"name="file"; filename="a%0D%0Ab.txt""#, "ab.txt"),
        (r#"name="file"; filename="a%20b.txt""#, "a%20b.txt"),
        (r#"name="file"; filename="100%.txt""#, "100%.txt"),
        (r#"name="file"; filename="C:\Users\zoe\a.txt""#, "a.txt"),
        (r#"name="file"; filename="C:\\Users\\zoe\\a.txt""#, "a.txt"),
        (r#"name="file"; filename="Zoë.txt""#, "Zoë.txt"),
        (r#"name="file"; filename="日本.txt""#, "日本.txt"),
        (r#"name="file"; filename=" a.txt ""#, "a.txt"),
        (r#"name="file"; filename="'a'.txt""#, "'a'.txt"),
        (r#"name="file"; filename="a,b.txt""#, "a,b.txt"),
        (r#"name="file"; filename*=UTF-8''Zo%C3%AB.txt"#, "Zoë.txt"),
        (r#"name="file"; filename*=utf-8''Zo%c3%ab.txt"#, "Zoë.txt"),
        (r#"name="file"; filename*=UTF-8'en'Zo%C3%AB.txt"#, "Zoë.txt"),
        (r#"name="file"; filename="z.txt"; filename*=UTF-8''Zo%C3%AB.txt"#, "Zoë.txt"),
        (r#"name="file"; filename*=UTF-8''Zo%C3%AB.txt; filename="z.txt""#, "Zoë.txt"),
        (r#"name="file"; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd"#, "passwd"),
        (r#"name="file"; filename*=UTF-8''a%00b%0D%0A.txt"#, "ab.txt"),
        (r#"name="file"; filename*=UTF-8''a%2522b.txt"#, "a%22b.txt"),
        (r#"name="file"; filename*=ISO-8859-1''Zo%EB.txt"#, "Zoë.txt"),
        (r#"name="file"; filename="=?UTF-8?B?UsOpc3Vtw6kudHh0?=""#, "Résumé.txt"),
        (r#"name="file"; filename="=?iso-8859-1?Q?R=E9sum=E9.txt?=""#, "Résumé.txt"),
        (r#"name="file"; filename="=?UTF-8?Q?..=2F..=2Fpasswd?=""#, "passwd"),
        (r#"name="file"; filename="=?UTF-8?Q?a=00b=0D=0A.txt?=""#, "ab.txt"),
        // An unreadable name counts as absent.
        (r#"name="file"; filename="z.txt"; filename*=UTF-8''%FF%FE.txt"#, "z.txt"),
        (r#"name="file"; filename="z.txt"; filename*=UTF-8''%C3"#, "z.txt"),
        (r#"name="file"; filename="z.txt"; filename*=UTF-8''%4"#, "z.txt"),
        (r#"name="file"; filename="z.txt"; filename*=nonsense"#, "z.txt"),
        (r#"name="file"; filename="z.txt"; filename*=UTF-9''a.txt"#, "z.txt"),
        (r#"name="file"; filename*=UTF-8''%FF"#, "file.txt"),
        (r#"name="file"; other="x"; filename="a.txt""#, "a.txt"),
    ] {
        let disposition = format!("Content-Disposition: form-data; {parameters}");
        let reply = send(&cx, &contact, &Form::new().part(&[&disposition], b"text"));
        assert_eq!(reply.status, 201, "{parameters}: {}", reply.shown());
        assert_eq!(reply.data()["fileName"], name, "{parameters}");
    }
    // Header parameter names are case-insensitive too.
    let form =
        Form::new().part(&["content-disposition: FORM-DATA; name=\"file\"; filename=\"a.txt\""], b"text");
    assert_eq!(send(&cx, &contact, &form).expect(201).data()["fileName"], "a.txt");
}

fn names_in_latin_1(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (sent, name) in [
        (&b"R\xe9sum\xe9.txt"[..], "Résumé.txt"),
        (b"\xdcberweisung \x96 50 \x80.txt", "Überweisung – 50 €.txt"),
        (b"C:\\dir\\na\xefve.txt", "naïve.txt"),
    ] {
        let body = [
            b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"",
            sent,
            b"\"\r\n\r\ntext\r\n--x--\r\n",
        ]
        .concat();
        let call = cx.call("POST", &crate::support::files_of(&contact)).bytes(&body);
        let reply = call.header("content-type", "multipart/form-data; boundary=x").send().expect(201);
        assert_eq!(reply.data()["fileName"], name);
    }
}

/// A part without a name is broken framing.
fn malformed_parts(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for headers in [
        &[][..],
        &["Content-Type: text/plain"],
        &["Content-Disposition: form-data"],
        &["Content-Disposition: form-data; filename=\"a.txt\""],
        &["Content-Disposition: attachment; name=\"file\"; filename=\"a.txt\""],
        &["Content-Disposition: form-data; name=\"file"],
        &["Content-Disposition: form-data; name=\"file\"; filename=\"a.txt"],
        &["Content-Disposition: form-data; name=\"file\"; name=\"other\""],
        &["Content-Disposition: form-data; name=\"file\"; filename=\"a\"; filename=\"b\""],
        &["Content-Disposition form-data; name=\"file\""],
        &[": form-data"],
    ] {
        let reply = send(&cx, &contact, &Form::new().part(headers, b"text"));
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{headers:?}: {}", reply.shown());
        nothing_is_stored(&cx, &contact);
    }
}

/// Invalid UTF-8 is harmless.
fn any_bytes_in_the_name(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let boundary = "x";
    for byte in (0_u8..=255).filter(|byte| !matches!(byte, b'\r' | b'\n')) {
        let body = [
            b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a".as_slice(),
            &[byte],
            b"b.txt\"\r\n\r\ntext\r\n--x--\r\n",
        ]
        .concat();
        let call = cx.call("POST", &crate::support::files_of(&contact)).bytes(&body);
        let reply = call.header("content-type", &format!("multipart/form-data; boundary={boundary}")).send();
        match reply.status {
            201 => {
                let name = reply.data()["fileName"].as_str().expect("a name");
                assert!(name.ends_with("b.txt") && !name.chars().any(char::is_control), "{byte}: {name:?}");
            }
            _ => assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{byte}"),
        }
    }
}
