//! The tools that a model may call.

use llm::{Parameter, Tool};

/// An action that a model can ask for in addition to its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    OfferLeadForm,
    RequestHandoff,
    Search,
}

impl Action {
    pub(super) fn tool(self) -> Tool {
        match self {
            Action::OfferLeadForm => Tool {
                name: "offer_lead_form",
                description: "Shows the visitor a form for their contact details, so that the operator can get back to them.",
                parameter: None,
            },
            Action::RequestHandoff => Tool {
                name: "request_handoff",
                description: "Asks a person of the operator's to take over the conversation.",
                parameter: None,
            },
            Action::Search => Tool {
                name: "search",
                description: "Searches the operator's documents again, with another question or other words. Write the \
                              reply after that, with what was found.",
                parameter: Some(Parameter {
                    name: "question",
                    description: "A whole question in the words that the documents may have, which needs nothing said before",
                }),
            },
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        [Action::OfferLeadForm, Action::RequestHandoff, Action::Search]
            .into_iter()
            .find(|action| action.tool().name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_can_ask_for_no_other_action() {
        let actions =
            ["request_handoff", "delete_contact", "offer_lead_form", "", "search"].map(Action::of_name);
        assert_eq!(
            actions,
            [Some(Action::RequestHandoff), None, Some(Action::OfferLeadForm), None, Some(Action::Search)]
        );
    }
}
