//! Several servers on one database.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use std::sync::Arc;

use support::{Database, agent_id, insert_agent, wait};
use testkit::queue_race::QueueRace;

#[test]
fn a_queue_of_several_servers_does_each_job_once() {
    let database = Database::new();
    wait(async {
        let mut stores = Vec::new();
        for _ in 0..3 {
            stores.push(Arc::new(database.open().await));
        }
        let agents = ["a", "b"].map(agent_id);
        for agent in &agents {
            insert_agent(&*stores[0], agent).await;
        }
        let race = QueueRace::new(&agents, 3, 60);
        let serving: Vec<_> = stores
            .iter()
            .zip(1..)
            .map(|(store, server)| tokio::spawn(Arc::clone(&race).serve(Arc::clone(store) as _, server)))
            .collect();
        for server in serving {
            server.await.unwrap();
        }
        assert!(race.verify(&*stores[0]).await > 0, "no lease ended while its server still worked");
        for store in stores {
            store.close().await;
        }
    });
}
