//! Row numbers of contacts: the agent's number and a running number.

const RUNNING_BITS: u32 = 32;

/// The agent's number in a row number.
pub(crate) const fn agent(n: i64) -> i64 {
    n >> RUNNING_BITS
}

/// The running number in a row number.
pub(crate) const fn running(n: i64) -> u32 {
    n as u32
}

/// The first and the last row number of an agent.
pub(crate) const fn range(agent: i64) -> (i64, i64) {
    (agent << RUNNING_BITS, (agent << RUNNING_BITS) | u32::MAX as i64)
}
