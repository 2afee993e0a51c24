//! Templates, and their content at each version. Changes run in a transaction that has locked the tenant.

use openapi_core::forms::FormTemplate;
use openapi_core::storage::{
    Effects, StorageErrorKind, TemplatePage, TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{AgentId, TemplateId};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use storage_common::{records, template_columns, template_summary_columns};

use crate::connect::{execute, fetch_one, fetch_version};
use crate::error::{Result, corrupt};
use crate::rows::{self, RowReader, Statement, bounded, code, json_text, signed};
use crate::{effects, tenant};

/// As [`openapi_core::storage::FormStore::template`].
pub(super) fn current(agent: &AgentId, id: TemplateId) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        template_columns!(),
        " FROM agent a JOIN form_template t ON t.agent = a.id",
        " JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = t.version",
        " WHERE a.id = $1 AND a.status <> 2 AND t.id = $2"
    ))
    .bind(agent.as_str())?
    .bind(id.as_bytes().as_slice())
}

/// As [`openapi_core::storage::FormStore::template_version`].
pub(super) fn at_version(agent: &AgentId, id: TemplateId, version: i64) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        template_columns!(),
        " FROM agent a JOIN form_template t ON t.agent = a.id",
        " JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = $3",
        " WHERE a.id = $1 AND a.status <> 2 AND t.id = $2"
    ))
    .bind(agent.as_str())?
    .bind(id.as_bytes().as_slice())?
    .bind(version)
}

/// As [`openapi_core::storage::FormStore::templates`]: each row has the total and a template, or NULL for an empty
/// page.
pub(crate) fn page(agent: &AgentId, query: &TemplateQuery) -> Result<Statement> {
    let only = if query.only_active { " AND t.status = 1" } else { "" };
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let (after, slice) = match &query.window {
        Window::Page { offset, limit } => {
            (String::new(), format!("LIMIT {limit} OFFSET {}", statement.add(bounded(*offset))?))
        }
        Window::After { position: TemplatePosition { name_key, id }, limit } => {
            let key = statement.add(name_key.as_str())?;
            let id = statement.add(id.as_bytes().as_slice())?;
            (format!(" AND (t.name_key, t.id) > ({key}, {id})"), format!("LIMIT {limit}"))
        }
    };
    statement.push(&format!(
        "SELECT n.total, {} FROM (SELECT count(*) AS total FROM form_template t WHERE t.agent = {agent}{only}) n \
         LEFT JOIN (SELECT t.* FROM form_template t WHERE t.agent = {agent}{only}{after} \
         ORDER BY t.name_key, t.id {slice}) t ON true \
         LEFT JOIN LATERAL (SELECT * FROM form_template_version v WHERE v.agent = t.agent AND v.template = t.id \
         AND v.version = t.version LIMIT 1) v ON true \
         WHERE EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) ORDER BY t.name_key, t.id",
        template_summary_columns!()
    ));
    Ok(statement)
}

/// Reads the rows of [`page`].
pub(super) fn listed(agent: &AgentId, rows: &[PgRow]) -> Result<TemplatePage> {
    let (templates, total) = rows::page(rows, |r| records::template_summary(agent, r, None))?;
    Ok(TemplatePage { templates, total })
}

/// The generation of a stored template.
pub(super) async fn generation(
    db: &mut PgConnection,
    agent: &AgentId,
    id: TemplateId,
) -> Result<Option<u64>> {
    let statement = Statement::new("SELECT generation FROM form_template WHERE agent = $1 AND id = $2")
        .bind(agent.as_str())?
        .bind(id.as_bytes().as_slice())?;
    fetch_version(db, statement).await
}

/// As [`openapi_core::storage::FormStore::insert_template`].
pub(super) async fn create(
    db: &mut PgConnection,
    agent: &AgentId,
    template: &FormTemplate,
    effects: &Effects,
) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    if !insert_base(db, agent, template).await? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    insert_content(db, agent, template).await?;
    effects::apply(db, agent, effects, tenant.head).await
}

/// Stores a new template without its content; false when its id is taken.
pub(crate) async fn insert_base(
    db: &mut PgConnection,
    agent: &AgentId,
    template: &FormTemplate,
) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO form_template (agent, id, name_key, status, version, generation, submission_policy, \
         disabled_transitions, updated_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT DO NOTHING",
    );
    let statement = bind_base(statement, agent, template)?.bind(template.created_at.millis())?;
    Ok(execute(db, statement).await? == 1)
}

/// As [`openapi_core::storage::FormStore::replace_template`].
pub(super) async fn replace(
    db: &mut PgConnection,
    agent: &AgentId,
    template: &FormTemplate,
    effects: &Effects,
) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    let stored = generation(db, agent, template.id).await?.ok_or(StorageErrorKind::Missing)?;
    if stored + 1 != template.generation {
        return Err(StorageErrorKind::Stale.into());
    }
    let statement = Statement::new(
        "UPDATE form_template SET name_key = $3, status = $4, version = $5, generation = $6, \
         submission_policy = $7, disabled_transitions = $8, updated_at = $9 WHERE agent = $1 AND id = $2",
    );
    execute(db, bind_base(statement, agent, template)?).await?;
    insert_content(db, agent, template).await?;
    effects::apply(db, agent, effects, tenant.head).await
}

fn bind_base(statement: Statement, agent: &AgentId, template: &FormTemplate) -> Result<Statement> {
    let disabled = &template.disabled_transitions;
    statement
        .bind(agent.as_str())?
        .bind(template.id.as_bytes().as_slice())?
        .bind(template.name_key())?
        .bind(code(template.status))?
        .bind(signed(template.version)?)?
        .bind(signed(template.generation)?)?
        .bind(code(template.submission_policy))?
        .bind((!disabled.is_empty()).then(|| json_text(disabled)).transpose()?)?
        .bind(template.updated_at.millis())
}

/// Stores the content of the current version.
pub(crate) async fn insert_content(
    db: &mut PgConnection,
    agent: &AgentId,
    template: &FormTemplate,
) -> Result<()> {
    let statement = Statement::new(
        "INSERT INTO form_template_version (agent, template, version, name, description, field_count, fields) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (agent, template, version) DO UPDATE SET \
         name = excluded.name, description = excluded.description, field_count = excluded.field_count, \
         fields = excluded.fields",
    )
    .bind(agent.as_str())?
    .bind(template.id.as_bytes().as_slice())?
    .bind(signed(template.version)?)?
    .bind(template.name.as_str())?
    .bind(template.description.as_ref().map(|text| text.as_str()))?
    .bind(signed(template.fields.len() as u64)?)?
    .bind(json_text(&template.fields)?)?;
    execute(db, statement).await?;
    Ok(())
}

/// Removes up to `at_most` templates of a deleted tenant, with all their versions, and returns how many.
pub(super) async fn purge(db: &mut PgConnection, agent: &AgentId, at_most: u64) -> Result<u64> {
    let statement = Statement::unprepared(
        "WITH gone AS (DELETE FROM form_template WHERE (agent, id) IN \
         (SELECT agent, id FROM form_template WHERE (agent, id) > ($1, '') AND agent <= $1 ORDER BY agent, id LIMIT $2) \
         RETURNING agent, id), \
         versions AS (DELETE FROM form_template_version WHERE (agent, template) IN (SELECT agent, id FROM gone)) \
         SELECT count(*) FROM gone",
    )
    .bind(agent.as_str())?
    .bind(signed(at_most)?)?;
    let row = fetch_one(db, statement).await?.ok_or_else(|| corrupt("a count has no row"))?;
    RowReader::new(&row).count()
}
