//! The schemas to begin with (contract 12.4).

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::json::{JsonSchema, json_object, schemas};

/// A schema that can be sent as it is, with words about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaExample {
    /// Its key in the answer.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it reads.
    pub description: &'static str,
    /// The schema, as JSON text.
    pub schema: &'static str,
}

/// The examples, in the order of the answer.
pub const SCHEMA_EXAMPLES: [SchemaExample; 7] = [
    SchemaExample {
        id: "medical",
        title: "Medical report",
        description: "Patient and findings of a clinical letter",
        schema: concat!(
            "{",
            r#""patientName":{"type":"string","description":"Full name of the patient","required":true},"#,
            r#""dateOfBirth":{"type":"date","description":"Date of birth","required":false},"#,
            r#""visitDate":{"type":"date","description":"Date of the visit","required":true},"#,
            r#""diagnoses":{"type":"array","description":"Diagnoses as written","required":false},"#,
            r#""followUp":{"type":"boolean","description":"Whether a follow-up is ordered","required":false}"#,
            "}",
        ),
    },
    SchemaExample {
        id: "invoice",
        title: "Invoice",
        description: "Head and amounts of an invoice",
        schema: concat!(
            "{",
            r#""invoiceNumber":{"type":"string","description":"Invoice number as printed","required":true},"#,
            r#""issueDate":{"type":"date","description":"Date of issue","required":true},"#,
            r#""dueDate":{"type":"date","description":"Last day for payment","required":false},"#,
            r#""vendorName":{"type":"string","description":"Issuing company","required":true},"#,
            r#""total":{"type":"number","description":"Amount payable","required":true}"#,
            "}",
        ),
    },
    SchemaExample {
        id: "resume",
        title: "Resume",
        description: "Candidate, experience and skills",
        schema: concat!(
            "{",
            r#""name":{"type":"string","description":"Full name","required":true},"#,
            r#""email":{"type":"email","description":"Email address","required":true},"#,
            r#""phone":{"type":"string","description":"Telephone number","required":false},"#,
            r#""skills":{"type":"array","description":"Skills","required":false},"#,
            r#""yearsOfExperience":{"type":"number","description":"Total years of work","required":false}"#,
            "}",
        ),
    },
    SchemaExample {
        id: "receipt",
        title: "Receipt",
        description: "Purchase at a till",
        schema: concat!(
            "{",
            r#""merchant":{"type":"string","description":"Shop name","required":true},"#,
            r#""date":{"type":"date","description":"Date of purchase","required":true},"#,
            r#""total":{"type":"number","description":"Amount paid","required":true},"#,
            r#""items":{"type":"array","description":"Lines of the receipt","required":false}"#,
            "}",
        ),
    },
    SchemaExample {
        id: "identity_document",
        title: "Identity document",
        description: "Holder and validity",
        schema: concat!(
            "{",
            r#""fullName":{"type":"string","description":"Name of the holder","required":true},"#,
            r#""documentNumber":{"type":"string","description":"Document number","required":true},"#,
            r#""dateOfBirth":{"type":"date","description":"Date of birth","required":true},"#,
            r#""expiryDate":{"type":"date","description":"Valid until","required":false}"#,
            "}",
        ),
    },
    SchemaExample {
        id: "contract",
        title: "Contract",
        description: "Parties, term and signature",
        schema: concat!(
            "{",
            r#""parties":{"type":"array","description":"Names of the parties","required":true},"#,
            r#""effectiveDate":{"type":"date","description":"Start of the contract","required":true},"#,
            r#""endDate":{"type":"date","description":"End of the contract","required":false},"#,
            r#""signed":{"type":"boolean","description":"Whether signatures are present","required":false}"#,
            "}",
        ),
    },
    SchemaExample {
        id: "purchase_order",
        title: "Purchase order",
        description: "Order head and amount",
        schema: concat!(
            "{",
            r#""orderNumber":{"type":"string","description":"Order number","required":true},"#,
            r#""orderDate":{"type":"date","description":"Date of the order","required":true},"#,
            r#""buyer":{"type":"string","description":"Ordering company","required":false},"#,
            r#""total":{"type":"number","description":"Order total","required":false}"#,
            "}",
        ),
    },
];

/// The examples as they are answered: an object by their ids.
#[derive(Clone, Copy, Debug)]
pub struct SchemaExamples;

impl Serialize for SchemaExamples {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(SCHEMA_EXAMPLES.len()))?;
        for example in &SCHEMA_EXAMPLES {
            map.serialize_entry(example.id, example)?;
        }
        map.end()
    }
}

schemas! { Schema: { "$ref": "#/components/schemas/ExtractionSchema" }, }

json_object! { SchemaExample as "SchemaExample" = |example| {
    "title": &'static str = example.title,
    "description": &'static str = example.description,
    "schema": Schema = Schema(example.schema),
} }

/// A schema as JSON text.
struct Schema(&'static str);

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl JsonSchema for SchemaExamples {
    const NAME: Option<&'static str> = Some("SchemaExamples");

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": SCHEMA_EXAMPLES.map(|example| example.id),
            "additionalProperties": SchemaExample::reference(),
            "description": "By the id of the example; there may be more than these.",
        })
    }
}
