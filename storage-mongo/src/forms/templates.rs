//! Templates: what they are now, and their content at each version.

use std::collections::HashMap;

use mongodb::bson::{Document, RawDocument, RawDocumentBuf, doc};
use openapi_core::forms::{FormTemplate, TemplateStatus};
use openapi_core::storage::{
    Effects, StorageErrorKind, TemplatePage, TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{AgentId, TemplateId};
use storage_common::records;

use crate::connect::Handle;
use crate::document::{FieldReader, Fields, binary, code, integer, json, key, keyed, of_agent, put, time};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::transaction::{DocumentReader, Find, Transaction, Update};
use crate::{effects, tenant};

/// Reads a template and its content at a version.
pub(crate) fn template(agent: &AgentId, base: &RawDocument, content: &RawDocument) -> Result<FormTemplate> {
    records::template(agent, &mut Fields(base), Some(&mut Fields(content)))
}

pub(crate) fn content_key(agent: &AgentId, id: TemplateId, version: i64) -> Document {
    let mut content = key(agent, id.as_bytes());
    content.insert("version", version);
    content
}

/// A template with its content at a version, or at the current one.
async fn read(
    handle: &Handle,
    agent: &AgentId,
    id: TemplateId,
    version: Option<i64>,
) -> Result<Option<FormTemplate>> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(None);
    }
    let filter = doc! { "_id": key(agent, id.as_bytes()) };
    let Some(standing) = reads.one(collection::TEMPLATES, filter, None).await? else { return Ok(None) };
    let current = Fields(&standing).integer("version")?;
    let filter = doc! { "_id": content_key(agent, id, version.unwrap_or(current)) };
    let content = reads.one(collection::TEMPLATE_VERSIONS, filter, None).await?;
    content.map(|content| template(agent, &standing, &content)).transpose()
}

/// As [`openapi_core::storage::FormStore::template`].
pub(super) async fn current(
    handle: &Handle,
    agent: &AgentId,
    id: TemplateId,
) -> Result<Option<FormTemplate>> {
    read(handle, agent, id, None).await
}

/// As [`openapi_core::storage::FormStore::template_version`].
pub(super) async fn at_version(
    handle: &Handle,
    agent: &AgentId,
    id: TemplateId,
    version: u64,
) -> Result<Option<FormTemplate>> {
    // No version exceeds an `i64`.
    let Ok(version) = i64::try_from(version) else { return Ok(None) };
    read(handle, agent, id, Some(version)).await
}

fn shown(agent: &AgentId, query: &TemplateQuery) -> Document {
    let every = TemplateStatus::ALL.into_iter();
    let statuses = every.filter(|status| !query.only_active || *status == TemplateStatus::Active);
    let statuses: Vec<i32> = statuses.map(code).collect();
    doc! { "_id.agent": agent.as_str(), "status": { "$in": statuses } }
}

/// The find for a page.
pub(crate) fn find(agent: &AgentId, query: &TemplateQuery) -> Find {
    let mut filter = shown(agent, query);
    let (skip, limit) = match &query.window {
        Window::Page { offset, limit } => (*offset, *limit),
        Window::After { position: TemplatePosition { name_key, id }, limit } => {
            // The first condition is for the index, the second excludes templates with the same name.
            filter.insert("nameKey", doc! { "$gte": name_key });
            filter.insert(
                "$or",
                vec![
                    doc! { "nameKey": { "$gt": name_key } },
                    doc! { "_id.id": { "$gt": binary(id.as_bytes()) } },
                ],
            );
            (0, *limit)
        }
    };
    Find {
        filter,
        projection: None,
        sort: Some(doc! { "nameKey": 1, "_id.id": 1 }),
        skip,
        limit,
        hint: Some(index::TEMPLATES_BY_NAME),
    }
}

