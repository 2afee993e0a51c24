//! Reading submissions.

use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use openapi_core::forms::{FormDataRevision, Submission, SubmissionStatus};
use openapi_core::storage::{
    LatestQuery, SubmissionFilter, SubmissionPage, SubmissionPosition, SubmissionQuery, Window,
};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId};
use storage_common::records;

use super::row;
use crate::connect::Handle;
use crate::document::{Fields, binary, code, key, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::transaction::{DocumentReader, Find};
use crate::{contacts, tenant};

/// The submissions of documents, with the current external ids of their contacts.
pub(crate) async fn shown(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    found: &[RawDocumentBuf],
) -> Result<Vec<Submission>> {
    let submissions = found.iter().map(|document| row::submission(agent, document));
    let mut submissions = submissions.collect::<Result<Vec<_>>>()?;
    if submissions.is_empty() {
        return Ok(submissions);
    }
    let of = submissions.iter().map(|submission| submission.contact_id);
    let named = contacts::external_ids(reads, agent, of).await?;
    for submission in &mut submissions {
        submission.external_reference_id = named.get(&submission.contact_id).cloned();
    }
    Ok(submissions)
}

/// As [`openapi_core::storage::FormStore::submission`].
pub(super) async fn one(handle: &Handle, agent: &AgentId, id: SubmissionId) -> Result<Option<Submission>> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(None);
    }
    let filter = doc! { "_id": key(agent, id.as_bytes()) };
    let found = reads.one(collection::SUBMISSIONS, filter, None).await?;
    let found: Vec<RawDocumentBuf> = found.into_iter().collect();
    Ok(shown(&mut reads, agent, &found).await?.pop())
}

/// The filter of a list, and the index that has its documents newest first.
pub(crate) fn chosen(agent: &AgentId, filter: &SubmissionFilter) -> (Document, &'static str) {
    let mut chosen = doc! { "_id.agent": agent.as_str() };
    if let Some(contact) = &filter.contact {
        chosen.insert("contact", binary(contact.as_bytes()));
    }
    let superseded: &[bool] = if filter.include_superseded { &[false, true] } else { &[false] };
    chosen.insert("superseded", doc! { "$in": superseded });
    if let Some(template) = &filter.template {
        chosen.insert("template", binary(template.as_bytes()));
    }
    if let Some(status) = filter.status {
        chosen.insert("status", code(status));
    }
    if let Some(client_id) = &filter.client_id {
        chosen.insert("clientId", client_id.as_str());
    }
    let index = match filter.contact {
        Some(_) => index::SUBMISSIONS_BY_CONTACT,
        None => index::SUBMISSIONS_BY_CREATED_AT,
    };
    (chosen, index)
}

/// The find for a page.
pub(crate) fn find(agent: &AgentId, query: &SubmissionQuery) -> Find {
    let (mut filter, hint) = chosen(agent, &query.filter);
    let (skip, limit) = match &query.window {
        Window::Page { offset, limit } => (*offset, *limit),
        Window::After { position: SubmissionPosition { created_at, id }, limit } => {
            // The first condition is for the index, the second excludes submissions of the same time.
            let (at, id) = (time(*created_at), binary(id.as_bytes()));
            filter.insert("createdAt", doc! { "$lte": at });
            filter.insert("$or", vec![doc! { "createdAt": { "$lt": at } }, doc! { "_id.id": { "$lt": id } }]);
            (0, *limit)
        }
    };
    Find {
        filter,
        projection: Some(row::without_history()),
        sort: Some(doc! { "createdAt": -1, "_id.id": -1 }),
        skip,
        limit,
        hint: Some(hint),
    }
}

