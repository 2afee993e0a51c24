//! Random histories of events, outcomes, crashes, commands, failures of the store and clocks: nothing is lost, order holds,
//! the cursor neither goes back nor skips, and one server sends at a time.
//!
//! `DELIVERY_HISTORIES=100000` runs more of them, `DELIVERY_SEED=17` runs one.

use events::delivery::Mode;

use crate::world::World;

fn histories(mode: Mode, has_jumps: bool) {
    #[expect(clippy::disallowed_methods, reason = "a campaign is asked for by the environment")]
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("DELIVERY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("DELIVERY_HISTORIES").unwrap_or(100),
    };
    let mut sends = 0;
    for seed in seeds {
        let mut world = World::new(seed, mode, has_jumps, None);
        world.run(150);
        sends += world.sends;
        if let Some(text) = world.broken {
            panic!("history {seed}, {mode:?}, jumps {has_jumps}: {text}");
        }
    }
    assert!(sends > 100, "{sends}");
}

#[test]
fn parallel() {
    histories(Mode::Parallel, false);
}

#[test]
fn ordered() {
    histories(Mode::Ordered, false);
}

#[test]
fn parallel_with_clocks_that_jump() {
    histories(Mode::Parallel, true);
}

#[test]
fn ordered_with_clocks_that_jump() {
    histories(Mode::Ordered, true);
}