/// As [`openapi_core::storage::FormStore::templates`].
pub(super) async fn page(handle: &Handle, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(TemplatePage::default());
    }
    let counted = reads.count(collection::TEMPLATES, shown(agent, query), Some(index::TEMPLATES_BY_NAME));
    let total = counted.await?;
    let find = find(agent, query);
    if find.limit == 0 || find.skip >= total {
        return Ok(TemplatePage { templates: Vec::new(), total });
    }
    let standing = reads.find(collection::TEMPLATES, find).await?;
    let keys = standing.iter().map(|standing| {
        let mut fields = Fields(standing);
        Ok(content_key(agent, TemplateId::from_bytes(fields.id()?), fields.integer("version")?))
    });
    let find = Find {
        filter: keyed(agent, keys.collect::<Result<Vec<_>>>()?),
        projection: Some(doc! { "fields": 0 }),
        hint: Some(index::BY_KEY),
        ..Find::default()
    };
    let mut contents: HashMap<TemplateId, RawDocumentBuf> = HashMap::new();
    for content in reads.find(collection::TEMPLATE_VERSIONS, find).await? {
        contents.insert(TemplateId::from_bytes(Fields(&content).id()?), content);
    }
    let summary = |standing: &RawDocumentBuf| {
        let id = TemplateId::from_bytes(Fields(standing).id()?);
        let content = contents.get(&id);
        let content = content.ok_or_else(|| corrupt(format_args!("template {id} has no content")))?;
        records::template_summary(agent, &mut Fields(standing), Some(&mut Fields(content)))
    };
    Ok(TemplatePage { templates: standing.iter().map(summary).collect::<Result<_>>()?, total })
}

/// The generation of a stored template.
pub(super) async fn generation(tx: &mut Transaction, agent: &AgentId, id: TemplateId) -> Result<Option<u64>> {
    let filter = doc! { "_id": key(agent, id.as_bytes()) };
    let found = tx.reads().one(collection::TEMPLATES, filter, Some(doc! { "generation": 1 })).await?;
    found.map(|found| Fields(&found).count("generation")).transpose()
}

/// The fields of a template that do not depend on its version.
fn base(template: &FormTemplate) -> Result<Document> {
    let disabled = &template.disabled_transitions;
    let mut document = doc! {
        "nameKey": template.name_key(),
        "status": code(template.status),
        "version": integer(template.version)?,
        "generation": integer(template.generation)?,
        "submissionPolicy": code(template.submission_policy),
        "updatedAt": time(template.updated_at),
    };
    document.insert("disabledTransitions", (!disabled.is_empty()).then(|| json(disabled)).transpose()?);
    Ok(document)
}

/// As [`openapi_core::storage::FormStore::insert_template`].
pub(super) async fn create(
    tx: &mut Transaction,
    agent: &AgentId,
    template: &FormTemplate,
    effects: &Effects,
) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    if generation(tx, agent, template.id).await?.is_some() {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    tx.insert(collection::TEMPLATES, &[document(agent, template)?]).await?;
    insert_content(tx, agent, template).await?;
    effects::apply(tx, agent, effects, state.ends).await
}

/// The document of a template, without its content.
pub(crate) fn document(agent: &AgentId, template: &FormTemplate) -> Result<Document> {
    let mut document = doc! { "_id": key(agent, template.id.as_bytes()) };
    document.extend(base(template)?);
    document.insert("createdAt", time(template.created_at));
    Ok(document)
}

/// As [`openapi_core::storage::FormStore::replace_template`].
pub(super) async fn replace(
    tx: &mut Transaction,
    agent: &AgentId,
    template: &FormTemplate,
    effects: &Effects,
) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let stored = generation(tx, agent, template.id).await?.ok_or(StorageErrorKind::Missing)?;
    if stored + 1 != template.generation {
        return Err(StorageErrorKind::Stale.into());
    }
    let filter = doc! { "_id": key(agent, template.id.as_bytes()) };
    let change = doc! { "$set": base(template)? };
    tx.update(collection::TEMPLATES, &[Update::one(filter, change)]).await?;
    insert_content(tx, agent, template).await?;
    effects::apply(tx, agent, effects, state.ends).await
}

/// Stores the content of the current version.
pub(crate) async fn insert_content(
    tx: &mut Transaction,
    agent: &AgentId,
    template: &FormTemplate,
) -> Result<()> {
    let mut document = doc! {
        "name": template.name.as_str(),
        "fieldCount": integer(template.fields.len() as u64)?,
        "fields": json(&template.fields)?,
    };
    put(&mut document, "description", template.description.as_ref().map(|text| text.as_str()));
    let filter = doc! { "_id": content_key(agent, template.id, integer(template.version)?) };
    tx.update(collection::TEMPLATE_VERSIONS, &[Update::upsert(filter, document)]).await.map(drop)
}

/// Removes up to `at_most` templates of a deleted tenant and returns how many; the contents of all versions go with
/// the last one.
pub(super) async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let removed = tx.delete_some(collection::TEMPLATES, of_agent(agent), at_most).await?;
    if removed < u64::from(at_most) {
        tx.delete(collection::TEMPLATE_VERSIONS, of_agent(agent)).await?;
    }
    Ok(removed)
}
