//! What an engine found for a field, with the evidence for it.

use serde::{Deserialize, Serialize, Serializer};

use crate::json::{Json, json_object};
use crate::validation::ValidationIssue;

/// How sure a value is, from 0 to 1 in steps of 0.0001 (contract 12.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confidence(u16);

impl Confidence {
    /// None at all: the confidence of `null`.
    pub const NONE: Confidence = Confidence(0);
    /// Verbatim in the document.
    pub const VERBATIM: Confidence = Confidence(9_500);
    /// Verbatim after normalisation.
    pub const NORMALISED: Confidence = Confidence(8_500);
    /// Close to something in the document.
    pub const CLOSE: Confidence = Confidence(6_500);
    /// Nothing in the document matches.
    pub const UNMATCHED: Confidence = Confidence(4_000);
    /// Below this a value that was found is listed under `lowConfidence`.
    pub const LOW: Confidence = Confidence(6_000);

    const ONE: u16 = 10_000;

    /// The nearest step; below 0 and what is no number is 0, above 1 is 1.
    #[must_use]
    pub fn new(share: f64) -> Self {
        // The cast saturates, and takes what is no number for 0.
        Confidence(((share * f64::from(Self::ONE)).round() as u16).min(Self::ONE))
    }

    /// The share, from 0 to 1.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE)
    }

    /// The mean, to the nearest step; none of nothing.
    #[must_use]
    pub fn mean(of: impl IntoIterator<Item = Confidence>) -> Option<Self> {
        let (sum, count) =
            of.into_iter().fold((0_u64, 0_u64), |(sum, count), next| (sum + u64::from(next.0), count + 1));
        let rounded = (sum + count / 2).checked_div(count)?;
        Some(Confidence(u16::try_from(rounded).unwrap_or(Self::ONE)))
    }
}

impl Serialize for Confidence {
    /// `0` and `1` without a fraction, everything else in the shortest form: `0.95`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(Self::ONE) {
            serializer.serialize_u16(self.0 / Self::ONE)
        } else {
            serializer.serialize_f64(self.share())
        }
    }
}

/// A rectangle on a page: points (1/72 inch) from its top left corner, x to the right, y down.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct BoundingBox {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

json_object! { BoundingBox = |edges| {
    "x": f64 = edges.x,
    "y": f64 = edges.y,
    "width": f64 = edges.width,
    "height": f64 = edges.height,
} }

/// Where in the document a value stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The page, counted from 1; none for documents without pages and values that could not be located.
    pub page: Option<u32>,
    /// The text of the document that says it, as written there.
    pub source_text: String,
    /// Its position on the page, if the document has positions.
    pub bounding_box: Option<BoundingBox>,
}

/// Text of the document that belongs to a field and is no value of its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// The text as written.
    pub raw: String,
    /// Why it is none.
    pub fault: ValidationIssue,
}

/// A value with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The value in the form of the field's type (contract 12.2), or what stood in its place.
    pub value: Result<Json, Rejection>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Where it stands.
    pub evidence: Evidence,
    /// Whether day and month of the date could be the other way round.
    pub ambiguous: bool,
}

/// What an engine found for a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Finding {
    /// Nothing.
    #[default]
    Absent,
    /// A scalar, or an amount with its currency.
    Leaf(Leaf),
    /// The elements of an array.
    Array(Vec<Finding>),
    /// The members of an object by name; names that the schema does not declare are left out of the result.
    Object(Vec<(String, Finding)>),
}
