//! Templates: what they are now, and their content at each version. Changes run inside a transaction that holds the
//! agent.

use openapi_core::audit::AuditEntry;
use openapi_core::forms::{FormTemplate, SubmissionPolicy, TemplateStatus, TemplateSummary};
use openapi_core::storage::{StorageErrorKind, TemplatePage, TemplatePosition, TemplateQuery, Window};
use openapi_core::values::{AgentId, TemplateId, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::connect::{execute, fetch_one};
use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement, bounded, json_text, signed};
use crate::{agents, audit};

/// What a template is whatever its version, in the order in which [`Standing::read`] reads it.
macro_rules! standing {
    () => {
        "t.id, t.status, t.submission_policy, t.created_at, t.updated_at"
    };
}

/// The rest, in the order in which [`template`] reads it.
macro_rules! content {
    () => {
        "t.disabled_transitions, t.generation, v.version, v.name, v.description, v.fields"
    };
}

/// What [`template`] reads.
pub(crate) const COLUMNS: &str = concat!(standing!(), ", ", content!());

/// What a template has whatever its version.
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
            status: status(columns.small()?)?,
            submission_policy: policy(columns.small()?)?,
            created_at: columns.time()?,
            updated_at: columns.time()?,
        })
    }
}

const fn status_number(status: TemplateStatus) -> i16 {
    match status {
        TemplateStatus::Draft => 0,
        TemplateStatus::Active => 1,
        TemplateStatus::Archived => 2,
    }
}

fn status(number: i16) -> Result<TemplateStatus> {
    let known = TemplateStatus::ALL.into_iter().find(|status| status_number(*status) == number);
    known.ok_or_else(|| corrupt(format_args!("{number} is no state of a template")))
}

const fn policy_number(policy: SubmissionPolicy) -> i16 {
    match policy {
        SubmissionPolicy::Supersede => 0,
        SubmissionPolicy::KeepAll => 1,
    }
}

fn policy(number: i16) -> Result<SubmissionPolicy> {
    let known = SubmissionPolicy::ALL.into_iter().find(|policy| policy_number(*policy) == number);
    known.ok_or_else(|| corrupt(format_args!("{number} is no submission policy")))
}

/// Reads a row of [`standing`] and [`content`].
pub(crate) fn template(agent: &AgentId, row: &PgRow) -> Result<FormTemplate> {
    let mut columns = Columns::of(row);
    let standing = Standing::read(&mut columns)?;
    Ok(FormTemplate {
        id: standing.id,
        agent_id: agent.clone(),
        status: standing.status,
        submission_policy: standing.submission_policy,
        created_at: standing.created_at,
        updated_at: standing.updated_at,
        disabled_transitions: columns.optional_json()?.unwrap_or_default(),
        generation: columns.count()?,
        version: columns.count()?,
        name: columns.text()?,
        description: columns.optional_text()?,
        fields: columns.json()?,
    })
}

/// As [`openapi_core::storage::FormStore::template`].
pub(super) fn current(agent: &AgentId, id: TemplateId) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        standing!(),
        ", ",
        content!(),
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
        standing!(),
        ", ",
        content!(),
        " FROM agent a JOIN form_template t ON t.agent = a.id",
        " JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = $3",
        " WHERE a.id = $1 AND a.status <> 2 AND t.id = $2"
    ))
    .bind(agent.as_str())?
    .bind(id.as_bytes().as_slice())?
    .bind(version)
}

/// As [`openapi_core::storage::FormStore::templates`]: in each row the number of all and a template, or nothing behind
/// the last.
pub(crate) fn page(agent: &AgentId, query: &TemplateQuery) -> Result<Statement> {
    let only = if query.only_active { " AND t.status = 1" } else { "" };
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let (behind, part) = match &query.window {
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
        concat!(
            "SELECT n.total, ",
            standing!(),
            ", t.version, v.name, v.description, v.field_count",
            " FROM (SELECT count(*) AS total FROM form_template t WHERE t.agent = {agent}{only}) n",
            " LEFT JOIN (SELECT t.* FROM form_template t WHERE t.agent = {agent}{only}{behind}",
            " ORDER BY t.name_key, t.id {part}) t ON true",
            " LEFT JOIN form_template_version v ON v.agent = t.agent AND v.template = t.id AND v.version = t.version",
            " WHERE EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2)",
            " ORDER BY t.name_key, t.id"
        ),
        agent = agent,
        only = only,
        behind = behind,
        part = part
    ));
    Ok(statement)
}

