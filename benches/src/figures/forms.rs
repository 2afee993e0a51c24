//! `form-validation`, `form-submits`, `form-latest`: the cost of forms.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::api::Api;
use openapi_core::forms::{CompiledTemplate, Completeness, FormTemplate};
use openapi_core::json::{Json, Object, parse};
use storage_memory::MemoryStorage;

use super::Options;
use crate::data;
use crate::load::{self, Plan, Work};
use crate::machine::{monotonic, thread_cpu};
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::servers::{self, Server};
use crate::statistics::Samples;
use crate::world::{Host, Person};

/// A realistic form of 30 fields, as in a clinic.
const TEMPLATE: &str = include_str!("../../../server-hyper/assets/templates/clinical-intake.json");

/// Answers to all of its fields except the file.
const ANSWERS: &str = r#"{"fullName":"Zoë Okafor","dateOfBirth":"1990-05-17","sexAtBirth":"female","phone":"+44 20 7946 0999","email":"zoe@example.com","preferredContact":["phone","email"],"address":"12 Mill Lane\nLeeds LS1 4AB","needsInterpreter":true,"language":"Igbo","visitType":"first","complaint":"Pain in the left knee since a fall.","onset":"2026-01-20","painLevel":4,"temperature":37.2,"height":171,"weight":68.5,"conditions":["asthma","other"],"otherConditions":"Migraine","medications":[{"name":"Salbutamol","dose":"100 µg","since":"2019-03-01"}],"allergies":"Penicillin","smokes":"current","cigarettesPerDay":10,"pregnant":false,"emergency":{"name":"Ada Okafor","relation":"Sister","phone":"+44 20 7946 0999"},"physician":"Dr Lind","insurer":"Mutual","insuranceNumber":"AB-123456","appointment":"09:30","consent":"yes"}"#;

/// Requests per key, below the 1,000 allowed in a minute.
const REQUESTS_OF_A_KEY: u32 = 960;

/// Contacts with submissions.
const CONTACTS: u64 = 2_000;

/// Rounds of submits and creates.
const ROUNDS: u64 = 9;

/// The fraction of the duration that a round takes.
const PART: f64 = 1.0 / 3.0;

/// Above the server's response rate; determines the number of keys.
const FASTEST: f64 = 40_000.0;

/// The numbers of the contacts of one round.
const NUMBERS: u64 = 10_000_000;

/// Validations within one CPU time measurement.
const BATCH: usize = 200;

/// Superseded submissions of the contact with many.
const SUPERSEDED: usize = 1_000;

fn object(text: &str) -> Result<Object, Failure> {
    match parse(text.as_bytes()).map_err(|error| error.to_string())? {
        Json::Object(members) => Ok(members),
        _ => Err("no object".into()),
    }
}

pub(super) fn validation(options: &Options) -> Measured {
    let host = Host::new(Arc::new(MemoryStorage::new()))?;
    let agent = data::agent()?;
    let template: FormTemplate = pollster::block_on(async {
        host.agent(&agent).await?;
        host.template(&agent, &object(TEMPLATE)?).await
    })?;
    let compiled = CompiledTemplate::new(template)?;
    let answers = object(ANSWERS)?;
    let check = || {
        let checked = compiled.check(&answers, Completeness::Complete, "formData", &|_| true);
        std::hint::black_box(checked).map_err(|violations| violations.message())
    };
    check()?;
    let mut samples = Samples::default();
    let begun = monotonic();
    while begun.elapsed() < Duration::from_secs_f64(options.seconds) {
        let before = thread_cpu();
        for _ in 0..BATCH {
            check()?;
        }
        samples.push((thread_cpu() - before).as_secs_f64() * 1e6 / BATCH as f64);
    }
    let mut report = Report::new("form-validation");
    report.condition(format!(
        "the answers to {} fields of server-hyper/assets/templates/clinical-intake.json ({} bytes), parsed before, checked and \
         written as they are stored; CPU time of the thread over {} batches of {BATCH}",
        answers.len(),
        ANSWERS.len(),
        samples.len()
    ));
    report.detail("median of the batches", samples.median(), "µs");
    report.detail("9 of 10 batches below", samples.quantile(0.9), "µs");
    report.figure("CPU time of a check", samples.mean(), "µs", Reach::AtMost(20.0));
    Ok(report)
}