/// As [`openapi_core::storage::FormStore::submissions`].
pub(super) async fn page(
    handle: &Handle,
    agent: &AgentId,
    query: &SubmissionQuery,
) -> Result<SubmissionPage> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(SubmissionPage::default());
    }
    let (filter, hint) = chosen(agent, &query.filter);
    let total = reads.count(collection::SUBMISSIONS, filter, Some(hint)).await?;
    let find = find(agent, query);
    if find.limit == 0 || find.skip >= total {
        return Ok(SubmissionPage { submissions: Vec::new(), total });
    }
    let found = reads.find(collection::SUBMISSIONS, find).await?;
    Ok(SubmissionPage { submissions: shown(&mut reads, agent, &found).await?, total })
}

/// The heads of a contact and template.
pub(super) fn standing(agent: &AgentId, contact: ContactId, template: TemplateId) -> Document {
    doc! {
        "_id.agent": agent.as_str(),
        "contact": binary(contact.as_bytes()),
        "template": binary(template.as_bytes()),
        "headSince": { "$exists": true },
    }
}

/// The newest head of a contact and template.
pub(crate) fn newest(agent: &AgentId, contact: ContactId, template: TemplateId) -> Find {
    Find {
        filter: standing(agent, contact, template),
        sort: Some(doc! { "headSince": -1, "_id.id": -1 }),
        limit: 1,
        hint: Some(index::SUBMISSIONS_HEAD),
        ..Find::default()
    }
}

/// As [`openapi_core::storage::FormStore::head_submission`].
pub(super) async fn head(
    handle: &Handle,
    agent: &AgentId,
    contact: ContactId,
    template: TemplateId,
) -> Result<Option<Submission>> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(None);
    }
    let find = Find { projection: Some(row::without_history()), ..newest(agent, contact, template) };
    let found = reads.find(collection::SUBMISSIONS, find).await?;
    Ok(shown(&mut reads, agent, &found).await?.pop())
}

/// As [`openapi_core::storage::FormStore::latest_submission`].
pub(super) async fn latest(
    handle: &Handle,
    agent: &AgentId,
    query: &LatestQuery,
) -> Result<Option<Submission>> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(None);
    }
    let in_use = doc! { "$ne": code(SubmissionStatus::Archived) };
    let mut submitted = newest(agent, query.contact, query.template);
    submitted.filter.insert("status", in_use.clone());
    let mut found = reads.find(collection::SUBMISSIONS, submitted).await?;
    if query.include_drafts {
        let filter = SubmissionFilter {
            contact: Some(query.contact),
            template: Some(query.template),
            ..SubmissionFilter::default()
        };
        let (mut filter, hint) = chosen(agent, &filter);
        filter.insert("submittedAt", Bson::Null);
        filter.insert("status", in_use);
        let draft = Find {
            filter,
            sort: Some(doc! { "createdAt": -1, "_id.id": -1 }),
            limit: 1,
            hint: Some(hint),
            ..Find::default()
        };
        found.append(&mut reads.find(collection::SUBMISSIONS, draft).await?);
    }
    let submissions = shown(&mut reads, agent, &found).await?;
    Ok(submissions.into_iter().max_by_key(|submission| query.rank(submission)))
}

/// As [`openapi_core::storage::FormStore::form_data_revisions`].
pub(super) async fn revisions(
    handle: &Handle,
    agent: &AgentId,
    submission: SubmissionId,
) -> Result<Vec<FormDataRevision>> {
    let mut reads = DocumentReader::new(handle);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(Vec::new());
    }
    let find =
        Find { filter: revisions_of(agent, submission), sort: Some(doc! { "_id": 1 }), ..Find::default() };
    let found = reads.find(collection::FORM_DATA_REVISIONS, find).await?;
    found.iter().map(|document| revision(document)).collect()
}

pub(crate) fn revision(document: &RawDocument) -> Result<FormDataRevision> {
    records::revision(&mut Fields(document))
}

/// The revisions of a submission.
pub(super) fn revisions_of(agent: &AgentId, submission: SubmissionId) -> Document {
    let first = doc! { "agent": agent.as_str(), "id": binary(submission.as_bytes()) };
    let mut last = first.clone();
    last.insert("version", Bson::MaxKey);
    doc! { "_id": { "$gt": first, "$lt": last }, "_id.agent": agent.as_str() }
}
