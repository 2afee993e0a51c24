//! What the stores of the Open API share.

pub mod transfer;
