//! Pages of lists (contract 2.5).

use serde_json::json;

use crate::reply::{MAX_REACH, Pagination};
use crate::request::rules::{OneOf, Within};
use crate::request::{Parameter, Part, Reader};
use crate::storage::Order;
use crate::validation::{ValidationCode, ValidationIssue};

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

/// `page`, `limit` and `cursor` (contract 2.5), with so many items of a page by default.
pub struct Paging<const LIMIT: u32>;

impl<const LIMIT: u32> Part for Paging<LIMIT> {
    type Value = PageRequest;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "page",
            description: "The page, from 1. `page` times `limit` is at most 1,000,000.",
            schema: || json!({ "type": "integer", "minimum": 1, "maximum": MAX_REACH, "default": 1 }),
        },
        Parameter {
            name: "limit",
            description: "Items of a page.",
            schema: || json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": LIMIT }),
        },
        Parameter {
            name: "cursor",
            description: "`nextCursor` of an earlier answer; replaces `page`. All other parameters are repeated unchanged.",
            schema: || json!({ "type": "string", "minLength": 1 }),
        },
    ];

    fn read(request: &mut Reader<'_>) -> PageRequest {
        let query = &mut request.query;
        let limit = query.read("limit", &Within(1..=100, u64::from(LIMIT)));
        let page = query.read("page", &Within(1..=u64::MAX, 1));
        if page.saturating_mul(limit) > MAX_REACH {
            let text = format!("times limit must be at most {MAX_REACH}; use cursor to go further");
            query.fault("page", ValidationIssue::new(ValidationCode::Maximum, text));
        }
        let start = match query.text("cursor") {
            Some(_) if query.text("page").is_some() => {
                let text = "cannot be given together with page";
                query.fault("cursor", ValidationIssue::new(ValidationCode::Conflict, text));
                PageStart::Page(1)
            }
            Some(cursor) => PageStart::Cursor(cursor.to_owned()),
            None => PageStart::Page(page),
        };
        PageRequest { limit: u32::try_from(limit).unwrap_or(LIMIT), start }
    }
}

/// `sortOrder`: `asc` or `desc`.
pub(super) const SORT_ORDER: OneOf<Order, 2> =
    OneOf([Order::Ascending, Order::Descending], |order| match order {
        Order::Ascending => "asc",
        Order::Descending => "desc",
    });
