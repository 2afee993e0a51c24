//! The latest submission costs the same however many it supersedes.

#![expect(clippy::disallowed_methods, reason = "what is measured is time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use openapi_core::storage::{FormStore, LatestQuery};

use super::support::forms::{insert_template, submit, template};
use super::support::{Folder, agent_id, contact, insert, insert_agent, wait};

/// The most that a thousand superseded submissions may cost, compared with one.
const MOST: f64 = 1.3;

#[test]
#[ignore = "measures time"]
fn the_latest_among_a_thousand_costs_as_among_one() {
    let folder = Folder::new();
    let store = folder.open();
    let agent = agent_id("a");
    let schema = insert_agent(&store, &agent);
    let template = template(&agent, 1);
    insert_template(&store, &template);
    let mut number = 0;
    for (of, count) in [(0, 2), (1, 1_001)] {
        insert(&store, &contact(&agent, of), &schema);
        for _ in 0..count {
            number += 1;
            submit(&store, &contact(&agent, of), &template, number);
        }
    }
    for include_drafts in [false, true] {
        let query =
            |of| LatestQuery { contact: contact(&agent, of).id, template: template.id, include_drafts };
        let queries = [query(0), query(1)];
        let revisions = queries.map(|query| {
            wait(store.latest_submission(&agent, &query)).unwrap().expect("a submission").revision
        });
        assert_eq!(revisions, [2, 1_001]);
        // In turns, so that both run on the same machine; the fastest rounds, to exclude its other work.
        let mut best = [Duration::MAX; 2];
        for _ in 0..200 {
            for (query, best) in queries.iter().zip(&mut best) {
                let start = Instant::now();
                for _ in 0..50 {
                    black_box(wait(store.latest_submission(&agent, query)).unwrap());
                }
                *best = (*best).min(start.elapsed() / 50);
            }
        }
        let ratio = best[1].as_secs_f64() / best[0].as_secs_f64();
        println!(
            "drafts {include_drafts}: among 1 {:?}, among 1,000 {:?}, ratio {ratio:.2}",
            best[0], best[1]
        );
        assert!(ratio <= MOST, "{ratio:.2}");
    }
}
