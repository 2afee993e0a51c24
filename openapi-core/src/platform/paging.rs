//! Pages of a list: where a page begins, and the cursor of the next one (contract 2.5).

use crate::reply::{ApiError, Pagination};
use crate::service::{Page, PageRequest, PageStart};
use crate::storage::Window;
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};

/// A part of a list that is asked for, with the cursor read.
pub struct Part<P> {
    page: u64,
    limit: u32,
    /// The position after which it begins, in cursor mode.
    after: Option<P>,
}

impl<P: Clone> Part<P> {
    /// What `request` asks for. `read` returns the position of a cursor and the number of its page.
    pub fn of(request: &PageRequest, read: impl FnOnce(&str) -> Option<(P, u64)>) -> Result<Self, ApiError> {
        let limit = request.limit;
        match &request.start {
            PageStart::Page(page) => Ok(Part { page: *page, limit, after: None }),
            PageStart::Cursor(text) => match read(text) {
                Some((position, page)) => Ok(Part { page, limit, after: Some(position) }),
                None => Err(bad_cursor(text)),
            },
        }
    }

    /// What is asked of the store.
    pub fn window(&self) -> Window<P> {
        match &self.after {
            // One more tells whether a page follows.
            Some(position) => Window::After { position: position.clone(), limit: self.limit + 1 },
            None => Window::Page { offset: (self.page - 1) * u64::from(self.limit), limit: self.limit },
        }
    }

    /// The page of what the store found; `issue` makes the cursor after an item, which leads to the page of that
    /// number.
    pub fn page<T>(self, mut items: Vec<T>, total: u64, issue: impl FnOnce(&T, u64) -> String) -> Page<T> {
        let total_pages = total.div_ceil(u64::from(self.limit));
        let has_next_page = match self.after {
            Some(_) => items.len() > self.limit as usize,
            None => self.page < total_pages,
        };
        items.truncate(self.limit as usize);
        let last = items.last().filter(|_| has_next_page);
        let pagination = Pagination {
            current_page: self.page,
            total_pages,
            total_items: total,
            items_per_page: self.limit,
            has_next_page,
            has_previous_page: self.page > 1 && total_pages > 0,
            next_cursor: last.map(|last| issue(last, self.page + 1)),
        };
        Page { items, pagination }
    }
}

fn bad_cursor(text: &str) -> ApiError {
    let fault = ValidationIssue::new(ValidationCode::Format, "was not issued for these parameters");
    Violations::from(ValidationError::new(Location::Query, "cursor", Some(&text.into()), fault)).into()
}
