//! Records with what is kept of their past.

use std::collections::BTreeMap;

use openapi_core::files::ContactFile;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::storage::FileTombstone;

/// A file and, once it is deleted, its tombstone.
#[derive(Clone, Debug)]
pub(super) struct StoredFile {
    pub(super) file: ContactFile,
    pub(super) tombstone: Option<FileTombstone>,
}

/// A template, and what it was at each of its versions.
#[derive(Clone, Debug)]
pub(super) struct StoredTemplate {
    pub(super) current: FormTemplate,
    pub(super) versions: BTreeMap<u64, FormTemplate>,
}

/// A submission, and what its data was before each change.
#[derive(Clone, Debug)]
pub(super) struct StoredSubmission {
    pub(super) submission: Submission,
    pub(super) revisions: Vec<FormDataRevision>,
}

impl StoredTemplate {
    /// A template without any content but that of the version in force.
    pub(super) fn of(current: FormTemplate) -> Self {
        StoredTemplate { current, versions: BTreeMap::new() }
    }

    /// The template as it was at a version: its content is that version's, everything else is what it is now.
    pub(super) fn at_version(&self, version: u64) -> Option<FormTemplate> {
        let then = self.versions.get(&version)?;
        Some(FormTemplate {
            name: then.name.clone(),
            description: then.description.clone(),
            fields: then.fields.clone(),
            version,
            ..self.current.clone()
        })
    }

    pub(super) fn at_each_version(&self) -> impl Iterator<Item = FormTemplate> {
        self.versions.keys().filter_map(|version| self.at_version(*version))
    }

    /// Adds a version; whether it is new.
    pub(super) fn add(&mut self, then: FormTemplate) -> bool {
        self.versions.insert(then.version, then).is_none()
    }
}
