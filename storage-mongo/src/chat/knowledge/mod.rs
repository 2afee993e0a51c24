//! Knowledge: documents, and their passages in blocks.

pub(crate) mod blocks;
mod documents;

#[cfg(test)]
pub(crate) use documents::find;
pub(crate) use documents::stored;
