//! Transfers to a store in a file.

mod support;
// What every store must pass that data can be moved to; it knows none.
#[path = "../../storage-postgres/tests/support/chain.rs"]
mod chain;

use support::{Folder, wait};

#[test]
fn the_chain_without_an_agent_moves() {
    let folder = Folder::new();
    chain::the_chain_without_an_agent_moves(&folder.open(), &|work| wait(work));
}
