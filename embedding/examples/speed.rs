//! How long vectors take on one core, the fastest of many: `cargo run --release -p embedding --example speed`.

#![expect(clippy::disallowed_methods, reason = "time is what is measured")]

use std::time::{Duration, Instant};

use embedding::{Model, Role};

fn fastest(times: usize, mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    (0..times).map(time).min().unwrap_or_default()
}

fn main() {
    let loading = fastest(5, || drop(Model::new(embedding_weights::WEIGHTS).expect("weights")));
    let model = Model::new(embedding_weights::WEIGHTS).expect("weights");
    let question = "How long do I have to send something back that does not fit?";
    let passage =
        "Unworn items can be sent back within 30 days of delivery. We refund the price within five working \
                   days after the parcel has arrived. "
            .repeat(4);
    let batch = [passage.as_str(); 4];
    println!("loading {loading:?}");
    println!("a question of 15 pieces {:?}", fastest(40, || drop(model.embed(Role::Question, &[question]))));
    println!(
        "a passage of about 120 pieces {:?}",
        fastest(10, || drop(model.embed(Role::Passage, &batch))) / 4
    );
}
