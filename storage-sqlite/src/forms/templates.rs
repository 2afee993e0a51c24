//! Templates, and their content at each version. Changes run inside the writer's transaction.

use openapi_core::forms::{FormField, FormTemplate};
use openapi_core::storage::{
    Effects, StorageErrorKind, TemplatePage, TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{AgentId, Block, Line, TemplateId, fold};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use storage_common::fields::bounded;
use storage_common::{records, template_columns, template_summary_columns};

use crate::error::{Error, Result};
use crate::rows::{self, RowReader, code, json_text, signed};
use crate::{effects, tenant};

/// Every template of an agent: its id, its sort key, the name at the current version, NULL if that version is absent,
/// and the disabled transitions.
pub(crate) const EVERY_OF_AGENT: &str = "SELECT t.id, t.name_key, v.name, t.disabled_transitions FROM form_template t \
     LEFT JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = t.version \
     WHERE t.agent = ?1";

/// The content of every version of an agent's templates, as [`Content::read`] reads it.
pub(crate) const EVERY_CONTENT_OF_AGENT: &str = "SELECT v.template, v.version, v.name, v.description, v.field_count, v.fields \
     FROM form_template_version v WHERE v.agent = ?1";

/// The stored content of a template at a version.
pub(crate) struct Content {
    pub(crate) template: TemplateId,
    pub(crate) version: u64,
    pub(crate) name: Line<100>,
    pub(crate) description: Option<Block<1000>>,
    pub(crate) field_count: u64,
    pub(crate) fields: Vec<FormField>,
}

impl Content {
    /// Reads a row of [`EVERY_CONTENT_OF_AGENT`].
    pub(crate) fn read(r: &mut RowReader<'_>) -> Result<Self> {
        Ok(Content {
            template: TemplateId::from_bytes(r.bytes()?),
            version: r.count()?,
            name: r.text()?,
            description: r.optional_text()?,
            field_count: r.count()?,
            fields: r.json()?,
        })
    }
}

/// As [`openapi_core::storage::FormStore::template`].
pub(super) fn current(db: &Connection, agent: &AgentId, id: TemplateId) -> Result<Option<FormTemplate>> {
    let sql = concat!(
        "SELECT ",
        template_columns!(),
        " FROM agent a CROSS JOIN form_template t ON t.agent = a.n",
        " CROSS JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = t.version",
        " WHERE a.id = ?1 AND a.status <> 2 AND t.id = ?2"
    );
    rows::first(db, sql, params![agent.as_str(), id.as_bytes()], |r| records::template(agent, r, None))
}

/// As [`openapi_core::storage::FormStore::template_version`].
pub(super) fn at_version(
    db: &Connection,
    agent: &AgentId,
    id: TemplateId,
    version: u64,
) -> Result<Option<FormTemplate>> {
    // No stored version is as high as one that does not fit.
    let Ok(version) = i64::try_from(version) else { return Ok(None) };
    let sql = concat!(
        "SELECT ",
        template_columns!(),
        " FROM agent a CROSS JOIN form_template t ON t.agent = a.n",
        " CROSS JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = ?3",
        " WHERE a.id = ?1 AND a.status <> 2 AND t.id = ?2"
    );
    rows::first(db, sql, params![agent.as_str(), id.as_bytes(), version], |r| {
        records::template(agent, r, None)
    })
}

/// As [`openapi_core::storage::FormStore::templates`].
pub(super) fn page(db: &Connection, id: &AgentId, query: &TemplateQuery) -> Result<TemplatePage> {
    let Some(agent) = tenant::living(db, id)?.map(|agent| agent.number) else {
        return Ok(TemplatePage::default());
    };
    let only = if query.only_active { " AND t.status = 1" } else { "" };
    let sql = format!(
        "SELECT count(*) FROM form_template t INDEXED BY form_template_by_name WHERE t.agent = ?1{only}"
    );
    let total = rows::count(db, &sql, [agent])?;
    let mut values = vec![Value::Integer(agent)];
    let (following, offset, limit) = match &query.window {
        Window::Page { offset, limit } => ("", *offset, *limit),
        Window::After { position: TemplatePosition { name_key, id }, limit } => {
            values.push(Value::Text(name_key.clone()));
            values.push(Value::Blob(id.as_bytes().to_vec()));
            (" AND (t.name_key, t.id) > (?, ?)", 0, *limit)
        }
    };
    values.push(Value::Integer(limit.into()));
    values.push(Value::Integer(bounded(offset)));
    let sql = format!(
        "SELECT {} FROM form_template t INDEXED BY form_template_by_name CROSS JOIN form_template_version v \
         ON v.agent = t.agent AND v.template = t.id AND v.version = t.version \
         WHERE t.agent = ?{only}{following} ORDER BY t.name_key, t.id LIMIT ? OFFSET ?",
        template_summary_columns!()
    );
    let templates =
        rows::all(db, &sql, params_from_iter(values), |r| records::template_summary(id, r, None))?;
    Ok(TemplatePage { templates, total })
}

/// The generation of a stored template.
pub(super) fn generation(db: &Connection, agent: i64, id: TemplateId) -> Result<Option<u64>> {
    let sql = "SELECT generation FROM form_template WHERE agent = ?1 AND id = ?2";
    rows::number(db, sql, params![agent, id.as_bytes()])
}

/// As [`openapi_core::storage::FormStore::insert_template`].
pub(super) fn insert(
    db: &Connection,
    agent_id: &AgentId,
    template: &FormTemplate,
    effects: &Effects,
) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    if generation(db, agent, template.id)?.is_some() {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put_standing(db, agent, template)?;
    put_content(db, agent, template)?;
    effects::apply(db, agent, effects)
}

/// Stores a new template without its content.
pub(crate) fn put_standing(db: &Connection, agent: i64, template: &FormTemplate) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO form_template (agent, id, name_key, status, version, generation, submission_policy, \
         disabled_transitions, updated_at, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        agent,
        template.id.as_bytes(),
        template.name_key(),
        code(template.status),
        signed(template.version)?,
        signed(template.generation)?,
        code(template.submission_policy),
        records::list_text::<Error>(&template.disabled_transitions)?,
        template.updated_at.millis(),
        template.created_at.millis()
    ])?;
    Ok(())
}

