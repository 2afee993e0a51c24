// Verifies the messages of a file with the published package: each line says what the outcome must be.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

let accepted = 0;
let refused = 0;
const lines = readFileSync(process.argv[2], "utf8").trimEnd().split("\n");
for (const [index, line] of lines.entries()) {
  const test = JSON.parse(line);
  let event = null;
  let reason = "";
  try {
    event = new Webhook(test.secret).verify(test.body, test.headers);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    reason = error.message;
  }
  if ((event !== null) !== test.valid) {
    throw new Error(`line ${index + 1}, ${test.about}: ${event === null ? `refused: ${reason}` : "accepted"}`);
  }
  if (event === null) {
    refused += 1;
  } else {
    accepted += 1;
    if (!isDeepStrictEqual(event, JSON.parse(test.body))) throw new Error(`line ${index + 1}: the event differs from its body`);
  }
}
console.log(`javascript: ${accepted} accepted, ${refused} refused`);
