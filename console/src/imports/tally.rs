//! What lines do, counted. The four numbers add up to the lines.

use openapi_core::admin::Imported;

/// What a line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Created,
    Updated,
    Unchanged,
    Refused,
}

impl Effect {
    pub(crate) fn of(imported: &Imported) -> Self {
        match imported {
            Imported::Created(_) => Effect::Created,
            Imported::Updated(_) => Effect::Updated,
            Imported::Unchanged(_) => Effect::Unchanged,
        }
    }

    /// The letter that stands for it in the list of all lines.
    const fn letter(self) -> char {
        match self {
            Effect::Created => 'c',
            Effect::Updated => 'u',
            Effect::Unchanged => '=',
            Effect::Refused => 'r',
        }
    }
}

/// The effects of lines, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    counts: [u64; 4],
    letters: String,
}

impl Tally {
    pub(crate) fn add(&mut self, effect: Effect) {
        self.counts[effect as usize] += 1;
        self.letters.push(effect.letter());
    }

    pub(crate) fn count(&self, effect: Effect) -> u64 {
        self.counts[effect as usize]
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// A letter for each line.
    pub(crate) fn letters(&self) -> &str {
        &self.letters
    }
}
