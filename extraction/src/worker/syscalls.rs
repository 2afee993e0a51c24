//! The system calls of the worker and of the OCR engine (seccomp). All others fail as if they were not permitted.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// Computing, memory, and what is done with the three standard streams.
const COMPUTING: &[i64] = &[
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
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
];

/// Beginning, and reading files. Landlock says which files, and which program may begin.
const LOADING: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_openat,
    libc::SYS_pread64,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fstatfs,
    libc::SYS_statfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_fadvise64,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrusage,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getdents,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getrlimit,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];

/// Requests that ask whether a stream is a terminal: TCGETS, TIOCGWINSZ.
const IS_TERMINAL: [u64; 2] = [0x5401, 0x5413];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// What the worker may call. It takes memory, but none that can be run.
pub(super) fn of_worker() -> Option<BpfProgram> {
    let mut rules = of_own_process(COMPUTING)?;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let execute = libc::PROT_EXEC as u64;
        let never =
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(execute), 0).ok()?;
        rules.insert(call, vec![SeccompRule::new(vec![never]).ok()?]);
    }
    compiled(rules)
}

/// What the OCR engine may call: it begins, loads its libraries and reads its models, and then it computes.
pub(super) fn of_ocr() -> Option<BpfProgram> {
    let mut rules = of_own_process(COMPUTING)?;
    rules.extend(LOADING.iter().map(|call| (*call, Vec::new())));
    rules.insert(libc::SYS_ioctl, one_of(1, &IS_TERMINAL)?);
    // Not F_SETOWN, which sends a signal to another process.
    let flags = [libc::F_GETFD, libc::F_SETFD, libc::F_GETFL].map(|command| command as u64);
    rules.insert(libc::SYS_fcntl, one_of(1, &flags)?);
    // Limits are read, not set.
    let read = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0).ok()?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![read]).ok()?]);
    compiled(rules)
}

/// These calls, and signals to the process itself, which an abort needs.
fn of_own_process(calls: &[i64]) -> Option<Rules> {
    let mut rules: Rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_tgkill, one_of(0, &[u64::from(std::process::id())])?);
    Some(rules)
}

/// An argument that is one of these.
fn one_of(argument: u8, values: &[u64]) -> Option<Vec<SeccompRule>> {
    let rule = |value: &u64| {
        let equal = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *value);
        SeccompRule::new(vec![equal.ok()?]).ok()
    };
    values.iter().map(rule).collect()
}

fn compiled(rules: Rules) -> Option<BpfProgram> {
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let target = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, target).ok()?.try_into().ok()
}

/// Whether a filter is in force from now on.
pub(super) fn enforce(program: Option<BpfProgram>) -> bool {
    program.is_some_and(|program| seccompiler::apply_filter_all_threads(&program).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls that reach beyond a process, and none of which a sandbox has.
    const REACHING: [i64; 38] = [
        libc::SYS_openat2,
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_execveat,
        libc::SYS_clone,
        libc::SYS_clone3,
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_pidfd_getfd,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_setpriority,
        libc::SYS_sched_setaffinity,
        libc::SYS_setrlimit,
        libc::SYS_prctl,
        libc::SYS_unlinkat,
        libc::SYS_renameat2,
        libc::SYS_linkat,
        libc::SYS_fchmodat,
        libc::SYS_fchownat,
        libc::SYS_truncate,
        libc::SYS_mknodat,
        libc::SYS_mount,
        libc::SYS_memfd_create,
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_keyctl,
        libc::SYS_shmget,
        libc::SYS_unshare,
    ];

    /// What a filter answers to a call: this follows the program as the kernel does.
    fn allows(program: &BpfProgram, call: i64, arguments: [u64; 6]) -> bool {
        let arch: u32 = if cfg!(target_arch = "x86_64") { 0xC000_003E } else { 0xC000_00B7 };
        let mut data = [(call as u32).to_le_bytes(), arch.to_le_bytes(), [0; 4], [0; 4]].concat();
        arguments.iter().for_each(|argument| data.extend(argument.to_le_bytes()));
        let (mut at, mut value) = (0, 0_u32);
        loop {
            let step = &program[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match step.code {
                0x20 => {
                    let from = step.k as usize;
                    value = u32::from_le_bytes(data[from..from + 4].try_into().expect("four bytes"));
                }
                0x54 => value &= step.k,
                0x05 => at += step.k as usize,
                0x15 => at += jump(value == step.k),
                0x25 => at += jump(value > step.k),
                0x35 => at += jump(value >= step.k),
                0x06 => return step.k == 0x7fff_0000,
                code => panic!("the filter has an instruction {code:#x}"),
            }
        }
    }

    #[test]
    fn no_call_reaches_beyond_the_process() {
        let (worker, ocr) = (of_worker().expect("a filter"), of_ocr().expect("a filter"));
        for call in REACHING {
            assert!(!allows(&worker, call, [0; 6]) && !allows(&ocr, call, [0; 6]), "{call}");
        }
        for call in LOADING.iter().filter(|call| ![libc::SYS_mmap, libc::SYS_mprotect].contains(call)) {
            assert!(!allows(&worker, *call, [0; 6]) && allows(&ocr, *call, [0; 6]), "{call}");
        }
        for call in COMPUTING {
            assert!(allows(&worker, *call, [u64::MAX; 6]) && allows(&ocr, *call, [u64::MAX; 6]), "{call}");
        }
        // No number that does not exist yet.
        assert!((450..2_000).all(|call| !allows(&worker, call, [0; 6]) && !allows(&ocr, call, [0; 6])));
    }

    #[test]
    fn arguments_decide_about_signals_memory_and_limits() {
        let own = u64::from(std::process::id());
        let (worker, ocr) = (of_worker().expect("a filter"), of_ocr().expect("a filter"));
        for filter in [&worker, &ocr] {
            assert!(allows(filter, libc::SYS_tgkill, [own, 7, 6, 0, 0, 0]), "an abort of its own");
            for other in [0, 1, own - 1, own + 1, u64::from(u32::MAX)] {
                assert!(!allows(filter, libc::SYS_tgkill, [other, other, 9, 0, 0, 0]), "a signal to {other}");
            }
        }
        let memory = |filter, protection| allows(filter, libc::SYS_mmap, [0, 4096, protection, 0, 0, 0]);
        assert!(memory(&worker, 3) && !memory(&worker, 4) && !memory(&worker, 7) && memory(&ocr, 5));
        let fcntl = |filter, command: i32| allows(filter, libc::SYS_fcntl, [0, command as u64, 1, 0, 0, 0]);
        assert!(fcntl(&ocr, libc::F_GETFD) && !fcntl(&worker, libc::F_GETFD));
        assert!(!fcntl(&ocr, libc::F_SETOWN) && !fcntl(&ocr, libc::F_SETFL) && !fcntl(&ocr, libc::F_DUPFD));
        let limits = |set| allows(&ocr, libc::SYS_prlimit64, [0, 7, set, 0, 0, 0]);
        assert!(limits(0) && !limits(1) && !limits(1 << 40));
        let ask = |request| allows(&ocr, libc::SYS_ioctl, [0, request, 0, 0, 0, 0]);
        assert!(ask(0x5401) && !ask(0x5412), "a terminal is not written to");
    }
}