/// Reads the rows of [`page`].
pub(super) fn listed(agent: &AgentId, rows: &[PgRow]) -> Result<TemplatePage> {
    let mut page = TemplatePage::default();
    for row in rows {
        let mut columns = Columns::of(row);
        page.total = columns.count()?;
        if columns.is_absent()? {
            break;
        }
        page.templates.push(summary(agent, &mut columns)?);
    }
    Ok(page)
}

fn summary(agent: &AgentId, columns: &mut Columns<'_>) -> Result<TemplateSummary> {
    let standing = Standing::read(columns)?;
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
pub(super) async fn generation(
    db: &mut PgConnection,
    agent: &AgentId,
    id: TemplateId,
) -> Result<Option<u64>> {
    let statement = Statement::new("SELECT generation FROM form_template WHERE agent = $1 AND id = $2")
        .bind(agent.as_str())?
        .bind(id.as_bytes().as_slice())?;
    fetch_one(db, statement).await?.map(|row| Columns::of(&row).count()).transpose()
}

/// As [`openapi_core::storage::FormStore::insert_template`].
pub(super) async fn insert(
    db: &mut PgConnection,
    agent: &AgentId,
    template: &FormTemplate,
    entry: &AuditEntry,
) -> Result<()> {
    agents::hold(db, agent).await?;
    if !put_standing(db, agent, template).await? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put_content(db, agent, template).await?;
    audit::append(db, entry).await
}

/// Stores what a new template is whatever its version; whether its id was free.
pub(crate) async fn put_standing(
    db: &mut PgConnection,
    agent: &AgentId,
    template: &FormTemplate,
) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO form_template (agent, id, name_key, status, version, generation, submission_policy, \
         disabled_transitions, updated_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT DO NOTHING",
    );
    let statement = bind_standing(statement, agent, template)?.bind(template.created_at.millis())?;
    Ok(execute(db, statement).await? == 1)
}

/// As [`openapi_core::storage::FormStore::replace_template`].
pub(super) async fn replace(
    db: &mut PgConnection,
    agent: &AgentId,
    template: &FormTemplate,
    entry: &AuditEntry,
) -> Result<()> {
    agents::hold(db, agent).await?;
    let stored = generation(db, agent, template.id).await?.ok_or(StorageErrorKind::Missing)?;
    if stored + 1 != template.generation {
        return Err(StorageErrorKind::Stale.into());
    }
    let statement = Statement::new(
        "UPDATE form_template SET name_key = $3, status = $4, version = $5, generation = $6, \
         submission_policy = $7, disabled_transitions = $8, updated_at = $9 WHERE agent = $1 AND id = $2",
    );
    execute(db, bind_standing(statement, agent, template)?).await?;
    put_content(db, agent, template).await?;
    audit::append(db, entry).await
}

fn bind_standing(statement: Statement, agent: &AgentId, template: &FormTemplate) -> Result<Statement> {
    let disabled = &template.disabled_transitions;
    statement
        .bind(agent.as_str())?
        .bind(template.id.as_bytes().as_slice())?
        .bind(template.name_key())?
        .bind(status_number(template.status))?
        .bind(signed(template.version)?)?
        .bind(signed(template.generation)?)?
        .bind(policy_number(template.submission_policy))?
        .bind((!disabled.is_empty()).then(|| json_text(disabled)).transpose()?)?
        .bind(template.updated_at.millis())
}

/// Stores the content of the version in force.
pub(crate) async fn put_content(
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

/// Removes up to `at_most` templates of a deleted agent, with all their versions, and returns how many.
pub(super) async fn purge(db: &mut PgConnection, agent: &AgentId, at_most: u64) -> Result<u64> {
    let statement = Statement::new(
        "WITH gone AS (DELETE FROM form_template WHERE agent = $1 AND id IN \
         (SELECT id FROM form_template WHERE agent = $1 ORDER BY id LIMIT $2) RETURNING id), \
         versions AS (DELETE FROM form_template_version WHERE agent = $1 AND template IN (SELECT id FROM gone)) \
         SELECT count(*) FROM gone",
    )
    .bind(agent.as_str())?
    .bind(signed(at_most)?)?;
    let row = fetch_one(db, statement).await?.ok_or_else(|| corrupt("a count has no row"))?;
    Columns::of(&row).count()
}
