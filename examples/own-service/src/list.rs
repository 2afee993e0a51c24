//! Lists: filters, search and sorts as the library defines them, pages without cursors.

use openapi_core::contacts::{Contact, ContactKeys, SearchTerm};
use openapi_core::reply::Pagination;
use openapi_core::schema::ContactSchema;
use openapi_core::service::{ContactListQuery, Page, PageStart};
use openapi_core::storage::{ContactFilter, SortPosition};
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};

/// The requested page, from 1. This service issues no cursors, so none can come back.
pub fn page_number(query: &ContactListQuery) -> Result<u64, Violations> {
    match &query.page.start {
        PageStart::Page(page) => Ok(*page),
        PageStart::Cursor(cursor) => {
            let fault = ValidationIssue::new(
                ValidationCode::Format,
                "was not issued by this service, which has no cursors",
            );
            let mut violations = Violations::new();
            violations.push(ValidationError::new(
                Location::Query,
                "cursor",
                Some(&cursor.as_str().into()),
                fault,
            ));
            Err(violations)
        }
    }
}

fn filter(query: &ContactListQuery) -> ContactFilter {
    ContactFilter {
        search: query.search.as_deref().map(SearchTerm::split).unwrap_or_default(),
        status: query.status,
        tag: query.tag.clone(),
        include_archived: query.include_archived,
        primary_email: query.primary_email.as_ref().map(|email| email.normalized()),
        created_since: query.created_since,
        updated_since: query.updated_since,
    }
}

/// A page of the elements of `all` that match the query, with their exact number.
pub fn page(all: Vec<Contact>, page: u64, query: &ContactListQuery, schema: &ContactSchema) -> Page<Contact> {
    let filter = filter(query);
    let mut found: Vec<(SortPosition, Contact)> = all
        .into_iter()
        .map(|contact| (ContactKeys::of(&contact, schema), contact))
        .filter(|(keys, contact)| filter.admits(contact, keys))
        .map(|(keys, contact)| {
            (SortPosition { key: query.sort.key(&contact, &keys), id: contact.id }, contact)
        })
        .collect();
    found.sort_by(|(a, _), (b, _)| a.compare(b, query.order));
    let limit = u64::from(query.page.limit);
    let total_items = found.len() as u64;
    let total_pages = total_items.div_ceil(limit);
    let first = usize::try_from((page - 1).saturating_mul(limit)).unwrap_or(usize::MAX);
    let shown = found.into_iter().skip(first).take(query.page.limit as usize);
    Page {
        items: shown.map(|(_, contact)| contact).collect(),
        pagination: Pagination {
            current_page: page,
            total_pages,
            total_items,
            items_per_page: query.page.limit,
            has_next_page: page < total_pages,
            has_previous_page: page > 1 && total_pages > 0,
            next_cursor: None,
        },
    }
}
