//! The suite that every backend runs.

mod support;

use support::Folder;
use support::backend::File;
use testkit::conformance::compare_forms;

testkit::conformance_suite!(|| File::new(Folder::new()));

#[test]
#[ignore = "takes minutes"]
fn a_hundred_thousand_steps_of_forms_end_like_the_model() {
    compare_forms(&mut File::new(Folder::new()), 1_000, 100, 1_000);
}
