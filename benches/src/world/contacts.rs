//! Realistic contacts: every field filled, with common and rare names.

use openapi_core::access::Actor;
use openapi_core::audit::{AuditAction, AuditEntry, SealedEntry};
use openapi_core::contacts::ContactKeys;
use openapi_core::json::{Json, Object, RawObject};
use openapi_core::schema::{CompiledSchema, Identity};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::storage::{ContactWrite, Effects};
use openapi_core::values::{AgentId, AuditId, ContactId, PlatformId, Timestamp};

use super::SplitMix64;
use crate::report::Failure;

/// The creation time of the first contact; the others follow at intervals of a second.
const FIRST_AT: i64 = 1_735_689_600_000;

const SYLLABLES: [&str; 60] = [
    "ba", "bel", "bo", "bru", "ca", "cha", "cor", "da", "den", "dor", "du", "el", "en", "fa", "fer", "fi",
    "ga", "gor", "ha", "hen", "hol", "il", "in", "ja", "jo", "ka", "kel", "ko", "la", "len", "li", "lor",
    "ma", "mar", "mi", "mon", "na", "nel", "no", "ol", "or", "pa", "per", "ra", "rin", "ro", "sa", "sen",
    "so", "ta", "tel", "tor", "ur", "va", "vel", "vi", "wa", "wen", "ya", "zo",
];
const STREETS: [&str; 8] = [
    "High Street",
    "Station Road",
    "Mill Lane",
    "Church Street",
    "Park Avenue",
    "Victoria Road",
    "Green Lane",
    "Kings Road",
];
const CITIES: [&str; 8] =
    ["Ashford", "Brackley", "Colchester", "Dorking", "Eastleigh", "Farnham", "Guildford", "Halifax"];
/// The number of contacts in 1,000 that have each tag.
const TAGS: [(&str, u64); 6] =
    [("newsletter", 400), ("lead", 200), ("customer", 100), ("VIP", 20), ("beta tester", 5), ("press", 1)];

/// The contact of a number, deterministic.
pub(crate) struct Person {
    number: u64,
    first_name: String,
    last_name: String,
    phone: String,
    address: String,
    tags: Vec<&'static str>,
    status: &'static str,
    plan: &'static str,
}

fn name(random: &mut SplitMix64, syllables: usize) -> String {
    let name: String = (0..syllables).map(|_| random.pick(&SYLLABLES)).collect();
    name[..1].to_uppercase() + &name[1..]
}

