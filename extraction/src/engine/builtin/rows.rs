//! The rows of an array of objects, and which property is what in them.

use rust_decimal::Decimal;

use super::candidate::Candidate;
use super::field_query::FieldQuery;
use super::view::Span;

/// The most rows that are read.
pub(crate) const MAX_ROWS: usize = 2_000;
/// The most lines that are looked at for a header.
pub(crate) const MAX_LINES: usize = 30_000;

/// A value of a row: of which property.
pub(crate) type Row = Vec<(usize, Candidate)>;

/// The number that a row has for a property.
pub(crate) fn number(row: &Row, index: usize) -> Option<Decimal> {
    let candidate = row.iter().find(|(known, _)| *known == index).map(|(_, candidate)| candidate);
    candidate.and_then(|candidate| candidate.value.to_text().parse().ok())
}

/// The rows of an array and the words they cover.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<Row>,
    pub(crate) covered: Vec<Span>,
    /// Whether there are more rows than are read.
    pub(crate) is_truncated: bool,
}

/// Which property is what on a line of a bill.
pub(crate) struct Roles {
    pub(crate) name: Option<usize>,
    pub(crate) quantity: Option<usize>,
    pub(crate) unit: Option<usize>,
    pub(crate) total: Option<usize>,
}

impl Roles {
    pub(crate) fn of(properties: &[FieldQuery<'_>]) -> Self {
        let numeric = |property: &FieldQuery<'_>| property.kind.is_numeric();
        let quantity =
            properties.iter().position(|property| numeric(property) && property.name.has("quantity"));
        let unit = properties.iter().position(|property| numeric(property) && property.name.has("unit"));
        let total = properties.iter().enumerate().position(|(index, property)| {
            numeric(property)
                && Some(index) != quantity
                && Some(index) != unit
                && property.all.has_any(&["price", "amount", "total", "line", "value"])
        });
        let name = properties.iter().position(|property| {
            property.is_text() && property.all.has_any(&["name", "description", "item", "product"])
        });
        Roles { name, quantity, unit, total }
    }
}

/// Whether rows of these properties can be found without a header.
pub(crate) fn are_line_items(properties: &[FieldQuery<'_>]) -> bool {
    let roles = Roles::of(properties);
    roles.name.is_some() && (roles.total.is_some() || roles.unit.is_some())
}
