//! Templates, and their content at each version. Changes run inside the writer's transaction.

use openapi_core::forms::{
    FormField, FormTemplate, SubmissionPolicy, TemplateStatus, TemplateSummary, Transition,
};
use openapi_core::storage::{
    Effects, StorageErrorKind, TemplatePage, TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{AgentId, Block, Line, TemplateId, Timestamp, fold};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params, params_from_iter};

use crate::contacts::Columns;
use crate::error::{Result, corrupt};
use crate::{effects, tenant};

/// The columns that do not depend on the version, in the order in which [`Standing::read`] reads them.
macro_rules! standing {
    () => {
        "t.id, t.status, t.submission_policy, t.created_at, t.updated_at"
    };
}

/// The other columns, in the order in which [`template`] reads them.
macro_rules! content {
    () => {
        "t.disabled_transitions, t.generation, v.version, v.name, v.description, v.fields"
    };
}

/// Every template of an agent: its id, its sort key, the name at the current version, NULL if that version is absent,
/// and the disabled transitions.
pub(crate) const EVERY_OF_AGENT: &str = "SELECT t.id, t.name_key, v.name, t.disabled_transitions FROM form_template t \
     LEFT JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = t.version \
     WHERE t.agent = ?1";

/// The content of every version of an agent's templates, as [`Content::read`] reads it.
pub(crate) const EVERY_CONTENT_OF_AGENT: &str = "SELECT v.template, v.version, v.name, v.description, v.field_count, v.fields \
     FROM form_template_version v WHERE v.agent = ?1";

/// The values of a template that do not depend on its version.
struct Standing {
    id: TemplateId,
    status: TemplateStatus,
    submission_policy: SubmissionPolicy,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Standing {
    fn read(columns: &mut Columns<'_>) -> Result<Self> {
        Ok(Standing {
            id: TemplateId::from_bytes(columns.bytes()?),
            status: status(columns.integer()?)?,
            submission_policy: policy(columns.integer()?)?,
            created_at: columns.time()?,
            updated_at: columns.time()?,
        })
    }
}

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
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Content {
            template: TemplateId::from_bytes(columns.bytes()?),
            version: columns.count()?,
            name: columns.text()?,
            description: columns.optional_text()?,
            field_count: columns.count()?,
            fields: columns.json()?,
        })
    }
}

const fn status_number(status: TemplateStatus) -> i64 {
    match status {
        TemplateStatus::Draft => 0,
        TemplateStatus::Active => 1,
        TemplateStatus::Archived => 2,
    }
}

fn status(number: i64) -> Result<TemplateStatus> {
    let known = TemplateStatus::ALL.into_iter().find(|status| status_number(*status) == number);
    known.ok_or_else(|| corrupt(format_args!("{number} is no state of a template")))
}

const fn policy_number(policy: SubmissionPolicy) -> i64 {
    match policy {
        SubmissionPolicy::Supersede => 0,
        SubmissionPolicy::KeepAll => 1,
    }
}

fn policy(number: i64) -> Result<SubmissionPolicy> {
    let known = SubmissionPolicy::ALL.into_iter().find(|policy| policy_number(*policy) == number);
    known.ok_or_else(|| corrupt(format_args!("{number} is no submission policy")))
}

/// Reads the column of the disabled transitions.
pub(crate) fn disabled_transitions(columns: &mut Columns<'_>) -> Result<Vec<Transition>> {
    Ok(columns.optional_json()?.unwrap_or_default())
}

/// Reads a row of [`standing`] and [`content`].
pub(crate) fn template(agent: &AgentId, row: &Row<'_>) -> Result<FormTemplate> {
    let mut columns = Columns::of(row);
    let standing = Standing::read(&mut columns)?;
    Ok(FormTemplate {
        id: standing.id,
        agent_id: agent.clone(),
        status: standing.status,
        submission_policy: standing.submission_policy,
        created_at: standing.created_at,
        updated_at: standing.updated_at,
        disabled_transitions: disabled_transitions(&mut columns)?,
        generation: columns.count()?,
        version: columns.count()?,
        name: columns.text()?,
        description: columns.optional_text()?,
        fields: columns.json()?,
    })
}

/// Templates at the current version, after an id; as [`template`] reads them.
pub(crate) const AFTER: &str = concat!(
    "SELECT ",
    standing!(),
    ", ",
    content!(),
    " FROM form_template t CROSS JOIN form_template_version v",
    " ON v.agent = t.agent AND v.template = t.id AND v.version = t.version",
    " WHERE t.agent = ?1 AND t.id > ?2 ORDER BY t.id LIMIT ?3"
);

/// Templates at each version, after an id and a version; as [`template`] reads them.
pub(crate) const VERSIONS_AFTER: &str = concat!(
    "SELECT ",
    standing!(),
    ", ",
    content!(),
    " FROM form_template_version v CROSS JOIN form_template t ON t.agent = v.agent AND t.id = v.template",
    " WHERE v.agent = ?1 AND (v.template, v.version) > (?2, ?3) ORDER BY v.template, v.version LIMIT ?4"
);

fn one(db: &Connection, agent: &AgentId, sql: &str, values: &[&dyn ToSql]) -> Result<Option<FormTemplate>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    rows.next()?.map(|row| template(agent, row)).transpose()
}

