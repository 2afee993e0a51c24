//! Agents: ids, states, deletion.

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Sandbox, on_every_backend, story};
use openapi_core::admin::{Admin, AdminError, NewAgent};
use openapi_core::agents::AgentStatus;
use openapi_core::values::AgentId;

on_every_backend!(
    chosen_and_generated_ids,
    listed_oldest_first,
    deletion_removes_everything,
    changes_of_state
);

fn create(cx: &Sandbox, id: Option<&str>) -> Result<openapi_core::agents::Agent, AdminError> {
    let id = id.map(|id| id.parse().expect("an agent id"));
    wait(cx.platform.create_agent(&operator(), NewAgent { id, name: "Test".parse().expect("a name") }))
}

fn chosen_and_generated_ids(backend: Backend) {
    let cx = Sandbox::new(backend);
    for good in ["a", "A_b-9", &"x".repeat(64), "697dc8165d4ffa83cfc35cfc"] {
        assert_eq!(create(&cx, Some(good)).expect("created").id.as_str(), good);
        assert!(matches!(create(&cx, Some(good)), Err(AdminError::Conflict(_))));
    }
    // Ids are case-sensitive.
    let _ = create(&cx, Some("a_B-9")).expect("created");
    for bad in ["", "a b", "a/b", "a.b", "é", &"x".repeat(65)] {
        assert!(bad.parse::<AgentId>().is_err(), "{bad}");
    }
    let generated = create(&cx, None).expect("created").id;
    assert!(generated.as_str().len() == 24 && generated.as_str().starts_with("697dc816"), "{generated}");
}

fn listed_oldest_first(backend: Backend) {
    let cx = Sandbox::new(backend);
    for id in ["b", "a", "c"] {
        cx.advance(1);
        let _ = create(&cx, Some(id)).expect("created");
    }
    let _ = wait(cx.platform.delete_agent(&operator(), &"a".parse().expect("an id"))).expect("deleted");
    let listed: Vec<String> = wait(cx.platform.agents())
        .expect("the agents")
        .into_iter()
        .map(|agent| agent.id.to_string())
        .collect();
    assert_eq!(listed, [cx.agent.as_str(), "b", "c"]);
}

fn deletion_removes_everything(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    let agent = wait(cx.platform.delete_agent(&operator(), &cx.agent)).expect("deleted");
    assert_eq!(agent.status, AgentStatus::Deleted);
    let _ = cx.get("/contacts/chatbots/<A>").fails(401, "INVALID_CREDENTIALS");
    let gone = wait(cx.platform.key(&Sandbox::selector(&cx.credentials)));
    assert!(matches!(gone, Err(AdminError::NotFound { .. })));
    for missing in [
        wait(cx.platform.keys(&cx.agent)).map(|_| ()),
        wait(cx.platform.contact_schema(&cx.agent)).map(|_| ()),
        wait(cx.platform.contact_schema_history(&cx.agent)).map(|_| ()),
        wait(cx.platform.export_contacts(&cx.agent, None, 10)).map(|_| ()),
        wait(cx.platform.agent(&cx.agent)).map(|_| ()),
    ] {
        assert!(matches!(missing, Err(AdminError::NotFound { .. })), "{missing:?}");
    }
    // A second deletion continues where the first stopped.
    let _ = wait(cx.platform.delete_agent(&operator(), &cx.agent)).expect("deleted");
}

fn changes_of_state(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.advance(1_000);
    let disabled = wait(cx.platform.disable_agent(&operator(), &cx.agent)).expect("disabled");
    assert_eq!(
        (disabled.status, disabled.updated_at),
        (AgentStatus::Disabled, openapi_core::ports::Clock::now(&*cx.clock))
    );
    cx.advance(1_000);
    let again = wait(cx.platform.disable_agent(&operator(), &cx.agent)).expect("disabled");
    assert_eq!(again, disabled, "no change");
    let unknown = wait(cx.platform.disable_agent(&operator(), &"nobody".parse().expect("an id")));
    assert!(matches!(unknown, Err(AdminError::NotFound { what: "agent", .. })), "{unknown:?}");
}