/// As [`openapi_core::storage::FormStore::replace_template`].
pub(super) fn replace(
    db: &Connection,
    agent_id: &AgentId,
    template: &FormTemplate,
    effects: &Effects,
) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    let stored = generation(db, agent, template.id)?.ok_or(StorageErrorKind::Missing)?;
    if stored + 1 != template.generation {
        return Err(StorageErrorKind::Stale.into());
    }
    db.prepare_cached(
        "UPDATE form_template SET name_key = ?3, status = ?4, version = ?5, generation = ?6, \
         submission_policy = ?7, disabled_transitions = ?8, updated_at = ?9 WHERE agent = ?1 AND id = ?2",
    )?
    .execute(params![
        agent,
        template.id.as_bytes(),
        template.name_key(),
        code(template.status),
        signed(template.version)?,
        signed(template.generation)?,
        code(template.submission_policy),
        records::list_text::<Error>(&template.disabled_transitions)?,
        template.updated_at.millis()
    ])?;
    put_content(db, agent, template)?;
    effects::apply(db, agent, effects)
}

/// Stores the content of a version.
pub(crate) fn put_content(db: &Connection, agent: i64, template: &FormTemplate) -> Result<()> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO form_template_version (agent, template, version, name, description, field_count, \
         fields) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        agent,
        template.id.as_bytes(),
        signed(template.version)?,
        template.name.as_str(),
        template.description.as_ref().map(|text| text.as_str()),
        template.fields.len() as i64,
        json_text(&template.fields)?
    ])?;
    Ok(())
}

/// Removes up to `at_most` templates of a deleted agent, with all their versions, and returns how many.
pub(super) fn purge(db: &Connection, agent: i64, at_most: u32) -> Result<u64> {
    let first = "SELECT id FROM form_template WHERE agent = ?1 ORDER BY id LIMIT ?2";
    db.prepare_cached(&format!(
        "DELETE FROM form_template_version WHERE agent = ?1 AND template IN ({first})"
    ))?
    .execute(params![agent, at_most])?;
    let removed = db
        .prepare_cached(&format!("DELETE FROM form_template WHERE agent = ?1 AND id IN ({first})"))?
        .execute(params![agent, at_most])?;
    Ok(removed as u64)
}

/// Derives the columns of an agent's templates again from their contents. A check lists the contents that cannot be
/// read.
pub(crate) fn repair(db: &Connection, agent: i64) -> Result<()> {
    repair_name_keys(db, agent)?;
    repair_field_counts(db, agent)
}

/// Computes the sort keys of an agent's templates again.
pub(crate) fn repair_name_keys(db: &Connection, agent: i64) -> Result<()> {
    let mut wrong: Vec<([u8; 12], String)> = Vec::new();
    rows::each(db, EVERY_OF_AGENT, [agent], |r| {
        let (template, key, name) = (r.bytes()?, r.str()?, r.optional_str()?);
        wrong.extend(name.map(fold).filter(|name| name != key).map(|name| (template, name)));
        Ok(())
    })?;
    let mut update =
        db.prepare_cached("UPDATE form_template SET name_key = ?3 WHERE agent = ?1 AND id = ?2")?;
    for (template, key) in wrong {
        update.execute(params![agent, template, key])?;
    }
    Ok(())
}

fn repair_field_counts(db: &Connection, agent: i64) -> Result<()> {
    let mut wrong = Vec::new();
    rows::each(db, EVERY_CONTENT_OF_AGENT, [agent], |r| {
        if let Ok(content) = Content::read(r)
            && content.field_count != content.fields.len() as u64
        {
            wrong.push((content.template, content.version as i64, content.fields.len() as i64));
        }
        Ok(())
    })?;
    let mut update = db.prepare_cached(
        "UPDATE form_template_version SET field_count = ?4 WHERE agent = ?1 AND template = ?2 AND version = ?3",
    )?;
    for (template, version, count) in wrong {
        update.execute(params![agent, template.as_bytes(), version, count])?;
    }
    Ok(())
}
