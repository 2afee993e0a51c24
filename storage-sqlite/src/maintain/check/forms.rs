//! Checking templates and submissions.

use openapi_core::forms::Transition;
use openapi_core::values::{AgentId, Block, Line, SubmissionId, TemplateId, TextValue, fold};
use rusqlite::Connection;
use storage_common::records;

use super::{FindingKind, Findings, readable, text};
use crate::error::Result;
use crate::forms::{self, Content};
use crate::rows;

/// Rows of the submissions `s` of agents that are not deleted: those of deleted agents are removed in portions.
const LIVING: &str = "FROM form_submission s JOIN agent a ON a.n = s.agent AND a.status <> 2";

/// References to absent rows, and submissions whose supersession is inconsistent.
pub(super) fn references(db: &Connection, findings: &mut Findings) -> Result<()> {
    for (kind, condition, detail) in [
        (
            FindingKind::Reference,
            "LEFT JOIN contact c ON c.agent = s.agent AND c.id = s.contact WHERE c.n IS NULL",
            "belongs to no contact",
        ),
        (
            FindingKind::Reference,
            "LEFT JOIN form_template_version v ON v.agent = s.agent AND v.template = s.template \
             AND v.version = s.template_version WHERE v.version IS NULL",
            "was made with a version of a template that is not there",
        ),
        (
            FindingKind::Supersession,
            "LEFT JOIN form_submission x ON x.agent = s.agent AND x.id = s.superseded_by AND x.contact = s.contact \
             AND x.template = s.template WHERE s.superseded_by IS NOT NULL AND x.n IS NULL",
            "is superseded by none of its contact and template",
        ),
        (
            FindingKind::Supersession,
            "LEFT JOIN form_submission x ON x.agent = s.agent AND x.id = s.supersedes AND x.contact = s.contact \
             AND x.template = s.template WHERE s.supersedes IS NOT NULL AND x.superseded_by IS NOT s.id",
            "supersedes one that is not superseded by it",
        ),
        (
            FindingKind::Supersession,
            "JOIN form_submission x ON x.agent = s.agent AND x.id = s.supersedes WHERE x.revision >= s.revision",
            "has no higher revision than the one it supersedes",
        ),
        (
            FindingKind::Supersession,
            "WHERE (s.superseded_by IS NULL) <> (s.superseded_at IS NULL)",
            "is superseded without a time, or has a time and is not superseded",
        ),
        // Each submission that supersedes another superseded all heads of that time, so only the last one is a head.
        (
            FindingKind::Supersession,
            "JOIN form_submission x ON x.agent = s.agent AND x.contact = s.contact AND x.template = s.template \
             AND x.submitted_at IS NOT NULL AND x.superseded_by IS NULL AND x.supersedes IS NOT NULL AND x.id > s.id \
             WHERE s.submitted_at IS NOT NULL AND s.superseded_by IS NULL AND s.supersedes IS NOT NULL",
            "is the end of a succession, and another one of its contact and template is as well",
        ),
    ] {
        rows::each(db, &format!("SELECT s.id {LIVING} {condition}"), (), |r| {
            let id = SubmissionId::from_bytes(r.bytes()?);
            findings.note(kind, format_args!("submission {id} {detail}"));
            Ok(())
        })?;
    }
    let sql = "SELECT r.submission FROM form_data_revision r LEFT JOIN form_submission s ON s.agent = r.agent \
               AND s.id = r.submission WHERE s.n IS NULL";
    rows::each(db, sql, (), |r| {
        let id = SubmissionId::from_bytes(r.bytes()?);
        let detail = format_args!("a revision belongs to submission {id}, which does not exist");
        findings.note(FindingKind::Reference, detail);
        Ok(())
    })
}

/// Reads all templates and submissions of an agent, and compares the derived values with them.
pub(super) fn of_agent(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    templates(db, id, number, findings)?;
    contents(db, id, number, findings)?;
    let what = format!("a submission of agent {id}");
    readable(db, forms::EVERY_SUBMISSION_OF_AGENT, number, &what, findings, |r, findings| {
        let submission = records::submission_with_history(id, r)?;
        let submission_id = submission.id;
        if let Some(broken) = forms::broken_rule(submission) {
            let detail = format_args!("submission {submission_id} of agent {id}: {broken}");
            findings.note(FindingKind::Record, detail);
        }
        Ok(())
    })?;
    let what = format!("the data of a submission of agent {id} before a change");
    readable(db, forms::REVISIONS_OF_AGENT, number, &what, findings, |r, _| records::revision(r).map(drop))
}

fn templates(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    rows::each(db, forms::EVERY_TEMPLATE_OF_AGENT, [number], |r| {
        let template = TemplateId::from_bytes(r.bytes()?);
        let (key, name) = (r.str()?, r.optional_str()?);
        match name {
            None => {
                let detail =
                    format_args!("the version in force of template {template} of agent {id} is not there");
                findings.note(FindingKind::Reference, detail);
            }
            Some(name) if fold(name) != key => {
                let detail = format_args!("the sort key of template {template} of agent {id} is wrong");
                findings.note(FindingKind::Keys, detail);
            }
            Some(_) => {}
        }
        if let Err(error) = r.optional_json::<Vec<Transition>>() {
            let detail = format_args!("template {template} of agent {id}: {}", text(error));
            findings.note(FindingKind::Record, detail);
        }
        Ok(())
    })
}

fn contents(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    let what = format!("a version of a template of agent {id}");
    readable(db, forms::EVERY_CONTENT_OF_AGENT, number, &what, findings, |r, findings| {
        let content = Content::read(r)?;
        let what = format!("version {} of template {} of agent {id}", content.version, content.template);
        let description = content.description.as_ref();
        if Line::<100>::parse(content.name.as_str()).is_err()
            || description.is_some_and(|detail| Block::<1000>::parse(detail.as_str()).is_err())
        {
            let detail = format_args!("{what} has a name or a description that breaks its rule");
            findings.note(FindingKind::Record, detail);
        }
        if content.field_count != content.fields.len() as u64 {
            findings.note(FindingKind::Keys, format_args!("the number of fields of {what} is wrong"));
        }
        Ok(())
    })
}