impl Person {
    pub(crate) fn new(number: u64) -> Self {
        let mut random = SplitMix64(number.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Person {
            number,
            first_name: name(&mut random, 2),
            // 216,000 family names: of a million contacts about five share each.
            last_name: name(&mut random, 3),
            phone: format!("20 {:04} {:04}", random.below(10_000), random.below(10_000)),
            address: format!(
                "{} {}\n{}\nGB-{:05}",
                1 + random.below(200),
                random.pick(&STREETS),
                random.pick(&CITIES),
                random.below(100_000)
            ),
            tags: TAGS
                .iter()
                .filter(|(_, often)| random.below(1_000) < *often)
                .map(|(tag, _)| *tag)
                .collect(),
            status: match random.below(1_000) {
                0 => "blocked",
                1..100 => "inactive",
                _ => "active",
            },
            plan: random.pick(&["free", "basic", "professional"]),
        }
    }

    /// The given name, shared by many.
    pub(crate) fn first_name(&self) -> &str {
        &self.first_name
    }

    /// The family name, shared by few.
    pub(crate) fn last_name(&self) -> &str {
        &self.last_name
    }

    /// The unique external id.
    pub(crate) fn external_id(&self) -> String {
        Person::external_id_of(self.number)
    }

    /// The external id of the contact of this number.
    pub(crate) fn external_id_of(number: u64) -> String {
        format!("crm-{number:09}")
    }

    /// The address, unique.
    pub(crate) fn email(&self) -> String {
        format!(
            "{}.{}{}@example.com",
            self.first_name.to_lowercase(),
            self.last_name.to_lowercase(),
            self.number
        )
    }

    /// The phone number, practically unique.
    pub(crate) fn phone(&self) -> &str {
        &self.phone
    }

    fn date_of_birth(&self) -> String {
        format!("19{:02}-0{}-1{}", self.number % 100, 1 + self.number % 9, self.number % 10)
    }

    /// The body of the request that creates the contact.
    pub(crate) fn body(&self) -> Object {
        let mut custom = Object::new();
        custom.insert("plan", self.plan.into());
        custom.insert(
            "accountNumber",
            Json::String(format!("A{:09}", self.number.wrapping_mul(7_919) % 1_000_000_000)),
        );
        custom.insert("seats", (self.number % 50).into());
        custom.insert("consent", Json::Bool(self.number.is_multiple_of(3)));
        let mut body = Object::new();
        let tags = self.tags.iter().map(|tag| (*tag).into()).collect();
        for (name, value) in [
            ("externalReferenceId", Json::String(self.external_id())),
            ("salutation", "Dr".into()),
            ("firstName", self.first_name.as_str().into()),
            ("middleName", "Jo".into()),
            ("lastName", self.last_name.as_str().into()),
            ("dob", Json::String(self.date_of_birth())),
            ("gender", "not stated".into()),
            ("primaryEmail", Json::String(self.email())),
            ("primaryPhone", self.phone.as_str().into()),
            ("primaryPhoneCode", "+44".into()),
            ("fullAddress", self.address.as_str().into()),
            ("tags", Json::Array(tags)),
            ("status", self.status.into()),
            ("source", "import".into()),
            ("lastContactedAt", "2025-01-01T09:15:00Z".into()),
            ("customFields", Json::Object(custom)),
        ] {
            body.insert(name, value);
        }
        body
    }
}

/// The write that stores the contact of this number.
///
/// # Errors
/// If the schema rejects it.
pub(crate) fn write_of(
    schema: &CompiledSchema,
    agent: &AgentId,
    number: u64,
) -> Result<ContactWrite, Failure> {
    let at = Timestamp::from_millis(FIRST_AT + 1_000 * i64::try_from(number)?);
    let id = |random: &mut SplitMix64| PlatformId::new(at, random.next_u64().to_be_bytes());
    let mut random = SplitMix64(number);
    let identity = Identity { id: ContactId::from(id(&mut random)), agent_id: agent.clone(), now: at };
    let contact = schema
        .create(&Person::new(number).body(), identity)
        .map_err(|violations| format!("the schema refuses contact {number}: {violations:?}"))?;
    let audit = SealedEntry::new(
        AuditEntry {
            id: AuditId::from(id(&mut random)),
            agent_id: Some(agent.clone()),
            at,
            actor: Actor::Operator("benches".to_owned()),
            os_user: None,
            action: AuditAction::ContactCreate,
            resource: Some(contact.id.to_string()),
            contact_id: None,
            address: None,
            request_id: None,
            details: RawObject::new(&Object::new()),
        },
        &ServerKeys::new(ServerKey::new(&[1; 32]), Vec::new()),
        [0; 16],
    );
    Ok(ContactWrite {
        keys: ContactKeys::of(&contact, schema.schema()),
        schema_version: schema.schema().version,
        at,
        effects: Effects::audited(audit),
        contact,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi_core::schema::ContactSchema;

    #[test]
    fn contacts_are_valid_distinct_and_the_same_each_time() {
        let agent: AgentId = "bench".parse().unwrap();
        let schema = ContactSchema::builtin(agent.clone(), Timestamp::from_millis(FIRST_AT));
        let schema = CompiledSchema::new(schema, &crate::world::host::service_info().unwrap()).unwrap();
        let writes: Vec<_> = (0..500).map(|number| write_of(&schema, &agent, number).unwrap()).collect();
        let mut ids: Vec<_> = writes.iter().map(|write| write.contact.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), writes.len());
        assert_eq!(writes[7], write_of(&schema, &agent, 7).unwrap());
        assert_eq!(writes[7].contact.external_reference_id.as_ref().unwrap().as_str(), "crm-000000007");
    }
}
