//! Queries of lists.

use crate::contacts::{Contact, ContactKeys, SearchTerm};
use crate::values::{AgentId, AuditId, ContactId, ContactStatus, Timestamp};

/// A list of contacts.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactQuery {
    /// Which contacts; the conditions combine with AND.
    pub filter: ContactFilter,
    /// What they are sorted by. Ties are sorted by id in the same direction.
    pub sort: ContactSort,
    /// The direction. `null` is last in both.
    pub order: Order,
    /// Which part of them.
    pub window: Window,
}

/// Which contacts a list shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactFilter {
    /// Every term must match ([`SearchTerm::matches`]).
    pub search: Vec<SearchTerm>,
    /// Only this status.
    pub status: Option<ContactStatus>,
    /// Only contacts with this tag, folded as [`crate::values::Tag::fold`] does.
    pub tag: Option<String>,
    /// Whether archived contacts are shown as well.
    pub include_archived: bool,
    /// Only this address, in normal form.
    pub primary_email: Option<String>,
    /// Only contacts created at or after.
    pub created_since: Option<Timestamp>,
    /// Only contacts updated at or after.
    pub updated_since: Option<Timestamp>,
}

impl ContactFilter {
    /// Whether the filter lets a contact through: the definition that backends follow.
    #[must_use]
    pub fn admits(&self, contact: &Contact, keys: &ContactKeys) -> bool {
        (self.include_archived || !contact.is_archived())
            && self.status.is_none_or(|status| contact.status == status)
            && self.tag.as_ref().is_none_or(|tag| keys.tags.contains(tag))
            && self.primary_email.as_ref().is_none_or(|email| keys.email == *email)
            && self.created_since.is_none_or(|since| contact.created_at >= since)
            && self.updated_since.is_none_or(|since| contact.updated_at >= since)
            && self.search.iter().all(|term| term.matches(keys))
    }
}

/// What contacts are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ContactSort {
    /// `createdAt`
    #[default]
    CreatedAt,
    /// `updatedAt`
    UpdatedAt,
    /// `firstName`
    FirstName,
    /// `lastName`
    LastName,
    /// `primaryEmail`
    PrimaryEmail,
}

impl ContactSort {
    /// Every sort.
    pub const ALL: [ContactSort; 5] = [
        ContactSort::CreatedAt,
        ContactSort::UpdatedAt,
        ContactSort::FirstName,
        ContactSort::LastName,
        ContactSort::PrimaryEmail,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ContactSort::CreatedAt => "createdAt",
            ContactSort::UpdatedAt => "updatedAt",
            ContactSort::FirstName => "firstName",
            ContactSort::LastName => "lastName",
            ContactSort::PrimaryEmail => "primaryEmail",
        }
    }

    /// The key of a contact under this sort.
    #[must_use]
    pub fn key(self, contact: &Contact, keys: &ContactKeys) -> SortKey {
        match self {
            ContactSort::CreatedAt => SortKey::Time(contact.created_at),
            ContactSort::UpdatedAt => SortKey::Time(contact.updated_at),
            ContactSort::FirstName => SortKey::Text(keys.first_name.clone()),
            ContactSort::LastName => SortKey::Text(keys.last_name.clone()),
            ContactSort::PrimaryEmail => SortKey::Text(Some(keys.primary_email.clone())),
        }
    }
}

/// The direction of a sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Ascending.
    Ascending,
    /// Descending.
    #[default]
    Descending,
}

/// Which part of a list; `P` is a position in it.
#[derive(Clone, Debug, PartialEq)]
pub enum Window<P = SortPosition> {
    /// `limit` items after the first `offset`.
    Page {
        /// How many to pass over.
        offset: u64,
        /// How many to return at the most.
        limit: u32,
    },
    /// `limit` items after a position, whether or not one still stands there.
    After {
        /// The position.
        position: P,
        /// How many to return at the most.
        limit: u32,
    },
}

/// A position in a sorted list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortPosition {
    /// The key of the contact at that position.
    pub key: SortKey,
    /// Its id.
    pub id: ContactId,
}

/// A sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// Of the sorts by time.
    Time(Timestamp),
    /// Of the sorts by text; `None` is last in both directions.
    Text(Option<String>),
}

impl SortPosition {
    /// The order of two positions of one list.
    #[must_use]
    pub fn compare(&self, other: &SortPosition, order: Order) -> std::cmp::Ordering {
        use std::cmp::Ordering;
        let directed = |ordering: Ordering| match order {
            Order::Ascending => ordering,
            Order::Descending => ordering.reverse(),
        };
        let keys = match (&self.key, &other.key) {
            (SortKey::Time(a), SortKey::Time(b)) => directed(a.cmp(b)),
            (SortKey::Text(Some(a)), SortKey::Text(Some(b))) => directed(a.cmp(b)),
            (SortKey::Text(None), SortKey::Text(Some(_))) => Ordering::Greater,
            (SortKey::Text(Some(_)), SortKey::Text(None)) => Ordering::Less,
            _ => Ordering::Equal,
        };
        keys.then_with(|| directed(self.id.cmp(&other.id)))
    }
}

/// A page of contacts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactPage {
    /// The contacts of the window, in order.
    pub contacts: Vec<Contact>,
    /// How many contacts the filter lets through, exactly.
    pub total: u64,
}

/// A part of the audit log; by default the oldest 100 entries of all agents.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditQuery {
    /// Only entries of this agent; none means all, those without an agent included.
    pub agent: Option<AgentId>,
    /// Only entries after this one, in the chosen direction.
    pub after: Option<(Timestamp, AuditId)>,
    /// Newest first; else oldest first.
    pub newest_first: bool,
    /// How many to return at the most.
    pub limit: u32,
}

/// The position of an entry in its chain: its number, time and id.
pub type ChainPosition = (u64, Timestamp, AuditId);

/// A part of a chain of the audit log.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainQuery {
    /// The agent; none for the chain of the entries without one.
    pub chain: Option<AgentId>,
    /// Only entries after this one.
    pub after: Option<ChainPosition>,
    /// How many to return at the most.
    pub limit: u32,
}

impl Default for AuditQuery {
    fn default() -> Self {
        AuditQuery { agent: None, after: None, newest_first: false, limit: 100 }
    }
}