pub(super) fn submits(options: &Options) -> Measured {
    let binary = servers::binary()?;
    let database = data::empty("form-submits")?;
    let agent = data::agent()?;
    let seconds = options.seconds * PART;
    let per_turn = options.connections as f64 + FASTEST * seconds / f64::from(REQUESTS_OF_A_KEY);
    let host = Arc::new(data::open(&database)?);
    let (template, mut keys) = data::runtime()?.block_on(async {
        let template = host.template(&agent, &object(TEMPLATE)?).await?;
        host.contacts(&agent, 0..CONTACTS).await?;
        let keys = host.keys(&agent, per_turn as usize * (2 * ROUNDS as usize + 4)).await?;
        Ok::<_, Failure>((template, keys))
    })?;
    drop(host);
    let server = Server::openapi(&binary, &database)?;
    let submit = Work::Submit {
        contacts: CONTACTS,
        template: template.id.to_string(),
        body: format!("{{\"formData\":{ANSWERS}}}"),
    };
    let mut turn = |work: Work, seconds: f64| {
        server.rest()?;
        let plan = Plan {
            address: server.address(),
            connections: options.connections,
            seconds,
            keys: keys.clone(),
            requests_of_a_key: REQUESTS_OF_A_KEY,
            awake: false,
            agent: agent.to_string(),
            work,
        };
        let outcome = load::run(&plan)?;
        keys.drain(..outcome.keys_used);
        Ok::<_, Failure>(outcome)
    };
    turn(submit.clone(), 1.0)?;
    turn(Work::Create { from: NUMBERS }, 1.0)?;
    let (mut submits, mut creates, mut ratios) = (Samples::default(), Samples::default(), Samples::default());
    let (mut slow_submits, mut slow_creates) = (Samples::default(), Samples::default());
    for round in 0..ROUNDS {
        let submitted = turn(submit.clone(), seconds)?;
        let created = turn(Work::Create { from: NUMBERS * (round + 2) }, seconds)?;
        ratios.push(submitted.rate() / created.rate());
        submits.push(submitted.rate());
        creates.push(created.rate());
        slow_submits.push(submitted.p99_us);
        slow_creates.push(created.p99_us);
    }
    server.stop()?;
    data::remove_database(&database)?;
    let mut report = Report::new("form-submits");
    report.condition(format!(
        "POST /v1/open/forms/submit/{{templateId}}/contacts/{{externalReferenceId}} of a form of 30 fields ({} bytes), \
         each superseding the earlier one of its contact among {}, in turns with POST of contacts with every field set; \
         openapi-server on SQLite (synchronous=FULL) with its default settings, {} connections, {ROUNDS} rounds of {} s; \
         medians",
        ANSWERS.len(),
        number(CONTACTS as f64),
        options.connections,
        number(seconds)
    ));
    report.detail("submits", submits.median(), "/s");
    report.detail("  latency, 99 of 100 below", slow_submits.median(), "µs");
    report.detail("creates", creates.median(), "/s");
    report.detail("  latency, 99 of 100 below", slow_creates.median(), "µs");
    report.detail("best round", ratios.quantile(1.0), "×");
    report.detail("worst round", ratios.quantile(0.0), "×");
    report.figure("submits against creates", ratios.median(), "×", Reach::AtLeast(0.7));
    Ok(report)
}

/// Requests of an embedder that authenticates callers itself: without keys and rate limits, whose constant cost would
/// level the two latencies.
struct Forms {
    api: Api,
    caller: Caller,
}

impl Forms {
    fn answer(
        &self,
        request: http::request::Builder,
        body: &str,
        expected: StatusCode,
    ) -> Result<f64, Failure> {
        let request = request
            .header("host", "127.0.0.1:8080")
            .header("content-type", "application/json")
            .extension(self.caller.clone())
            .body(Full::new(Bytes::from(body.to_owned())))?;
        let begun = monotonic();
        let response = pollster::block_on(self.api.handle(request));
        let took = begun.elapsed().as_secs_f64() * 1e6;
        if response.status() == expected {
            return Ok(took);
        }
        let status = response.status();
        let body = response.into_body().into_bytes().unwrap_or_default();
        Err(format!("answered {status}: {}", String::from_utf8_lossy(&body)).into())
    }
}

pub(super) fn latest(options: &Options) -> Measured {
    let database = data::empty("form-latest")?;
    let agent = data::agent()?;
    let host = data::open(&database)?;
    let template = data::runtime()?.block_on(async {
        host.contacts(&agent, 0..2).await?;
        host.template(&agent, &object(TEMPLATE)?).await
    })?;
    let caller = Caller {
        agent_id: agent.clone(),
        actor: Actor::User("benches".to_owned()),
        permissions: Permissions::all(),
        address: None,
        request_id: "benches".to_owned(),
    };
    let forms = Forms { api: host.api()?, caller };
    let [many, one] = [0, 1].map(Person::external_id_of);
    let body = format!("{{\"formData\":{ANSWERS}}}");
    for (contact, submissions) in [(&many, SUPERSEDED + 1), (&one, 2)] {
        for _ in 0..submissions {
            let request = Request::post(format!("/v1/open/forms/submit/{}/contacts/{contact}", template.id));
            forms.answer(request, &body, StatusCode::CREATED)?;
        }
    }
    let get = |contact: &str| {
        let path =
            format!("/v1/open/forms/contacts/{contact}/templates/{}/latest/chatbots/{agent}", template.id);
        forms.answer(Request::get(path), "", StatusCode::OK)
    };
    for _ in 0..500 {
        get(&many)?;
        get(&one)?;
    }
    let (mut of_many, mut of_one) = (Samples::default(), Samples::default());
    let begun = monotonic();
    while begun.elapsed() < Duration::from_secs_f64(options.seconds) {
        of_many.push(get(&many)?);
        of_one.push(get(&one)?);
    }
    drop(forms);
    data::remove_database(&database)?;
    let mut report = Report::new("form-latest");
    report.condition(format!(
        "GET of the latest submission of a contact through Api::handle on SQLite, one request at a time; {} superseded \
         submissions against one, {} requests in turns; medians",
        number(SUPERSEDED as f64),
        of_many.len()
    ));
    report.detail("among many", of_many.median(), "µs");
    report.detail("among one", of_one.median(), "µs");
    report.figure(
        "latest among many against among one",
        of_many.median() / of_one.median(),
        "×",
        Reach::AtMost(1.3),
    );
    Ok(report)
}
