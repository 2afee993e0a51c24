//! Form templates of a sandbox's agents, created by the operator.

use openapi_core::admin::{Admin, AdminError};
use openapi_core::forms::FormTemplate;
use openapi_core::values::{AgentId, TemplateId};
use serde_json::Value;

use crate::Sandbox;
use crate::sandbox::{object, operator, wait};

fn parsed(id: &str) -> TemplateId {
    id.parse().expect("a platform id")
}

impl Sandbox {
    /// Creates a draft form template of an agent.
    ///
    /// # Errors
    /// Returns the operator's error.
    pub fn try_template(&self, agent: &AgentId, definition: &Value) -> Result<FormTemplate, AdminError> {
        wait(self.platform.create_template(&operator(), agent, &object(definition)))
    }

    /// Creates a draft form template and returns its id.
    ///
    /// # Panics
    /// If it is rejected.
    #[must_use]
    #[track_caller]
    pub fn draft_template(&self, definition: &Value) -> String {
        let created = self.try_template(&self.agent, definition);
        created.unwrap_or_else(|error| panic!("{error}")).id.to_string()
    }

    /// Creates an active form template and returns its id.
    ///
    /// # Panics
    /// If it is rejected.
    #[must_use]
    #[track_caller]
    pub fn template(&self, definition: &Value) -> String {
        self.template_of(&self.agent, definition)
    }

    /// Creates an active form template of another agent and returns its id.
    ///
    /// # Panics
    /// If it is rejected.
    #[must_use]
    #[track_caller]
    pub fn template_of(&self, agent: &AgentId, definition: &Value) -> String {
        let created = self.try_template(agent, definition).unwrap_or_else(|error| panic!("{error}"));
        wait(self.platform.activate_template(&operator(), agent, created.id))
            .expect("the template is active");
        created.id.to_string()
    }

    /// Replaces the definition of a form template.
    ///
    /// # Panics
    /// If it is rejected.
    #[track_caller]
    pub fn edit_template(&self, id: &str, definition: &Value) -> FormTemplate {
        wait(self.platform.edit_template(&operator(), &self.agent, parsed(id), &object(definition)))
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Activates a form template.
    ///
    /// # Panics
    /// If it does not exist.
    #[track_caller]
    pub fn activate_template(&self, id: &str) -> FormTemplate {
        wait(self.platform.activate_template(&operator(), &self.agent, parsed(id)))
            .expect("the template is active")
    }

    /// Deactivates a form template.
    ///
    /// # Panics
    /// If it does not exist.
    #[track_caller]
    pub fn archive_template(&self, id: &str) -> FormTemplate {
        wait(self.platform.archive_template(&operator(), &self.agent, parsed(id)))
            .expect("the template is archived")
    }
}
