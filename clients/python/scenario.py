"""Uses the generated client as a customer's program would: contacts, pages, files, forms, an extraction's schema, errors,
limits. The environment names the server and the keys, as for clients/rust."""

import os
import urllib.request

from open_api_client import Client
from open_api_client.api.contacts import (
    archive_contact, create_contact, get_contact, list_contacts, unarchive_contact, update_contact)
from open_api_client.api.files import delete_file, sign_file_url
from open_api_client.api.forms import list_templates, submit_form
from open_api_client.api.health import health
from open_api_client.models import (
    ContactChanges, DeleteRequest, ExtractionField, ExtractionFieldType, ListContactsSortBy, ListContactsSortOrder,
    NewContact, NewSubmission, NewSubmissionFormData, UploadFileResponse201)
from open_api_client.types import UNSET

AGENT, TEMPLATE = os.environ["AGENT"], os.environ["TEMPLATE"]


def client(key, secret):
    # The generated authentication knows one header only.
    keys = {"X-API-Key": os.environ[key], "X-API-Secret": os.environ[secret]}
    return Client(base_url=os.environ["ORIGIN"], headers=keys, raise_on_unexpected_status=True)


api = client("KEY", "SECRET")


def create(number, **more):
    body = NewContact(external_reference_id=f"py-{number}", primary_email=f"py-{number}@example.com", first_name="Zoë")
    return create_contact.sync_detailed(AGENT, client=api, body=body, **more)


def is_healthy():
    assert health.sync(client=api).version == "1.0.0"


def contacts_live():
    assert create(0, dry_run=True).parsed.data.id is None
    created = create(0)
    assert created.status_code == 201, created
    found = get_contact.sync("py-0", AGENT, client=api)
    assert found.data.id == created.parsed.data.id
    changes = ContactChanges(first_name=None, tags=["vip"])
    changed = update_contact.sync("py-0", AGENT, client=api, body=changes)
    assert (changed.data.first_name, changed.data.tags) == (None, ["vip"]), changed
    assert archive_contact.sync("py-0", AGENT, client=api).data.is_archived
    assert not unarchive_contact.sync("py-0", AGENT, client=api).data.is_archived


def errors_are_typed():
    wrong = create_contact.sync_detailed(AGENT, client=api, body=NewContact(primary_email="nobody"))
    first = wrong.parsed.validation_errors[0]
    assert (wrong.status_code, wrong.parsed.code) == (400, "VALIDATION_ERROR"), wrong
    assert (first.field, first.value) == ("primaryEmail", "nobody"), first
    twice = create(0)
    assert (twice.status_code, twice.parsed.code) == (409, "DUPLICATE_EXTERNAL_REFERENCE_ID"), twice


def pages_are_turned():
    for number in range(1, 5):
        assert create(number).status_code == 201
    seen, cursor = [], UNSET
    while cursor is not None:
        page = list_contacts.sync(
            AGENT, client=api, limit=2, search="py-", sort_by=ListContactsSortBy.CREATEDAT,
            sort_order=ListContactsSortOrder.ASC, page=UNSET, cursor=cursor)
        assert page.pagination.total_items == 5
        seen += [contact.external_reference_id for contact in page.data]
        cursor = page.pagination.next_cursor
    assert seen == [f"py-{number}" for number in range(5)], seen


def files_come_back():
    contact = get_contact.sync("py-1", AGENT, client=api).data.id
    # The generated type of a file in a form is a string; the form itself is sent with the client below.
    form = {"file": ("greeting.txt", b"Good morning.\n", "text/plain")}
    sent = api.get_httpx_client().post(f"/v1/open/files/chatbots/{AGENT}/{contact}", files=form)
    stored = UploadFileResponse201.from_dict(sent.json()).data
    assert (stored.file_name, stored.file_size) == ("greeting.txt", 14), stored
    signed = sign_file_url.sync(AGENT, contact, stored.id, client=api).data
    with urllib.request.urlopen(signed.url) as content:
        assert content.read() == b"Good morning.\n"
    deleted = delete_file.sync(AGENT, contact, stored.id, client=api, body=DeleteRequest(reason="tried"))
    assert deleted.data.deleted is True


def forms_are_submitted():
    templates = list_templates.sync(AGENT, client=api)
    assert TEMPLATE in [template.id for template in templates.data]
    answers = {"rating": 5, "mayContact": True}
    body = NewSubmission(form_data=NewSubmissionFormData.from_dict(answers))
    submitted = submit_form.sync_detailed(TEMPLATE, "py-1", client=api, body=body)
    assert submitted.status_code == 201, submitted
    assert submitted.parsed.data.form_data.to_dict() == answers, submitted
    body = NewSubmission(form_data=NewSubmissionFormData.from_dict(answers | {"rating": 9}))
    wrong = submit_form.sync(TEMPLATE, "py-1", client=api, body=body)
    assert wrong.validation_errors[0].field == "formData.rating", wrong


def schemas_of_extractions_are_made():
    # A schema with an array whose items the document did not describe was left out of the client.
    field = ExtractionField(type_=ExtractionFieldType.STRING, enum=["a", 1])
    assert field.to_dict() == {"type": "string", "enum": ["a", 1], "required": False}, field.to_dict()


def limits_are_reported():
    slow = client("SLOW_KEY", "SLOW_SECRET")
    for _ in range(3):
        assert list_contacts.sync_detailed(AGENT, client=slow).status_code == 200
    refused = list_contacts.sync_detailed(AGENT, client=slow)
    assert (refused.status_code, refused.parsed.code) == (429, "RATE_LIMIT_EXCEEDED"), refused
    assert 1 <= int(refused.headers["retry-after"]) <= 60


for step in (is_healthy, contacts_live, errors_are_typed, pages_are_turned, files_come_back, forms_are_submitted,
             schemas_of_extractions_are_made, limits_are_reported):
    step()
