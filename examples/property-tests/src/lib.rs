//! A function of the program's own: the name on a parcel.

use openapi_core::contacts::Contact;

/// The most characters of a line of the label printer.
pub const WIDTH: usize = 40;

/// What stands in the first line of a label: the names that a contact has, else the address before its `@`; at most
/// [`WIDTH`] characters, never none, and no white space at its ends.
#[must_use]
pub fn label(contact: &Contact) -> String {
    let names = [&contact.first_name, &contact.last_name];
    let names: Vec<&str> = names.into_iter().flatten().map(|name| name.as_str().trim()).collect();
    let whole = names.join(" ");
    let whole = match whole.trim() {
        "" => contact.primary_email.as_str().split('@').next().unwrap_or_default(),
        whole => whole,
    };
    let cut: String = whole.chars().take(WIDTH).collect();
    cut.trim_end().to_owned()
}