/// As [`openapi_core::storage::FormStore::template`].
pub(super) fn current(db: &Connection, agent: &AgentId, id: TemplateId) -> Result<Option<FormTemplate>> {
    let sql = concat!(
        "SELECT ",
        standing!(),
        ", ",
        content!(),
        " FROM agent a CROSS JOIN form_template t ON t.agent = a.n",
        " CROSS JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = t.version",
        " WHERE a.id = ?1 AND a.status <> 2 AND t.id = ?2"
    );
    one(db, agent, sql, params![agent.as_str(), id.as_bytes()])
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
        standing!(),
        ", ",
        content!(),
        " FROM agent a CROSS JOIN form_template t ON t.agent = a.n",
        " CROSS JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = ?3",
        " WHERE a.id = ?1 AND a.status <> 2 AND t.id = ?2"
    );
    one(db, agent, sql, params![agent.as_str(), id.as_bytes(), version])
}

/// As [`openapi_core::storage::FormStore::templates`].
pub(super) fn page(db: &Connection, id: &AgentId, query: &TemplateQuery) -> Result<TemplatePage> {
    let Some(agent) = tenant::living(db, id)?.map(|agent| agent.number) else {
        return Ok(TemplatePage::default());
    };
    let only = if query.only_active { " AND t.status = 1" } else { "" };
    let total: i64 = db
        .prepare_cached(&format!(
            "SELECT count(*) FROM form_template t INDEXED BY form_template_by_name WHERE t.agent = ?1{only}"
        ))?
        .query_row([agent], |row| row.get(0))?;
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
    values.push(Value::Integer(i64::try_from(offset).unwrap_or(i64::MAX)));
    let mut statement = db.prepare_cached(&format!(
        concat!(
            "SELECT ",
            standing!(),
            ", t.version, v.name, v.description, v.field_count",
            " FROM form_template t INDEXED BY form_template_by_name CROSS JOIN form_template_version v",
            " ON v.agent = t.agent AND v.template = t.id AND v.version = t.version",
            " WHERE t.agent = ?{only}{following} ORDER BY t.name_key, t.id LIMIT ? OFFSET ?"
        ),
        only = only,
        following = following
    ))?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut templates = Vec::new();
    while let Some(row) = rows.next()? {
        templates.push(summary(id, row)?);
    }
    Ok(TemplatePage { templates, total: u64::try_from(total).map_err(corrupt)? })
}

fn summary(agent: &AgentId, row: &Row<'_>) -> Result<TemplateSummary> {
    let mut columns = Columns::of(row);
    let standing = Standing::read(&mut columns)?;
    Ok(TemplateSummary {
        id: standing.id,
        agent_id: agent.clone(),
        status: standing.status,
        submission_policy: standing.submission_policy,
        created_at: standing.created_at,
        updated_at: standing.updated_at,
        version: columns.count()?,
        name: columns.text()?,
        description: columns.optional_text()?,
        field_count: columns.count()?,
    })
}

/// The generation of a stored template.
pub(super) fn generation(db: &Connection, agent: i64, id: TemplateId) -> Result<Option<u64>> {
    let generation: Option<i64> = db
        .prepare_cached("SELECT generation FROM form_template WHERE agent = ?1 AND id = ?2")?
        .query_row(params![agent, id.as_bytes()], |row| row.get(0))
        .optional()?;
    generation.map(|generation| u64::try_from(generation).map_err(corrupt)).transpose()
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
        status_number(template.status),
        i64::try_from(template.version).map_err(corrupt)?,
        i64::try_from(template.generation).map_err(corrupt)?,
        policy_number(template.submission_policy),
        disabled(template)?,
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
        status_number(template.status),
        i64::try_from(template.version).map_err(corrupt)?,
        i64::try_from(template.generation).map_err(corrupt)?,
        policy_number(template.submission_policy),
        disabled(template)?,
        template.updated_at.millis()
    ])?;
    put_content(db, agent, template)?;
    effects::apply(db, agent, effects)
}

/// The disabled transitions as text; `None` when there are none.
fn disabled(template: &FormTemplate) -> Result<Option<String>> {
    let disabled = &template.disabled_transitions;
    (!disabled.is_empty()).then(|| serde_json::to_string(disabled).map_err(corrupt)).transpose()
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
        i64::try_from(template.version).map_err(corrupt)?,
        template.name.as_str(),
        template.description.as_ref().map(|text| text.as_str()),
        template.fields.len() as i64,
        serde_json::to_string(&template.fields).map_err(corrupt)?
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
    let mut every = db.prepare_cached(EVERY_OF_AGENT)?;
    let mut rows = every.query([agent])?;
    let mut wrong = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let template: [u8; 12] = columns.bytes()?;
        let (key, name) = (columns.str()?, columns.optional_str()?);
        if let Some(name) = name.filter(|name| fold(name) != key) {
            wrong.push((template, fold(name)));
        }
    }
    let mut update =
        db.prepare_cached("UPDATE form_template SET name_key = ?3 WHERE agent = ?1 AND id = ?2")?;
    for (template, key) in wrong {
        update.execute(params![agent, template, key])?;
    }
    let mut every = db.prepare_cached(EVERY_CONTENT_OF_AGENT)?;
    let mut rows = every.query([agent])?;
    let mut wrong = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok(content) = Content::read(row) else { continue };
        if content.field_count != content.fields.len() as u64 {
            wrong.push((content.template, content.version as i64, content.fields.len() as i64));
        }
    }
    let mut update = db.prepare_cached(
        "UPDATE form_template_version SET field_count = ?4 WHERE agent = ?1 AND template = ?2 AND version = ?3",
    )?;
    for (template, version, count) in wrong {
        update.execute(params![agent, template.as_bytes(), version, count])?;
    }
    Ok(())
}
