//! CPU cores: a server on one and its load generator on another, so that neither takes time from the other.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::report::Failure;

/// The core of each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cores {
    /// The process under measurement.
    pub(crate) server: usize,
    /// The load generator.
    pub(crate) client: usize,
}

impl Cores {
    /// Picks two cores that this process may use.
    ///
    /// # Errors
    /// If there are fewer than two.
    pub(crate) fn apart() -> Result<Self, Failure> {
        let allowed = sched_getaffinity(None)?;
        let mut allowed = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        match (allowed.next(), allowed.next()) {
            (Some(server), Some(client)) => Ok(Cores { server, client }),
            _ => Err("this benchmark needs two cores, one for the server and one for its clients".into()),
        }
    }
}

/// Runs a function on one core; processes and threads that it starts stay there.
///
/// # Errors
/// If the system refuses the affinity.
pub(crate) fn on_core<T>(core: usize, work: impl FnOnce() -> T) -> Result<T, Failure> {
    let before = sched_getaffinity(None)?;
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only)?;
    let done = work();
    sched_setaffinity(None, &before)?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_on_its_core_only() {
        let before = sched_getaffinity(None).unwrap();
        let core = (0..CpuSet::MAX_CPU).find(|core| before.is_set(*core)).unwrap();
        let inside =
            on_core(core, || std::thread::spawn(|| sched_getaffinity(None).unwrap()).join().unwrap());
        let inside = inside.unwrap();
        assert!(inside.is_set(core) && inside.count() == 1);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
