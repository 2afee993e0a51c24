"""Hooks of the schemathesis run: keys in turn, ids that exist, and a tally of what was answered.

scripts/schemathesis starts schemathesis with this module; OPENAPI_SCHEMATHESIS_STATE names the JSON file by which
the two talk.
"""

import atexit
import collections
import itertools
import json
import os
import pathlib
import re
import threading
import unicodedata
import urllib.parse
import zlib

import schemathesis
from schemathesis.core.parameters import ParameterLocation

with open(os.environ["OPENAPI_SCHEMATHESIS_STATE"], encoding="utf-8") as file:
    STATE = json.load(file)

# The hostile strings of the other tests (testkit/src/strategies/hostile.rs).
HOSTILE_FILE = pathlib.Path(__file__).resolve().parent.parent / "testkit/src/strategies/hostile.json"
HOSTILE = json.loads(HOSTILE_FILE.read_text(encoding="utf-8"))["text"]
# One case in this many, of those with nothing else wrong with them, gets one.
HOSTILE_ONE_IN = 4

# One generated value in this many is sent as it is: unknown, foreign and malformed ids belong to the test.
KEEP_ONE_IN = 6
# Enough to reach old and new records, little enough that none is met only once.
KNOWN_IDS = 64

CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
FORBIDDEN_IN_HEADERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

lock = threading.Lock()
keys = itertools.cycle(STATE["keys"])
# Path parameter -> values that exist.
known = {
    "agentId": collections.deque([STATE["agent"]], KNOWN_IDS),
    "contactId": collections.deque(maxlen=KNOWN_IDS),
    "externalReferenceId": collections.deque(maxlen=KNOWN_IDS),
    "templateId": collections.deque(STATE["templates"], KNOWN_IDS),
    "submissionId": collections.deque(STATE["submissions"], KNOWN_IDS),
    "jobId": collections.deque(maxlen=KNOWN_IDS),
    "batchId": collections.deque(maxlen=KNOWN_IDS),
}
# Contact and file, of files that are there; deletions use them up, uploads bring more.
files = collections.deque(((file["contactId"], file["id"]) for file in STATE["files"]), 400)
# The ids that an accepted DELETE has named: another case may delete what one has created, and a repeated creation with the
# same Idempotency-Key names what is gone.
deleted = set()
# Operation -> status and error code -> count.
tally = collections.defaultdict(collections.Counter)


def learn(contact):
    """Remembers the ids of a stored contact."""
    for parameter, field in (("contactId", "id"), ("externalReferenceId", "externalReferenceId")):
        value = contact.get(field)
        if value is not None and value not in known[parameter]:
            known[parameter].append(value)


for seed in STATE["contacts"]:
    learn(seed)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Sends every request to the server under test, whatever public address its document names."""
    items = [raw_schema, *raw_schema["paths"].values()]
    operations = [value for item in items[1:] for value in item.values() if isinstance(value, dict)]
    for server in (server for item in items + operations for server in item.get("servers", [])):
        server["url"] = STATE["origin"] + urllib.parse.urlsplit(server["url"]).path


@schemathesis.auth(refresh_interval=None)
class KeysInTurn:
    """Signs each request with the next key, so that no key meets its rate limit."""

    def get(self, case, context):
        with lock:
            return next(keys)

    def set(self, case, data, context):
        case.headers["X-API-Key"] = data["apiKey"]
        case.headers["X-API-Secret"] = data["apiSecret"]


def number_of(value):
    """A number that depends on the value alone: a case that is run again chooses again what it chose before."""
    return zlib.crc32(repr(value).encode("utf-8", "surrogatepass"))


def negative_at(case, location):
    """Whether the case is about something wrong at this location, which then stays as it is."""
    return case.meta is not None and case.meta.is_negative_at(location)


@schemathesis.hook
def filter_case(context, case):
    """Leaves out header values that HTTP forbids: the parser below the service refuses the whole head."""
    return not any(FORBIDDEN_IN_HEADERS.search(str(value)) for value in (case.headers or {}).values())


@schemathesis.hook
def before_call(context, case, kwargs):
    """Steers most cases to where they get past the first checks; the others stay as they were generated."""
    with lock:
        shorten_wait(case)
        if not negative_at(case, ParameterLocation.HEADER):
            drop_preconditions(case)
        if isinstance(case.body, dict) and not negative_at(case, ParameterLocation.BODY):
            tidy_body(case)
        if case.path_parameters and not negative_at(case, ParameterLocation.PATH):
            address_what_exists(case)
        if case.operation.path.startswith("/download/"):
            follow_a_link(case)
        if not any(negative_at(case, location) for location in ParameterLocation):
            add_hostile_string(case)


# The ids of cases with a hostile string or another form: the service may accept what schemathesis has not made.
altered = set()


def add_hostile_string(case):
    """Puts a hostile string into the query, the path or the body: whatever it is, the answer is a documented one."""
    number = number_of((case.operation.label, case.query, case.path_parameters, case.body))
    if number % HOSTILE_ONE_IN:
        return
    number //= HOSTILE_ONE_IN
    hostile = HOSTILE[number % len(HOSTILE)]
    hostile = (hostile, f"zoe{hostile}", f"{hostile}zoe", f"zo{hostile}e", hostile * 50)[number % 5]
    texts = [name for name in ("search", "tag", "clientId", "primaryEmail", "cursor", "templateId", "reason")
             if any(parameter.name == name for parameter in case.operation.query)]
    # Dots alone are steps of a path.
    paths = [] if not hostile.strip("./\\") else [
        name for name in case.path_parameters or {} if name not in ("agentId", "fileId")]
    strings = list(strings_of(case.body)) if isinstance(case.body, dict) and case.media_type == "application/json" else []
    match number % 3:
        case 0 if texts:
            case.query = dict(case.query or {}) | {texts[number % len(texts)]: hostile}
        case 1 if paths:
            case.path_parameters[paths[number % len(paths)]] = hostile
        case _ if strings:
            holder, name = strings[number % len(strings)]
            holder[name] = hostile
        case _:
            return
    altered.add(case.id)


def strings_of(value):
    """Where the strings of a body are: their containers, with their names or positions."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in inside:
        if isinstance(item, str):
            yield value, name
        elif isinstance(item, (dict, list)):
            yield from strings_of(item)


