//! The tools that a model may call.

use llm::{Parameter, Tool};

/// An action that a model can ask for in addition to its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    OfferLeadForm,
    RequestHandoff,
    Search,
    Collect,
}

/// The parameters of the tools.
pub(super) const QUESTION: &str = "question";
pub(super) const FIELD: &str = "field";
pub(super) const VALUE: &str = "value";

impl Action {
    pub(super) fn tool(self) -> Tool {
        match self {
            Action::OfferLeadForm => Tool {
                name: "offer_lead_form",
                description: "Shows the visitor a form for their contact details, so that the operator can get back to them.",
                parameters: &[],
            },
            Action::RequestHandoff => Tool {
                name: "request_handoff",
                description: "Asks a person of the operator's to take over the conversation.",
                parameters: &[],
            },
            Action::Search => Tool {
                name: "search",
                description: "Searches the operator's documents again, with another question or other words. Write the \
                              reply after that, with what was found.",
                parameters: &[Parameter {
                    name: QUESTION,
                    description: "A whole question in the words that the documents may have, which needs nothing said before",
                }],
            },
            Action::Collect => Tool {
                name: "collect",
                description: "Fills a field of the form for contact details with what the visitor has said, and shows the \
                              form. The visitor checks and sends it; before that nothing is stored.",
                parameters: &[
                    Parameter { name: FIELD, description: "The name of the field" },
                    Parameter { name: VALUE, description: "The value, as the visitor wrote it" },
                ],
            },
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        [Action::OfferLeadForm, Action::RequestHandoff, Action::Search, Action::Collect]
            .into_iter()
            .find(|action| action.tool().name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_can_ask_for_no_other_action() {
        let actions = ["request_handoff", "delete_contact", "offer_lead_form", "", "search", "collect"]
            .map(Action::of_name);
        let [handoff, form] = [Action::RequestHandoff, Action::OfferLeadForm].map(Some);
        assert_eq!(actions, [handoff, None, form, None, Some(Action::Search), Some(Action::Collect)]);
    }
}
