//! The sandbox of the worker: resource limits, landlock, seccomp, and exit with the parent.

use std::collections::BTreeMap;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus, Scope,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::frame::{ResourceLimits, Sandbox};

/// The stack limit in bytes; only a hostile document needs more.
const STACK: u64 = 16 << 20;
/// Descriptors: the three standard ones, and what a random number may need.
const DESCRIPTORS: u64 = 16;
/// Bytes of the stack of the thread that waits for the parent's end.
const SMALL_STACK: usize = 64 << 10;

pub(super) fn sandbox(limits: ResourceLimits) -> Sandbox {
    let limits = limit(limits);
    let landlock = shut_files().unwrap_or(false);
    end_with_parent();
    let seccomp = shut_calls().is_some();
    Sandbox { limits, landlock, seccomp }
}

fn limit(limits: ResourceLimits) -> bool {
    let most = limits.cpu + limits.cpu_page * limits.pages;
    let limits = [
        (Resource::As, limits.memory, limits.memory),
        // The parent allows more for each page that it has recognised.
        (Resource::Cpu, limits.cpu, most),
        (Resource::Stack, STACK, STACK),
        (Resource::Nofile, DESCRIPTORS, DESCRIPTORS),
        (Resource::Fsize, 0, 0),
        (Resource::Core, 0, 0),
    ];
    limits.into_iter().all(|(resource, current, maximum)| {
        // Never more than there is already.
        let given = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let (current, maximum) = (current.min(given), maximum.min(given));
        setrlimit(resource, Rlimit { current: Some(current), maximum: Some(maximum) }).is_ok()
    })
}

/// No file, no network, no signal to others, as far as the kernel knows how. Whether anything is in force.
fn shut_files() -> Option<bool> {
    let abi = ABI::V6;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self)
        .ok()?;
    Some(status.ruleset != RulesetStatus::NotEnforced)
}

/// Ends the process when the parent's end of its input is closed, which the parent's death does as well.
fn end_with_parent() {
    let (begun, beginning) = std::sync::mpsc::channel();
    let wait = move || {
        let _ = begun.send(());
        let input = std::io::stdin();
        let mut polled = [PollFd::new(&input, PollFlags::empty())];
        loop {
            let closed = match poll(&mut polled, None) {
                Ok(_) => polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
                Err(error) => error != rustix::io::Errno::INTR,
            };
            if closed {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the process is the worker, started for this alone"
                )]
                std::process::exit(1);
            }
        }
    };
    // Without the thread the limits end the process, later. What it needs to begin is shut afterwards.
    if std::thread::Builder::new().stack_size(SMALL_STACK).spawn(wait).is_ok() {
        let _ = beginning.recv();
    }
}

/// Only what computing, memory and the three standard streams need. All else fails as if it were not permitted.
fn shut_calls() -> Option<()> {
    let anything = [
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_fstat,
        libc::SYS_lseek,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_ppoll,
        libc::SYS_restart_syscall,
        libc::SYS_clock_gettime,
        libc::SYS_getrandom,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_tgkill,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_exit,
        libc::SYS_exit_group,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
    ];
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        anything.into_iter().map(|call| (call, Vec::new())).collect();
    // Memory, but none that can be run.
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let execute = libc::PROT_EXEC as u64;
        let never =
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(execute), 0).ok()?;
        rules.insert(call, vec![SeccompRule::new(vec![never]).ok()?]);
    }
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let target = std::env::consts::ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, target).ok()?;
    let program: BpfProgram = filter.try_into().ok()?;
    seccompiler::apply_filter_all_threads(&program).ok()
}