def shorten_wait(case):
    """Waits one second at most: a wait that is valid stays so, and most have nothing to wait for."""
    wait = (case.query or {}).get("wait")
    if str(wait).isdecimal() and 1 < int(wait) <= 25:
        case.query = case.query | {"wait": 1}


def drop_preconditions(case):
    """Takes out preconditions: generated ones fail."""
    for name in ("If-Match", "If-None-Match"):
        if name in case.headers and number_of((name, case.headers[name], case.body)) % KEEP_ONE_IN:
            del case.headers[name]


def tidy_body(case):
    """Takes out control characters, which are refused, and external ids in use, which schemathesis likes to repeat."""
    number = number_of(case.body)
    if number % KEEP_ONE_IN == 0:
        return
    if case.media_type == "multipart/form-data":
        # Random bytes are mostly of no type that is accepted. A form that is wrong stays so.
        if set(case.body) == {"file"} and isinstance(case.body["file"], (bytes, str)) and case.body["file"]:
            case.body = {"file": f"text {number}".encode()}
        if "/document-extraction/" in case.operation.path and "schema" in case.body:
            # Bytes are no string to schemathesis, which from then on takes the case for an invalid one.
            altered.add(case.id)
            case.body = extraction_form(case, number)
        return
    case.body = without_control_characters(case.body)
    if "/forms/" in case.operation.path:
        answer_form(case.body, number)
    if case.body.get("externalReferenceId") in known["externalReferenceId"]:
        del case.body["externalReferenceId"]


def extraction_form(case, number):
    """A form with a small document, or now and then with the file of a contact; the other fields as they were made."""
    generated = ("customInstructions", "clientId", "saveToStorage")
    form = without_control_characters({name: value for name, value in case.body.items() if name in generated})
    form["schema"] = '{"total":{"type":"number"}}'
    kind = case.operation.path.rpartition("/")[2]
    if kind in ("jobs", "batches"):
        form["batchId"] = f"batch {number % 5}"
    if kind == "batches":
        return form | {"document": [f"Total: {number + one}".encode() for one in range(1 + number % 3)]}
    if kind == "jobs" and number % 3 == 0 and files:
        contact, file = files[number % len(files)]
        return form | {"contactId": contact, "fileId": file}
    return form | {"document": f"Total: {number}".encode()}


def answer_form(body, number):
    """Answers the one question of the known forms; in batches now and then wrongly, and each on its own."""
    answer = {"note": f"note {number % 1000}"}
    if isinstance(body.get("formData"), dict):
        body["formData"] = answer
    elements = body.get("submissions")
    if not isinstance(elements, list) or not 1 <= len(elements) <= 10:
        return
    for element in elements:
        if isinstance(element, dict):
            # All stay under the first template: no element replaces another.
            element |= {"templateId": STATE["templates"][0], "formData": dict(answer)}
    if number % 4 == 0 and isinstance(elements[-1], dict):
        elements[-1]["formData"] = {"note": 7}
        body["allOrNone"] = False


def without_control_characters(value):
    match value:
        case str():
            return CONTROL_CHARACTERS.sub("", value)
        case list():
            return [without_control_characters(item) for item in value]
        case dict():
            return {name: without_control_characters(item) for name, item in value.items()}
    return value


