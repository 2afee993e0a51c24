//! Enumerations: types whose values are words.

/// Declares an enumeration with the word of each value on the wire.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $count:literal { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every one.
            pub const ALL: [$name; $count] = [$($name::$variant),*];

            /// The word on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

/// Makes enumerations [text values](crate::TextValue).
#[macro_export]
macro_rules! text_words {
    ($($name:ty,)*) => {$(
        impl $crate::TextValue for $name {
            fn parse(text: &str) -> Result<Self, $crate::validation::ValidationIssue> {
                let known = Self::ALL.into_iter().find(|known| known.as_str() == text);
                known.ok_or_else(|| $crate::validation::ValidationIssue::not_one_of(&Self::ALL.map(Self::as_str)))
            }

            fn json_schema() -> serde_json::Value {
                serde_json::json!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::TextValue::parse(text).map_err($crate::Invalid)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    )*};
}
