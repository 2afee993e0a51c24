//! `engine-lists`: page 1 of a large and of a small agent.

use std::time::Duration;

use mongodb::bson::{Bson, doc};

use super::{Opened, durable_postgres, single_mongo};
use crate::data;
use crate::figures::Options;
use crate::figures::lists::{Lists, PAGE_1, SMALL};
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::statistics::Samples;

pub(in crate::figures) fn lists(options: &Options) -> Measured {
    let mut report = Report::new("engine-lists");
    report.condition(format!(
        "GET /v1/open/contacts/chatbots/{{agentId}}?limit=20 with exact total through Api::handle, one request at a time; \
         {} contacts against {}, in a database each on one server, in turns; medians",
        number(options.contacts as f64),
        number(SMALL as f64),
    ));
    let runtime = data::runtime()?;
    let _entered = runtime.enter();
    let postgres = durable_postgres();
    let url = postgres.url();
    let server = url.strip_suffix("/postgres").ok_or("a URL of another database")?;
    let database = |name: &str| format!("{server}/{name}");
    for name in ["large", "small"] {
        super::gets::run(postgres.program("createdb").arg(name))?;
    }
    let (large, small) = runtime.block_on(async {
        let (large, small) =
            (Opened::postgres(&database("large")).await?, Opened::postgres(&database("small")).await?);
        large.fill(options.contacts).await?;
        small.fill(SMALL).await?;
        Ok::<_, Failure>((large, small))
    })?;
    super::gets::run(postgres.program("psql").args([
        "--quiet",
        "--dbname=large",
        "--command",
        "VACUUM ANALYZE",
    ]))?;
    let sizes = super::gets::run(postgres.program("psql").args([
        "--dbname=large",
        "--tuples-only",
        "--no-align",
        "--command",
        "SELECT sum(pg_total_relation_size(oid)), sum(pg_indexes_size(oid)) FROM pg_class WHERE relkind = 'r'",
    ]))?;
    let (all, indexes) = sizes.trim().split_once('|').ok_or("two sizes")?;
    tell_size(&mut report, "PostgreSQL", all.parse()?, indexes.parse()?, options);
    compare(&mut report, "PostgreSQL", &large, &small, options)?;
    drop((large, small, postgres));

    let (mongo, url) = single_mongo();
    let database = |name: &str| url.replace("/openapi?", &format!("/{name}?"));
    let (large, small) = runtime.block_on(async {
        let (large, small) =
            (Opened::mongo(&database("large")).await?, Opened::mongo(&database("small")).await?);
        large.fill(options.contacts).await?;
        small.fill(SMALL).await?;
        Ok::<_, Failure>((large, small))
    })?;
    let sizes = runtime.block_on(async {
        let client = mongodb::Client::with_uri_str(database("large")).await?;
        // Data that is only in memory and in the journal has no size on disk yet.
        client.database("admin").run_command(doc! { "fsync": 1 }).await?;
        client.database("large").run_command(doc! { "dbStats": 1 }).await
    })?;
    let size = |name: &str| match sizes.get(name) {
        Some(Bson::Double(bytes)) => Ok(*bytes),
        Some(Bson::Int64(bytes)) => Ok(*bytes as f64),
        Some(Bson::Int32(bytes)) => Ok(f64::from(*bytes)),
        _ => Err(format!("dbStats tells no {name}")),
    };
    tell_size(&mut report, "MongoDB", size("totalSize")?, size("indexSize")?, options);
    compare(&mut report, "MongoDB", &large, &small, options)?;
    drop((large, small, mongo));
    Ok(report)
}

/// Reports the disk size of the large agent's database.
fn tell_size(report: &mut Report, engine: &str, all: f64, indexes: f64, options: &Options) {
    let of_each = |bytes: f64| bytes / options.contacts as f64;
    report.detail(format!("{engine}: a contact on the disk, with its indexes"), of_each(all), "bytes");
    report.detail(format!("{engine}: of these, indexes"), of_each(indexes), "bytes");
}

fn compare(
    report: &mut Report,
    engine: &str,
    large: &Opened,
    small: &Opened,
    options: &Options,
) -> Result<(), Failure> {
    let agent = data::agent()?;
    let (large, small) = (Lists::of(large.host()?, agent.clone())?, Lists::of(small.host()?, agent)?);
    for (lists, contacts) in [(&large, options.contacts), (&small, SMALL)] {
        let total = lists.total(PAGE_1)?;
        if total != contacts {
            return Err(format!("page 1 tells {total} contacts instead of {contacts}").into());
        }
    }
    let (mut of_large, mut of_small) = (Samples::default(), Samples::default());
    for _ in 0..200 {
        large.get(PAGE_1)?;
        small.get(PAGE_1)?;
    }
    let begun = monotonic();
    while begun.elapsed() < Duration::from_secs_f64(2.0 * options.seconds) {
        of_large.push(large.get(PAGE_1)?.0);
        of_small.push(small.get(PAGE_1)?.0);
    }
    report.detail(
        format!("{engine}: page 1 of {}", number(options.contacts as f64)),
        of_large.median(),
        "µs",
    );
    report.detail(format!("{engine}: page 1 of {}", number(SMALL as f64)), of_small.median(), "µs");
    report.figure(
        format!("{engine}: page 1 against the small agent"),
        of_large.median() / of_small.median(),
        "×",
        Reach::AtMost(1.5),
    );
    Ok(())
}
