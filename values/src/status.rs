//! The status of a contact (contract 3).

use crate::{text_words, words};

words! {
    /// `status`: any value may follow any other.
    #[derive(Default)]
    ContactStatus, 3 {
        /// The default.
        #[default]
        Active = "active",
        /// Not in use for now.
        Inactive = "inactive",
        /// Blocked by the caller's own judgement; does not restrict the Open API.
        Blocked = "blocked",
    }
}

text_words! { ContactStatus, }
