//! A property of the program's function, for every possible contact.

use property_tests::label;
use proptest::prelude::*;
use testkit::strategies;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_contact_has_a_label_that_fits(
        contact in strategies::contact("acme".parse().unwrap()),
        width in 1..60_usize,
    ) {
        let label = label(&contact, width);
        prop_assert!((1..=width).contains(&label.chars().count()), "{label:?}");
        prop_assert_eq!(label.trim(), label.as_str());
        prop_assert!(!label.contains(char::is_control), "{label:?}");
    }
}
