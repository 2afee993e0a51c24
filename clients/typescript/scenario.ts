// Uses the generated types with openapi-fetch as a customer's program would: contacts, pages, files, forms, errors,
// limits.
// The environment names the server and the keys, as for clients/rust.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type NewContact = components["schemas"]["NewContact"];

function given(name: string): string {
  const value = process.env[name];
  assert(value, `${name} is not set`);
  return value;
}

function client(key: string, secret: string) {
  return createClient<paths>({
    baseUrl: given("ORIGIN"),
    headers: { "X-API-Key": given(key), "X-API-Secret": given(secret) },
  });
}

const api = client("KEY", "SECRET");
const agentId = given("AGENT");
const templateId = given("TEMPLATE");

const newContact = (number: number): NewContact => ({
  externalReferenceId: `ts-${number}`,
  primaryEmail: `ts-${number}@example.com`,
  firstName: "Zoë",
});

const createContact = (number: number, query?: { dryRun?: boolean }) =>
  api.POST("/v1/open/contacts/chatbots/{agentId}", { params: { path: { agentId }, query }, body: newContact(number) });

async function health() {
  const { data } = await api.GET("/v1/open/health");
  assert.equal(data?.version, "1.0.0");
}

async function contactsLive() {
  const preview = await createContact(0, { dryRun: true });
  assert.equal(preview.data?.data.id, null);
  const created = await createContact(0);
  assert.equal(created.response.status, 201);
  const contactId = created.data?.data.id;
  assert(contactId);

  const path = { externalReferenceId: "ts-0", agentId };
  const found = await api.GET("/v1/open/contacts/{externalReferenceId}/chatbots/{agentId}", { params: { path } });
  assert.equal(found.data?.data.id, contactId);
  const changed = await api.PUT("/v1/open/contacts/{externalReferenceId}/chatbots/{agentId}", {
    params: { path },
    body: { firstName: null, tags: ["vip"] },
  });
  assert.deepEqual([changed.data?.data.firstName, changed.data?.data.tags], [null, ["vip"]]);
  const archived = await api.PATCH("/v1/open/contacts/platformid/{contactId}/chatbots/{agentId}/archive", {
    params: { path: { contactId, agentId } },
  });
  assert.equal(archived.data?.data.isArchived, true);
  await api.PATCH("/v1/open/contacts/{externalReferenceId}/chatbots/{agentId}/unarchive", { params: { path } });
}

async function errorsAreTyped() {
  const wrong = await api.POST("/v1/open/contacts/chatbots/{agentId}", {
    params: { path: { agentId } },
    body: { primaryEmail: "nobody" },
  });
  assert.equal(wrong.response.status, 400);
  assert.equal(wrong.error?.code, "VALIDATION_ERROR");
  assert.deepEqual([wrong.error?.validationErrors?.[0]?.field, wrong.error?.validationErrors?.[0]?.value], ["primaryEmail", "nobody"]);
  const twice = await createContact(0);
  assert.deepEqual([twice.response.status, twice.error?.code], [409, "DUPLICATE_EXTERNAL_REFERENCE_ID"]);
}

async function pagesAreTurned() {
  for (let number = 1; number < 5; number++) assert.equal((await createContact(number)).response.status, 201);
  const seen: (string | null)[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.GET("/v1/open/contacts/chatbots/{agentId}", {
      params: { path: { agentId }, query: { limit: 2, search: "ts-", sortBy: "createdAt", sortOrder: "asc", cursor } },
    });
    assert.equal(page.data?.pagination.totalItems, 5);
    seen.push(...page.data.data.map((contact) => contact.externalReferenceId));
    cursor = page.data.pagination.nextCursor ?? undefined;
  } while (cursor);
  assert.deepEqual(seen, ["ts-0", "ts-1", "ts-2", "ts-3", "ts-4"]);
}

async function filesComeBack() {
  const found = await api.GET("/v1/open/contacts/{externalReferenceId}/chatbots/{agentId}", {
    params: { path: { externalReferenceId: "ts-1", agentId } },
  });
  const contactId = found.data?.data.id;
  assert(contactId);
  const path = { agentId, contactId };
  const form = new FormData();
  form.set("file", new Blob(["Good morning.\n"], { type: "text/plain" }), "greeting.txt");
  const stored = await api.POST("/v1/open/files/chatbots/{agentId}/{contactId}", {
    params: { path },
    // The generated type of a file in a form is a string; the request body is the form itself.
    body: { file: "" },
    bodySerializer: () => form,
  });
  const file = stored.data?.data;
  assert(file);
  assert.deepEqual([file.fileName, file.fileSize], ["greeting.txt", 14]);
  const one = { ...path, fileId: file.id };
  const signed = await api.GET("/v1/open/files/chatbots/{agentId}/{contactId}/files/{fileId}/signed-url", {
    params: { path: one },
  });
  assert(signed.data);
  assert.equal(await (await fetch(signed.data.data.url)).text(), "Good morning.\n");
  const deleted = await api.DELETE("/v1/open/files/chatbots/{agentId}/{contactId}/files/{fileId}", {
    params: { path: one },
    body: { reason: "tried" },
  });
  assert.equal(deleted.data?.data.deleted, true);
}

async function formsAreSubmitted() {
  const templates = await api.GET("/v1/open/forms/templates/chatbots/{agentId}", { params: { path: { agentId } } });
  assert(templates.data?.data.some((template) => template.id === templateId));
  const path = { templateId, externalReferenceId: "ts-1" };
  const formData = { rating: 5, mayContact: true };
  const submit = "/v1/open/forms/submit/{templateId}/contacts/{externalReferenceId}";
  const submitted = await api.POST(submit, { params: { path }, body: { formData } });
  assert.equal(submitted.response.status, 201);
  assert.deepEqual(submitted.data?.data.formData, formData);
  const wrong = await api.POST(submit, { params: { path }, body: { formData: { rating: 9, mayContact: true } } });
  assert.deepEqual([wrong.error?.code, wrong.error?.validationErrors?.[0]?.field], ["VALIDATION_ERROR", "formData.rating"]);
}

async function limitsAreReported() {
  const slow = client("SLOW_KEY", "SLOW_SECRET");
  const get = () => slow.GET("/v1/open/contacts/chatbots/{agentId}", { params: { path: { agentId } } });
  for (let request = 0; request < 3; request++) assert.equal((await get()).response.status, 200);
  const refused = await get();
  assert.deepEqual([refused.response.status, refused.error?.code], [429, "RATE_LIMIT_EXCEEDED"]);
  const wait = Number(refused.response.headers.get("retry-after"));
  assert(wait >= 1 && wait <= 60, `${wait}`);
}

for (const step of [health, contactsLive, errorsAreTyped, pagesAreTurned, filesComeBack, formsAreSubmitted, limitsAreReported]) {
  await step();
}
