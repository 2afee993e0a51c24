//! Random histories: compares a small model of the program's expectations with the API.

use std::collections::BTreeMap;

use load_and_limits::Sandbox;
use openapi_core::json::{Json, Object, parse};
use openapi_core::values::Email;
use pollster::block_on;
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::strategies;

/// A step of the program with one of its customers, who have the numbers 0 to 4.
#[derive(Clone, Debug)]
enum Deed {
    Create(u8, Email),
    ChangeEmail(u8, Email),
    Archive(u8),
    Unarchive(u8),
    LetMinutesPass(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    let number = 0..5_u8;
    prop_oneof![
        3 => (number.clone(), strategies::email()).prop_map(|(number, email)| Deed::Create(number, email)),
        3 => (number.clone(), strategies::email()).prop_map(|(number, email)| Deed::ChangeEmail(number, email)),
        2 => number.clone().prop_map(Deed::Archive),
        1 => number.prop_map(Deed::Unarchive),
        1 => (1..10_u8).prop_map(Deed::LetMinutesPass),
    ]
}

/// The program's model: the existing customers, with their address and whether they are archived.
type Belief = BTreeMap<u8, (String, bool)>;

/// Applies a step to the model and returns the expected status.
fn believe(belief: &mut Belief, deed: &Deed) -> u16 {
    match deed {
        Deed::Create(number, _) if belief.contains_key(number) => 409,
        Deed::Create(number, email) => {
            belief.insert(*number, (email.to_string(), false));
            201
        }
        Deed::ChangeEmail(number, email) => match belief.get_mut(number) {
            None => 404,
            Some((_, true)) => 409,
            Some((known, false)) => {
                *known = email.to_string();
                200
            }
        },
        Deed::Archive(number) | Deed::Unarchive(number) => match belief.get_mut(number) {
            None => 404,
            Some((_, archived)) => {
                *archived = matches!(deed, Deed::Archive(_));
                200
            }
        },
        Deed::LetMinutesPass(_) => 200,
    }
}

async fn send(sandbox: &Sandbox, deed: &Deed) -> u16 {
    let path = |number: &u8| format!("/contacts/customer-{number}/chatbots/acme");
    let body = |members: &[(&str, &str)]| {
        let mut object = Object::new();
        members.iter().for_each(|(name, value)| {
            object.insert(*name, (*value).into());
        });
        Json::Object(object).to_text()
    };
    let answer = match deed {
        Deed::Create(number, email) => {
            let number = format!("customer-{number}");
            let body = body(&[("externalReferenceId", &number), ("primaryEmail", email.as_str())]);
            sandbox.call("POST", "/contacts/chatbots/acme", &body).await
        }
        Deed::ChangeEmail(number, email) => {
            sandbox.call("PUT", &path(number), &body(&[("primaryEmail", email.as_str())])).await
        }
        Deed::Archive(number) => sandbox.call("PATCH", &format!("{}/archive", path(number)), "").await,
        Deed::Unarchive(number) => sandbox.call("PATCH", &format!("{}/unarchive", path(number)), "").await,
        Deed::LetMinutesPass(minutes) => {
            sandbox.clock.advance_millis(i64::from(*minutes) * 60_000);
            return 200;
        }
    };
    answer.status().as_u16()
}

/// The number and address of the listed contacts, and whether they are archived.
async fn listed(sandbox: &Sandbox) -> Belief {
    let list = sandbox.call("GET", "/contacts/chatbots/acme?includeArchived=true&limit=100", "").await;
    let body = parse(list.body().as_bytes().expect("a whole body")).expect("JSON");
    let data = body.as_object().and_then(|body| body.get("data")).expect("data");
    let Json::Array(contacts) = data else { panic!("{data:?}") };
    let contacts = contacts.iter().filter_map(Json::as_object).map(|contact| {
        let text = |name| contact.get(name).and_then(Json::as_str).unwrap_or_default();
        let number = text("externalReferenceId").trim_start_matches("customer-").parse().expect("a number");
        let archived = contact.get("isArchived") == Some(&Json::Bool(true));
        (number, (text("primaryEmail").to_owned(), archived))
    });
    contacts.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_api_matches_the_programs_model(deeds in vec(deed(), 1..40)) {
        block_on(async {
            let (sandbox, mut belief) = (Sandbox::new().await.unwrap(), Belief::new());
            for (step, deed) in deeds.iter().enumerate() {
                let expected = believe(&mut belief, deed);
                prop_assert_eq!(send(&sandbox, deed).await, expected, "step {}: {:?}", step, deed);
            }
            prop_assert_eq!(listed(&sandbox).await, belief);
            Ok(())
        })?;
    }

    #[test]
    fn nearly_valid_contacts_are_stored_or_rejected_with_a_reason(fields in strategies::nearly_valid_contact()) {
        let body = Json::Object(fields.clone()).to_text();
        let answer = block_on(async {
            let sandbox = Sandbox::new().await.unwrap();
            sandbox.call("POST", "/contacts/chatbots/acme", &body).await
        });
        if answer.status() == 201 {
            return Ok(());
        }
        prop_assert_eq!(answer.status(), 400, "{}", body);
        let reply = parse(answer.body().as_bytes().unwrap()).unwrap();
        let errors = reply.as_object().and_then(|reply| reply.get("validationErrors"));
        prop_assert!(matches!(errors, Some(Json::Array(errors)) if !errors.is_empty()), "{:?}", reply);
    }
}
