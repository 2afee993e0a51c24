//! The location of the contents of files, as a URL.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A store of file contents, named by a URL.
///
/// | URL | Store |
/// |---|---|
/// | `file:./data/blobs`, `file:/var/lib/openapi/blobs`, `file:///var/lib/openapi/blobs` | a local folder |
/// | `memory:` | memory; lost when the process exits |
/// | `s3://bucket/prefix` | a bucket of Amazon S3 or of a compatible store |
/// | `gs://bucket/prefix` | a bucket of Google Cloud Storage |
/// | `az://container/prefix` | a container of Azure Blob Storage |
///
/// A prefix is optional and lets several services share a bucket. The path of a folder is not percent-decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlobsUrl {
    /// A local folder.
    Folder(PathBuf),
    /// Memory.
    Memory,
    /// A bucket of Amazon S3 or of a compatible store.
    S3(Bucket),
    /// A bucket of Google Cloud Storage.
    GoogleCloud(Bucket),
    /// A container of Azure Blob Storage.
    Azure(Bucket),
}

/// A bucket, which Azure calls a container, and the prefix of the keys in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    name: String,
    prefix: String,
}

impl Bucket {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The prefix of every key, without slashes at its ends; may be empty.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let (name, prefix) = text.split_once('/').unwrap_or((text, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        if name.is_empty() {
            return Err("it names no bucket; write s3://bucket or s3://bucket/prefix");
        }
        let in_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte);
        if !name.bytes().all(in_name) {
            return Err(
                "the name of a bucket has small letters, digits, '-', '_' and '.'; credentials and hosts come from the environment",
            );
        }
        let in_prefix = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let is_step = |step: &str| !matches!(step, "" | "." | "..") && step.bytes().all(in_prefix);
        if !prefix.is_empty() && !prefix.split('/').all(is_step) {
            return Err("a prefix has letters, digits, '-', '_' and '.', and single slashes between");
        }
        Ok(Bucket { name: name.to_owned(), prefix: prefix.to_owned() })
    }
}

impl FromStr for BlobsUrl {
    type Err = InvalidBlobsUrl;

    fn from_str(url: &str) -> Result<Self, InvalidBlobsUrl> {
        let invalid = |reason| InvalidBlobsUrl { url: url.to_owned(), reason };
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(invalid("it has no scheme; for a folder write file: before its path"));
        };
        let bucket = || match rest.strip_prefix("//") {
            Some(rest) => Bucket::parse(rest).map_err(invalid),
            None => Err(invalid("two slashes are missing after the scheme")),
        };
        match scheme {
            "file" => folder(rest).map(BlobsUrl::Folder).map_err(invalid),
            "memory" if rest.is_empty() => Ok(BlobsUrl::Memory),
            "memory" => Err(invalid("memory has no parts; write memory:")),
            "s3" => bucket().map(BlobsUrl::S3),
            "gs" => bucket().map(BlobsUrl::GoogleCloud),
            "az" => bucket().map(BlobsUrl::Azure),
            "http" | "https" => Err(invalid(
                "for a store that speaks the protocol of S3 write s3://bucket, and its address into AWS_ENDPOINT_URL",
            )),
            "gcs" => Err(invalid("Google Cloud Storage is written gs://bucket")),
            "azure" | "abfs" | "abfss" | "adl" => {
                Err(invalid("Azure Blob Storage is written az://container"))
            }
            "s3a" | "s3n" => Err(invalid("Amazon S3 is written s3://bucket")),
            _ => Err(invalid("its scheme is none of file:, memory:, s3://, gs:// and az://")),
        }
    }
}

fn folder(rest: &str) -> Result<PathBuf, &'static str> {
    let path = match rest.strip_prefix("//") {
        Some(path) if path.starts_with('/') => path,
        Some(_) => return Err("it names a host; write file:///absolute/path or file:relative/path"),
        None => rest,
    };
    if path.is_empty() {
        return Err("it names no folder");
    }
    if path.contains('\0') {
        return Err("it contains a character that no path can have");
    }
    Ok(PathBuf::from(path))
}

impl fmt::Display for BlobsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, bucket) = match self {
            BlobsUrl::Folder(path) => return write!(f, "file:{}", path.display()),
            BlobsUrl::Memory => return f.write_str("memory:"),
            BlobsUrl::S3(bucket) => ("s3", bucket),
            BlobsUrl::GoogleCloud(bucket) => ("gs", bucket),
            BlobsUrl::Azure(bucket) => ("az", bucket),
        };
        write!(f, "{scheme}://{}", bucket.name)?;
        if bucket.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", bucket.prefix) }
    }
}

/// A URL that names no store of file contents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{url}' does not name a store of file contents: {reason}; examples are file:./data/blobs and s3://bucket/prefix"
)]
pub struct InvalidBlobsUrl {
    url: String,
    reason: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(name: &str, prefix: &str) -> Bucket {
        Bucket { name: name.to_owned(), prefix: prefix.to_owned() }
    }

    #[test]
    fn urls_name_stores_and_are_written_as_they_were() {
        let folder = |path: &str| BlobsUrl::Folder(PathBuf::from(path));
        for (url, store, again) in [
            ("file:./data/blobs", folder("./data/blobs"), "file:./data/blobs"),
            ("file:/srv/a b%20", folder("/srv/a b%20"), "file:/srv/a b%20"),
            ("file:///srv/blobs/", folder("/srv/blobs/"), "file:/srv/blobs/"),
            ("memory:", BlobsUrl::Memory, "memory:"),
            ("s3://bucket", BlobsUrl::S3(bucket("bucket", "")), "s3://bucket"),
            ("s3://my.bucket-1/", BlobsUrl::S3(bucket("my.bucket-1", "")), "s3://my.bucket-1"),
            ("gs://b/a/B_c/", BlobsUrl::GoogleCloud(bucket("b", "a/B_c")), "gs://b/a/B_c"),
            ("az://c/p", BlobsUrl::Azure(bucket("c", "p")), "az://c/p"),
        ] {
            assert_eq!(url.parse(), Ok(store.clone()), "{url}");
            assert_eq!(store.to_string(), again);
            assert_eq!(again.parse(), Ok(store));
        }
    }

    #[test]
    fn errors_of_invalid_urls_say_what_to_write() {
        for (url, advice) in [
            ("", "for a folder write file:"),
            ("./data/blobs", "for a folder write file:"),
            ("C:\\blobs", "its scheme is none of"),
            ("file:", "it names no folder"),
            ("file://host/blobs", "write file:///absolute/path"),
            ("file:a\0b", "no path can have"),
            ("memory://", "write memory:"),
            ("s3:bucket", "two slashes"),
            ("s3://", "it names no bucket"),
            ("s3:///prefix", "it names no bucket"),
            ("s3://key:secret@bucket", "credentials and hosts come from the environment"),
            ("s3://Bucket", "small letters"),
            ("s3://bucket/a//b", "single slashes"),
            ("s3://bucket/../b", "single slashes"),
            ("s3://bucket/a?x=y", "single slashes"),
            ("https://minio.example.com/bucket", "AWS_ENDPOINT_URL"),
            ("gcs://bucket", "gs://bucket"),
            ("abfss://c@account.dfs.core.windows.net", "az://container"),
        ] {
            let error = url.parse::<BlobsUrl>().unwrap_err().to_string();
            assert!(error.contains(advice), "{url}: {error}");
        }
    }
}
