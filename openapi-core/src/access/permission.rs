//! Scopes, actions and sets of permissions (contract 7.2).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::validation::{ValidationCode, ValidationIssue};
use crate::values::Invalid;

/// What a permission is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Contacts and their files.
    Contacts,
    /// Form templates and submissions.
    Forms,
    /// Document extraction.
    DocumentExtraction,
    /// Events.
    Events,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 4] = [Scope::Contacts, Scope::Forms, Scope::DocumentExtraction, Scope::Events];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Contacts => "contacts",
            Scope::Forms => "forms",
            Scope::DocumentExtraction => "document-extraction",
            Scope::Events => "events",
        }
    }

    /// The actions that exist in this scope.
    #[must_use]
    pub const fn actions(self) -> &'static [Action] {
        match self {
            Scope::Contacts => &[Action::Create, Action::Read, Action::Update, Action::Delete],
            Scope::Forms => &[Action::Create, Action::Read, Action::Update],
            Scope::DocumentExtraction => &[Action::Create, Action::Read],
            Scope::Events => &[Action::Create, Action::Read, Action::Update, Action::Delete],
        }
    }
}

/// What a permission allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Create something.
    Create,
    /// Read.
    Read,
    /// Change something, archiving included.
    Update,
    /// Delete something.
    Delete,
}

impl Action {
    /// Every action.
    pub const ALL: [Action; 4] = [Action::Create, Action::Read, Action::Update, Action::Delete];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Create => "create",
            Action::Read => "read",
            Action::Update => "update",
            Action::Delete => "delete",
        }
    }
}

/// A scope with an action: `contacts:update`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Permission {
    /// The scope.
    pub scope: Scope,
    /// The action.
    pub action: Action,
}

impl Permission {
    /// A permission.
    #[must_use]
    pub const fn new(scope: Scope, action: Action) -> Self {
        Permission { scope, action }
    }

    const fn bit(self) -> u32 {
        1 << (self.scope as u32 * 4 + self.action as u32)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scope.as_str(), self.action.as_str())
    }
}

/// A set of permissions.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Permissions(u32);

impl Permissions {
    /// No permission.
    pub const NONE: Permissions = Permissions(0);

    /// Every permission that exists.
    #[must_use]
    pub fn all() -> Self {
        Scope::ALL
            .into_iter()
            .flat_map(|scope| scope.actions().iter().map(move |action| Permission::new(scope, *action)))
            .collect()
    }

    /// Whether the set holds `permission`.
    #[must_use]
    pub const fn allows(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The permissions in the order of scopes and actions.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permissions::all().entries().filter(move |permission| self.allows(*permission))
    }

    fn entries(self) -> impl Iterator<Item = Permission> {
        Scope::ALL
            .into_iter()
            .flat_map(|scope| scope.actions().iter().map(move |action| Permission::new(scope, *action)))
            .filter(move |permission| self.allows(*permission))
    }

    /// The union.
    #[must_use]
    pub const fn with(self, others: Permissions) -> Self {
        Permissions(self.0 | others.0)
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Permissions(permissions.into_iter().fold(0, |bits, permission| bits | permission.bit()))
    }
}

impl FromStr for Permissions {
    type Err = Invalid;

    /// Reads `scope:action`, `scope:action,action`, `scope:all` or `all`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text == "all" {
            return Ok(Permissions::all());
        }
        let invalid = |words: String| Invalid(ValidationIssue::new(ValidationCode::Enum, words));
        let (scope, actions) = text.split_once(':').ok_or_else(|| {
            invalid(format!("'{text}' is not a permission; write scope:action, scope:all or all"))
        })?;
        let scope = Scope::ALL.into_iter().find(|known| known.as_str() == scope).ok_or_else(|| {
            invalid(format!(
                "'{scope}' is not a scope; the scopes are contacts, forms, document-extraction and events"
            ))
        })?;
        let mut permissions = Permissions::NONE;
        for word in actions.split(',') {
            let granted: Permissions = match word {
                "all" => scope.actions().iter().map(|action| Permission::new(scope, *action)).collect(),
                word => {
                    let action =
                        scope.actions().iter().find(|action| action.as_str() == word).ok_or_else(|| {
                            let known: Vec<_> =
                                scope.actions().iter().map(|action| action.as_str()).collect();
                            invalid(format!(
                                "'{word}' is not an action of {}; its actions are {}",
                                scope.as_str(),
                                known.join(", ")
                            ))
                        })?;
                    [Permission::new(scope, *action)].into_iter().collect()
                }
            };
            permissions = permissions.with(granted);
        }
        Ok(permissions)
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|permission| permission.to_string())).finish()
    }
}

impl Serialize for Permissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|permission| permission.to_string()))
    }
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<String>::deserialize(deserializer)?
            .iter()
            .try_fold(Permissions::NONE, |all, text| Ok(all.with(text.parse()?)))
            .map_err(|error: Invalid| serde::de::Error::custom(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_sets() {
        let all = Permissions::all();
        assert_eq!(all.iter().count(), 13);
        assert_eq!("all".parse::<Permissions>().unwrap(), all);
        let some: Permissions = "contacts:read,create".parse().unwrap();
        assert_eq!(serde_json::to_string(&some).unwrap(), r#"["contacts:create","contacts:read"]"#);
        assert_eq!(
            serde_json::from_str::<Permissions>(r#"["contacts:create","contacts:read"]"#).unwrap(),
            some
        );
        assert!(
            "forms:delete".parse::<Permissions>().is_err() && "people:read".parse::<Permissions>().is_err()
        );
        assert_eq!("forms:all".parse::<Permissions>().unwrap().iter().count(), 3);
    }
}
