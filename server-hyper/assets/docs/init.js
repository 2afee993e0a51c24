// Starts the viewer on the service's own OpenAPI document.
"use strict";

// Paths are relative to the page's address, `{origin}/docs`, so that an origin with a path of its own works too.
const DOCUMENT_PATH = "openapi.json";

// The document names the configured public address. The page may be open under another one (`localhost` for
// `127.0.0.1`, or through a tunnel), which its content security policy forbids to leave: requests tried out
// here go to the address that served the page.
function servedFromHere(description) {
  const servers = (description.servers ?? []).map((server) => {
    const { pathname } = new URL(server.url, document.baseURI);
    return { ...server, url: window.location.origin + pathname.replace(/\/$/, "") };
  });
  return { ...description, servers };
}

function show(description) {
  window.SwaggerUIBundle({
    spec: servedFromHere(description),
    dom_id: "#reference",
    // Never sends the document to a validator outside.
    validatorUrl: null,
    // Keys and secrets live in the open page only, not in the browser's storage.
    persistAuthorization: false,
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    filter: true,
  });
}

async function load() {
  const response = await fetch(DOCUMENT_PATH, { headers: { Accept: "application/json" } });
  if (!response.ok) {
    throw new Error(`${DOCUMENT_PATH} was answered with status ${response.status}.`);
  }
  return response.json();
}

load().then(show).catch((error) => {
  const notice = document.createElement("p");
  notice.setAttribute("role", "alert");
  notice.textContent = `The reference could not be shown: ${error.message} Reload the page to try again.`;
  document.getElementById("reference").replaceChildren(notice);
});
