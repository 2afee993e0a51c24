//! Random requests for files.

use super::{Known, Request, request};
use crate::{Form, SplitMix64};

pub(super) fn files(random: &mut SplitMix64, known: &Known) -> Request {
    // Few contacts have all the files, so their lists are long.
    let owner =
        known.contacts.get(random.below(3) as usize).cloned().unwrap_or_else(|| known.contact(random));
    let of = format!("/files/chatbots/<A>/{owner}");
    let (contact, file) = if known.files.is_empty() {
        (String::new(), "697d00000000000000000000".to_owned())
    } else {
        random.pick(&known.files)
    };
    let one = format!("/files/chatbots/<A>/{contact}/files/{file}");
    match random.below(12) {
        0..=3 => {
            let name = random.pick(&["a.txt", "A.txt", "é.txt", "b.pdf", "100%.txt", "李.txt"]);
            let content = random.pick(&["hello", "%PDF-1.7\n%%EOF\n", "x"]);
            let form = Form::of_file(name, content.as_bytes());
            let mut upload = request("POST", of);
            upload.headers.push(("content-type", form.content_type()));
            upload.body = Some(form.bytes());
            upload
        }
        4 => request("GET", one),
        5 => request("DELETE", one),
        6 => request("GET", format!("{one}/signed-url")),
        7 if !known.links.is_empty() => request("GET", random.pick(&known.links)),
        _ => {
            let sort = random.pick(&["", "&sortBy=fileName", "&sortBy=fileSize", "&sortBy=createdAt"]);
            let order = random.pick(&["", "&sortOrder=asc", "&sortOrder=desc"]);
            request(
                "GET",
                format!("{of}?limit={}&page={}{sort}{order}", random.below(4) + 1, random.below(3) + 1),
            )
        }
    }
}
