//! Pages of lists (contract 2.5).

use crate::reply::Pagination;

/// Which part of a list is asked for (contract 2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Items of a page, 1 to 100.
    pub limit: u32,
    /// Where it begins.
    pub start: PageStart,
}

/// Where a part of a list begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// At a page, from 1.
    Page(u64),
    /// After the page that issued this cursor.
    Cursor(String),
}

impl Default for PageRequest {
    fn default() -> Self {
        PageRequest { limit: 20, start: PageStart::Page(1) }
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where they stand in the whole.
    pub pagination: Pagination,
}
