//! A function of the program's own: the name on a parcel.

use openapi_core::contacts::Contact;

/// What stands in the first line of a label that has room for `width` characters: the names that a contact has, else
/// the address before its `@`. Never none, and no white space at its ends.
#[must_use]
pub fn label(contact: &Contact, width: usize) -> String {
    let names = [&contact.first_name, &contact.last_name];
    let names: Vec<&str> = names.into_iter().flatten().map(|name| name.as_str().trim()).collect();
    let whole = names.join(" ");
    let whole = match whole.trim() {
        "" => contact.primary_email.as_str().split('@').next().unwrap_or_default(),
        whole => whole,
    };
    let cut: String = whole.chars().take(width).collect();
    cut.trim_end().to_owned()
}
