//! `postgres-creates`: durable creates against one insert per transaction.

use std::io::Write;

use super::gets::{run, tps};
use super::{Opened, REQUESTS_OF_A_KEY, durable_postgres, serve};
use crate::data;
use crate::figures::Options;
use crate::load::{self, Plan, Work};
use crate::report::{Measured, Reach, Report, number};
use crate::servers;
use crate::statistics::Samples;

/// Rounds.
const ROUNDS: u64 = 5;

/// Above the server's create rate; determines the number of keys.
const FASTEST: f64 = 20_000.0;

/// The numbers of the contacts of one round.
const NUMBERS: u64 = 10_000_000;

/// A row about as large as a contact, with only a primary key.
const INSERT: &str = "\\set id random(1, 9000000000000)\n\
    INSERT INTO bench_row (id, body) VALUES (:id, repeat('x', 600)) ON CONFLICT DO NOTHING;\n";

pub(in crate::figures) fn creates(options: &Options) -> Measured {
    let binary = servers::binary()?;
    let engine = durable_postgres();
    let table = "CREATE TABLE bench_row (id bigint PRIMARY KEY, body text NOT NULL)";
    run(engine.program("psql").args(["--quiet", "--command", table]))?;
    let folder = data::own_folder("postgres-creates")?;
    let script = folder.join("insert.sql");
    std::fs::File::create(&script)?.write_all(INSERT.as_bytes())?;
    let agent = data::agent()?;
    let mut keys = data::runtime()?.block_on(async {
        let store = Opened::postgres(&engine.url()).await?;
        store.host()?.agent(&agent).await?;
        let seconds = 1.0 + options.seconds * ROUNDS as f64;
        let reopened = options.connections * (ROUNDS as usize + 1);
        store.keys(reopened + (FASTEST * seconds / f64::from(REQUESTS_OF_A_KEY)) as usize).await
    })?;
    let service = serve(&binary, &engine.url())?;
    let mut send = |seconds, round| {
        let plan = Plan {
            address: service.address(),
            connections: options.connections,
            seconds,
            keys: keys.clone(),
            requests_of_a_key: REQUESTS_OF_A_KEY,
            awake: false,
            agent: agent.to_string(),
            work: Work::Create { from: round * NUMBERS },
        };
        let outcome = load::run(&plan)?;
        keys.drain(..outcome.keys_used);
        Ok::<_, crate::report::Failure>((outcome.rate(), outcome.p99_us))
    };
    let (mut ours, mut theirs, mut ratios) = (Samples::default(), Samples::default(), Samples::default());
    let mut late = Samples::default();
    send(1.0, 0)?;
    for round in 1..=ROUNDS {
        let (rate, p99_us) = send(options.seconds, round)?;
        let mut pgbench = engine.program("pgbench");
        pgbench.args(["--no-vacuum", "--protocol=prepared", "--jobs=2", "--file"]).arg(&script);
        pgbench.arg("--client").arg(options.connections.to_string());
        let alone = tps(&run(pgbench.arg("--time").arg(options.seconds.ceil().to_string()))?)?;
        ours.push(rate);
        theirs.push(alone);
        ratios.push(rate / alone);
        late.push(p99_us);
    }
    service.stop()?;
    std::fs::remove_dir_all(folder)?;

    let mut report = Report::new("postgres-creates");
    report.condition(format!(
        "POST /v1/open/contacts/chatbots/{{agentId}} with every field set, {connections} connections, on PostgreSQL with \
         fsync and synchronous_commit on; in turns of {} s with pgbench over {connections} connections: one insert of a \
         row of 600 bytes with a primary key and no other index in each transaction; {ROUNDS} rounds, medians; engine, \
         service and load share the machine",
        number(options.seconds),
        connections = options.connections,
    ));
    report.detail("openapi-server, creates", ours.median(), "/s");
    report.detail("openapi-server, 99 of 100 below", late.median() / 1e3, "ms");
    report.detail("pgbench, inserts", theirs.median(), "/s");
    report.detail("best round", ratios.quantile(1.0), "×");
    report.detail("worst round", ratios.quantile(0.0), "×");
    report.figure(
        "durable creates against one insert in each transaction",
        ratios.median(),
        "×",
        Reach::AtLeast(2.0),
    );
    Ok(report)
}
