//! A function of the program: the name on a parcel.

use openapi_core::contacts::Contact;

/// The first line of a label with room for `width` characters: the contact's names, otherwise the address before its
/// `@`. Never empty, and without white space at its ends.
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
