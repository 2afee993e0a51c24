//! Reading typed values from a row, by position, or from a document, by name.

use std::net::IpAddr;

use openapi_core::json::RawObject;
use openapi_core::values::{StoredText, Timestamp};
use serde::de::DeserializeOwned;

use crate::codes::Code;
use crate::error::StoreError;

/// Reads the values of one row or document.
///
/// A reader of a row ignores the names and returns the columns one after another, so shared code asks for values in the
/// order of the columns in [`records`](crate::records). A reader of a document finds values by name; a dot separates
/// the names of nested documents.
pub trait FieldReader<'r> {
    /// The error of the store.
    type Error: StoreError;

    /// A text, unless it is absent.
    fn optional_str(&mut self, name: &str) -> Result<Option<&'r str>, Self::Error>;

    /// An integer, unless it is absent.
    fn optional_integer(&mut self, name: &str) -> Result<Option<i64>, Self::Error>;

    /// Bytes.
    fn slice(&mut self, name: &str) -> Result<&'r [u8], Self::Error> {
        present(self.optional_slice(name)?, name)
    }

    /// The number of a [`Code`].
    fn code_number(&mut self, name: &str) -> Result<i64, Self::Error> {
        self.integer(name)
    }

    /// Bytes, unless they are absent.
    fn optional_slice(&mut self, name: &str) -> Result<Option<&'r [u8]>, Self::Error>;

    /// A time, unless it is absent.
    fn optional_time(&mut self, name: &str) -> Result<Option<Timestamp>, Self::Error> {
        Ok(self.optional_integer(name)?.map(Timestamp::from_millis))
    }

    /// A text.
    fn str(&mut self, name: &str) -> Result<&'r str, Self::Error> {
        present(self.optional_str(name)?, name)
    }

    /// A valid text, which is not parsed again.
    fn text<T: StoredText>(&mut self, name: &str) -> Result<T, Self::Error> {
        self.str(name).map(T::from_stored)
    }

    /// The same, unless it is absent.
    fn optional_text<T: StoredText>(&mut self, name: &str) -> Result<Option<T>, Self::Error> {
        Ok(self.optional_str(name)?.map(T::from_stored))
    }

    /// A text of its own, unless it is absent.
    fn optional_string(&mut self, name: &str) -> Result<Option<String>, Self::Error> {
        Ok(self.optional_str(name)?.map(str::to_owned))
    }

    /// An integer.
    fn integer(&mut self, name: &str) -> Result<i64, Self::Error> {
        present(self.optional_integer(name)?, name)
    }

    /// A version, a size or another count.
    fn count(&mut self, name: &str) -> Result<u64, Self::Error> {
        u64::try_from(self.integer(name)?).map_err(Self::Error::corrupt)
    }

    /// The value of an enum.
    fn code<C: Code>(&mut self, name: &str) -> Result<C, Self::Error> {
        code(self.code_number(name)?)
    }

    /// A time.
    fn time(&mut self, name: &str) -> Result<Timestamp, Self::Error> {
        present(self.optional_time(name)?, name)
    }

    /// An array of bytes.
    fn bytes<const N: usize>(&mut self, name: &str) -> Result<[u8; N], Self::Error> {
        present(self.optional_bytes(name)?, name)
    }

    /// The same, unless it is absent.
    fn optional_bytes<const N: usize>(&mut self, name: &str) -> Result<Option<[u8; N]>, Self::Error> {
        let bytes = self.optional_slice(name)?;
        bytes.map(|bytes| bytes.try_into().map_err(Self::Error::corrupt)).transpose()
    }

    /// An IP address, unless it is absent.
    fn optional_address(&mut self, name: &str) -> Result<Option<IpAddr>, Self::Error> {
        let text = self.optional_str(name)?;
        text.map(|text| text.parse().map_err(Self::Error::corrupt)).transpose()
    }

    /// An object; an absent one is `{}`.
    fn object(&mut self, name: &str) -> Result<RawObject, Self::Error> {
        match self.optional_str(name)? {
            Some(text) => RawObject::from_text(text).map_err(Self::Error::corrupt),
            None => Ok(RawObject::default()),
        }
    }

    /// A value that is stored as JSON.
    fn json<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Self::Error> {
        serde_json::from_str(self.str(name)?).map_err(Self::Error::corrupt)
    }

    /// The same, unless it is absent.
    fn optional_json<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Self::Error> {
        let text = self.optional_str(name)?;
        text.map(|text| serde_json::from_str(text).map_err(Self::Error::corrupt)).transpose()
    }
}

/// Gives `RowReader` the methods of [`FieldReader`] without the names, which a reader of rows ignores.
#[macro_export]
macro_rules! unnamed_fields {
    () => {
        $crate::unnamed_fields! {
            str() -> &'r str,
            optional_str() -> Option<&'r str>,
            optional_string() -> Option<String>,
            text(T: ::openapi_core::values::StoredText) -> T,
            optional_text(T: ::openapi_core::values::StoredText) -> Option<T>,
            slice() -> &'r [u8],
            integer() -> i64,
            count() -> u64,
            code(C: $crate::codes::Code) -> C,
            time() -> ::openapi_core::values::Timestamp,
            optional_time() -> Option<::openapi_core::values::Timestamp>,
            object() -> ::openapi_core::json::RawObject,
            json(T: ::serde::de::DeserializeOwned) -> T,
            optional_json(T: ::serde::de::DeserializeOwned) -> Option<T>,
        }

        #[allow(dead_code, reason = "each store uses a part")]
        impl RowReader<'_> {
            pub(crate) fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
                $crate::fields::FieldReader::bytes(self, "")
            }

            pub(crate) fn optional_bytes<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
                $crate::fields::FieldReader::optional_bytes(self, "")
            }
        }
    };
    ($($method:ident($($generic:ident: $bound:path)?) -> $value:ty,)*) => {
        #[allow(dead_code, reason = "each store uses a part")]
        impl<'r> RowReader<'r> {
            $(
                pub(crate) fn $method$(<$generic: $bound>)?(&mut self) -> Result<$value> {
                    $crate::fields::FieldReader::$method(self, "")
                }
            )*
        }
    };
}

fn present<T, E: StoreError>(value: Option<T>, name: &str) -> Result<T, E> {
    value.ok_or_else(|| E::corrupt(format_args!("a record has no '{name}'")))
}

/// The value of a stored number.
///
/// # Errors
/// When no value has the number.
pub fn code<C: Code, E: StoreError>(number: i64) -> Result<C, E> {
    C::of_code(number).ok_or_else(|| E::corrupt(format_args!("{number} is no {}", C::NAME)))
}

/// The text of an object; `None` for `{}`.
#[must_use]
pub fn object_text(object: &RawObject) -> Option<&str> {
    (!object.is_empty()).then(|| object.as_str())
}

/// A value as JSON.
///
/// # Errors
/// When the value has no JSON.
pub fn json_text<E: StoreError>(value: &impl serde::Serialize) -> Result<String, E> {
    serde_json::to_string(value).map_err(E::corrupt)
}

/// A version or another count as a database stores it.
///
/// # Errors
/// When it exceeds what a database stores.
pub fn signed<E: StoreError>(count: u64) -> Result<i64, E> {
    i64::try_from(count).map_err(E::corrupt)
}

/// An offset or a limit as a database counts; a number beyond its range means all rows.
#[must_use]
pub fn bounded(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
