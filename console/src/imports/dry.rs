//! The dry run of an import: what each line would do, with the lines before it taken into account, and nothing stored.

use std::collections::HashMap;
use std::sync::Arc;

use openapi_core::access::{Actor, Caller};
use openapi_core::admin::{AdminError, Imported};
use openapi_core::contacts::{Contact, UniqueValue};
use openapi_core::json::{Json, Object, json_object};
use openapi_core::platform::Platform;
use openapi_core::reply::ApiError;
use openapi_core::schema::{CompiledSchema, ContactSchema};
use openapi_core::service::{ContactTarget, OpenApiService};
use openapi_core::values::ContactId;

use super::columns::{CUSTOM, Columns, cell};
use super::file::{ImportFile, Scan, unreadable};
use super::line::{Identity, caller, content_of, preview, stored_like};
use super::refused::{Original, Refusals};
use super::tally::{Effect, Tally};
use crate::pause::pause;

/// The lines that are listed of each effect.
const MOST_LISTED: usize = 100;
/// The longest value that a difference shows, in characters.
const MAX_VALUE: usize = 200;
/// How many lines are checked before other tasks get their turn.
const TURN: u64 = 50;

/// A value that an update would change.
pub struct ImportChange {
    field: String,
    is_hidden: bool,
    before: String,
    after: String,
}

json_object! { ImportChange as "ImportChange" = |it| {
    "field": String { "description": "As errors name it: `lastName`, `customFields.plan`." } = it.field,
    "isHidden": bool { "description": "Whether the field is sensitive, so that both values are empty here." } = it.is_hidden,
    "before": String { "description": "The stored value, cut off after 200 characters." } = it.before,
    "after": String { "description": "The value of the file, cut off likewise." } = it.after,
} }

/// A line of a file, and what it would do.
pub struct ImportLine {
    line: u64,
    contact: Option<ContactId>,
    name: String,
    changes: Vec<ImportChange>,
    reason: Option<String>,
}

json_object! { ImportLine as "ImportLine" = |it| {
    "line": u64 { "description": "The number of its first line in the file, or of its row in the sheet." } = it.line,
    "contact": Option<ContactId> { "description": "The stored contact that it is about." } = it.contact,
    "name": String { "description": "The external id and the address, as the file has them." } = it.name,
    "changes": Vec<ImportChange> { "description": "What an update would change." } = it.changes,
    "reason": Option<String> { "description": "Why it is refused." } = it.reason,
} }

/// What an import would do.
pub(crate) struct DryRun {
    pub(crate) tally: Tally,
    pub(crate) listed: [Vec<ImportLine>; 4],
    pub(crate) refusals: Refusals,
}

/// What earlier lines of the file have left.
struct Earlier {
    /// Contacts that later lines are about again, by their content, and how many such lines are left.
    contacts: HashMap<Identity, HashMap<String, Contact>>,
    left: HashMap<Identity, u32>,
    /// Who has taken the values that no two contacts may have.
    taken: HashMap<UniqueValue, Identity>,
}

impl Earlier {
    /// Refuses a value that an earlier line has given to another contact.
    fn refuse_taken(&self, values: &[UniqueValue], identity: &Identity) -> Result<(), AdminError> {
        let is_taken = |value: &&UniqueValue| self.taken.get(*value).is_some_and(|by| by != identity);
        match values.iter().find(is_taken) {
            Some(value) => {
                Err(AdminError::Conflict(format!("{} is that of an earlier line of the file", value.field)))
            }
            None => Ok(()),
        }
    }

    /// Remembers a contact as long as later lines are about it.
    fn leave(&mut self, identity: Identity, contact: Option<Contact>, values: Vec<UniqueValue>) {
        for value in values {
            self.taken.insert(value, identity.clone());
        }
        let Some(left) = self.left.get_mut(&identity) else { return };
        *left -= 1;
        if *left == 0 {
            self.contacts.remove(&identity);
            self.left.remove(&identity);
        } else if let Some(contact) = contact {
            let known = self.contacts.entry(identity.clone()).or_default();
            if matches!(identity, Identity::External(_)) {
                known.clear();
            }
            known.insert(content_of(&contact), contact);
        }
    }
}

struct Checker<'a> {
    platform: &'a Platform,
    caller: Caller,
    schema: &'a ContactSchema,
    compiled: Arc<CompiledSchema>,
    earlier: Earlier,
}

impl Checker<'_> {
    /// What a contact would do, and the one that it would change.
    async fn check(&mut self, contact: &Object) -> Result<(Imported, Option<Contact>), AdminError> {
        let identity = Identity::of(contact);
        let known = self.earlier.contacts.get(&identity);
        let is_external = matches!(identity, Identity::External(_));
        let before = known.filter(|_| is_external).and_then(|known| known.values().next()).cloned();
        let imported = preview(self.platform, &self.caller, &self.compiled, contact, before.as_ref()).await;
        let imported = match imported {
            Ok(Imported::Created(new)) if !is_external => {
                let in_file = known.and_then(|known| known.get(&content_of(&new)).cloned());
                match in_file {
                    Some(same) => Ok(Imported::Unchanged(same)),
                    None => Ok(match stored_like(self.platform, &self.caller, &new).await {
                        Some(same) => Imported::Unchanged(same),
                        None => Imported::Created(new),
                    }),
                }
            }
            other => other,
        };
        let next = match &imported {
            Ok(Imported::Created(next) | Imported::Updated(next) | Imported::Unchanged(next)) => {
                Some(next.clone())
            }
            Err(_) => None,
        };
        let values = next.as_ref().map_or_else(Vec::new, |next| self.schema.unique_values(next));
        if let Err(error) = self.earlier.refuse_taken(&values, &identity) {
            self.earlier.leave(identity, None, Vec::new());
            return Err(error);
        }
        self.earlier.leave(identity, next, values);
        imported.map(|imported| (imported, before))
    }

    /// The stored contact with an external id.
    async fn stored(&self, contact: &Object) -> Option<Contact> {
        let external = contact.get("externalReferenceId").and_then(Json::as_str)?;
        let target = ContactTarget::External(external.to_owned());
        let found = OpenApiService::contact(self.platform, &self.caller, &target).await.ok()?;
        Some(found.into_contact())
    }
}

