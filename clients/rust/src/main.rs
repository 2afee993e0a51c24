//! Uses the generated client as a customer's program would: contacts, pages, files, forms, errors, limits.
//!
//! Environment: `ORIGIN`, `AGENT`, `TEMPLATE`, `KEY` and `SECRET` name the server and the credentials; `SLOW_KEY` and
//! `SLOW_SECRET` belong to a key limited to three requests a minute.

use std::error::Error;

use open_api_client::apis::configuration::Configuration;
use open_api_client::apis::{
    self, contacts_api as contacts, document_extraction_api as extraction, files_api as files,
    forms_api as forms, health_api as health,
};
use open_api_client::models::{self, create_contact_400_response, create_contact_409_response};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

/// Reads an environment variable.
fn given(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// The generated code has room for only one key header, so the HTTP client sends both.
fn configuration(key: &str, secret: &str) -> Result<Configuration, Box<dyn Error>> {
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", HeaderValue::from_str(&given(key))?);
    headers.insert("x-api-secret", HeaderValue::from_str(&given(secret))?);
    Ok(Configuration {
        base_path: given("ORIGIN"),
        client: reqwest::Client::builder().default_headers(headers).build()?,
        ..Configuration::default()
    })
}

/// The typed error of a response with this status.
fn refused<T, E>(outcome: Result<T, apis::Error<E>>, status: u16) -> E {
    match outcome {
        Err(apis::Error::ResponseError(answer)) => {
            assert_eq!(answer.status.as_u16(), status, "{}", answer.content);
            answer.entity.unwrap_or_else(|| panic!("not the documented shape: {}", answer.content))
        }
        Err(other) => panic!("no answer: {other}"),
        Ok(_) => panic!("answered, where {status} was to be expected"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let (agent, template) = (given("AGENT"), given("TEMPLATE"));
    let api = configuration("KEY", "SECRET")?;
    assert_eq!(health::health(&api).await?.version, "1.0.0");
    contacts_live(&api, &agent).await?;
    errors_are_typed(&api, &agent).await;
    pages_are_turned(&api, &agent).await?;
    files_come_back(&api, &agent).await?;
    forms_are_submitted(&api, &agent, &template).await?;
    assert!(extraction::get_schema_examples(&api).await?.data.contains_key("invoice"));
    limits_are_reported(&configuration("SLOW_KEY", "SLOW_SECRET")?, &agent).await
}

fn new_contact(number: u32) -> models::NewContact {
    models::NewContact {
        external_reference_id: Some(Some(format!("rust-{number}"))),
        first_name: Some(Some("Zoë".to_owned())),
        ..models::NewContact::new(format!("rust-{number}@example.com"))
    }
}

async fn contacts_live(api: &Configuration, agent: &str) -> Outcome {
    let preview = contacts::create_contact(api, agent, new_contact(0), Some(true), None).await?.data;
    assert_eq!((preview.id, preview.created_at), (None, None), "a dry run stores nothing");
    let created = contacts::create_contact(api, agent, new_contact(0), None, Some("rust-once")).await?.data;
    let again = contacts::create_contact(api, agent, new_contact(0), None, Some("rust-once")).await?.data;
    assert_eq!(created.id, again.id, "the same request with the same idempotency key is the same contact");
    let id = created.id.expect("an id");

    let found = contacts::get_contact(api, "rust-0", agent, None).await?.data;
    assert_eq!((found.id.as_str(), found.first_name.as_deref()), (id.as_str(), Some("Zoë")));
    assert_eq!(found.status, models::contact::Status::Active);
    let changes = models::ContactChanges {
        first_name: Some(None),
        tags: Some(Some(vec!["vip".to_owned()])),
        ..models::ContactChanges::default()
    };
    let changed = contacts::update_contact(api, "rust-0", agent, changes, None, None, None).await?.data;
    assert_eq!((changed.first_name, changed.tags), (None, vec!["vip".to_owned()]));
    // The generated code would send an absent body as `null`, which is not an object.
    let no_reason = || Some(models::ArchiveRequest::default());
    let archived = contacts::archive_contact_by_platform_id(api, &id, agent, None, no_reason()).await?.data;
    assert!(archived.is_archived && archived.archived_at.is_some());
    let back = contacts::unarchive_contact(api, "rust-0", agent, None, no_reason()).await?.data;
    assert!(!back.is_archived);
    Ok(())
}

async fn errors_are_typed(api: &Configuration, agent: &str) {
    use contacts::{CreateContactError, GetContactError};
    let wrong = models::NewContact::new("nobody".to_owned());
    let refusal = refused(contacts::create_contact(api, agent, wrong, None, None).await, 400);
    let CreateContactError::Status400(error) = refusal else { panic!("{refusal:?}") };
    assert_eq!(error.code, create_contact_400_response::Code::ValidationError);
    let faults = error.validation_errors.expect("the faults");
    assert_eq!((faults[0].field.as_str(), faults[0].value.clone()), ("primaryEmail", Some(json!("nobody"))));

    let refusal = refused(contacts::create_contact(api, agent, new_contact(0), None, None).await, 409);
    let CreateContactError::Status409(error) = refusal else { panic!("{refusal:?}") };
    assert_eq!(error.code, create_contact_409_response::Code::DuplicateExternalReferenceId);

    let refusal = refused(contacts::get_contact(api, "nobody", agent, None).await, 404);
    assert!(matches!(refusal, GetContactError::Status404(_)), "{refusal:?}");
}

async fn pages_are_turned(api: &Configuration, agent: &str) -> Outcome {
    for number in 1..5 {
        contacts::create_contact(api, agent, new_contact(number), None, None).await?;
    }
    let (mut cursor, mut seen) = (None, Vec::new());
    loop {
        let page = contacts::list_contacts(
            api,
            agent,
            None,
            Some(2),
            cursor.as_deref(),
            Some("rust-"),
            None,
            None,
            Some("createdAt"),
            Some("asc"),
            None,
            None,
            None,
            None,
        )
        .await?;
        assert_eq!(page.pagination.total_items, 5);
        seen.extend(page.data.into_iter().filter_map(|contact| contact.external_reference_id));
        cursor = page.pagination.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["rust-0", "rust-1", "rust-2", "rust-3", "rust-4"]);
    Ok(())
}

async fn files_come_back(api: &Configuration, agent: &str) -> Outcome {
    let contact = contacts::get_contact(api, "rust-1", agent, None).await?.data.id;
    let path = std::path::PathBuf::from("greeting.txt");
    std::fs::write(&path, "Good morning.\n")?;
    let file = files::upload_file(api, agent, &contact, path, None).await?.data;
    assert_eq!((file.file_name.as_str(), file.file_size), ("greeting.txt", 14));
    let listed = files::list_files(api, agent, &contact, None, None, None, None, None).await?;
    assert_eq!(listed.data.len(), 1);
    let signed = files::sign_file_url(api, agent, &contact, &file.id, Some(60), None).await?.data;
    let content = reqwest::get(&signed.url).await?.text().await?;
    assert_eq!(content, "Good morning.\n");
    let request = models::DeleteRequest { reason: Some(Some("tried".to_owned())) };
    let deleted = files::delete_file(api, agent, &contact, &file.id, None, None, Some(request)).await?.data;
    assert_eq!(deleted.id, file.id);
    Ok(())
}

async fn forms_are_submitted(api: &Configuration, agent: &str, template: &str) -> Outcome {
    let templates = forms::list_templates(api, agent, None, None, None).await?.data;
    assert!(templates.iter().any(|known| known.id == template));
    let answers = |rating: u32| {
        [("rating", json!(rating)), ("mayContact", json!(true))].map(|(name, value)| (name.to_owned(), value))
    };
    let submission = models::NewSubmission::new(answers(5).into());
    let id =
        forms::submit_form(api, template, "rust-1", submission, None, None).await?.data.id.expect("an id");
    let submission = forms::get_submission(api, &id, agent, None).await?.data;
    assert_eq!(submission.form_data, answers(5).into());
    let latest = forms::get_latest_submission(api, "rust-1", template, agent, None, None).await?.data;
    assert_eq!(latest.id, id);
    let wrong = models::NewSubmission::new(answers(9).into());
    let refusal = refused(forms::submit_form(api, template, "rust-1", wrong, None, None).await, 400);
    assert!(matches!(refusal, forms::SubmitFormError::Status400(_)), "{refusal:?}");
    Ok(())
}

async fn limits_are_reported(api: &Configuration, agent: &str) -> Outcome {
    for _ in 0..3 {
        contacts::get_contact(api, "rust-1", agent, None).await?;
    }
    let refusal = refused(contacts::get_contact(api, "rust-1", agent, None).await, 429);
    let contacts::GetContactError::Status429(error) = refusal else { panic!("{refusal:?}") };
    let wait = error.details.as_ref().and_then(|details| details.get("retryAfterSeconds")?.as_i64());
    assert!(wait.is_some_and(|seconds| (1..=60).contains(&seconds)), "{error:?}");
    Ok(())
}
