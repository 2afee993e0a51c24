//! The chat widget's files for a server: bytes for the configured service name, hash, integrity value, headers, and
//! variants that are compressed once.
//!
//! The files are built from TypeScript and committed in `dist`, so this crate needs no Node. The built script contains the
//! service name once, as the argument of its outermost function; [`Widget::new`] replaces it there.
//!
//! ```
//! let widget = widget::Widget::new("Acme")?;
//! let file = widget.file("/embed.js").expect("the script");
//! let response = file.respond("gzip, br", None);
//! assert_eq!(response.headers["content-encoding"], "br");
//! assert_eq!(widget.global(), "AcmeWidget");
//! # Ok::<(), widget::InvalidServiceName>(())
//! ```

mod file;
mod locales;

pub use file::{File, Response};
pub use locales::{LOCALES, texts};

use sha2::{Digest, Sha256, Sha384};

const EMBED: &str = include_str!("../dist/embed.js");
/// The scripts that `embed.js` loads on demand, under names with their hashes: the features of the open panel, and the
/// challenge solver.
const LATER: &[(&str, &str)] =
    &[("more", include_str!("../dist/more.js")), ("challenge", include_str!("../dist/challenge.js"))];
/// The scripts of former releases, newest first, so pages that name one by its hash still work after an upgrade. Before a
/// release with changed scripts, copy the last release's to `dist/former` and list them here, and the scripts that they
/// load in [`FORMER_LATER`]: a browser may cache an `embed.js` for a day.
const FORMER: &[&str] = &[];
const FORMER_LATER: &[(&str, &str)] = &[];
/// The TypeScript declarations of the global, with its default name `ServiceWidget`.
pub const DECLARATIONS: &str = include_str!("../dist/embed.d.ts");

/// The only occurrence of the default service name in the built script.
const NAME_ARGUMENT: &str = "(\"Service\");";

/// The service name is not of the form `^[A-Za-z][A-Za-z0-9]{0,31}$` (contract 1).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the service name {0:?} is not a letter followed by at most 31 letters and digits")]
pub struct InvalidServiceName(String);

/// The files of the widget for one service name.
#[derive(Debug, Clone)]
pub struct Widget {
    global: String,
    hash: String,
    integrity: String,
    files: Vec<File>,
}

impl Widget {
    /// Creates the files for a service name and compresses them. This takes about 100 ms, so do it at startup.
    ///
    /// # Errors
    /// [`InvalidServiceName`] if the name has an invalid form.
    pub fn new(service: &str) -> Result<Self, InvalidServiceName> {
        Widget::with_former(service, FORMER, FORMER_LATER)
    }

    fn with_former(
        service: &str,
        former: &[&str],
        former_later: &[(&str, &str)],
    ) -> Result<Self, InvalidServiceName> {
        let mut letters = service.chars();
        let valid = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|letter| letter.is_ascii_alphanumeric())
            && service.len() <= 32;
        if !valid {
            return Err(InvalidServiceName(service.to_owned()));
        }
        let named = |script: &str| script.replacen(NAME_ARGUMENT, &format!("(\"{service}\");"), 1);
        let script = named(EMBED);
        let hash = short_hash(&script);
        let pinned = |name: &str, script: String| {
            let hash = short_hash(&script);
            File::new(String::new(), script, &hash).pinned(format!("/{name}.{hash}.js"))
        };
        let embed = File::new("/embed.js".to_owned(), script.clone(), &hash);
        let mut files = vec![embed.clone(), embed.pinned(format!("/embed.{hash}.js"))];
        files.extend(former.iter().map(|script| pinned("embed", named(script))));
        files.extend(
            LATER.iter().chain(former_later).map(|(name, script)| pinned(name, (*script).to_owned())),
        );
        Ok(Self { global: format!("{service}Widget"), integrity: integrity(&script), hash, files })
    }

    /// The name of the global that the script creates, such as `ServiceWidget`.
    #[must_use]
    pub fn global(&self) -> &str {
        &self.global
    }

    /// First 16 hexadecimal digits of the script's SHA-256, as in the name of a pinned build.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The script's integrity value, `sha384-…`.
    #[must_use]
    pub fn integrity(&self) -> &str {
        &self.integrity
    }

    /// The file at a path of the widget host: `/embed.js`, its pinned copy, or a script that it loads on demand.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path() == path)
    }

    /// All files, `/embed.js` first.
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The tag that a site owner inserts. `host` is the widget host's origin, `agent` an agent's id; neither is escaped.
    #[must_use]
    pub fn tag(&self, host: &str, agent: &str) -> String {
        format!("<script src=\"{host}/embed.js\" data-agent-id=\"{agent}\" async></script>")
    }

    /// The tag of the pinned build, with its integrity value.
    #[must_use]
    pub fn pinned_tag(&self, host: &str, agent: &str) -> String {
        format!(
            "<script src=\"{host}/embed.{}.js\" integrity=\"{}\" crossorigin=\"anonymous\" data-agent-id=\"{agent}\" async></script>",
            self.hash, self.integrity
        )
    }

    /// The key under which a page's storage has the session of an agent's visitor.
    #[must_use]
    pub fn storage_key(&self, agent: &str) -> String {
        let service = self.global.strip_suffix("Widget").unwrap_or_default();
        format!("{}-widget:{agent}", service.to_ascii_lowercase())
    }

    /// The Content Security Policy directives that a page needs for the widget.
    #[must_use]
    pub fn policy(&self, host: &str) -> String {
        format!("script-src {host}; connect-src {host}")
    }
}

