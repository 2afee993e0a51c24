//! What this process and the ones that it has started hold in memory, where the system tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Resident memory of this process in bytes.
pub fn resident() -> Option<u64> {
    held("self", "VmRSS:")
}

fn held(process: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Looks at the children of this process every millisecond.
pub struct Watch {
    most: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    pub fn begin() -> Self {
        let (most, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (highest, end) = (Arc::clone(&most), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                for child in children() {
                    highest.fetch_max(held(&child, "VmHWM:").unwrap_or(0), Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self { most, ended, thread }
    }

    /// The most bytes that one of them has held at a time; `None` if the system does not tell.
    pub fn end(self) -> Option<u64> {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().expect("looking does not panic");
        Some(self.most.load(Ordering::Relaxed)).filter(|most| *most > 0 || cfg!(target_os = "linux"))
    }
}

fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}
