//! Operator actions between requests.

use openapi_core::admin::{Admin, CreditChange};
use openapi_core::contacts::ContactRef;
use openapi_core::credits::CreditPool;
use serde_json::{Value, json};

use super::Known;
use crate::sandbox::{object, operator, wait};
use crate::{Sandbox, SplitMix64};

/// An operator action.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Replaces the contact schema.
    DefineContacts(Value),
    /// Replaces the definition of a template.
    EditTemplate(String, Value),
    /// Deactivates a template.
    ArchiveTemplate(String),
    /// Activates a template.
    ActivateTemplate(String),
    /// Erases a contact.
    Erase(String),
    /// Purges the contents of deleted files early.
    PurgeFiles,
    /// Sets the plan's credits.
    SetCredits(u64),
    /// Runs periodic maintenance.
    Maintain,
}

impl Deed {
    /// Performs the action and returns its result as text.
    ///
    /// # Panics
    /// If the id of a template or contact is invalid.
    #[must_use]
    pub fn perform(&self, cx: &Sandbox) -> String {
        let (platform, by, agent) = (&cx.platform, &operator(), &cx.agent);
        let template = |id: &str| id.parse().expect("a platform id");
        match self {
            Deed::DefineContacts(definition) => format!("{:?}", cx.redefine(definition)),
            Deed::EditTemplate(id, definition) => {
                format!("{:?}", wait(platform.edit_template(by, agent, template(id), &object(definition))))
            }
            Deed::ArchiveTemplate(id) => {
                format!("{:?}", wait(platform.archive_template(by, agent, template(id))))
            }
            Deed::ActivateTemplate(id) => {
                format!("{:?}", wait(platform.activate_template(by, agent, template(id))))
            }
            Deed::Erase(id) => {
                let contact = ContactRef::Id(id.parse().expect("a platform id"));
                format!("{:?}", wait(platform.erase_contact(by, agent, &contact)))
            }
            Deed::PurgeFiles => format!("{:?}", wait(platform.purge_files(by, agent))),
            Deed::SetCredits(credits) => {
                let change = CreditChange::Set { pool: CreditPool::Plan, credits: *credits, note: None };
                format!("{:?}", wait(platform.change_credits(by, agent, &change)))
            }
            Deed::Maintain => format!("{:?}", wait(platform.maintain())),
        }
    }
}

pub(super) fn deed(random: &mut SplitMix64, known: &Known) -> Deed {
    let template = random.pick(&known.templates);
    match random.below(14) {
        0..=1 => Deed::DefineContacts(random.pick(&[
            json!({}),
            json!({ "fields": [{ "name": "lastName", "sensitive": true }] }),
            json!({ "fields": [{ "name": "primaryPhone", "sensitive": true }, { "name": "firstName", "required": true }] }),
            json!({ "customFields": [{ "name": "plan", "type": "string", "unique": true }] }),
            json!({ "fields": [{ "name": "primaryEmail", "unique": true }] }),
        ])),
        2..=3 => {
            let name = random.pick(&["Feedback", "feedback", "Éclair", "Aufnahme"]);
            let policy = random.pick(&["supersede", "keepAll"]);
            Deed::EditTemplate(template, definition(name, policy, random.one_in(2)))
        }
        4 => Deed::ArchiveTemplate(template),
        5..=7 => Deed::ActivateTemplate(template),
        8..=9 => Deed::Erase(known.contact(random)),
        10 => Deed::PurgeFiles,
        11..=12 => Deed::SetCredits(random.pick(&[0, 2, 20, 1_000])),
        _ => Deed::Maintain,
    }
}

/// A template with a rating and sometimes a comment.
#[must_use]
pub fn definition(name: &str, policy: &str, has_comment: bool) -> Value {
    let mut fields = vec![
        json!({ "name": "rating", "type": "number", "required": true, "validation": { "minimum": 1, "maximum": 5 } }),
    ];
    if has_comment {
        fields.push(json!({ "name": "comment", "type": "textarea" }));
    }
    json!({ "name": name, "submissionPolicy": policy, "fields": fields })
}
