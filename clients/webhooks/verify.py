"""Verifies the messages of a file with the published package: each line says what the outcome must be."""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

accepted = refused = 0
with open(sys.argv[1], encoding="utf-8") as lines:
    for number, line in enumerate(lines, 1):
        case = json.loads(line)
        try:
            event = Webhook(case["secret"]).verify(case["body"].encode(), case["headers"])
        except WebhookVerificationError as error:
            event, reason = None, error
        if (event is not None) != case["valid"]:
            sys.exit(f"line {number}, {case['about']}: {'accepted' if event is not None else f'refused: {reason}'}")
        if event is None:
            refused += 1
        else:
            accepted += 1
            if event != json.loads(case["body"]):
                sys.exit(f"line {number}: the event differs from its body")
print(f"python: {accepted} accepted, {refused} refused")
