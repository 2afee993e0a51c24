//! A function of the program's own, for every contact that there can be.

use openapi_core::strategies;
use property_tests::{WIDTH, label};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_contact_has_a_label_that_fits(contact in strategies::contact("acme".parse().unwrap())) {
        let label = label(&contact);
        prop_assert!((1..=WIDTH).contains(&label.chars().count()), "{label:?}");
        prop_assert_eq!(label.trim(), label.as_str());
        prop_assert!(!label.contains(char::is_control), "{label:?}");
    }
}