fn short_hash(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn integrity(text: &str) -> String {
    use base64::Engine;
    format!("sha384-{}", base64::engine::general_purpose::STANDARD.encode(Sha384::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_values_are_those_of_the_committed_script() {
        let values: serde_json::Value = serde_json::from_str(include_str!("../dist/integrity.json")).unwrap();
        let widget = Widget::new("Service").unwrap();
        assert_eq!(widget.hash(), values["hash"]);
        assert_eq!(widget.integrity(), values["integrity"]);
        assert_eq!(widget.files()[0].bytes(), EMBED.as_bytes());
        // Each script names the next one by its hash, independently of the service name.
        let other = Widget::new("Acme").unwrap();
        for (name, by) in [("more", EMBED), ("challenge", LATER[0].1)] {
            let path = format!("/{name}.{}.js", values[format!("{name}Hash")].as_str().unwrap());
            assert!(by.contains(&path[1..]), "{path} is named");
            let file = widget.file(&path).expect("a script that is loaded later");
            assert_eq!(file.respond("", None).headers["cache-control"], "max-age=31536000, immutable");
            assert_eq!(other.file(&path).map(File::bytes), Some(file.bytes()));
        }
    }

    #[test]
    fn a_former_build_stays_where_pages_name_it() {
        let former = "(function(name){window.former=name})(\"Service\");";
        let widget = Widget::with_former("Acme", &[former], &[("more", "former()")]).unwrap();
        let script = former.replace("Service", "Acme");
        let file = widget.file(&format!("/embed.{}.js", short_hash(&script))).expect("the former build");
        assert_eq!(file.bytes(), script.as_bytes());
        assert_eq!(file.respond("", None).headers["cache-control"], "max-age=31536000, immutable");
        assert_ne!(widget.file("/embed.js").map(File::bytes), Some(script.as_bytes()));
        let later =
            widget.file(&format!("/more.{}.js", short_hash("former()"))).expect("the script that it loads");
        assert_eq!(later.bytes(), b"former()");
    }

    #[test]
    fn the_script_contains_the_service_name_once() {
        assert_eq!(EMBED.matches(NAME_ARGUMENT).count(), 1);
        assert!(EMBED.trim_end().ends_with(NAME_ARGUMENT));
        assert!(!EMBED.replace(NAME_ARGUMENT, "").contains("\"Service"), "the script contains the name once");
    }

    #[test]
    fn another_name_changes_only_the_argument_and_the_values_derived_from_the_script() {
        let default = Widget::new("Service").unwrap();
        let other = Widget::new("Acme2").unwrap();
        assert_eq!(other.global(), "Acme2Widget");
        let text = std::str::from_utf8(other.files()[0].bytes()).unwrap();
        assert!(text.trim_end().ends_with("(\"Acme2\");"));
        assert_eq!(text.replace("(\"Acme2\");", NAME_ARGUMENT), EMBED);
        assert_ne!(other.hash(), default.hash());
        assert_ne!(other.integrity(), default.integrity());
        assert!(other.file(&format!("/embed.{}.js", other.hash())).is_some());
        assert!(other.file(&format!("/embed.{}.js", default.hash())).is_none());
    }

    #[test]
    fn names_that_could_break_the_script_are_rejected() {
        for name in ["", "1a", "a-b", "a\"b", "a b", "é", "Ä1", &"a".repeat(33)] {
            assert_eq!(Widget::new(name).unwrap_err(), InvalidServiceName(name.to_owned()), "{name:?}");
        }
        assert!(Widget::new(&"a".repeat(32)).is_ok());
    }

    #[test]
    fn tags_and_policy_are_those_of_the_guide() {
        let widget = Widget::new("Service").unwrap();
        let host = "https://widget.example.com";
        let agent = "695b6f80de7378c4412112d3";
        assert_eq!(
            widget.tag(host, agent),
            "<script src=\"https://widget.example.com/embed.js\" data-agent-id=\"695b6f80de7378c4412112d3\" async></script>"
        );
        let pinned = widget.pinned_tag(host, agent);
        assert!(pinned.contains(&format!("/embed.{}.js\" integrity=\"sha384-", widget.hash())), "{pinned}");
        assert_eq!(
            widget.policy(host),
            "script-src https://widget.example.com; connect-src https://widget.example.com"
        );
    }
}
