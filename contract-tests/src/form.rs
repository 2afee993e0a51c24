//! A builder for `multipart/form-data` bodies.

/// A form.
#[derive(Clone, Debug)]
pub struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Default for Form {
    fn default() -> Self {
        Form { boundary: "----4d8f0c7aX".to_owned(), body: Vec::new() }
    }
}

impl Form {
    /// A form without parts.
    #[must_use]
    pub fn new() -> Self {
        Form::default()
    }

    /// A form with one file.
    #[must_use]
    pub fn of_file(name: &str, content: &[u8]) -> Self {
        Form::new().file(name, content)
    }

    /// Adds a part with these headers, without line ends.
    #[must_use]
    pub fn part(mut self, headers: &[&str], content: &[u8]) -> Self {
        self.body.extend(format!("--{}\r\n", self.boundary).bytes());
        for header in headers {
            self.body.extend(header.bytes());
            self.body.extend(b"\r\n");
        }
        self.body.extend(b"\r\n");
        self.body.extend(content);
        self.body.extend(b"\r\n");
        self
    }

    /// Adds a part named `file`, as a browser does.
    #[must_use]
    pub fn file(self, name: &str, content: &[u8]) -> Self {
        self.named("file", name, content)
    }

    /// Adds a part named `document`, as a browser does.
    #[must_use]
    pub fn document(self, name: &str, content: &[u8]) -> Self {
        self.named("document", name, content)
    }

    fn named(self, part: &str, name: &str, content: &[u8]) -> Self {
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        let disposition = format!("Content-Disposition: form-data; name=\"{part}\"; filename=\"{name}\"");
        self.part(&[&disposition, "Content-Type: application/octet-stream"], content)
    }

    /// Adds a text part.
    #[must_use]
    pub fn text(self, name: &str, text: &str) -> Self {
        self.part(&[&format!("Content-Disposition: form-data; name=\"{name}\"")], text.as_bytes())
    }

    /// The value of `Content-Type`.
    #[must_use]
    pub fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    /// The body with its closing boundary.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.body.clone();
        bytes.extend(format!("--{}--\r\n", self.boundary).bytes());
        bytes
    }

    /// The body without its closing boundary.
    #[must_use]
    pub fn unclosed(&self) -> Vec<u8> {
        self.body.clone()
    }
}
