//! How far a model has searched in a turn.

/// How often a model may search in one turn.
pub(super) const MAX_SEARCHES: usize = 3;

/// What of the documents a model was given and may ask for.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// Whether there is something to search in.
    pub(super) has_documents: bool,
    /// Whether the passages of the turn are all that there are.
    pub(super) is_whole: bool,
    /// Whether the budget of the turn, or what is found, is exhausted.
    pub(super) is_exhausted: bool,
    /// What the model has searched for.
    pub(super) asked: Vec<String>,
    /// The tokens that the prompt may have, if that is less than the agent allows.
    pub(super) most_tokens: Option<u64>,
}

impl Search {
    /// Whether the model may search once more.
    pub(super) fn is_possible(&self) -> bool {
        self.has_documents && !self.is_whole && !self.is_exhausted && self.asked.len() < MAX_SEARCHES
    }

    /// Whether the turn has gone on from a reply of the model's.
    pub(super) fn has_gone_on(&self) -> bool {
        self.is_exhausted || !self.asked.is_empty()
    }
}
