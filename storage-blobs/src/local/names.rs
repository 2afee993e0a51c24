//! Names of tenants' folders that differ on every file system.

use openapi_core::values::AgentId;

/// Names of devices on Windows, in lower case.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The name of a tenant's folder: its id in lower case. For an id with capital letters, which some file systems do not
/// distinguish, `+` and their positions follow as the bits of a hexadecimal number; the name of a device gets `+0`. No id
/// contains a `+`.
pub(super) fn folder_of(agent: &AgentId) -> String {
    let mut name = agent.as_str().to_ascii_lowercase();
    let capitals = agent
        .as_str()
        .bytes()
        .enumerate()
        .filter(|(_, byte)| byte.is_ascii_uppercase())
        .fold(0u64, |bits, (at, _)| bits | 1 << at);
    if capitals != 0 || is_device(&name) {
        name.push_str(&format!("+{capitals:x}"));
    }
    name
}

/// The tenant whose folder has this name.
pub(super) fn agent_of(folder: &str) -> Option<AgentId> {
    let (small, capitals) = match folder.split_once('+') {
        None => (folder, 0),
        Some((small, digits)) => (small, u64::from_str_radix(digits, 16).ok()?),
    };
    let id: String = small
        .chars()
        .take(65)
        .enumerate()
        .map(|(at, c)| if at < 64 && capitals >> at & 1 == 1 { c.to_ascii_uppercase() } else { c })
        .collect();
    let agent: AgentId = id.parse().ok()?;
    // Any other spelling is not a folder of the store.
    (folder_of(&agent) == folder).then_some(agent)
}

fn is_device(name: &str) -> bool {
    let numbered = name.strip_prefix("com").or_else(|| name.strip_prefix("lpt"));
    DEVICES.contains(&name) || numbered.is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9']))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_that_file_systems_confuse_have_different_folders() {
        let ids = ["acme", "Acme", "aCME", "ACME", "con", "CON", "com1", "com10", "nul", "a-b_c", "-", "_"];
        let long = ["Z".repeat(64), "z".repeat(64)];
        let ids = ids.into_iter().chain(long.iter().map(String::as_str));
        let mut seen = HashSet::new();
        for id in ids {
            let agent: AgentId = id.parse().unwrap();
            let folder = folder_of(&agent);
            assert_eq!(folder, folder.to_lowercase());
            assert!(!is_device(&folder) && !folder.contains(['.', '/', '\\']), "{folder}");
            assert!(seen.insert(folder.clone()), "{folder} twice");
            assert_eq!(agent_of(&folder), Some(agent));
        }
        assert_eq!(folder_of(&"acme".parse().unwrap()), "acme");
        assert_eq!(folder_of(&"Acme".parse().unwrap()), "acme+1");
    }

    #[test]
    fn other_names_are_nobodys() {
        for name in [
            "",
            ".",
            "..",
            ".unfinished",
            "Acme",
            "acme+",
            "acme+0",
            "acme+10",
            "acme+01",
            "acme+1+1",
            "con",
            "a b",
            "lost+found",
            "acme.txt",
            "é",
        ] {
            assert_eq!(agent_of(name), None, "{name}");
        }
        assert_eq!(agent_of(&"a".repeat(65)), None);
    }
}
