//! Records with their history.

use std::collections::BTreeMap;

use openapi_core::files::ContactFile;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::storage::FileTombstone;

/// A file, with its tombstone if it is deleted.
#[derive(Clone, Debug)]
pub(super) struct StoredFile {
    pub(super) file: ContactFile,
    pub(super) tombstone: Option<FileTombstone>,
}

/// A template and its content at each version.
#[derive(Clone, Debug)]
pub(super) struct StoredTemplate {
    pub(super) current: FormTemplate,
    pub(super) versions: BTreeMap<u64, FormTemplate>,
}

/// A submission and its data before each change.
#[derive(Clone, Debug)]
pub(super) struct StoredSubmission {
    pub(super) submission: Submission,
    pub(super) revisions: Vec<FormDataRevision>,
}

impl StoredTemplate {
    /// A template with only the content of its current version.
    pub(super) fn of(current: FormTemplate) -> Self {
        StoredTemplate { current, versions: BTreeMap::new() }
    }

    /// The template at a version: the content of that version; everything else is current.
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

    /// Adds a version; returns whether it is new.
    pub(super) fn add(&mut self, then: FormTemplate) -> bool {
        self.versions.insert(then.version, then).is_none()
    }
}