/// Runs an import dry.
///
/// # Errors
/// Why the file cannot be read, or what fails whatever the line.
pub(crate) async fn check(
    file: &ImportFile,
    scan: Scan,
    platform: &Platform,
    by: &Actor,
    schema: &ContactSchema,
) -> Result<DryRun, ApiError> {
    let columns = Columns::of(schema);
    let mut source = file.open().map_err(unreadable)?;
    let mut lines = file.lines(&mut source, &columns).map_err(unreadable)?;
    let mut run =
        DryRun { tally: Tally::default(), listed: Default::default(), refusals: Refusals::of(&lines) };
    let earlier = Earlier { contacts: HashMap::new(), left: scan.repeated, taken: HashMap::new() };
    let compiled = platform.schema(&schema.agent_id, false).await?;
    let caller = caller(by, &schema.agent_id);
    let mut checker = Checker { platform, caller, schema, compiled, earlier };
    while let Some(line) = lines.next() {
        let (number, contact) = line.map_err(|error| file.broken(&error))?;
        let contact = match contact {
            Ok(contact) => contact,
            Err(reason) => {
                run.refuse(number, String::new(), reason, &Original::of(&lines, None));
                continue;
            }
        };
        match checker.check(&contact).await {
            Ok((imported, before)) => run.add(&checker, number, &contact, imported, before).await,
            Err(error) => {
                let reason = run.refusals.reason(error)?;
                run.refuse(number, named(&contact), reason, &Original::of(&lines, Some(&contact)));
            }
        }
        if run.tally.total().is_multiple_of(TURN) {
            pause().await;
        }
    }
    Ok(run)
}

impl DryRun {
    fn refuse(&mut self, line: u64, name: String, reason: String, original: &Original) {
        self.tally.add(Effect::Refused);
        self.refusals.add(original, &reason);
        let listed = &mut self.listed[Effect::Refused as usize];
        if listed.len() < MOST_LISTED {
            listed.push(ImportLine { line, contact: None, name, changes: Vec::new(), reason: Some(reason) });
        }
    }

    async fn add(
        &mut self,
        checker: &Checker<'_>,
        line: u64,
        contact: &Object,
        imported: Imported,
        before: Option<Contact>,
    ) {
        let effect = Effect::of(&imported);
        self.tally.add(effect);
        let listed = &mut self.listed[effect as usize];
        if listed.len() >= MOST_LISTED {
            return;
        }
        let (id, changes) = match imported {
            Imported::Created(_) => (None, Vec::new()),
            Imported::Unchanged(stored) => (Some(stored.id), Vec::new()),
            Imported::Updated(next) => {
                let before = match before {
                    Some(before) => Some(before),
                    None => checker.stored(contact).await,
                };
                let changes =
                    before.map_or_else(Vec::new, |before| differences(&before, &next, checker.schema));
                (Some(next.id), changes)
            }
        };
        listed.push(ImportLine { line, contact: id, name: named(contact), changes, reason: None });
    }
}

/// How a file names a contact.
fn named(contact: &Object) -> String {
    let text = |name| contact.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
    let parts = [text("externalReferenceId"), text("primaryEmail")];
    let name: Vec<&str> = parts.into_iter().flatten().collect();
    shortened(&name.join(" · "))
}

fn shortened(text: &str) -> String {
    let mut letters = text.chars();
    let mut short: String = letters.by_ref().take(MAX_VALUE).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

/// The fields of a contact with their paths, without what the service sets.
fn fields(contact: &Contact) -> Vec<(String, Json)> {
    const SET_BY_SERVICE: [&str; 4] = ["id", "agentId", "createdAt", "updatedAt"];
    let Ok(Json::Object(members)) = serde_json::to_value(contact).map(|value| Json::from(&value)) else {
        return Vec::new();
    };
    let mut fields = Vec::new();
    for (name, value) in members.iter().filter(|(name, _)| !SET_BY_SERVICE.contains(name)) {
        match value {
            Json::Object(custom) if name == CUSTOM => {
                fields.extend(custom.iter().map(|(name, value)| (format!("{CUSTOM}.{name}"), value.clone())));
            }
            value => fields.push((name.to_owned(), value.clone())),
        }
    }
    fields
}

/// What differs between two states of a contact.
fn differences(before: &Contact, after: &Contact, schema: &ContactSchema) -> Vec<ImportChange> {
    let (before, after) = (fields(before), fields(after));
    let of = |fields: &[(String, Json)], path: &str| {
        fields.iter().find(|(known, _)| known == path).map_or(Json::Null, |(_, value)| value.clone())
    };
    let gone = before.iter().filter(|(path, _)| !after.iter().any(|(known, _)| known == path));
    let paths: Vec<&String> = after.iter().chain(gone).map(|(path, _)| path).collect();
    let mut changes = Vec::new();
    for path in paths {
        let (old, new) = (of(&before, path), of(&after, path));
        if old == new {
            continue;
        }
        let is_hidden = schema.is_sensitive(path);
        let shown = |value: &Json| if is_hidden { String::new() } else { shortened(&cell(value)) };
        changes.push(ImportChange {
            field: path.clone(),
            is_hidden,
            before: shown(&old),
            after: shown(&new),
        });
    }
    changes
}