def address_what_exists(case):
    """Puts ids that exist into the path, except for half of the upserts: those create."""
    if is_true((case.query or {}).get("upsert")) and (number := number_of(case.body)) % 2:
        case.path_parameters["externalReferenceId"] = f"upsert-{number}"
        if isinstance(case.body, dict):
            case.body.pop("externalReferenceId", None)
    if "fileId" in case.path_parameters and "contactId" in case.path_parameters and files:
        number = number_of(case.path_parameters["fileId"])
        if number % KEEP_ONE_IN:
            contact, file = files.popleft() if case.method == "DELETE" else files[number % len(files)]
            case.path_parameters |= {"agentId": STATE["agent"], "contactId": contact, "fileId": file}
            return
    for name, values in known.items():
        generated = case.path_parameters.get(name)
        if generated is None or not values or generated in values or str(generated).startswith("upsert-"):
            continue
        number = number_of((name, generated))
        if number % KEEP_ONE_IN:
            case.path_parameters[name] = values[number // KEEP_ONE_IN % len(values)]


def follow_a_link(case):
    """Puts a signed URL instead of the generated one, sometimes for a part of the file."""
    number = number_of((case.path_parameters, case.query))
    if number % KEEP_ONE_IN == 0:
        return
    link = STATE["links"][number % len(STATE["links"])]
    case.path_parameters["fileId"] = link["file"]
    case.query = dict(link["query"])
    if number % 3 == 0:
        case.headers["Range"] = "bytes=0-3"


def is_true(value):
    """Whether the service reads the query value as true."""
    return str(value).lower() in ("true", "1")


def is_blank(text):
    """Whether nothing of a text is visible."""
    return not "".join(letter for letter in text if unicodedata.category(letter) != "Cf").strip()


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Forgives accepted faults that are none, though no schema can say so."""
    # The document describes the text of a stream; schemathesis judges its events.
    if case.operation.path.endswith("/stream") and failure.code == "ST108":
        return False
    # An altered case is no longer what schemathesis takes it for: it may be accepted, or name nothing.
    if failure.code in ("ST201", "ST302") and case.id in altered:
        return False
    if failure.code == "ST302" and not deleted.isdisjoint(map(str, (case.path_parameters or {}).values())):
        return False
    if failure.code != "ST201":
        return True
    query = case.query or {}
    # An empty query value counts as absent (contract 5.1). What was sent tells: many a generated value becomes nothing.
    sent = urllib.parse.urlsplit(response.request.url).query
    absent = any(not value for _, value in urllib.parse.parse_qsl(sent, keep_blank_values=True))
    # A dry run ignores the key (contract 4.2).
    ignored = is_true(query.get("dryRun")) and "Idempotency-Key" in failure.message
    # Blank text is null (contract 2.1.1), however long, but the contract prints the schema with the form alone.
    body = case.body if isinstance(case.body, dict) else {}
    blank = is_blank(str(body.get("lastContactedAt", "-")))
    # Whatever was generated for a file, the part of a form holds bytes.
    binary = case.media_type == "multipart/form-data" and any(
        words in failure.message for words in ("positive test case", "body"))
    # Every request is signed, also one that was to lack its keys.
    signed = "(was X-API-Key" in failure.message
    # A blank cursor is none (contract 17.3).
    blank = blank or ("Last-Event-ID" in failure.message and response.request.headers.get("Last-Event-ID") in ("", b""))
    # A failed precondition is a refusal, which schemathesis does not count as one.
    failed = response.status_code == 412
    # A batch refuses its invalid items one by one (contract 4.4).
    data = body_of(response).get("data")
    refused = response.status_code == 207 and isinstance(data, dict) and data.get("failed", 0) > 0
    return not (absent or ignored or blank or binary or signed or failed or refused)


def body_of(response):
    """The envelope of a reply, empty if there is none."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def records(body):
    """The records in the `data` of a reply."""
    data = body.get("data")
    return [item for item in (data if isinstance(data, list) else [data]) if isinstance(item, dict)]


@schemathesis.hook
def after_call(context, case, response):
    """Counts the reply and learns from it what exists."""
    # A dry run shows what would be stored, so only what was created or read is known to exist.
    stored = response.status_code == 201 or (case.method == "GET" and response.status_code == 200)
    body = body_of(response)
    with lock:
        tally[case.operation.label][f"{response.status_code} {body.get('code', '')}".strip()] += 1
        if case.method == "DELETE" and response.status_code == 200:
            # What a path ends with, apart from the agent, is what goes: a file, not its contact.
            deleted.add([str(value) for name, value in case.path_parameters.items() if name != "agentId"][-1])
        if response.status_code == 201 and case.operation.path.startswith("/v1/open/files/"):
            files.extend((record["contactId"], record["id"]) for record in records(body) if "fileName" in record)
        if stored and "/forms/" in case.operation.path:
            for record in records(body):
                if "templateVersion" in record and record["id"] not in known["submissionId"]:
                    known["submissionId"].append(record["id"])
        if stored and "/document-extraction/jobs" in case.operation.path:
            for record in records(body):
                for parameter, field in (("jobId", "id"), ("batchId", "batchId")):
                    value = record.get(field)
                    if "attempts" in record and value is not None and value not in known[parameter]:
                        known[parameter].append(value)
        if stored and "/contacts" in case.operation.path:
            for record in records(body):
                if "primaryEmail" in record:
                    learn(record)


@atexit.register
def write_tally():
    with open(STATE["tally"], "w", encoding="utf-8") as file:
        json.dump(tally, file)
