// Generated from the table of operations (console/src/operations). Do not edit: UPDATE=1 cargo test -p console --test generated

export type Capability =
  | 'agents.read'
  | 'forms.read'
  | 'schema.read'
  | 'agents.manage'
  | 'credits.manage'
  | 'server.read'
  | 'inbox.read'
  | 'inbox.reply'
  | 'inbox.manage'
  | 'contacts.write'
  | 'files.write'
  | 'contacts.read'
  | 'sensitive.read'
  | 'contacts.bulk'
  | 'contacts.export'
  | 'contacts.erase'
  | 'inbox.erase'
  | 'documents.purge'
  | 'audit.read'
  | 'members.read'
  | 'members.manage'
  | 'tokens.manage'
  | 'submissions.read'
  | 'submissions.review'
  | 'documents.read'
  | 'documents.correct'
  | 'documents.run'
  | 'studio.read'
  | 'credits.read'
  | 'insights.read'
  | 'studio.write'
  | 'studio.publish'
  | 'studio.secret'
  | 'templates.write'
  | 'schema.write'
  | 'keys.read'
  | 'keys.manage'
  | 'webhooks.read'
  | 'webhooks.manage'
  | 'signIn.manage'
  | 'server.manage';

export type Role =
  | 'owner'
  | 'admin'
  | 'developer'
  | 'agent-editor'
  | 'inbox'
  | 'reviewer'
  | 'viewer';

export type ErrorCode =
  | 'UNAUTHENTICATED'
  | 'SESSION_ENDED'
  | 'INSUFFICIENT_ROLE'
  | 'STEP_UP_REQUIRED'
  | 'SET_UP_REQUIRED'
  | 'CROSS_SITE_REQUEST'
  | 'NOT_FOUND'
  | 'LINK_INVALID'
  | 'CONFLICT'
  | 'LAST_OWNER'
  | 'CONVERSATION_MOVED'
  | 'SECRET_NOT_REPEATABLE'
  | 'MISDIRECTED_REQUEST'
  | 'NOT_POSSIBLE'
  | 'PRECONDITION_REQUIRED'
  | 'BAD_REQUEST'
  | 'INVALID_JSON'
  | 'VALIDATION_ERROR'
  | 'MISSING_CREDENTIALS'
  | 'INVALID_CREDENTIALS'
  | 'API_KEY_REVOKED'
  | 'API_KEY_EXPIRED'
  | 'INSUFFICIENT_CREDITS'
  | 'IP_NOT_ALLOWED'
  | 'INSUFFICIENT_PERMISSIONS'
  | 'AGENT_FORBIDDEN'
  | 'STORAGE_QUOTA_EXCEEDED'
  | 'ENDPOINT_LIMIT_EXCEEDED'
  | 'SIGNED_URL_INVALID'
  | 'SIGNED_URL_EXPIRED'
  | 'ROUTE_NOT_FOUND'
  | 'CONTACT_NOT_FOUND'
  | 'FILE_NOT_FOUND'
  | 'TEMPLATE_NOT_FOUND'
  | 'SUBMISSION_NOT_FOUND'
  | 'ENDPOINT_NOT_FOUND'
  | 'JOB_NOT_FOUND'
  | 'BATCH_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'DUPLICATE_EXTERNAL_REFERENCE_ID'
  | 'DUPLICATE_VALUE'
  | 'CONTACT_ARCHIVED'
  | 'SUBMISSION_SUPERSEDED'
  | 'SUBMISSION_LOCKED'
  | 'INVALID_STATUS_TRANSITION'
  | 'TEMPLATE_INACTIVE'
  | 'JOB_FINISHED'
  | 'CONCURRENT_UPDATE'
  | 'IDEMPOTENCY_KEY_IN_USE'
  | 'EVENTS_LOST'
  | 'PRECONDITION_FAILED'
  | 'PAYLOAD_TOO_LARGE'
  | 'FILE_TOO_LARGE'
  | 'DOCUMENT_TOO_LARGE'
  | 'URI_TOO_LONG'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'UNSUPPORTED_FILE_TYPE'
  | 'RANGE_NOT_SATISFIABLE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'DOCUMENT_ENCRYPTED'
  | 'DOCUMENT_UNREADABLE'
  | 'RATE_LIMIT_EXCEEDED'
  | 'TOO_MANY_FAILED_ATTEMPTS'
  | 'CONCURRENCY_LIMIT_EXCEEDED'
  | 'QUEUE_FULL'
  | 'STREAM_LIMIT_EXCEEDED'
  | 'HEADERS_TOO_LARGE'
  | 'INTERNAL_ERROR'
  | 'EXTRACTION_FAILED'
  | 'SERVICE_UNAVAILABLE'
  | 'EXTRACTION_UNAVAILABLE'
  | 'EVENTS_UNAVAILABLE'
  | 'STORAGE_UNAVAILABLE'
  | 'EXTRACTION_TIMEOUT';

export type AcceptedLink = {
  readonly session: Session;
  /** On plain HTTP: the pages store it and send it as `X-Console`. Else `null`, and they send `1`. */
  readonly pageSecret: string | null;
  /** Each leads back into the account once. Shown this once. */
  readonly recoveryCodes: readonly (string)[];
};

export type Actor = {
  readonly type: string;
  readonly id: string;
  /** Of an operator whose account is the console's own and exists. */
  readonly name: string | null;
};

export type Agent = {
  readonly id: string;
  readonly name: string;
  readonly status: 'active' | 'disabled';
  readonly createdAt: string;
  readonly updatedAt: string;
  /** As `Last-Event-ID` of a live stream: the stream also sends what happens between this answer and its begin. `null` on a server without live updates. */
  readonly liveFrom: string | null;
};

export type AgentSettings = {
  /** All members, as `agents configure` writes them. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The values of members that are left out. */
  readonly builtIn: Readonly<Record<string, unknown>>;
  /** The values of `chat.responder` that this server knows. */
  readonly responders: readonly (string)[];
};

export type Attachment = {
  readonly name: string;
  readonly size: number;
  readonly type: string;
};

export type AuditEntry = {
  readonly id: string;
  readonly agentId: string | null;
  readonly at: string;
  readonly actor: Actor;
  readonly action: string;
  readonly resource: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  readonly details: Readonly<Record<string, unknown>>;
};

export type AuditPage = {
  readonly entries: readonly (AuditEntry)[];
  /** What to ask for next; `null` at the end of the log. */
  readonly next: EntryPosition | null;
};

export type Capabilities = Readonly<Record<string, 'full' | 'masked'>>;

export type Ceremony = {
  /** For `PublicKeyCredential.parseRequestOptionsFromJSON()`, or `parseCreationOptionsFromJSON()` where a passkey is added; `null` without passkeys. */
  readonly publicKey: Readonly<Record<string, unknown>> | null;
  readonly methods: readonly (string)[];
};

export type CitedSource = {
  readonly n: number;
  readonly title: string;
  readonly url: string | null;
};

export type Claim = {
  readonly name: string;
  /** The JSON of the value, of which long ones are cut. */
  readonly value: string;
};

export type Contact = {
  readonly id: string;
  readonly agentId: string;
  readonly externalReferenceId: string | null;
  readonly salutation: string | null;
  readonly firstName: string | null;
  readonly middleName: string | null;
  readonly lastName: string | null;
  readonly dob: string | null;
  readonly gender: string | null;
  readonly primaryEmail: string;
  readonly primaryPhone: string | null;
  readonly primaryPhoneCode: string | null;
  readonly fullAddress: string | null;
  readonly tags: readonly (string)[];
  readonly status: 'active' | 'inactive' | 'blocked';
  readonly source: string;
  readonly lastContactedAt: string | null;
  readonly customFields: Readonly<Record<string, unknown>>;
  readonly isArchived: boolean;
  readonly archivedAt: string | null;
  readonly createdAt: string;
  /** Moves only when a stored value changes. */
  readonly updatedAt: string;
};

export type ContactNotes = {
  readonly notes: readonly (Note)[];
  /** What to pass as `after` next; `null` at the end of the list. */
  readonly next: string | null;
};

export type Conversation = {
  readonly id: string;
  readonly status: 'open' | 'closed';
  readonly mode: 'ai' | 'human';
  /** Since when the visitor waits for a person. */
  readonly waitingSince: string | null;
  readonly visitor: Visitor;
  readonly contactId: string | null;
  /** Whether the visitor's data are left out. */
  readonly isMasked: boolean;
  readonly locale: string;
  readonly timeZone: string | null;
  readonly pageUrl: string | null;
  readonly messageCount: number;
  /** Messages of the visitor that no operator has read. */
  readonly unread: number;
  readonly lastMessage: MessagePreview | null;
  readonly lastMessageAt: string;
  readonly participants: readonly (Participant)[];
  readonly closedAt: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When it is erased. */
  readonly expiresAt: string;
};

export type ConversationCounts = {
  readonly open: number;
  /** Open ones that a person has taken over, or that wait for a person. */
  readonly human: number;
  readonly closed: number;
  readonly all: number;
};

export type Correction = {
  /** The extraction, which may be gone. */
  readonly job: string;
  readonly document: {
    readonly fileName: string;
    readonly contentType: string;
    readonly fileSize: number;
    readonly sha256: string;
    /** `null` for text and DOCX. */
    readonly pageCount: number | null;
    readonly characterCount: number;
    readonly ocrApplied: boolean;
    /** ISO 639-1, where it was detected. */
    readonly language: string | null;
    readonly stored: boolean;
    readonly fileId: string | null;
  };
  /** The contact whose file it is. */
  readonly contactId: string | null;
  readonly schema: Readonly<Record<string, unknown>>;
  /** A value for each field of the schema; `null` where the document has none. */
  readonly expected: Readonly<Record<string, unknown>>;
  readonly by: Actor;
  readonly at: string;
};

export type CorrectionPage = {
  readonly corrections: readonly (Correction)[];
  /** What to pass as `after` next; `null` at the end of the list. */
  readonly next: string | null;
};

export type CreditAccount = {
  /** Whether nothing is charged; the balances stay. */
  readonly isUnlimited: boolean;
  /** What can be spent. */
  readonly available: number;
  /** What is left of the plan, which is spent first. */
  readonly plan: number;
  /** What was bought beyond it. */
  readonly topUp: number;
  /** What is set aside for work that runs. */
  readonly reserved: number;
  /** The event `credits.low` comes when fewer are available. */
  readonly lowAt: number | null;
  /** What a page of an extraction costs. */
  readonly perPage: number;
  /** How many characters of a document without pages are one. */
  readonly charactersPerPage: number;
};

export type CreditEntry = {
  readonly id: string;
  readonly at: string;
  readonly kind: 'set' | 'topUp' | 'charge' | 'chat' | 'refund';
  /** How the plan changed. */
  readonly plan: number;
  /** How the credits beyond it changed. */
  readonly topUp: number;
  /** What could be spent afterwards. */
  readonly available: number;
  readonly actor: Actor;
  readonly note: string | null;
};

export type CreditLedger = {
  /** The newest first. */
  readonly entries: readonly (CreditEntry)[];
  /** What to ask for next; `null` at the end of the ledger. */
  readonly next: EntryPosition | null;
};

export type EntryPosition = {
  readonly beforeAt: string;
  readonly beforeId: string;
};

export type Event = {
  readonly id: string;
  readonly seq: number;
  readonly cursor: string;
  readonly type: string;
  readonly timestamp: string;
  readonly agentId: string;
  readonly actor: {
    readonly type: 'apiKey' | 'operator' | 'user' | 'visitor' | 'system';
    readonly id: string | null;
  };
  readonly data: Readonly<Record<string, unknown>>;
  /** Whether the contact was erased, so that `data` is empty. */
  readonly erased?: boolean;
};

export type ExtractionJob = {
  readonly id: string;
  readonly agentId: string;
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  readonly batchId: string | null;
  readonly clientId: string | null;
  readonly contactId: string | null;
  readonly fileId: string | null;
  readonly document: {
    readonly fileName: string;
    readonly contentType: string;
    readonly fileSize: number;
    readonly sha256: string;
    /** `null` for text and DOCX. */
    readonly pageCount: number | null;
    readonly characterCount: number;
    readonly ocrApplied: boolean;
    /** ISO 639-1, where it was detected. */
    readonly language: string | null;
    readonly stored: boolean;
    readonly fileId: string | null;
  };
  /** How often a server has begun it. */
  readonly attempts: number;
  readonly creditsReserved: number;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** When job and result are removed; `null` until the job has ended. */
  readonly expiresAt: string | null;
  /** Why there is no result. */
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  /** `data` and `metadata` as `extract` answers them, of one job that has succeeded; lists leave it out. */
  readonly result: {
    readonly data: Readonly<Record<string, unknown>>;
    readonly metadata: ExtractionMetadata;
  } | null;
};

export type ExtractionMetadata = {
  readonly confidence: number;
  readonly fieldConfidences: Readonly<Record<string, number>>;
  readonly validation: {
    /** Whether `errors` is empty. */
    readonly isValid: boolean;
    readonly errors: readonly ({
      /** The path in `data`. */
      readonly field: string | null;
      readonly message: string;
      /** The text of the document that could not be used. */
      readonly value: unknown;
      readonly type: string;
    })[];
    readonly warnings: readonly ({
      /** The path in `data`. */
      readonly field: string | null;
      readonly message: string;
      /** The text of the document that could not be used. */
      readonly value: unknown;
      readonly type: string;
    })[];
    readonly missingRequired: readonly (string)[];
    readonly lowConfidence: readonly (string)[];
  };
  /** In milliseconds. */
  readonly processingTime: number;
  readonly document: {
    readonly fileName: string;
    readonly contentType: string;
    readonly fileSize: number;
    readonly sha256: string;
    /** `null` for text and DOCX. */
    readonly pageCount: number | null;
    readonly characterCount: number;
    readonly ocrApplied: boolean;
    /** ISO 639-1, where it was detected. */
    readonly language: string | null;
    readonly stored: boolean;
    readonly fileId: string | null;
  };
  readonly usage: {
    readonly creditsCharged: number;
    /** `null` without a balance. */
    readonly creditsRemaining: number | null;
  };
  /** `builtin`, or the name that the operator gives another. */
  readonly engine: string;
  /** The evidence of every scalar that was found, by its path in `data`. */
  readonly fields: Readonly<Record<string, {
    readonly confidence: number;
    readonly page: number | null;
    /** The text of the document that says it. */
    readonly sourceText: string;
    /** In points (1/72 inch) from the top left corner of the page. */
    readonly boundingBox: {
      readonly x: number;
      readonly y: number;
      readonly width: number;
      readonly height: number;
    } | null;
  }>>;
};

export type ExtractionReport = {
  readonly extraction: ExtractionJob;
  /** The fields that were asked for, as they were sent. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Who asked for it. */
  readonly by: Actor;
  /** What an operator noted of the document; `null` when nobody did. */
  readonly correction: Correction | null;
};

export type ExtractionState = {
  readonly id: string;
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
};

export type FoundPassage = {
  readonly documentId: string;
  readonly title: string;
  readonly url: string | null;
  readonly headings: readonly (string)[];
  readonly page: number | null;
  readonly text: string;
  /** Comparable within one search only. */
  readonly score: number;
};

export type Identity = {
  readonly id: string;
  /** The id of the provider; `null`: it was removed or switched off, so nobody signs in there. */
  readonly provider: string | null;
  readonly providerName: string | null;
  readonly issuer: string;
  /** The address at the provider, if it has verified one. */
  readonly email: string | null;
  readonly linkedAt: string;
  readonly lastUsedAt: string | null;
};

export type IdentitySecrets = {
  /** The secret to sign with; `null` until the first is made. */
  readonly secret: string | null;
  /** The secret before it, while it is valid. */
  readonly previous: string | null;
};

export type ImportChange = {
  /** As errors name it: `lastName`, `customFields.plan`. */
  readonly field: string;
  /** Whether the field is sensitive, so that both values are empty here. */
  readonly isHidden: boolean;
  /** The stored value, cut off after 200 characters. */
  readonly before: string;
  /** The value of the file, cut off likewise. */
  readonly after: string;
};

export type ImportColumn = {
  /** What the first row says. */
  readonly name: string;
  /** The field of the mapping, else a guess: by the names and labels of fields, and by what other programs call them. */
  readonly field: string | null;
  /** The custom field that the column can become, if the contact schema accepts fields that are not declared. */
  readonly custom: string | null;
  /** Up to three of its values, cut off after 80 characters. */
  readonly samples: readonly (string)[];
};

export type ImportLine = {
  /** The number of its first line in the file, or of its row in the sheet. */
  readonly line: number;
  /** The stored contact that it is about. */
  readonly contact: string | null;
  /** The external id and the address, as the file has them. */
  readonly name: string;
  /** What an update would change. */
  readonly changes: readonly (ImportChange)[];
  /** Why it is refused. */
  readonly reason: string | null;
};

export type ImportPreview = {
  /** How a table was read: delimiter and encoding, or the sheet. */
  readonly readAs: string | null;
  /** The columns of a table; empty for JSON. */
  readonly columns: readonly (ImportColumn)[];
  /** How many contacts the file has. */
  readonly lines: number;
  /** Whether each line was run dry: a table needs a mapping for that. If not, all that follows is empty. */
  readonly isChecked: boolean;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** The four numbers add up to `lines`. */
  readonly refused: number;
  /** The first 100 that create a contact. */
  readonly createdLines: readonly (ImportLine)[];
  /** The first 100 that update one. */
  readonly updatedLines: readonly (ImportLine)[];
  /** The first 100 that change nothing. */
  readonly unchangedLines: readonly (ImportLine)[];
  /** The first 100 that are refused. */
  readonly refusedLines: readonly (ImportLine)[];
  /** The reasons of all refused lines, the most frequent first. */
  readonly reasons: readonly (ImportReason)[];
  /** A letter for each line: `c` creates, `u` updates, `=` changes nothing, `r` is refused. */
  readonly effects: string;
  /** The first row of the refused lines as CSV, with the column `reason`. */
  readonly refusedHeader: string;
  /** Their other rows. */
  readonly refusedRows: string;
  /** Whether the rows are all refused lines. They end after 12 MiB. */
  readonly hasAllRefused: boolean;
};

export type ImportProgress = {
  /** How many contacts the file has. */
  readonly lines: number;
  /** How many lines are done, those of earlier calls included. */
  readonly done: number;
  /** Whether all lines are done. If not, send the file again with `after`. */
  readonly isComplete: boolean;
  /** What this call has done. The four numbers add up to the lines of this call. */
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly refused: number;
  /** The first 100 lines that this call has refused. */
  readonly refusedLines: readonly (RefusedLine)[];
  /** A letter for each line of this call, as in the preview. */
  readonly effects: string;
  /** The first row of the refused lines as CSV, with the column `reason`. */
  readonly refusedHeader: string;
  /** The rows of the lines that this call has refused. */
  readonly refusedRows: string;
  /** Whether the rows are all of them. */
  readonly hasAllRefused: boolean;
};

export type ImportReason = {
  readonly reason: string;
  /** How many lines are refused for it. */
  readonly lines: number;
};

export type Invitation = {
  /** The id of the operator to be. */
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly grants: readonly (string)[];
  readonly invitedBy: Actor;
  readonly invitedAt: string;
  readonly expiresAt: string;
  /** Whether its link is refused, because who invited may no longer give these roles. */
  readonly isVoid: boolean;
};

export type InvitedRole = {
  readonly role: 'owner' | 'admin' | 'developer' | 'agent-editor' | 'inbox' | 'reviewer' | 'viewer';
  /** `null`: on all agents. */
  readonly agentId: string | null;
  readonly agentName: string | null;
};

export type IssuedKey = {
  readonly key: Key;
  /** Shown this once. */
  readonly secret: string;
};

export type IssuedWebhook = {
  readonly webhook: WebhookEndpoint;
  readonly secret: WebhookSecret;
};

export type Key = {
  readonly id: string;
  readonly agentId: string;
  /** The public part. */
  readonly apiKey: string;
  readonly name: string;
  readonly description: string | null;
  readonly permissions: readonly (string)[];
  readonly perMinute: number;
  readonly perHour: number;
  readonly allowedAddresses: readonly (string)[];
  readonly expiresAt: string | null;
  readonly status: 'active' | 'disabled' | 'revoked';
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** At most a minute late. */
  readonly lastUsedAt: string | null;
  readonly lastUsedAddress: string | null;
};

export type KnowledgeDocument = {
  readonly id: string;
  readonly fileName: string;
  readonly title: string;
  readonly url: string | null;
  readonly language: string | null;
  readonly contentType: string;
  readonly characters: number;
  readonly pages: number | null;
  readonly passages: number;
  /** Of a question-and-answer pair the phrasings of its question; of other documents none. */
  readonly questions: readonly (string)[];
  /** The website that it is a page of. */
  readonly sourceId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type Leaving = {
  /** The page of the provider to which the browser goes. It leads back within 10 minutes. */
  readonly url: string;
};

export type Link = {
  readonly kind: 'setUp' | 'recover' | 'invite';
  /** The address that the link is for. */
  readonly email: string | null;
  /** The name of who is invited or recovers. */
  readonly name: string | null;
  /** The name of who invites. */
  readonly inviter: string | null;
  /** What an invitation gives. */
  readonly roles: readonly (InvitedRole)[];
  readonly expiresAt: string;
  /** For `PublicKeyCredential.parseCreationOptionsFromJSON()`, after the page has put name and address into `user`; `null` without passkeys. */
  readonly publicKey: Readonly<Record<string, unknown>> | null;
  /** For the one-time codes that a password needs. */
  readonly totp: TotpSeed;
  readonly serviceName: string;
};

export type LiveEvent = {
  readonly agent: string;
  /** Its number in the event log of the agent. */
  readonly seq: number;
  readonly type: 'contact.created' | 'contact.updated' | 'contact.archived' | 'contact.unarchived' | 'contact.erased' | 'file.uploaded' | 'file.deleted' | 'submission.created' | 'submission.updated' | 'submission.status_changed' | 'template.created' | 'template.edited' | 'template.activated' | 'template.archived' | 'contact_schema.replaced' | 'extraction.completed' | 'extraction.failed' | 'extraction.cancelled' | 'credits.low' | 'credits.exhausted' | 'lead.created' | 'conversation.started' | 'conversation.handoff_requested' | 'conversation.taken' | 'conversation.released' | 'conversation.closed' | 'conversation.erased' | 'conversation.unanswered' | 'conversation.feedback' | 'message.created' | 'knowledge.added' | 'knowledge.removed' | 'agent.configured' | 'agent.disabled' | 'agent.enabled' | 'key.created' | 'key.edited' | 'key.rotated' | 'key.disabled' | 'key.enabled' | 'key.revoked' | 'key.expiring' | 'endpoint.disabled';
  readonly at: string;
  readonly actor: 'apiKey' | 'operator' | 'user' | 'visitor' | 'system';
  /** The ids of what it is about; empty if a contact was erased. */
  readonly subject: {
    readonly contactId?: string;
    readonly conversationId?: string;
    readonly endpointId?: string;
    readonly fileId?: string;
    readonly jobId?: string;
    readonly keyId?: string;
    readonly knowledgeId?: string;
    readonly messageId?: string;
    readonly submissionId?: string;
    readonly templateId?: string;
  };
  /** The names of the fields that changed. */
  readonly changed: readonly (string)[] | null;
};

export type MadeLink = {
  /** Shown this once. */
  readonly link: string;
  readonly expiresAt: string;
};

export type MaskedContact = {
  readonly id: string;
  readonly agentId: string;
  readonly externalReferenceId: string | null;
  readonly salutation: string | null;
  readonly firstName: string | null;
  readonly middleName: string | null;
  readonly lastName: string | null;
  readonly dob: string | null;
  readonly gender: string | null;
  readonly primaryEmail: string | null;
  readonly primaryPhone: string | null;
  readonly primaryPhoneCode: string | null;
  readonly fullAddress: string | null;
  readonly tags: readonly (string)[];
  readonly status: 'active' | 'inactive' | 'blocked';
  readonly source: string | null;
  readonly lastContactedAt: string | null;
  readonly customFields: Readonly<Record<string, unknown>>;
  readonly isArchived: boolean;
  readonly archivedAt: string | null;
  readonly createdAt: string;
  /** Moves only when a stored value changes. */
  readonly updatedAt: string;
  readonly masked: readonly (string)[];
};

export type Member = {
  readonly id: string;
  readonly name: string;
  /** The name that visitors see. */
  readonly displayName: string | null;
  readonly email: string;
  /** Roles, each as `inbox@acme`, or `owner` on all agents. */
  readonly grants: readonly (string)[];
  readonly isDisabled: boolean;
  /** How the operator signs in: `passkey`, `password`, `oidc` at a provider. */
  readonly methods: readonly (string)[];
  /** Browsers that are signed in. */
  readonly sessions: number;
  /** In a session that is stored, or by a passkey; at most a minute late. */
  readonly lastSeenAt: string | null;
  /** When a recovery code of the operator was last used. */
  readonly recoveredAt: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type Message = {
  readonly id: string;
  /** Its number in the conversation, from 1 without gaps. */
  readonly seq: number;
  readonly role: 'visitor' | 'agent' | 'human';
  /** The person who replied. */
  readonly author: string | null;
  /** Plain text of a visitor, else Markdown. */
  readonly text: string;
  readonly state: 'complete' | 'stopped' | 'incomplete';
  readonly sources: readonly (CitedSource)[];
  readonly uploads: readonly (Attachment)[];
  /** -1, 0 or 1. */
  readonly feedback: number;
  readonly comment: string | null;
  readonly outcome: string | null;
  readonly at: string;
};

export type MessagePreview = {
  readonly role: 'visitor' | 'agent' | 'human';
  readonly text: string;
};

export type NearestPassage = {
  readonly documentId: string;
  readonly title: string;
  readonly headings: readonly (string)[];
  readonly url: string | null;
  readonly page: number | null;
  /** How sure the search is that the passage answers the question, 0 to 1. */
  readonly confidence: number;
  /** Whether that is enough for the agent to answer the question by now. */
  readonly answers: boolean;
};

export type NewRecoveryCodes = {
  /** Each leads back into the account once. Shown this once. */
  readonly recoveryCodes: readonly (string)[];
};

export type Note = {
  readonly id: string;
  /** Plain text. */
  readonly text: string;
  readonly by: Actor;
  readonly at: string;
  /** Who has changed the text last. */
  readonly editedBy: Actor | null;
  readonly editedAt: string | null;
  /** What a change of the note sends as `If-Match`. */
  readonly etag: string;
};

export type OfferedProvider = {
  readonly id: string;
  readonly name: string;
};

export type OpenQuestions = {
  /** Those with the most questions first. */
  readonly groups: readonly (QuestionGroup)[];
  readonly totalGroups: number;
  /** How many questions all groups have. */
  readonly questions: number;
  readonly since: string;
  /** Whether a limit was reached, so that there may be older questions. */
  readonly partial: boolean;
  readonly groupedBy: 'meaning' | 'words';
};

export type OwnMethods = {
  readonly passkeys: number;
  /** `null`: there is no password. */
  readonly passwordChangedAt: string | null;
  /** `null`: there are no one-time codes, and no password signs in. */
  readonly totpConfirmedAt: string | null;
  /** `null`: none were made. */
  readonly recoveryCodesLeft: number | null;
  readonly recoveryCodesMadeAt: string | null;
};

export type OwnSession = {
  readonly id: string;
  readonly isCurrent: boolean;
  readonly method: string;
  readonly createdAt: string;
  /** At most a minute late. */
  readonly lastSeenAt: string;
  readonly endsAt: string | null;
  readonly address: string | null;
  readonly browser: string | null;
};

export type Pagination = {
  readonly currentPage: number;
  readonly totalPages: number;
  /** Exact. */
  readonly totalItems: number;
  readonly itemsPerPage: number;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** To be passed as `cursor`; `null` on the last page. */
  readonly nextCursor: string | null;
};

export type Participant = {
  readonly change: 'joined' | 'left' | 'closed';
  readonly name: string | null;
  /** The number of the message before it. */
  readonly after: number;
  readonly at: string;
};

export type Passkey = {
  readonly id: string;
  readonly name: string;
  /** Whether it is synchronised between devices. */
  readonly isBackedUp: boolean;
  /** Whether there may be a copy of it. */
  readonly isSuspect: boolean;
  readonly transports: readonly (string)[];
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
};

export type PasswordAccepted = {
  /** Send it to `signIn.code` with a one-time code, within 5 minutes. */
  readonly pending: string | null;
  /** For a password without one-time codes: a session of 10 minutes that can only set up a way to sign in. */
  readonly signedIn: SignedIn | null;
};

export type Person = {
  readonly id: string;
  readonly name: string;
  /** The name that visitors see. */
  readonly displayName: string | null;
  readonly email: string | null;
  readonly locale: string | null;
  /** Roles, each as `inbox@acme`, or `owner` on all agents. */
  readonly grants: readonly (string)[];
};

export type Provider = {
  readonly id: string;
  /** What the button says: `Continue with NAME`. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  /** The secret itself is never shown. */
  readonly hasClientSecret: boolean;
  readonly scopes: readonly (string)[];
  /** The claim of ID tokens that has the person's groups. */
  readonly groupsClaim: string;
  /** The roles that each group gives, at each sign-in; `*` is everyone at the provider. */
  readonly groups: Readonly<Record<string, readonly (string)[]>>;
  /** Domains of addresses that the provider verifies: who has one gets an account with the roles of their groups. */
  readonly domains: readonly (string)[];
  readonly isEnabled: boolean;
  /** To enter at the provider. */
  readonly redirectUri: string;
  /** The claims of the last trial, for a day. */
  readonly trial: ProviderTrial | null;
  /** To send as `If-Match` with a change. */
  readonly etag: string;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type ProviderStep = {
  readonly name: 'discovery' | 'endpoints' | 'keys';
  /** `null`: an earlier step failed. */
  readonly passed: boolean | null;
  /** What was found, or what is wrong and what to do. */
  readonly detail: string;
};

export type ProviderTest = {
  readonly passed: boolean;
  readonly steps: readonly (ProviderStep)[];
};

export type ProviderTrial = {
  readonly at: string;
  readonly claims: readonly (Claim)[];
};

export type QuestionGroup = {
  /** The most central question, up to 300 characters. */
  readonly question: string;
  /** Up to three others in other words. */
  readonly others: readonly (string)[];
  /** How many times it was asked. */
  readonly count: number;
  readonly unanswered: number;
  readonly unsure: number;
  readonly conversations: number;
  readonly visitors: number;
  readonly languages: readonly (string)[];
  readonly lastAskedAt: string;
  readonly lastConversationId: string;
  /** In the documents of today; `null` where there are none. */
  readonly nearest: NearestPassage | null;
};

export type RefusedContact = {
  readonly contact: string;
  /** The rules that it breaks. */
  readonly messages: readonly (string)[];
};

export type RefusedLine = {
  /** The number of its first line in the file, or of its row in the sheet. */
  readonly line: number;
  readonly reason: string;
};

export type SchemaChange = {
  /** As errors name it: `lastName`, `customFields.plan`; or `allowUndeclaredCustomFields`. */
  readonly field: string;
  readonly change: 'added' | 'changed' | 'removed';
  /** The members of the definition that differ. */
  readonly members: readonly (string)[];
};

export type SchemaCheck = {
  /** What differs from the schema in force. */
  readonly changes: readonly (SchemaChange)[];
  /** How many contacts were checked, archived ones included. */
  readonly contactsChecked: number;
  /** How many of them pass the rules in force and not the new ones. */
  readonly contactsFailing: number;
  /** Whether every contact was checked. A check ends after 20,000 contacts or 2 s, the oldest first. */
  readonly isComplete: boolean;
  /** The first 20 of the failing contacts. */
  readonly examples: readonly (RefusedContact)[];
};

export type SchemaVersion = {
  /** 1 for the built-in schema. */
  readonly version: number;
  /** When it came into force. */
  readonly at: string;
  /** What differs from the version before it. */
  readonly changes: readonly (SchemaChange)[];
};

export type ServerHealth = {
  readonly isHealthy: boolean;
  readonly problem: string | null;
  readonly build: string;
  readonly contractVersion: string;
  readonly publicUrl: string;
  readonly now: string;
};

export type Session = {
  /** `null`: nobody is signed in. */
  readonly operator: Person | null;
  /** On every agent, and on the installation. */
  readonly capabilities: Capabilities;
  /** On each agent that a grant names, what holds on every agent included. */
  readonly agentCapabilities: Readonly<Record<string, Capabilities>>;
  readonly stepUpUntil: string | null;
  /** How one can sign in: `passkey`, `password`. Providers follow in `providers`. */
  readonly methods: readonly (string)[];
  /** The providers that one can sign in with. */
  readonly providers: readonly (OfferedProvider)[];
  /** Whether there is an operator. */
  readonly isSetUp: boolean;
  /** Whether the session can only set up a way to sign in: a passkey, or a password with one-time codes. */
  readonly needsMethod: boolean;
  /** Whether accounts are the console's own. */
  readonly hasAccounts: boolean;
  readonly serviceName: string;
  /** The URL of the Open API. */
  readonly publicUrl: string;
  readonly apiKeyPrefix: string;
  readonly build: string;
};

export type SignedIn = {
  readonly session: Session;
  /** On plain HTTP: the pages store it and send it as `X-Console`. Else `null`, and they send `1`. */
  readonly pageSecret: string | null;
};

export type StepUp = {
  readonly stepUpUntil: string;
};

export type TotpSeed = {
  /** The seed in base 32, to type. Shown this once. */
  readonly secret: string;
  /** For authenticator apps: what the QR code holds. */
  readonly url: string;
  /** The QR code as the `d` of a `path` of an SVG image; `null` where names are too long for one. */
  readonly qrPath: string | null;
  /** The width and height of the image, without its margin. */
  readonly qrSize: number;
  /** The sealed seed, to send back with its first code. */
  readonly enrolment: string;
  readonly expiresAt: string;
};

export type TrialAnswer = {
  /** How sure it is that the best passages answer, 0 to 1. */
  readonly coverage: number;
  /** What the agent's settings ask for. */
  readonly minCoverage: number;
  readonly hasDocuments: boolean;
  /** Best first. */
  readonly passages: readonly (FoundPassage)[];
  /** `null` where a model replies: a reply costs. */
  readonly reply: TrialReply | null;
  readonly millis: number;
};

export type TrialReply = {
  /** Markdown. */
  readonly text: string;
  /** `null` of a reply that failed. */
  readonly outcome: 'answered' | 'unsure' | 'small_talk' | 'unknown' | 'stopped' | 'queued' | 'limited' | null;
  readonly sources: readonly (CitedSource)[];
  /** Why it failed. */
  readonly error: string | null;
};

export type TriedRequest = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** As it was answered, up to 4,096 characters. */
  readonly body: string;
};

export type Visitor = {
  /** 0 anonymous, 1 has given an address, 2 signed by the page's server. */
  readonly level: number;
  readonly name: string | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly verifiedAs: string | null;
};

export type WebhookAttempt = {
  readonly number: number;
  /** When it ended. */
  readonly at: string;
  /** `givenUp`: that was the last attempt. `expired`: the event was removed before it was accepted. */
  readonly result: 'succeeded' | 'failed' | 'givenUp' | 'expired';
  /** The event. */
  readonly seq: number;
  /** The last of the events, if several expired. */
  readonly upto: number | null;
  /** Which attempt of the event; 0 where nothing was sent. */
  readonly attempt: number;
  /** The status of the response. */
  readonly status: number | null;
  /** What failed without a response. */
  readonly error: string | null;
  readonly milliseconds: number;
  /** Up to 1 KiB of the text of a failure. */
  readonly body: string | null;
};

export type WebhookDeliveries = {
  /** The newest first. */
  readonly deliveries: readonly (WebhookDelivery)[];
  /** What to pass as `cursor` next; `null` at the end. */
  readonly nextCursor: string | null;
};

export type WebhookDelivery = {
  readonly attempt: WebhookAttempt;
  /** The type of the event; `null` when the log no longer has it. */
  readonly type: string | null;
  /** Receivers recognise repeated messages by it. */
  readonly eventId: string | null;
};

export type WebhookDeliveryReport = {
  readonly delivery: WebhookDelivery;
  /** What was sent; `null` when the log no longer has it, or the caller may not see what it is about. */
  readonly message: Event | null;
};

export type WebhookEndpoint = {
  readonly id: string;
  readonly agentId: string;
  readonly url: string;
  readonly description: string | null;
  /** Names of types, `group.*` or `*`. */
  readonly types: readonly (string)[];
  /** `ordered`: one event at a time, none before the one before it is accepted. */
  readonly mode: 'parallel' | 'ordered';
  readonly status: 'enabled' | 'disabled';
  /** Why it is disabled. */
  readonly statusReason: 'operator' | 'gone' | 'failing' | 'secretLost' | null;
  /** Every event up to this number is accepted, left out, or among `openFailures`. */
  readonly cursor: number;
  /** Events that are to be sent, with those of other types that were not looked at yet. */
  readonly pending: number;
  /** Events that failed and are sent again. */
  readonly openFailures: number;
  /** Since when every attempt fails. */
  readonly failingSince: string | null;
  readonly lastSuccessAt: string | null;
  readonly lastFailureAt: string | null;
  /** When the previous secret ceases to sign. */
  readonly secretExpiresAt: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type WebhookEventType = {
  readonly type: string;
  /** The part before the dot: `contact.*` stands for the whole group. */
  readonly group: string;
  readonly description: string;
  /** Example `data`. */
  readonly example: Readonly<Record<string, unknown>>;
};

export type WebhookReplayed = {
  /** The number of the first event that is sent again. */
  readonly from: number;
  /** The number of the last; less than `from` if there is none. What follows is sent in any case. */
  readonly to: number;
};

export type WebhookSecret = {
  /** What signs messages: `whsec_` and base64; `null` if the server key that it is made from is gone. */
  readonly secret: string | null;
  /** The former secret, while it signs too. */
  readonly previous: string | null;
  /** When the former secret ceases to sign. */
  readonly previousUntil: string | null;
};

export type WebhookTestResult = {
  /** The status of the response; `null` without one. */
  readonly status: number | null;
  readonly milliseconds: number;
  /** What failed without a response: `refused`, `dns`, `connect`, `tls`, `timeout`, `response`, `redirects`, `request` or `unavailable`. */
  readonly error: string | null;
  /** Up to 1 KiB of the text of a failure. */
  readonly body: string | null;
};

export type Website = {
  readonly id: string;
  readonly url: string;
  readonly state: 'waiting' | 'reading' | 'scheduled' | 'ended' | 'removing';
  /** `null` if it is not read again by itself. */
  readonly everyHours: number | null;
  readonly createdAt: string;
  readonly nextAt: string | null;
  /** When it was last begun to be read. */
  readonly beganAt: string | null;
  readonly endedAt: string | null;
  /** How pages were found. */
  readonly discovery: 'sitemap' | 'links' | null;
  /** Whether a limit was reached before all pages were read. */
  readonly isLimited: boolean;
  /** Why it could not be read the last time. */
  readonly error: string | null;
  readonly pages: WebsitePageCounts;
};

export type WebsitePage = {
  readonly url: string;
  /** `null` of a page that is still to be asked for. */
  readonly outcome: 'read' | 'unchanged' | 'robots' | 'noindex' | 'status' | 'redirect' | 'canonical' | 'duplicate' | 'type' | 'tooLarge' | 'login' | 'noText' | 'charset' | 'error' | 'taken' | 'limit' | 'trap' | null;
  /** What that means in particular: a status, an address, an error. */
  readonly detail: string | null;
  readonly documentId: string | null;
  /** How often in a row it was not there. After two its document goes. */
  readonly misses: number;
};

export type WebsitePageCounts = {
  readonly found: number;
  readonly read: number;
  readonly unchanged: number;
  readonly notRead: number;
  /** Those that are still to be asked for. */
  readonly waiting: number;
};

export type WebsiteReport = {
  readonly website: Website;
  /** By address. */
  readonly pages: readonly (WebsitePage)[];
};

export type WidgetInstallation = {
  /** The widget host's. */
  readonly origin: string;
  /** The object that the script defines, such as `ServiceWidget`. */
  readonly global: string;
  /** The tag that follows the server's version. */
  readonly tag: string;
  /** The tag of this build alone, with its integrity value. */
  readonly pinnedTag: string;
  /** What a page's Content-Security-Policy needs. */
  readonly policy: string;
};

/** Input and output of each operation. */
export interface Operations {
  /** Shows who is signed in and what that person may do. */
  'session.show': { input: Record<string, never>; output: {
    /** `null`: nobody is signed in. */
    readonly operator: Person | null;
    /** On every agent, and on the installation. */
    readonly capabilities: Capabilities;
    /** On each agent that a grant names, what holds on every agent included. */
    readonly agentCapabilities: Readonly<Record<string, Capabilities>>;
    readonly stepUpUntil: string | null;
    /** How one can sign in: `passkey`, `password`. Providers follow in `providers`. */
    readonly methods: readonly (string)[];
    /** The providers that one can sign in with. */
    readonly providers: readonly (OfferedProvider)[];
    /** Whether there is an operator. */
    readonly isSetUp: boolean;
    /** Whether the session can only set up a way to sign in: a passkey, or a password with one-time codes. */
    readonly needsMethod: boolean;
    /** Whether accounts are the console's own. */
    readonly hasAccounts: boolean;
    readonly serviceName: string;
    /** The URL of the Open API. */
    readonly publicUrl: string;
    readonly apiKeyPrefix: string;
    readonly build: string;
  } };
  /** Prepares signing in with a passkey: the options of a request for any passkey of the console. */
  'signIn.options': { input: Record<string, never>; output: {
    /** For `PublicKeyCredential.parseRequestOptionsFromJSON()`, or `parseCreationOptionsFromJSON()` where a passkey is added; `null` without passkeys. */
    readonly publicKey: Readonly<Record<string, unknown>> | null;
    readonly methods: readonly (string)[];
  } };
  /** Signs in with a passkey. */
  'signIn.passkey': { input: { credential: Readonly<Record<string, unknown>> }; output: {
    readonly session: Session;
    /** On plain HTTP: the pages store it and send it as `X-Console`. Else `null`, and they send `1`. */
    readonly pageSecret: string | null;
  } };
  /** Checks an e-mail address and a password, which sign in together with a one-time code. */
  'signIn.password': { input: { email: string; password: string }; output: {
    /** Send it to `signIn.code` with a one-time code, within 5 minutes. */
    readonly pending: string | null;
    /** For a password without one-time codes: a session of 10 minutes that can only set up a way to sign in. */
    readonly signedIn: SignedIn | null;
  } };
  /** Signs in with a one-time code, after the password. Five wrong codes end the attempt. */
  'signIn.code': { input: { pending: string; code: string }; output: {
    readonly session: Session;
    /** On plain HTTP: the pages store it and send it as `X-Console`. Else `null`, and they send `1`. */
    readonly pageSecret: string | null;
  } };
  /** Uses a recovery code up for a session of 10 minutes that can only set up a way to sign in. */
  'signIn.recover': { input: { email: string; recoveryCode: string }; output: {
    readonly session: Session;
    /** On plain HTTP: the pages store it and send it as `X-Console`. Else `null`, and they send `1`. */
    readonly pageSecret: string | null;
  } };
  /** Begins to sign in at a provider, or to accept an invitation there. */
  'signIn.oidcStart': { input: { provider: string; returnTo?: string; token?: string; name?: string }; output: {
    /** The page of the provider to which the browser goes. It leads back within 10 minutes. */
    readonly url: string;
  } };
  /** Takes the answer of a provider and leads on to a page, whose fragment says how it went. */
  'signIn.oidcCallback': { input: { code?: string; state?: string; iss?: string; error?: string; error_description?: string }; output: null };
  /** Shows what a link does, without using it up. */
  'links.inspect': { input: { token: string }; output: {
    readonly kind: 'setUp' | 'recover' | 'invite';
    /** The address that the link is for. */
    readonly email: string | null;
    /** The name of who is invited or recovers. */
    readonly name: string | null;
    /** The name of who invites. */
    readonly inviter: string | null;
    /** What an invitation gives. */
    readonly roles: readonly (InvitedRole)[];
    readonly expiresAt: string;
    /** For `PublicKeyCredential.parseCreationOptionsFromJSON()`, after the page has put name and address into `user`; `null` without passkeys. */
    readonly publicKey: Readonly<Record<string, unknown>> | null;
    /** For the one-time codes that a password needs. */
    readonly totp: TotpSeed;
    readonly serviceName: string;
  } };
  /** Creates the account of a link and signs in. */
  'links.accept': { input: { token: string; name?: string; email?: string; credential?: Readonly<Record<string, unknown>>; password?: string; enrolment?: string; code?: string }; output: {
    readonly session: Session;
    /** On plain HTTP: the pages store it and send it as `X-Console`. Else `null`, and they send `1`. */
    readonly pageSecret: string | null;
    /** Each leads back into the account once. Shown this once. */
    readonly recoveryCodes: readonly (string)[];
  } };
  /** Prepares a proof of identity: the options of a request for one of the operator's passkeys. */
  'session.stepUpOptions': { input: Record<string, never>; output: {
    /** For `PublicKeyCredential.parseRequestOptionsFromJSON()`, or `parseCreationOptionsFromJSON()` where a passkey is added; `null` without passkeys. */
    readonly publicKey: Readonly<Record<string, unknown>> | null;
    readonly methods: readonly (string)[];
  } };
  /** Proves once more who the operator is. It counts for 10 minutes. */
  'session.stepUp': { input: { credential?: Readonly<Record<string, unknown>>; password?: string; code?: string }; output: {
    readonly stepUpUntil: string;
  } };
  /** Begins to prove at a provider once more who the operator is. */
  'session.stepUpOidc': { input: { provider: string; returnTo?: string }; output: {
    /** The page of the provider to which the browser goes. It leads back within 10 minutes. */
    readonly url: string;
  } };
  /** Signs out. */
  'session.end': { input: Record<string, never>; output: null };
  /** Changes the operator's own name, the name that visitors see, and the language. */
  'me.update': { input: { name?: string; displayName?: string | null; locale?: string | null }; output: {
    readonly id: string;
    readonly name: string;
    /** The name that visitors see. */
    readonly displayName: string | null;
    readonly email: string | null;
    readonly locale: string | null;
    /** Roles, each as `inbox@acme`, or `owner` on all agents. */
    readonly grants: readonly (string)[];
  } };
  /** Lists the operator's sessions. */
  'me.sessions': { input: Record<string, never>; output: readonly (OwnSession)[] };
  /** Ends one of the operator's sessions. */
  'me.endSession': { input: { session: string }; output: null };
  /** Ends all of the operator's sessions but this one. */
  'me.endOtherSessions': { input: Record<string, never>; output: null };
  /** Lists the operator's passkeys. */
  'me.passkeys': { input: Record<string, never>; output: readonly (Passkey)[] };
  /** Prepares a new passkey: its creation options. */
  'me.passkeyOptions': { input: Record<string, never>; output: {
    /** For `PublicKeyCredential.parseRequestOptionsFromJSON()`, or `parseCreationOptionsFromJSON()` where a passkey is added; `null` without passkeys. */
    readonly publicKey: Readonly<Record<string, unknown>> | null;
    readonly methods: readonly (string)[];
  } };
  /** Adds a passkey. A session that could only set up a way to sign in can then do everything. */
  'me.addPasskey': { input: { name: string; credential: Readonly<Record<string, unknown>> }; output: readonly (Passkey)[] };
  /** Removes a passkey. */
  'me.removePasskey': { input: { passkey: string }; output: readonly (Passkey)[] };
  /** Shows how the operator can sign in. */
  'me.methods': { input: Record<string, never>; output: {
    readonly passkeys: number;
    /** `null`: there is no password. */
    readonly passwordChangedAt: string | null;
    /** `null`: there are no one-time codes, and no password signs in. */
    readonly totpConfirmedAt: string | null;
    /** `null`: none were made. */
    readonly recoveryCodesLeft: number | null;
    readonly recoveryCodesMadeAt: string | null;
  } };
  /** Sets another password, and ends all other sessions. One-time codes have to be there: `me.confirmTotp` sets both up. */
  'me.setPassword': { input: { password: string }; output: null };
  /** Prepares one-time codes: a new seed, which counts once its first code is sent. */
  'me.beginTotp': { input: Record<string, never>; output: {
    /** The seed in base 32, to type. Shown this once. */
    readonly secret: string;
    /** For authenticator apps: what the QR code holds. */
    readonly url: string;
    /** The QR code as the `d` of a `path` of an SVG image; `null` where names are too long for one. */
    readonly qrPath: string | null;
    /** The width and height of the image, without its margin. */
    readonly qrSize: number;
    /** The sealed seed, to send back with its first code. */
    readonly enrolment: string;
    readonly expiresAt: string;
  } };
  /** Sets one-time codes up in place of the former ones, with a password if there is none, and ends all other sessions. A session that could only set up a way to sign in can then do everything. */
  'me.confirmTotp': { input: { enrolment: string; code: string; password?: string }; output: {
    readonly passkeys: number;
    /** `null`: there is no password. */
    readonly passwordChangedAt: string | null;
    /** `null`: there are no one-time codes, and no password signs in. */
    readonly totpConfirmedAt: string | null;
    /** `null`: none were made. */
    readonly recoveryCodesLeft: number | null;
    readonly recoveryCodesMadeAt: string | null;
  } };
  /** Removes the operator's password and its one-time codes. Another way to sign in has to be there. */
  'me.removeTotp': { input: Record<string, never>; output: {
    readonly passkeys: number;
    /** `null`: there is no password. */
    readonly passwordChangedAt: string | null;
    /** `null`: there are no one-time codes, and no password signs in. */
    readonly totpConfirmedAt: string | null;
    /** `null`: none were made. */
    readonly recoveryCodesLeft: number | null;
    readonly recoveryCodesMadeAt: string | null;
  } };
  /** Makes ten recovery codes in place of the former ones. */
  'me.makeRecoveryCodes': { input: Record<string, never>; output: {
    /** Each leads back into the account once. Shown this once. */
    readonly recoveryCodes: readonly (string)[];
  } };
  /** Lists the accounts at providers that the operator signs in with. */
  'me.identities': { input: Record<string, never>; output: readonly (Identity)[] };
  /** Begins to link an account at a provider, with which the operator then signs in. */
  'me.linkIdentity': { input: { provider: string; returnTo?: string }; output: {
    /** The page of the provider to which the browser goes. It leads back within 10 minutes. */
    readonly url: string;
  } };
  /** Unlinks an account at a provider, with which nobody then signs in. Roles that its groups gave go. */
  'me.unlinkIdentity': { input: { identity: string }; output: readonly (Identity)[] };
  /** Lists the operators, by name. */
  'members.list': { input: Record<string, never>; output: readonly (Member)[] };
  /** Lists the invitations that wait, the newest first. Their links are not shown again. */
  'members.invitations': { input: Record<string, never>; output: readonly (Invitation)[] };
  /** Invites a person. The answer has a link that works once, to be passed on; a former one of the address ends. */
  'members.invite': { input: { email: string; name?: string; grants: readonly (string)[]; validForSeconds?: number }; output: {
    /** Shown this once. */
    readonly link: string;
    readonly expiresAt: string;
  } };
  /** Revokes an invitation: its link is refused at once. */
  'members.revokeInvitation': { input: { invitation: string }; output: null };
  /** Shows an operator. */
  'members.show': { input: { member: string }; output: {
    readonly id: string;
    readonly name: string;
    /** The name that visitors see. */
    readonly displayName: string | null;
    readonly email: string;
    /** Roles, each as `inbox@acme`, or `owner` on all agents. */
    readonly grants: readonly (string)[];
    readonly isDisabled: boolean;
    /** How the operator signs in: `passkey`, `password`, `oidc` at a provider. */
    readonly methods: readonly (string)[];
    /** Browsers that are signed in. */
    readonly sessions: number;
    /** In a session that is stored, or by a passkey; at most a minute late. */
    readonly lastSeenAt: string | null;
    /** When a recovery code of the operator was last used. */
    readonly recoveredAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Replaces an operator's roles. They hold from the next request on. */
  'members.grant': { input: { member: string; grants: readonly (string)[] }; output: {
    readonly id: string;
    readonly name: string;
    /** The name that visitors see. */
    readonly displayName: string | null;
    readonly email: string;
    /** Roles, each as `inbox@acme`, or `owner` on all agents. */
    readonly grants: readonly (string)[];
    readonly isDisabled: boolean;
    /** How the operator signs in: `passkey`, `password`, `oidc` at a provider. */
    readonly methods: readonly (string)[];
    /** Browsers that are signed in. */
    readonly sessions: number;
    /** In a session that is stored, or by a passkey; at most a minute late. */
    readonly lastSeenAt: string | null;
    /** When a recovery code of the operator was last used. */
    readonly recoveredAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Disables an operator: all sessions end, and no way to sign in works. */
  'members.disable': { input: { member: string }; output: {
    readonly id: string;
    readonly name: string;
    /** The name that visitors see. */
    readonly displayName: string | null;
    readonly email: string;
    /** Roles, each as `inbox@acme`, or `owner` on all agents. */
    readonly grants: readonly (string)[];
    readonly isDisabled: boolean;
    /** How the operator signs in: `passkey`, `password`, `oidc` at a provider. */
    readonly methods: readonly (string)[];
    /** Browsers that are signed in. */
    readonly sessions: number;
    /** In a session that is stored, or by a passkey; at most a minute late. */
    readonly lastSeenAt: string | null;
    /** When a recovery code of the operator was last used. */
    readonly recoveredAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Enables a disabled operator, with the former roles and ways to sign in. */
  'members.enable': { input: { member: string }; output: {
    readonly id: string;
    readonly name: string;
    /** The name that visitors see. */
    readonly displayName: string | null;
    readonly email: string;
    /** Roles, each as `inbox@acme`, or `owner` on all agents. */
    readonly grants: readonly (string)[];
    readonly isDisabled: boolean;
    /** How the operator signs in: `passkey`, `password`, `oidc` at a provider. */
    readonly methods: readonly (string)[];
    /** Browsers that are signed in. */
    readonly sessions: number;
    /** In a session that is stored, or by a passkey; at most a minute late. */
    readonly lastSeenAt: string | null;
    /** When a recovery code of the operator was last used. */
    readonly recoveredAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Removes an operator for good: account, sessions, passkeys and password. */
  'members.remove': { input: { member: string }; output: null };
  /** Makes a link by which an operator gets another way to sign in. It works once and for an hour. */
  'members.recover': { input: { member: string }; output: {
    /** Shown this once. */
    readonly link: string;
    readonly expiresAt: string;
  } };
  /** Signs an operator out of every browser. */
  'members.endSessions': { input: { member: string }; output: null };
  /** Lists the providers that operators sign in with. */
  'providers.list': { input: Record<string, never>; output: readonly (Provider)[] };
  /** Adds a provider or replaces its settings. One that is switched on must pass the check of `providers.test`. */
  'providers.save': { input: { provider: string; name: string; issuer: string; clientId: string; clientSecret?: string | null; scopes?: readonly (string)[]; groupsClaim?: string; groups?: Readonly<Record<string, readonly (string)[]>>; domains?: readonly (string)[]; isEnabled: boolean }; output: {
    readonly id: string;
    /** What the button says: `Continue with NAME`. */
    readonly name: string;
    readonly issuer: string;
    readonly clientId: string;
    /** The secret itself is never shown. */
    readonly hasClientSecret: boolean;
    readonly scopes: readonly (string)[];
    /** The claim of ID tokens that has the person's groups. */
    readonly groupsClaim: string;
    /** The roles that each group gives, at each sign-in; `*` is everyone at the provider. */
    readonly groups: Readonly<Record<string, readonly (string)[]>>;
    /** Domains of addresses that the provider verifies: who has one gets an account with the roles of their groups. */
    readonly domains: readonly (string)[];
    readonly isEnabled: boolean;
    /** To enter at the provider. */
    readonly redirectUri: string;
    /** The claims of the last trial, for a day. */
    readonly trial: ProviderTrial | null;
    /** To send as `If-Match` with a change. */
    readonly etag: string;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Checks what a provider publishes, step by step. Whether it accepts the client shows a trial. */
  'providers.test': { input: { provider: string }; output: {
    readonly passed: boolean;
    readonly steps: readonly (ProviderStep)[];
  } };
  /** Begins to sign in at a provider to see what it says about the owner. Nobody is signed in by it. */
  'providers.try': { input: { provider: string; returnTo?: string }; output: {
    /** The page of the provider to which the browser goes. It leads back within 10 minutes. */
    readonly url: string;
  } };
  /** Removes a provider, and the roles that its groups gave. Operators keep their other ways to sign in. */
  'providers.remove': { input: { provider: string }; output: null };
  /** Lists the agents that the operator has a grant on, oldest first. */
  'agents.list': { input: Record<string, never>; output: readonly (Agent)[] };
  /** Creates an agent with the built-in contact schema. */
  'agents.create': { input: { id?: string; name: string }; output: {
    readonly id: string;
    readonly name: string;
    readonly status: 'active' | 'disabled';
    readonly createdAt: string;
    readonly updatedAt: string;
    /** As `Last-Event-ID` of a live stream: the stream also sends what happens between this answer and its begin. `null` on a server without live updates. */
    readonly liveFrom: string | null;
  } };
  /** Shows an agent. */
  'agents.show': { input: { agent: string }; output: {
    readonly id: string;
    readonly name: string;
    readonly status: 'active' | 'disabled';
    readonly createdAt: string;
    readonly updatedAt: string;
    /** As `Last-Event-ID` of a live stream: the stream also sends what happens between this answer and its begin. `null` on a server without live updates. */
    readonly liveFrom: string | null;
  } };
  /** Gives an agent another name. */
  'agents.rename': { input: { agent: string; name: string }; output: {
    readonly id: string;
    readonly name: string;
    readonly status: 'active' | 'disabled';
    readonly createdAt: string;
    readonly updatedAt: string;
    /** As `Last-Event-ID` of a live stream: the stream also sends what happens between this answer and its begin. `null` on a server without live updates. */
    readonly liveFrom: string | null;
  } };
  /** Disables an agent: its keys are refused at once. */
  'agents.disable': { input: { agent: string; confirm: string }; output: {
    readonly id: string;
    readonly name: string;
    readonly status: 'active' | 'disabled';
    readonly createdAt: string;
    readonly updatedAt: string;
    /** As `Last-Event-ID` of a live stream: the stream also sends what happens between this answer and its begin. `null` on a server without live updates. */
    readonly liveFrom: string | null;
  } };
  /** Enables a disabled agent. */
  'agents.enable': { input: { agent: string }; output: {
    readonly id: string;
    readonly name: string;
    readonly status: 'active' | 'disabled';
    readonly createdAt: string;
    readonly updatedAt: string;
    /** As `Last-Event-ID` of a live stream: the stream also sends what happens between this answer and its begin. `null` on a server without live updates. */
    readonly liveFrom: string | null;
  } };
  /** Lists conversations, the newest message first, with exact totals. */
  'inbox.list': { input: { agent: string; status?: 'open' | 'closed'; mode?: 'ai' | 'human'; contact?: string; since?: string; page?: number; limit?: number }; output: readonly (Conversation)[] };
  /** Counts conversations by view. */
  'inbox.counts': { input: { agent: string }; output: {
    readonly open: number;
    /** Open ones that a person has taken over, or that wait for a person. */
    readonly human: number;
    readonly closed: number;
    readonly all: number;
  } };
  /** Shows a conversation. */
  'inbox.show': { input: { agent: string; conversation: string }; output: {
    readonly id: string;
    readonly status: 'open' | 'closed';
    readonly mode: 'ai' | 'human';
    /** Since when the visitor waits for a person. */
    readonly waitingSince: string | null;
    readonly visitor: Visitor;
    readonly contactId: string | null;
    /** Whether the visitor's data are left out. */
    readonly isMasked: boolean;
    readonly locale: string;
    readonly timeZone: string | null;
    readonly pageUrl: string | null;
    readonly messageCount: number;
    /** Messages of the visitor that no operator has read. */
    readonly unread: number;
    readonly lastMessage: MessagePreview | null;
    readonly lastMessageAt: string;
    readonly participants: readonly (Participant)[];
    readonly closedAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
    /** When it is erased. */
    readonly expiresAt: string;
  } };
  /** Lists messages of a conversation, in order. */
  'inbox.thread': { input: { agent: string; conversation: string; after?: number; before?: number; limit?: number }; output: readonly (Message)[] };
  /** Takes a conversation over under the operator's name: the visitor's messages wait for a person. */
  'inbox.take': { input: { agent: string; conversation: string }; output: {
    readonly id: string;
    readonly status: 'open' | 'closed';
    readonly mode: 'ai' | 'human';
    /** Since when the visitor waits for a person. */
    readonly waitingSince: string | null;
    readonly visitor: Visitor;
    readonly contactId: string | null;
    /** Whether the visitor's data are left out. */
    readonly isMasked: boolean;
    readonly locale: string;
    readonly timeZone: string | null;
    readonly pageUrl: string | null;
    readonly messageCount: number;
    /** Messages of the visitor that no operator has read. */
    readonly unread: number;
    readonly lastMessage: MessagePreview | null;
    readonly lastMessageAt: string;
    readonly participants: readonly (Participant)[];
    readonly closedAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
    /** When it is erased. */
    readonly expiresAt: string;
  } };
  /** Writes to the visitor, and takes the conversation over. */
  'inbox.reply': { input: { agent: string; conversation: string; text: string; afterReply?: number }; output: {
    readonly id: string;
    /** Its number in the conversation, from 1 without gaps. */
    readonly seq: number;
    readonly role: 'visitor' | 'agent' | 'human';
    /** The person who replied. */
    readonly author: string | null;
    /** Plain text of a visitor, else Markdown. */
    readonly text: string;
    readonly state: 'complete' | 'stopped' | 'incomplete';
    readonly sources: readonly (CitedSource)[];
    readonly uploads: readonly (Attachment)[];
    /** -1, 0 or 1. */
    readonly feedback: number;
    readonly comment: string | null;
    readonly outcome: string | null;
    readonly at: string;
  } };
  /** Lets the agent answer again. */
  'inbox.release': { input: { agent: string; conversation: string }; output: {
    readonly id: string;
    readonly status: 'open' | 'closed';
    readonly mode: 'ai' | 'human';
    /** Since when the visitor waits for a person. */
    readonly waitingSince: string | null;
    readonly visitor: Visitor;
    readonly contactId: string | null;
    /** Whether the visitor's data are left out. */
    readonly isMasked: boolean;
    readonly locale: string;
    readonly timeZone: string | null;
    readonly pageUrl: string | null;
    readonly messageCount: number;
    /** Messages of the visitor that no operator has read. */
    readonly unread: number;
    readonly lastMessage: MessagePreview | null;
    readonly lastMessageAt: string;
    readonly participants: readonly (Participant)[];
    readonly closedAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
    /** When it is erased. */
    readonly expiresAt: string;
  } };
  /** Closes a conversation. The visitor can still read it; the next message begins another one. */
  'inbox.close': { input: { agent: string; conversation: string }; output: {
    readonly id: string;
    readonly status: 'open' | 'closed';
    readonly mode: 'ai' | 'human';
    /** Since when the visitor waits for a person. */
    readonly waitingSince: string | null;
    readonly visitor: Visitor;
    readonly contactId: string | null;
    /** Whether the visitor's data are left out. */
    readonly isMasked: boolean;
    readonly locale: string;
    readonly timeZone: string | null;
    readonly pageUrl: string | null;
    readonly messageCount: number;
    /** Messages of the visitor that no operator has read. */
    readonly unread: number;
    readonly lastMessage: MessagePreview | null;
    readonly lastMessageAt: string;
    readonly participants: readonly (Participant)[];
    readonly closedAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
    /** When it is erased. */
    readonly expiresAt: string;
  } };
  /** Lists, searches and filters contacts, with exact totals. */
  'contacts.list': { input: { agent: string; search?: string; status?: string; tag?: string; sortBy?: string; sortOrder?: 'asc' | 'desc'; includeArchived?: boolean; primaryEmail?: string; createdSince?: string; updatedSince?: string; page?: number; limit?: number; cursor?: string }; output: readonly (MaskedContact)[] };
  /** Shows a contact. */
  'contacts.show': { input: { agent: string; contact: string }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly externalReferenceId: string | null;
    readonly salutation: string | null;
    readonly firstName: string | null;
    readonly middleName: string | null;
    readonly lastName: string | null;
    readonly dob: string | null;
    readonly gender: string | null;
    readonly primaryEmail: string | null;
    readonly primaryPhone: string | null;
    readonly primaryPhoneCode: string | null;
    readonly fullAddress: string | null;
    readonly tags: readonly (string)[];
    readonly status: 'active' | 'inactive' | 'blocked';
    readonly source: string | null;
    readonly lastContactedAt: string | null;
    readonly customFields: Readonly<Record<string, unknown>>;
    readonly isArchived: boolean;
    readonly archivedAt: string | null;
    readonly createdAt: string;
    /** Moves only when a stored value changes. */
    readonly updatedAt: string;
    readonly masked: readonly (string)[];
  } };
  /** Creates a contact. */
  'contacts.create': { input: { agent: string; externalReferenceId?: string | null; salutation?: string | null; firstName?: string | null; middleName?: string | null; lastName?: string | null; dob?: string | null; gender?: string | null; primaryEmail: string; primaryPhone?: string | null; primaryPhoneCode?: string | null; fullAddress?: string | null; tags?: readonly (string)[] | null; status?: 'active' | 'inactive' | 'blocked' | null; source?: string | null; lastContactedAt?: string | null; customFields?: Readonly<Record<string, unknown>> | null }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly externalReferenceId: string | null;
    readonly salutation: string | null;
    readonly firstName: string | null;
    readonly middleName: string | null;
    readonly lastName: string | null;
    readonly dob: string | null;
    readonly gender: string | null;
    readonly primaryEmail: string | null;
    readonly primaryPhone: string | null;
    readonly primaryPhoneCode: string | null;
    readonly fullAddress: string | null;
    readonly tags: readonly (string)[];
    readonly status: 'active' | 'inactive' | 'blocked';
    readonly source: string | null;
    readonly lastContactedAt: string | null;
    readonly customFields: Readonly<Record<string, unknown>>;
    readonly isArchived: boolean;
    readonly archivedAt: string | null;
    readonly createdAt: string;
    /** Moves only when a stored value changes. */
    readonly updatedAt: string;
    readonly masked: readonly (string)[];
  } };
  /** Merges fields into a contact: what is left out stays, `null` clears. */
  'contacts.update': { input: { agent: string; contact: string; externalReferenceId?: string | null; salutation?: string | null; firstName?: string | null; middleName?: string | null; lastName?: string | null; dob?: string | null; gender?: string | null; primaryEmail?: string; primaryPhone?: string | null; primaryPhoneCode?: string | null; fullAddress?: string | null; tags?: readonly (string)[] | null; status?: 'active' | 'inactive' | 'blocked' | null; source?: string | null; lastContactedAt?: string | null; customFields?: Readonly<Record<string, unknown>> | null }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly externalReferenceId: string | null;
    readonly salutation: string | null;
    readonly firstName: string | null;
    readonly middleName: string | null;
    readonly lastName: string | null;
    readonly dob: string | null;
    readonly gender: string | null;
    readonly primaryEmail: string | null;
    readonly primaryPhone: string | null;
    readonly primaryPhoneCode: string | null;
    readonly fullAddress: string | null;
    readonly tags: readonly (string)[];
    readonly status: 'active' | 'inactive' | 'blocked';
    readonly source: string | null;
    readonly lastContactedAt: string | null;
    readonly customFields: Readonly<Record<string, unknown>>;
    readonly isArchived: boolean;
    readonly archivedAt: string | null;
    readonly createdAt: string;
    /** Moves only when a stored value changes. */
    readonly updatedAt: string;
    readonly masked: readonly (string)[];
  } };
  /** Hides a contact from lists and closes it to changes. */
  'contacts.archive': { input: { agent: string; contact: string }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly externalReferenceId: string | null;
    readonly salutation: string | null;
    readonly firstName: string | null;
    readonly middleName: string | null;
    readonly lastName: string | null;
    readonly dob: string | null;
    readonly gender: string | null;
    readonly primaryEmail: string | null;
    readonly primaryPhone: string | null;
    readonly primaryPhoneCode: string | null;
    readonly fullAddress: string | null;
    readonly tags: readonly (string)[];
    readonly status: 'active' | 'inactive' | 'blocked';
    readonly source: string | null;
    readonly lastContactedAt: string | null;
    readonly customFields: Readonly<Record<string, unknown>>;
    readonly isArchived: boolean;
    readonly archivedAt: string | null;
    readonly createdAt: string;
    /** Moves only when a stored value changes. */
    readonly updatedAt: string;
    readonly masked: readonly (string)[];
  } };
  /** Takes a contact out of the archive. */
  'contacts.unarchive': { input: { agent: string; contact: string }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly externalReferenceId: string | null;
    readonly salutation: string | null;
    readonly firstName: string | null;
    readonly middleName: string | null;
    readonly lastName: string | null;
    readonly dob: string | null;
    readonly gender: string | null;
    readonly primaryEmail: string | null;
    readonly primaryPhone: string | null;
    readonly primaryPhoneCode: string | null;
    readonly fullAddress: string | null;
    readonly tags: readonly (string)[];
    readonly status: 'active' | 'inactive' | 'blocked';
    readonly source: string | null;
    readonly lastContactedAt: string | null;
    readonly customFields: Readonly<Record<string, unknown>>;
    readonly isArchived: boolean;
    readonly archivedAt: string | null;
    readonly createdAt: string;
    /** Moves only when a stored value changes. */
    readonly updatedAt: string;
    readonly masked: readonly (string)[];
  } };
  /** Shows a contact with its sensitive values. The audit log notes who has seen them. */
  'contacts.reveal': { input: { agent: string; contact: string }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly externalReferenceId: string | null;
    readonly salutation: string | null;
    readonly firstName: string | null;
    readonly middleName: string | null;
    readonly lastName: string | null;
    readonly dob: string | null;
    readonly gender: string | null;
    readonly primaryEmail: string;
    readonly primaryPhone: string | null;
    readonly primaryPhoneCode: string | null;
    readonly fullAddress: string | null;
    readonly tags: readonly (string)[];
    readonly status: 'active' | 'inactive' | 'blocked';
    readonly source: string;
    readonly lastContactedAt: string | null;
    readonly customFields: Readonly<Record<string, unknown>>;
    readonly isArchived: boolean;
    readonly archivedAt: string | null;
    readonly createdAt: string;
    /** Moves only when a stored value changes. */
    readonly updatedAt: string;
  } };
  /** Lists the notes on a contact, the newest first. A note may say anything, so `sensitive.read` is needed as well. */
  'contacts.notes': { input: { agent: string; contact: string; limit?: number; after?: string }; output: {
    readonly notes: readonly (Note)[];
    /** What to pass as `after` next; `null` at the end of the list. */
    readonly next: string | null;
  } };
  /** Adds a note to a contact. Only operators see it, and it goes when the contact is erased. */
  'contacts.addNote': { input: { agent: string; contact: string; text: string }; output: {
    readonly id: string;
    /** Plain text. */
    readonly text: string;
    readonly by: Actor;
    readonly at: string;
    /** Who has changed the text last. */
    readonly editedBy: Actor | null;
    readonly editedAt: string | null;
    /** What a change of the note sends as `If-Match`. */
    readonly etag: string;
  } };
  /** Replaces the text of a note. The note names who has changed it last. */
  'contacts.editNote': { input: { agent: string; contact: string; note: string; text: string }; output: {
    readonly id: string;
    /** Plain text. */
    readonly text: string;
    readonly by: Actor;
    readonly at: string;
    /** Who has changed the text last. */
    readonly editedBy: Actor | null;
    readonly editedAt: string | null;
    /** What a change of the note sends as `If-Match`. */
    readonly etag: string;
  } };
  /** Removes a note for good. */
  'contacts.removeNote': { input: { agent: string; contact: string; note: string }; output: null };
  /** Erases a contact with everything that belongs to it. */
  'contacts.erase': { input: { agent: string; contact: string; confirm: string }; output: null };
  /** Reads a file with contacts, and says of each line what its import would do. Changes nothing. */
  'contacts.previewImport': { input: { agent: string; fileName: string; mapping?: string; delimiter?: string; encoding?: string; sheet?: string; content: Blob }; output: {
    /** How a table was read: delimiter and encoding, or the sheet. */
    readonly readAs: string | null;
    /** The columns of a table; empty for JSON. */
    readonly columns: readonly (ImportColumn)[];
    /** How many contacts the file has. */
    readonly lines: number;
    /** Whether each line was run dry: a table needs a mapping for that. If not, all that follows is empty. */
    readonly isChecked: boolean;
    readonly created: number;
    readonly updated: number;
    readonly unchanged: number;
    /** The four numbers add up to `lines`. */
    readonly refused: number;
    /** The first 100 that create a contact. */
    readonly createdLines: readonly (ImportLine)[];
    /** The first 100 that update one. */
    readonly updatedLines: readonly (ImportLine)[];
    /** The first 100 that change nothing. */
    readonly unchangedLines: readonly (ImportLine)[];
    /** The first 100 that are refused. */
    readonly refusedLines: readonly (ImportLine)[];
    /** The reasons of all refused lines, the most frequent first. */
    readonly reasons: readonly (ImportReason)[];
    /** A letter for each line: `c` creates, `u` updates, `=` changes nothing, `r` is refused. */
    readonly effects: string;
    /** The first row of the refused lines as CSV, with the column `reason`. */
    readonly refusedHeader: string;
    /** Their other rows. */
    readonly refusedRows: string;
    /** Whether the rows are all refused lines. They end after 12 MiB. */
    readonly hasAllRefused: boolean;
  } };
  /** Imports a piece of a file with contacts: up to 5,000 lines or 3 s. A line that is done, sent again, changes nothing where its contact occurs once in the file. */
  'contacts.runImport': { input: { agent: string; fileName: string; mapping?: string; after?: number; delimiter?: string; encoding?: string; sheet?: string; content: Blob }; output: {
    /** How many contacts the file has. */
    readonly lines: number;
    /** How many lines are done, those of earlier calls included. */
    readonly done: number;
    /** Whether all lines are done. If not, send the file again with `after`. */
    readonly isComplete: boolean;
    /** What this call has done. The four numbers add up to the lines of this call. */
    readonly created: number;
    readonly updated: number;
    readonly unchanged: number;
    readonly refused: number;
    /** The first 100 lines that this call has refused. */
    readonly refusedLines: readonly (RefusedLine)[];
    /** A letter for each line of this call, as in the preview. */
    readonly effects: string;
    /** The first row of the refused lines as CSV, with the column `reason`. */
    readonly refusedHeader: string;
    /** The rows of the lines that this call has refused. */
    readonly refusedRows: string;
    /** Whether the rows are all of them. */
    readonly hasAllRefused: boolean;
  } };
  /** Shows the contact schema of an agent: the fields, their rules, and which are sensitive. */
  'schema.show': { input: { agent: string }; output: Readonly<Record<string, unknown>> };
  /** Lists the last 100 versions of the contact schema, the newest first, with their changes. */
  'schema.history': { input: { agent: string }; output: readonly (SchemaVersion)[] };
  /** Checks a definition of the contact schema, and counts the contacts that would no longer pass. */
  'schema.check': { input: { agent: string; definition: Readonly<Record<string, unknown>> }; output: {
    /** What differs from the schema in force. */
    readonly changes: readonly (SchemaChange)[];
    /** How many contacts were checked, archived ones included. */
    readonly contactsChecked: number;
    /** How many of them pass the rules in force and not the new ones. */
    readonly contactsFailing: number;
    /** Whether every contact was checked. A check ends after 20,000 contacts or 2 s, the oldest first. */
    readonly isComplete: boolean;
    /** The first 20 of the failing contacts. */
    readonly examples: readonly (RefusedContact)[];
  } };
  /** Replaces the contact schema. It applies to later writes. Only operators with `sensitive.read` can make hidden values visible. */
  'schema.replace': { input: { agent: string; definition: Readonly<Record<string, unknown>> }; output: Readonly<Record<string, unknown>> };
  /** Lists the documents that an agent answers from, by title. */
  'knowledge.list': { input: { agent: string }; output: readonly (KnowledgeDocument)[] };
  /** Adds a text, which replaces the one with the same title. */
  'knowledge.add': { input: { agent: string; title: string; text: string; url?: string | null; language?: string | null }; output: {
    readonly id: string;
    readonly fileName: string;
    readonly title: string;
    readonly url: string | null;
    readonly language: string | null;
    readonly contentType: string;
    readonly characters: number;
    readonly pages: number | null;
    readonly passages: number;
    /** Of a question-and-answer pair the phrasings of its question; of other documents none. */
    readonly questions: readonly (string)[];
    /** The website that it is a page of. */
    readonly sourceId: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Adds a file, which replaces the one with the same name. */
  'knowledge.addFile': { input: { agent: string; fileName: string; title?: string; url?: string; language?: string; content: Blob }; output: {
    readonly id: string;
    readonly fileName: string;
    readonly title: string;
    readonly url: string | null;
    readonly language: string | null;
    readonly contentType: string;
    readonly characters: number;
    readonly pages: number | null;
    readonly passages: number;
    /** Of a question-and-answer pair the phrasings of its question; of other documents none. */
    readonly questions: readonly (string)[];
    /** The website that it is a page of. */
    readonly sourceId: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Teaches an agent the answer to a question, which replaces the one of the same first question. */
  'knowledge.teach': { input: { agent: string; questions: readonly (string)[]; answer: string; title?: string | null; url?: string | null; language?: string | null }; output: {
    readonly id: string;
    readonly fileName: string;
    readonly title: string;
    readonly url: string | null;
    readonly language: string | null;
    readonly contentType: string;
    readonly characters: number;
    readonly pages: number | null;
    readonly passages: number;
    /** Of a question-and-answer pair the phrasings of its question; of other documents none. */
    readonly questions: readonly (string)[];
    /** The website that it is a page of. */
    readonly sourceId: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Removes a document. */
  'knowledge.remove': { input: { agent: string; document: string }; output: {
    readonly id: string;
    readonly fileName: string;
    readonly title: string;
    readonly url: string | null;
    readonly language: string | null;
    readonly contentType: string;
    readonly characters: number;
    readonly pages: number | null;
    readonly passages: number;
    /** Of a question-and-answer pair the phrasings of its question; of other documents none. */
    readonly questions: readonly (string)[];
    /** The website that it is a page of. */
    readonly sourceId: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Lists the websites that an agent answers from, the newest first. */
  'sources.list': { input: { agent: string }; output: readonly (Website)[] };
  /** Adds a website, whose pages are read in the background. */
  'sources.add': { input: { agent: string; url: string; everyHours?: number | null }; output: {
    readonly id: string;
    readonly url: string;
    readonly state: 'waiting' | 'reading' | 'scheduled' | 'ended' | 'removing';
    /** `null` if it is not read again by itself. */
    readonly everyHours: number | null;
    readonly createdAt: string;
    readonly nextAt: string | null;
    /** When it was last begun to be read. */
    readonly beganAt: string | null;
    readonly endedAt: string | null;
    /** How pages were found. */
    readonly discovery: 'sitemap' | 'links' | null;
    /** Whether a limit was reached before all pages were read. */
    readonly isLimited: boolean;
    /** Why it could not be read the last time. */
    readonly error: string | null;
    readonly pages: WebsitePageCounts;
  } };
  /** Shows a website with what became of each of its pages. */
  'sources.show': { input: { agent: string; source: string }; output: {
    readonly website: Website;
    /** By address. */
    readonly pages: readonly (WebsitePage)[];
  } };
  /** Reads a website again as soon as a server can. */
  'sources.sync': { input: { agent: string; source: string }; output: {
    readonly id: string;
    readonly url: string;
    readonly state: 'waiting' | 'reading' | 'scheduled' | 'ended' | 'removing';
    /** `null` if it is not read again by itself. */
    readonly everyHours: number | null;
    readonly createdAt: string;
    readonly nextAt: string | null;
    /** When it was last begun to be read. */
    readonly beganAt: string | null;
    readonly endedAt: string | null;
    /** How pages were found. */
    readonly discovery: 'sitemap' | 'links' | null;
    /** Whether a limit was reached before all pages were read. */
    readonly isLimited: boolean;
    /** Why it could not be read the last time. */
    readonly error: string | null;
    readonly pages: WebsitePageCounts;
  } };
  /** Removes a website with its documents. */
  'sources.remove': { input: { agent: string; source: string }; output: {
    readonly id: string;
    readonly url: string;
    readonly state: 'waiting' | 'reading' | 'scheduled' | 'ended' | 'removing';
    /** `null` if it is not read again by itself. */
    readonly everyHours: number | null;
    readonly createdAt: string;
    readonly nextAt: string | null;
    /** When it was last begun to be read. */
    readonly beganAt: string | null;
    readonly endedAt: string | null;
    /** How pages were found. */
    readonly discovery: 'sitemap' | 'links' | null;
    /** Whether a limit was reached before all pages were read. */
    readonly isLimited: boolean;
    /** Why it could not be read the last time. */
    readonly error: string | null;
    readonly pages: WebsitePageCounts;
  } };
  /** Shows the settings of an agent's widget and chat. */
  'settings.show': { input: { agent: string }; output: {
    /** All members, as `agents configure` writes them. */
    readonly settings: Readonly<Record<string, unknown>>;
    /** The values of members that are left out. */
    readonly builtIn: Readonly<Record<string, unknown>>;
    /** The values of `chat.responder` that this server knows. */
    readonly responders: readonly (string)[];
  } };
  /** Replaces the settings of an agent's widget and chat. Servers apply them within 5 s. */
  'settings.save': { input: { agent: string; settings: Readonly<Record<string, unknown>> }; output: {
    /** All members, as `agents configure` writes them. */
    readonly settings: Readonly<Record<string, unknown>>;
    /** The values of members that are left out. */
    readonly builtIn: Readonly<Record<string, unknown>>;
    /** The values of `chat.responder` that this server knows. */
    readonly responders: readonly (string)[];
  } };
  /** Shows the tags that put an agent's chat on a page. */
  'settings.install': { input: { agent: string }; output: {
    /** The widget host's. */
    readonly origin: string;
    /** The object that the script defines, such as `ServiceWidget`. */
    readonly global: string;
    /** The tag that follows the server's version. */
    readonly tag: string;
    /** The tag of this build alone, with its integrity value. */
    readonly pinnedTag: string;
    /** What a page's Content-Security-Policy needs. */
    readonly policy: string;
  } };
  /** Shows the secret with which the page's server signs who a visitor is. The audit log notes it. */
  'identity.show': { input: { agent: string }; output: {
    /** The secret to sign with; `null` until the first is made. */
    readonly secret: string | null;
    /** The secret before it, while it is valid. */
    readonly previous: string | null;
  } };
  /** Makes another identity secret. The former one stays valid for a while. */
  'identity.rotate': { input: { agent: string; graceSeconds?: number }; output: {
    /** The secret to sign with; `null` until the first is made. */
    readonly secret: string | null;
    /** The secret before it, while it is valid. */
    readonly previous: string | null;
  } };
  /** Asks an agent a question as a visitor would, and shows what it finds. Nothing is stored or charged. */
  'studio.ask': { input: { agent: string; question: string; before?: string; locale?: string }; output: {
    /** How sure it is that the best passages answer, 0 to 1. */
    readonly coverage: number;
    /** What the agent's settings ask for. */
    readonly minCoverage: number;
    readonly hasDocuments: boolean;
    /** Best first. */
    readonly passages: readonly (FoundPassage)[];
    /** `null` where a model replies: a reply costs. */
    readonly reply: TrialReply | null;
    readonly millis: number;
  } };
  /** Groups the newest 500 questions that an agent could not answer, or was not sure of, by what they ask. */
  'insights.questions': { input: { agent: string; days?: number; outcome?: 'unanswered' | 'unsure'; limit?: number }; output: {
    /** Those with the most questions first. */
    readonly groups: readonly (QuestionGroup)[];
    readonly totalGroups: number;
    /** How many questions all groups have. */
    readonly questions: number;
    readonly since: string;
    /** Whether a limit was reached, so that there may be older questions. */
    readonly partial: boolean;
    readonly groupedBy: 'meaning' | 'words';
  } };
  /** Lists queued, running and ended extractions without their results, the newest first, with exact totals. */
  'extractions.list': { input: { agent: string; status?: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'; batchId?: string; limit?: number; cursor?: string }; output: readonly (ExtractionJob)[] };
  /** Shows an extraction with its result and its correction. */
  'extractions.show': { input: { agent: string; job: string }; output: {
    readonly extraction: ExtractionJob;
    /** The fields that were asked for, as they were sent. */
    readonly schema: Readonly<Record<string, unknown>>;
    /** Who asked for it. */
    readonly by: Actor;
    /** What an operator noted of the document; `null` when nobody did. */
    readonly correction: Correction | null;
  } };
  /** Cancels an extraction that is queued or running. It costs nothing. */
  'extractions.cancel': { input: { agent: string; job: string }; output: {
    readonly id: string;
    readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  } };
  /** Queues a failed extraction again, under its id. It is charged once, when it succeeds. */
  'extractions.retry': { input: { agent: string; job: string }; output: {
    readonly id: string;
    readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  } };
  /** Notes what the document of an extraction really says, as a case for evaluations. */
  'extractions.correct': { input: { agent: string; job: string; values: Readonly<Record<string, unknown>> }; output: {
    /** The extraction, which may be gone. */
    readonly job: string;
    readonly document: {
      readonly fileName: string;
      readonly contentType: string;
      readonly fileSize: number;
      readonly sha256: string;
      /** `null` for text and DOCX. */
      readonly pageCount: number | null;
      readonly characterCount: number;
      readonly ocrApplied: boolean;
      /** ISO 639-1, where it was detected. */
      readonly language: string | null;
      readonly stored: boolean;
      readonly fileId: string | null;
    };
    /** The contact whose file it is. */
    readonly contactId: string | null;
    readonly schema: Readonly<Record<string, unknown>>;
    /** A value for each field of the schema; `null` where the document has none. */
    readonly expected: Readonly<Record<string, unknown>>;
    readonly by: Actor;
    readonly at: string;
  } };
  /** Lists corrected extractions, by their ids. */
  'corrections.list': { input: { agent: string; limit?: number; after?: string }; output: {
    readonly corrections: readonly (Correction)[];
    /** What to pass as `after` next; `null` at the end of the list. */
    readonly next: string | null;
  } };
  /** Shows what the document of an extraction has, by the word of an operator. */
  'corrections.show': { input: { agent: string; job: string }; output: {
    /** The extraction, which may be gone. */
    readonly job: string;
    readonly document: {
      readonly fileName: string;
      readonly contentType: string;
      readonly fileSize: number;
      readonly sha256: string;
      /** `null` for text and DOCX. */
      readonly pageCount: number | null;
      readonly characterCount: number;
      readonly ocrApplied: boolean;
      /** ISO 639-1, where it was detected. */
      readonly language: string | null;
      readonly stored: boolean;
      readonly fileId: string | null;
    };
    /** The contact whose file it is. */
    readonly contactId: string | null;
    readonly schema: Readonly<Record<string, unknown>>;
    /** A value for each field of the schema; `null` where the document has none. */
    readonly expected: Readonly<Record<string, unknown>>;
    readonly by: Actor;
    readonly at: string;
  } };
  /** Removes a correction with its document. */
  'corrections.remove': { input: { agent: string; job: string }; output: {
    /** The extraction, which may be gone. */
    readonly job: string;
    readonly document: {
      readonly fileName: string;
      readonly contentType: string;
      readonly fileSize: number;
      readonly sha256: string;
      /** `null` for text and DOCX. */
      readonly pageCount: number | null;
      readonly characterCount: number;
      readonly ocrApplied: boolean;
      /** ISO 639-1, where it was detected. */
      readonly language: string | null;
      readonly stored: boolean;
      readonly fileId: string | null;
    };
    /** The contact whose file it is. */
    readonly contactId: string | null;
    readonly schema: Readonly<Record<string, unknown>>;
    /** A value for each field of the schema; `null` where the document has none. */
    readonly expected: Readonly<Record<string, unknown>>;
    readonly by: Actor;
    readonly at: string;
  } };
  /** Lists the keys of an agent, oldest first. */
  'keys.list': { input: { agent: string }; output: readonly (Key)[] };
  /** Creates a key. Its secret is in the answer and nowhere else. */
  'keys.create': { input: { agent: string; name: string; description?: string; permissions: readonly ('contacts:create' | 'contacts:read' | 'contacts:update' | 'contacts:delete' | 'forms:create' | 'forms:read' | 'forms:update' | 'document-extraction:create' | 'document-extraction:read' | 'events:create' | 'events:read' | 'events:update' | 'events:delete')[]; perMinute?: number; perHour?: number; allowedAddresses?: readonly (string)[]; expiresAt?: string }; output: {
    readonly key: Key;
    /** Shown this once. */
    readonly secret: string;
  } };
  /** Shows a key, without its secrets. */
  'keys.show': { input: { agent: string; key: string }; output: {
    readonly id: string;
    readonly agentId: string;
    /** The public part. */
    readonly apiKey: string;
    readonly name: string;
    readonly description: string | null;
    readonly permissions: readonly (string)[];
    readonly perMinute: number;
    readonly perHour: number;
    readonly allowedAddresses: readonly (string)[];
    readonly expiresAt: string | null;
    readonly status: 'active' | 'disabled' | 'revoked';
    readonly createdBy: Actor;
    readonly createdAt: string;
    readonly updatedAt: string;
    /** At most a minute late. */
    readonly lastUsedAt: string | null;
    readonly lastUsedAddress: string | null;
  } };
  /** Changes name, description, permissions, rates, addresses or end of a key. */
  'keys.edit': { input: { agent: string; key: string; name?: string; description?: string | null; permissions?: readonly ('contacts:create' | 'contacts:read' | 'contacts:update' | 'contacts:delete' | 'forms:create' | 'forms:read' | 'forms:update' | 'document-extraction:create' | 'document-extraction:read' | 'events:create' | 'events:read' | 'events:update' | 'events:delete')[]; perMinute?: number; perHour?: number; allowedAddresses?: readonly (string)[]; expiresAt?: string | null }; output: {
    readonly id: string;
    readonly agentId: string;
    /** The public part. */
    readonly apiKey: string;
    readonly name: string;
    readonly description: string | null;
    readonly permissions: readonly (string)[];
    readonly perMinute: number;
    readonly perHour: number;
    readonly allowedAddresses: readonly (string)[];
    readonly expiresAt: string | null;
    readonly status: 'active' | 'disabled' | 'revoked';
    readonly createdBy: Actor;
    readonly createdAt: string;
    readonly updatedAt: string;
    /** At most a minute late. */
    readonly lastUsedAt: string | null;
    readonly lastUsedAddress: string | null;
  } };
  /** Gives a key a new secret. The former one stays valid for a while. */
  'keys.rotate': { input: { agent: string; key: string; graceSeconds?: number }; output: {
    readonly key: Key;
    /** Shown this once. */
    readonly secret: string;
  } };
  /** Disables a key: its requests are refused at once. */
  'keys.disable': { input: { agent: string; key: string }; output: {
    readonly id: string;
    readonly agentId: string;
    /** The public part. */
    readonly apiKey: string;
    readonly name: string;
    readonly description: string | null;
    readonly permissions: readonly (string)[];
    readonly perMinute: number;
    readonly perHour: number;
    readonly allowedAddresses: readonly (string)[];
    readonly expiresAt: string | null;
    readonly status: 'active' | 'disabled' | 'revoked';
    readonly createdBy: Actor;
    readonly createdAt: string;
    readonly updatedAt: string;
    /** At most a minute late. */
    readonly lastUsedAt: string | null;
    readonly lastUsedAddress: string | null;
  } };
  /** Enables a disabled key. */
  'keys.enable': { input: { agent: string; key: string }; output: {
    readonly id: string;
    readonly agentId: string;
    /** The public part. */
    readonly apiKey: string;
    readonly name: string;
    readonly description: string | null;
    readonly permissions: readonly (string)[];
    readonly perMinute: number;
    readonly perHour: number;
    readonly allowedAddresses: readonly (string)[];
    readonly expiresAt: string | null;
    readonly status: 'active' | 'disabled' | 'revoked';
    readonly createdBy: Actor;
    readonly createdAt: string;
    readonly updatedAt: string;
    /** At most a minute late. */
    readonly lastUsedAt: string | null;
    readonly lastUsedAddress: string | null;
  } };
  /** Revokes a key for good. */
  'keys.revoke': { input: { agent: string; key: string; confirm: string }; output: {
    readonly id: string;
    readonly agentId: string;
    /** The public part. */
    readonly apiKey: string;
    readonly name: string;
    readonly description: string | null;
    readonly permissions: readonly (string)[];
    readonly perMinute: number;
    readonly perHour: number;
    readonly allowedAddresses: readonly (string)[];
    readonly expiresAt: string | null;
    readonly status: 'active' | 'disabled' | 'revoked';
    readonly createdBy: Actor;
    readonly createdAt: string;
    readonly updatedAt: string;
    /** At most a minute late. */
    readonly lastUsedAt: string | null;
    readonly lastUsedAddress: string | null;
  } };
  /** Sends a request of the Open API with a key and its secret, counted like any other. */
  'keys.try': { input: { agent: string; apiKey: string; secret: string }; output: readonly (TriedRequest)[] };
  /** Lists the webhook endpoints of an agent, oldest first. */
  'webhooks.list': { input: { agent: string }; output: readonly (WebhookEndpoint)[] };
  /** Creates a webhook endpoint. The answer shows the secret that signs its messages. */
  'webhooks.create': { input: { agent: string; url: string; types?: readonly (string)[]; mode?: 'parallel' | 'ordered'; description?: string | null; from?: 'now' | 'oldest' }; output: {
    readonly webhook: WebhookEndpoint;
    readonly secret: WebhookSecret;
  } };
  /** Lists the types of events that a webhook can subscribe to. */
  'webhooks.catalogue': { input: { agent: string }; output: readonly (WebhookEventType)[] };
  /** Shows a webhook endpoint with its progress, without its secret. */
  'webhooks.show': { input: { agent: string; webhook: string }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly url: string;
    readonly description: string | null;
    /** Names of types, `group.*` or `*`. */
    readonly types: readonly (string)[];
    /** `ordered`: one event at a time, none before the one before it is accepted. */
    readonly mode: 'parallel' | 'ordered';
    readonly status: 'enabled' | 'disabled';
    /** Why it is disabled. */
    readonly statusReason: 'operator' | 'gone' | 'failing' | 'secretLost' | null;
    /** Every event up to this number is accepted, left out, or among `openFailures`. */
    readonly cursor: number;
    /** Events that are to be sent, with those of other types that were not looked at yet. */
    readonly pending: number;
    /** Events that failed and are sent again. */
    readonly openFailures: number;
    /** Since when every attempt fails. */
    readonly failingSince: string | null;
    readonly lastSuccessAt: string | null;
    readonly lastFailureAt: string | null;
    /** When the previous secret ceases to sign. */
    readonly secretExpiresAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Changes URL, types, mode or description of a webhook endpoint. */
  'webhooks.edit': { input: { agent: string; webhook: string; url?: string; types?: readonly (string)[]; mode?: 'parallel' | 'ordered'; description?: string | null }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly url: string;
    readonly description: string | null;
    /** Names of types, `group.*` or `*`. */
    readonly types: readonly (string)[];
    /** `ordered`: one event at a time, none before the one before it is accepted. */
    readonly mode: 'parallel' | 'ordered';
    readonly status: 'enabled' | 'disabled';
    /** Why it is disabled. */
    readonly statusReason: 'operator' | 'gone' | 'failing' | 'secretLost' | null;
    /** Every event up to this number is accepted, left out, or among `openFailures`. */
    readonly cursor: number;
    /** Events that are to be sent, with those of other types that were not looked at yet. */
    readonly pending: number;
    /** Events that failed and are sent again. */
    readonly openFailures: number;
    /** Since when every attempt fails. */
    readonly failingSince: string | null;
    readonly lastSuccessAt: string | null;
    readonly lastFailureAt: string | null;
    /** When the previous secret ceases to sign. */
    readonly secretExpiresAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Enables a disabled webhook endpoint. */
  'webhooks.enable': { input: { agent: string; webhook: string; resume?: 'cursor' | 'now' }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly url: string;
    readonly description: string | null;
    /** Names of types, `group.*` or `*`. */
    readonly types: readonly (string)[];
    /** `ordered`: one event at a time, none before the one before it is accepted. */
    readonly mode: 'parallel' | 'ordered';
    readonly status: 'enabled' | 'disabled';
    /** Why it is disabled. */
    readonly statusReason: 'operator' | 'gone' | 'failing' | 'secretLost' | null;
    /** Every event up to this number is accepted, left out, or among `openFailures`. */
    readonly cursor: number;
    /** Events that are to be sent, with those of other types that were not looked at yet. */
    readonly pending: number;
    /** Events that failed and are sent again. */
    readonly openFailures: number;
    /** Since when every attempt fails. */
    readonly failingSince: string | null;
    readonly lastSuccessAt: string | null;
    readonly lastFailureAt: string | null;
    /** When the previous secret ceases to sign. */
    readonly secretExpiresAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Disables a webhook endpoint: nothing is sent to it until it is enabled. */
  'webhooks.disable': { input: { agent: string; webhook: string }; output: {
    readonly id: string;
    readonly agentId: string;
    readonly url: string;
    readonly description: string | null;
    /** Names of types, `group.*` or `*`. */
    readonly types: readonly (string)[];
    /** `ordered`: one event at a time, none before the one before it is accepted. */
    readonly mode: 'parallel' | 'ordered';
    readonly status: 'enabled' | 'disabled';
    /** Why it is disabled. */
    readonly statusReason: 'operator' | 'gone' | 'failing' | 'secretLost' | null;
    /** Every event up to this number is accepted, left out, or among `openFailures`. */
    readonly cursor: number;
    /** Events that are to be sent, with those of other types that were not looked at yet. */
    readonly pending: number;
    /** Events that failed and are sent again. */
    readonly openFailures: number;
    /** Since when every attempt fails. */
    readonly failingSince: string | null;
    readonly lastSuccessAt: string | null;
    readonly lastFailureAt: string | null;
    /** When the previous secret ceases to sign. */
    readonly secretExpiresAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
  } };
  /** Removes a webhook endpoint with its log of attempts. */
  'webhooks.remove': { input: { agent: string; webhook: string }; output: null };
  /** Shows what signs the messages of a webhook endpoint, and the former secret while it signs too. */
  'webhooks.secret': { input: { agent: string; webhook: string }; output: {
    /** What signs messages: `whsec_` and base64; `null` if the server key that it is made from is gone. */
    readonly secret: string | null;
    /** The former secret, while it signs too. */
    readonly previous: string | null;
    /** When the former secret ceases to sign. */
    readonly previousUntil: string | null;
  } };
  /** Gives a webhook endpoint a new secret. The former one signs too for a while. */
  'webhooks.rotate': { input: { agent: string; webhook: string; graceSeconds?: number }; output: {
    /** What signs messages: `whsec_` and base64; `null` if the server key that it is made from is gone. */
    readonly secret: string | null;
    /** The former secret, while it signs too. */
    readonly previous: string | null;
    /** When the former secret ceases to sign. */
    readonly previousUntil: string | null;
  } };
  /** Sends an example of an event, which moves nothing and is not logged; 10 a minute for each endpoint. */
  'webhooks.test': { input: { agent: string; webhook: string; type?: string }; output: {
    /** The status of the response; `null` without one. */
    readonly status: number | null;
    readonly milliseconds: number;
    /** What failed without a response: `refused`, `dns`, `connect`, `tls`, `timeout`, `response`, `redirects`, `request` or `unavailable`. */
    readonly error: string | null;
    /** Up to 1 KiB of the text of a failure. */
    readonly body: string | null;
  } };
  /** Sends events of the log to a webhook endpoint again, with their ids. */
  'webhooks.replay': { input: { agent: string; webhook: string; after?: string | number; since?: string; ids?: readonly (string)[] }; output: {
    /** The number of the first event that is sent again. */
    readonly from: number;
    /** The number of the last; less than `from` if there is none. What follows is sent in any case. */
    readonly to: number;
  } };
  /** Lists attempts to deliver, newest first: each failure, the success after one, and the first success of a minute. */
  'attempts.list': { input: { agent: string; webhook: string; failed?: boolean; limit?: number; cursor?: string }; output: {
    /** The newest first. */
    readonly deliveries: readonly (WebhookDelivery)[];
    /** What to pass as `cursor` next; `null` at the end. */
    readonly nextCursor: string | null;
  } };
  /** Shows an attempt to deliver with the message that was sent. */
  'attempts.show': { input: { agent: string; webhook: string; number: number }; output: {
    readonly delivery: WebhookDelivery;
    /** What was sent; `null` when the log no longer has it, or the caller may not see what it is about. */
    readonly message: Event | null;
  } };
  /** Sends the event of an attempt again. An ordered endpoint also gets all that follows it again. */
  'attempts.resend': { input: { agent: string; webhook: string; number: number }; output: {
    /** The number of the first event that is sent again. */
    readonly from: number;
    /** The number of the last; less than `from` if there is none. What follows is sent in any case. */
    readonly to: number;
  } };
  /** Shows the credits of an agent, and what an extraction costs. */
  'credits.show': { input: { agent: string }; output: {
    /** Whether nothing is charged; the balances stay. */
    readonly isUnlimited: boolean;
    /** What can be spent. */
    readonly available: number;
    /** What is left of the plan, which is spent first. */
    readonly plan: number;
    /** What was bought beyond it. */
    readonly topUp: number;
    /** What is set aside for work that runs. */
    readonly reserved: number;
    /** The event `credits.low` comes when fewer are available. */
    readonly lowAt: number | null;
    /** What a page of an extraction costs. */
    readonly perPage: number;
    /** How many characters of a document without pages are one. */
    readonly charactersPerPage: number;
  } };
  /** Changes the credits of an agent in one respect. A balance that is set is charged from then on. */
  'credits.change': { input: { agent: string; topUp?: number; plan?: number; lowAt?: number; isUnlimited?: boolean; perPage?: number; charactersPerPage?: number; note?: string }; output: {
    /** Whether nothing is charged; the balances stay. */
    readonly isUnlimited: boolean;
    /** What can be spent. */
    readonly available: number;
    /** What is left of the plan, which is spent first. */
    readonly plan: number;
    /** What was bought beyond it. */
    readonly topUp: number;
    /** What is set aside for work that runs. */
    readonly reserved: number;
    /** The event `credits.low` comes when fewer are available. */
    readonly lowAt: number | null;
    /** What a page of an extraction costs. */
    readonly perPage: number;
    /** How many characters of a document without pages are one. */
    readonly charactersPerPage: number;
  } };
  /** Lists what moved the credits of an agent, the newest first. */
  'credits.ledger': { input: { agent: string; limit?: number; beforeAt?: string; beforeId?: string }; output: {
    /** The newest first. */
    readonly entries: readonly (CreditEntry)[];
    /** What to ask for next; `null` at the end of the ledger. */
    readonly next: EntryPosition | null;
  } };
  /** Sends events of agents as they happen (`text/event-stream`); with `Last-Event-ID`, those since then. */
  'stream.open': { input: { agents: string }; output: {
    readonly agent: string;
    /** Its number in the event log of the agent. */
    readonly seq: number;
    readonly type: 'contact.created' | 'contact.updated' | 'contact.archived' | 'contact.unarchived' | 'contact.erased' | 'file.uploaded' | 'file.deleted' | 'submission.created' | 'submission.updated' | 'submission.status_changed' | 'template.created' | 'template.edited' | 'template.activated' | 'template.archived' | 'contact_schema.replaced' | 'extraction.completed' | 'extraction.failed' | 'extraction.cancelled' | 'credits.low' | 'credits.exhausted' | 'lead.created' | 'conversation.started' | 'conversation.handoff_requested' | 'conversation.taken' | 'conversation.released' | 'conversation.closed' | 'conversation.erased' | 'conversation.unanswered' | 'conversation.feedback' | 'message.created' | 'knowledge.added' | 'knowledge.removed' | 'agent.configured' | 'agent.disabled' | 'agent.enabled' | 'key.created' | 'key.edited' | 'key.rotated' | 'key.disabled' | 'key.enabled' | 'key.revoked' | 'key.expiring' | 'endpoint.disabled';
    readonly at: string;
    readonly actor: 'apiKey' | 'operator' | 'user' | 'visitor' | 'system';
    /** The ids of what it is about; empty if a contact was erased. */
    readonly subject: {
      readonly contactId?: string;
      readonly conversationId?: string;
      readonly endpointId?: string;
      readonly fileId?: string;
      readonly jobId?: string;
      readonly keyId?: string;
      readonly knowledgeId?: string;
      readonly messageId?: string;
      readonly submissionId?: string;
      readonly templateId?: string;
    };
    /** The names of the fields that changed. */
    readonly changed: readonly (string)[] | null;
  } };
  /** Lists entries of an agent's audit log, the newest first. */
  'audit.list': { input: { agent: string; limit?: number; beforeAt?: string; beforeId?: string }; output: {
    readonly entries: readonly (AuditEntry)[];
    /** What to ask for next; `null` at the end of the log. */
    readonly next: EntryPosition | null;
  } };
  /** Lists entries of the audit logs of all agents and of the installation, the newest first. */
  'audit.listAll': { input: { limit?: number; beforeAt?: string; beforeId?: string }; output: {
    readonly entries: readonly (AuditEntry)[];
    /** What to ask for next; `null` at the end of the log. */
    readonly next: EntryPosition | null;
  } };
  /** Shows whether the server can work, and its version. */
  'server.health': { input: Record<string, never>; output: {
    readonly isHealthy: boolean;
    readonly problem: string | null;
    readonly build: string;
    readonly contractVersion: string;
    readonly publicUrl: string;
    readonly now: string;
  } };
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query: readonly string[];
  readonly body: 'none' | 'json' | 'content';
  readonly scope: 'public' | 'own' | 'agent' | 'installation';
  readonly needs: Capability | null;
  readonly stepUp: boolean;
  readonly versioned: boolean;
  readonly secret: boolean;
  readonly changes: boolean;
  readonly command: string;
}

export const operations: { readonly [Name in keyof Operations]: Operation } = {
  'session.show': {
    method: 'GET', path: '/session', query: [], body: 'none',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'signIn.options': {
    method: 'POST', path: '/sign-in/passkey/options', query: [], body: 'none',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'signIn.passkey': {
    method: 'POST', path: '/sign-in/passkey', query: [], body: 'json',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: true,
    changes: true, command: '',
  },
  'signIn.password': {
    method: 'POST', path: '/sign-in/password', query: [], body: 'json',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: true,
    changes: true, command: '',
  },
  'signIn.code': {
    method: 'POST', path: '/sign-in/code', query: [], body: 'json',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: true,
    changes: true, command: '',
  },
  'signIn.recover': {
    method: 'POST', path: '/sign-in/recover', query: [], body: 'json',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: true,
    changes: true, command: '',
  },
  'signIn.oidcStart': {
    method: 'POST', path: '/sign-in/oidc/start', query: [], body: 'json',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'signIn.oidcCallback': {
    method: 'GET', path: '/sign-in/oidc/callback', query: ['code', 'state', 'iss', 'error', 'error_description'], body: 'none',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: false,
    changes: true, command: '',
  },
  'links.inspect': {
    method: 'POST', path: '/links/inspect', query: [], body: 'json',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'links.accept': {
    method: 'POST', path: '/links/accept', query: [], body: 'json',
    scope: 'public', needs: null, stepUp: false, versioned: false, secret: true,
    changes: true, command: '',
  },
  'session.stepUpOptions': {
    method: 'POST', path: '/session/step-up/options', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'session.stepUp': {
    method: 'POST', path: '/session/step-up', query: [], body: 'json',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: true,
    changes: true, command: '',
  },
  'session.stepUpOidc': {
    method: 'POST', path: '/session/step-up/oidc', query: [], body: 'json',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'session.end': {
    method: 'DELETE', path: '/session', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: true, command: '',
  },
  'me.update': {
    method: 'PATCH', path: '/me', query: [], body: 'json',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: true, command: '',
  },
  'me.sessions': {
    method: 'GET', path: '/me/sessions', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'me.endSession': {
    method: 'DELETE', path: '/me/sessions/{session}', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: true, command: '',
  },
  'me.endOtherSessions': {
    method: 'DELETE', path: '/me/sessions', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: true, command: '',
  },
  'me.passkeys': {
    method: 'GET', path: '/me/passkeys', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'me.passkeyOptions': {
    method: 'POST', path: '/me/passkeys/options', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: false,
    changes: false, command: '',
  },
  'me.addPasskey': {
    method: 'POST', path: '/me/passkeys', query: [], body: 'json',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: false,
    changes: true, command: '',
  },
  'me.removePasskey': {
    method: 'DELETE', path: '/me/passkeys/{passkey}', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: false,
    changes: true, command: '',
  },
  'me.methods': {
    method: 'GET', path: '/me/methods', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'me.setPassword': {
    method: 'PUT', path: '/me/password', query: [], body: 'json',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: false,
    changes: true, command: '',
  },
  'me.beginTotp': {
    method: 'POST', path: '/me/totp', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: true,
    changes: false, command: '',
  },
  'me.confirmTotp': {
    method: 'PUT', path: '/me/totp', query: [], body: 'json',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: false,
    changes: true, command: '',
  },
  'me.removeTotp': {
    method: 'DELETE', path: '/me/totp', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: false,
    changes: true, command: '',
  },
  'me.makeRecoveryCodes': {
    method: 'POST', path: '/me/recovery-codes', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: true,
    changes: true, command: '',
  },
  'me.identities': {
    method: 'GET', path: '/me/identities', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'me.linkIdentity': {
    method: 'POST', path: '/me/identities', query: [], body: 'json',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: false,
    changes: false, command: '',
  },
  'me.unlinkIdentity': {
    method: 'DELETE', path: '/me/identities/{identity}', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: true, versioned: false, secret: false,
    changes: true, command: '',
  },
  'members.list': {
    method: 'GET', path: '/members', query: [], body: 'none',
    scope: 'installation', needs: 'members.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'operators list',
  },
  'members.invitations': {
    method: 'GET', path: '/members/invitations', query: [], body: 'none',
    scope: 'installation', needs: 'members.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'operators invitations',
  },
  'members.invite': {
    method: 'POST', path: '/members/invitations', query: [], body: 'json',
    scope: 'installation', needs: 'members.manage', stepUp: true, versioned: false, secret: true,
    changes: true, command: 'operators invite EMAIL --role inbox@acme',
  },
  'members.revokeInvitation': {
    method: 'DELETE', path: '/members/invitations/{invitation}', query: [], body: 'none',
    scope: 'installation', needs: 'members.manage', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'operators revoke-invitation EMAIL',
  },
  'members.show': {
    method: 'GET', path: '/members/{member}', query: [], body: 'none',
    scope: 'installation', needs: 'members.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'operators show EMAIL',
  },
  'members.grant': {
    method: 'PUT', path: '/members/{member}/grants', query: [], body: 'json',
    scope: 'installation', needs: 'members.manage', stepUp: true, versioned: true, secret: false,
    changes: true, command: 'operators grant EMAIL --role inbox@acme',
  },
  'members.disable': {
    method: 'POST', path: '/members/{member}/disable', query: [], body: 'none',
    scope: 'installation', needs: 'members.manage', stepUp: true, versioned: false, secret: false,
    changes: true, command: 'operators disable EMAIL',
  },
  'members.enable': {
    method: 'POST', path: '/members/{member}/enable', query: [], body: 'none',
    scope: 'installation', needs: 'members.manage', stepUp: true, versioned: false, secret: false,
    changes: true, command: 'operators enable EMAIL',
  },
  'members.remove': {
    method: 'DELETE', path: '/members/{member}', query: [], body: 'none',
    scope: 'installation', needs: 'members.manage', stepUp: true, versioned: false, secret: false,
    changes: true, command: 'operators remove EMAIL',
  },
  'members.recover': {
    method: 'POST', path: '/members/{member}/recovery', query: [], body: 'none',
    scope: 'installation', needs: 'members.manage', stepUp: true, versioned: false, secret: true,
    changes: true, command: 'operators recover EMAIL',
  },
  'members.endSessions': {
    method: 'DELETE', path: '/members/{member}/sessions', query: [], body: 'none',
    scope: 'installation', needs: 'members.manage', stepUp: true, versioned: false, secret: false,
    changes: true, command: 'operators sign-out EMAIL',
  },
  'providers.list': {
    method: 'GET', path: '/providers', query: [], body: 'none',
    scope: 'installation', needs: 'signIn.manage', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'sign-in list',
  },
  'providers.save': {
    method: 'PUT', path: '/providers/{provider}', query: [], body: 'json',
    scope: 'installation', needs: 'signIn.manage', stepUp: true, versioned: true, secret: false,
    changes: true, command: 'sign-in set ID',
  },
  'providers.test': {
    method: 'POST', path: '/providers/{provider}/test', query: [], body: 'none',
    scope: 'installation', needs: 'signIn.manage', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'sign-in test ID',
  },
  'providers.try': {
    method: 'POST', path: '/providers/{provider}/try', query: [], body: 'json',
    scope: 'installation', needs: 'signIn.manage', stepUp: true, versioned: false, secret: false,
    changes: false, command: '',
  },
  'providers.remove': {
    method: 'DELETE', path: '/providers/{provider}', query: [], body: 'none',
    scope: 'installation', needs: 'signIn.manage', stepUp: true, versioned: true, secret: false,
    changes: true, command: 'sign-in remove ID',
  },
  'agents.list': {
    method: 'GET', path: '/agents', query: [], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: 'agents list',
  },
  'agents.create': {
    method: 'POST', path: '/agents', query: [], body: 'json',
    scope: 'installation', needs: 'agents.manage', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'agents create NAME --id ID',
  },
  'agents.show': {
    method: 'GET', path: '/agents/{agent}', query: [], body: 'none',
    scope: 'agent', needs: 'agents.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'agents show ID',
  },
  'agents.rename': {
    method: 'PATCH', path: '/agents/{agent}', query: [], body: 'json',
    scope: 'agent', needs: 'agents.manage', stepUp: false, versioned: true, secret: false,
    changes: true, command: '',
  },
  'agents.disable': {
    method: 'POST', path: '/agents/{agent}/disable', query: [], body: 'json',
    scope: 'agent', needs: 'agents.manage', stepUp: true, versioned: false, secret: false,
    changes: true, command: 'agents disable ID',
  },
  'agents.enable': {
    method: 'POST', path: '/agents/{agent}/enable', query: [], body: 'none',
    scope: 'agent', needs: 'agents.manage', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'agents enable ID',
  },
  'inbox.list': {
    method: 'GET', path: '/agents/{agent}/conversations', query: ['status', 'mode', 'contact', 'since', 'page', 'limit'], body: 'none',
    scope: 'agent', needs: 'inbox.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'conversations list --agent AGENT',
  },
  'inbox.counts': {
    method: 'GET', path: '/agents/{agent}/conversations/counts', query: [], body: 'none',
    scope: 'agent', needs: 'inbox.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'inbox.show': {
    method: 'GET', path: '/agents/{agent}/conversations/{conversation}', query: [], body: 'none',
    scope: 'agent', needs: 'inbox.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'conversations show ID --agent AGENT',
  },
  'inbox.thread': {
    method: 'GET', path: '/agents/{agent}/conversations/{conversation}/thread', query: ['after', 'before', 'limit'], body: 'none',
    scope: 'agent', needs: 'inbox.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'conversations show ID --agent AGENT',
  },
  'inbox.take': {
    method: 'POST', path: '/agents/{agent}/conversations/{conversation}/take', query: [], body: 'none',
    scope: 'agent', needs: 'inbox.reply', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'conversations take ID --agent AGENT',
  },
  'inbox.reply': {
    method: 'POST', path: '/agents/{agent}/conversations/{conversation}/replies', query: [], body: 'json',
    scope: 'agent', needs: 'inbox.reply', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'conversations reply ID TEXT --agent AGENT',
  },
  'inbox.release': {
    method: 'POST', path: '/agents/{agent}/conversations/{conversation}/release', query: [], body: 'none',
    scope: 'agent', needs: 'inbox.reply', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'conversations release ID --agent AGENT',
  },
  'inbox.close': {
    method: 'POST', path: '/agents/{agent}/conversations/{conversation}/close', query: [], body: 'none',
    scope: 'agent', needs: 'inbox.reply', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'conversations close ID --agent AGENT',
  },
  'contacts.list': {
    method: 'GET', path: '/agents/{agent}/contacts', query: ['search', 'status', 'tag', 'sortBy', 'sortOrder', 'includeArchived', 'primaryEmail', 'createdSince', 'updatedSince', 'page', 'limit', 'cursor'], body: 'none',
    scope: 'agent', needs: 'contacts.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'contacts list --agent AGENT',
  },
  'contacts.show': {
    method: 'GET', path: '/agents/{agent}/contacts/{contact}', query: [], body: 'none',
    scope: 'agent', needs: 'contacts.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'contacts show REF --agent AGENT',
  },
  'contacts.create': {
    method: 'POST', path: '/agents/{agent}/contacts', query: [], body: 'json',
    scope: 'agent', needs: 'contacts.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'contacts create --agent AGENT --set primaryEmail=ada@example.com',
  },
  'contacts.update': {
    method: 'PATCH', path: '/agents/{agent}/contacts/{contact}', query: [], body: 'json',
    scope: 'agent', needs: 'contacts.write', stepUp: false, versioned: true, secret: false,
    changes: true, command: 'contacts update REF --agent AGENT --set lastName=Byron',
  },
  'contacts.archive': {
    method: 'POST', path: '/agents/{agent}/contacts/{contact}/archive', query: [], body: 'none',
    scope: 'agent', needs: 'contacts.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'contacts archive REF --agent AGENT',
  },
  'contacts.unarchive': {
    method: 'POST', path: '/agents/{agent}/contacts/{contact}/unarchive', query: [], body: 'none',
    scope: 'agent', needs: 'contacts.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'contacts unarchive REF --agent AGENT',
  },
  'contacts.reveal': {
    method: 'POST', path: '/agents/{agent}/contacts/{contact}/reveal', query: [], body: 'none',
    scope: 'agent', needs: 'sensitive.read', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'contacts show REF --agent AGENT --reveal',
  },
  'contacts.notes': {
    method: 'GET', path: '/agents/{agent}/contacts/{contact}/notes', query: ['limit', 'after'], body: 'none',
    scope: 'agent', needs: 'contacts.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'contacts notes REF --agent AGENT',
  },
  'contacts.addNote': {
    method: 'POST', path: '/agents/{agent}/contacts/{contact}/notes', query: [], body: 'json',
    scope: 'agent', needs: 'contacts.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'contacts note REF TEXT --agent AGENT',
  },
  'contacts.editNote': {
    method: 'PUT', path: '/agents/{agent}/contacts/{contact}/notes/{note}', query: [], body: 'json',
    scope: 'agent', needs: 'contacts.write', stepUp: false, versioned: true, secret: false,
    changes: true, command: '',
  },
  'contacts.removeNote': {
    method: 'DELETE', path: '/agents/{agent}/contacts/{contact}/notes/{note}', query: [], body: 'none',
    scope: 'agent', needs: 'contacts.write', stepUp: false, versioned: true, secret: false,
    changes: true, command: '',
  },
  'contacts.erase': {
    method: 'POST', path: '/agents/{agent}/contacts/{contact}/erase', query: [], body: 'json',
    scope: 'agent', needs: 'contacts.erase', stepUp: true, versioned: false, secret: false,
    changes: true, command: 'contacts erase REF --agent AGENT',
  },
  'contacts.previewImport': {
    method: 'POST', path: '/agents/{agent}/contacts/imports', query: ['fileName', 'mapping', 'delimiter', 'encoding', 'sheet'], body: 'content',
    scope: 'agent', needs: 'contacts.bulk', stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'contacts.runImport': {
    method: 'POST', path: '/agents/{agent}/contacts/imports/run', query: ['fileName', 'mapping', 'after', 'delimiter', 'encoding', 'sheet'], body: 'content',
    scope: 'agent', needs: 'contacts.bulk', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'contacts import FILE --agent AGENT',
  },
  'schema.show': {
    method: 'GET', path: '/agents/{agent}/contact-schema', query: [], body: 'none',
    scope: 'agent', needs: 'schema.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'contact-schema show --agent AGENT',
  },
  'schema.history': {
    method: 'GET', path: '/agents/{agent}/contact-schema/versions', query: [], body: 'none',
    scope: 'agent', needs: 'schema.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'contact-schema history --agent AGENT',
  },
  'schema.check': {
    method: 'POST', path: '/agents/{agent}/contact-schema/check', query: [], body: 'json',
    scope: 'agent', needs: 'schema.write', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'contact-schema check --agent AGENT --file FILE',
  },
  'schema.replace': {
    method: 'PUT', path: '/agents/{agent}/contact-schema', query: [], body: 'json',
    scope: 'agent', needs: 'schema.write', stepUp: false, versioned: true, secret: false,
    changes: true, command: 'contact-schema set --agent AGENT --file FILE',
  },
  'knowledge.list': {
    method: 'GET', path: '/agents/{agent}/knowledge', query: [], body: 'none',
    scope: 'agent', needs: 'studio.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'knowledge list --agent AGENT',
  },
  'knowledge.add': {
    method: 'POST', path: '/agents/{agent}/knowledge', query: [], body: 'json',
    scope: 'agent', needs: 'studio.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'knowledge add FILE --agent AGENT',
  },
  'knowledge.addFile': {
    method: 'POST', path: '/agents/{agent}/knowledge/files', query: ['fileName', 'title', 'url', 'language'], body: 'content',
    scope: 'agent', needs: 'studio.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'knowledge add FILE --agent AGENT',
  },
  'knowledge.teach': {
    method: 'POST', path: '/agents/{agent}/knowledge/pairs', query: [], body: 'json',
    scope: 'agent', needs: 'studio.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'knowledge teach --agent AGENT --question QUESTION --answer ANSWER',
  },
  'knowledge.remove': {
    method: 'DELETE', path: '/agents/{agent}/knowledge/{document}', query: [], body: 'none',
    scope: 'agent', needs: 'studio.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'knowledge remove DOC --agent AGENT',
  },
  'sources.list': {
    method: 'GET', path: '/agents/{agent}/sources', query: [], body: 'none',
    scope: 'agent', needs: 'studio.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'knowledge sources list --agent AGENT',
  },
  'sources.add': {
    method: 'POST', path: '/agents/{agent}/sources', query: [], body: 'json',
    scope: 'agent', needs: 'studio.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'knowledge sources add URL --agent AGENT',
  },
  'sources.show': {
    method: 'GET', path: '/agents/{agent}/sources/{source}', query: [], body: 'none',
    scope: 'agent', needs: 'studio.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'knowledge sources show ID --agent AGENT',
  },
  'sources.sync': {
    method: 'POST', path: '/agents/{agent}/sources/{source}/sync', query: [], body: 'none',
    scope: 'agent', needs: 'studio.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'knowledge sources sync ID --agent AGENT',
  },
  'sources.remove': {
    method: 'DELETE', path: '/agents/{agent}/sources/{source}', query: [], body: 'none',
    scope: 'agent', needs: 'studio.write', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'knowledge sources remove ID --agent AGENT',
  },
  'settings.show': {
    method: 'GET', path: '/agents/{agent}/settings', query: [], body: 'none',
    scope: 'agent', needs: 'studio.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'agents configure ID',
  },
  'settings.save': {
    method: 'PUT', path: '/agents/{agent}/settings', query: [], body: 'json',
    scope: 'agent', needs: 'studio.write', stepUp: false, versioned: true, secret: false,
    changes: true, command: 'agents configure ID --file FILE',
  },
  'settings.install': {
    method: 'GET', path: '/agents/{agent}/install', query: [], body: 'none',
    scope: 'agent', needs: 'studio.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'agents show ID',
  },
  'identity.show': {
    method: 'POST', path: '/agents/{agent}/identity-secret/show', query: [], body: 'none',
    scope: 'agent', needs: 'studio.secret', stepUp: true, versioned: false, secret: true,
    changes: true, command: 'agents identity-secret ID',
  },
  'identity.rotate': {
    method: 'POST', path: '/agents/{agent}/identity-secret/rotate', query: [], body: 'json',
    scope: 'agent', needs: 'studio.secret', stepUp: true, versioned: false, secret: true,
    changes: true, command: 'agents identity-secret ID --rotate --grace 24h',
  },
  'studio.ask': {
    method: 'POST', path: '/agents/{agent}/studio/ask', query: [], body: 'json',
    scope: 'agent', needs: 'studio.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'insights.questions': {
    method: 'GET', path: '/agents/{agent}/insights/questions', query: ['days', 'outcome', 'limit'], body: 'none',
    scope: 'agent', needs: 'insights.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'insights questions --agent AGENT',
  },
  'extractions.list': {
    method: 'GET', path: '/agents/{agent}/extractions', query: ['status', 'batchId', 'limit', 'cursor'], body: 'none',
    scope: 'agent', needs: 'documents.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'extractions list --agent AGENT',
  },
  'extractions.show': {
    method: 'GET', path: '/agents/{agent}/extractions/{job}', query: [], body: 'none',
    scope: 'agent', needs: 'documents.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'extractions show JOB --agent AGENT',
  },
  'extractions.cancel': {
    method: 'POST', path: '/agents/{agent}/extractions/{job}/cancel', query: [], body: 'none',
    scope: 'agent', needs: 'documents.run', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'extractions cancel JOB --agent AGENT',
  },
  'extractions.retry': {
    method: 'POST', path: '/agents/{agent}/extractions/{job}/retry', query: [], body: 'none',
    scope: 'agent', needs: 'documents.run', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'extractions retry JOB --agent AGENT',
  },
  'extractions.correct': {
    method: 'PUT', path: '/agents/{agent}/corrections/{job}', query: [], body: 'json',
    scope: 'agent', needs: 'documents.correct', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'extractions correct JOB --set FIELD=VALUE --agent AGENT',
  },
  'corrections.list': {
    method: 'GET', path: '/agents/{agent}/corrections', query: ['limit', 'after'], body: 'none',
    scope: 'agent', needs: 'documents.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'extractions corrections list --agent AGENT',
  },
  'corrections.show': {
    method: 'GET', path: '/agents/{agent}/corrections/{job}', query: [], body: 'none',
    scope: 'agent', needs: 'documents.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'extractions corrections show JOB --agent AGENT',
  },
  'corrections.remove': {
    method: 'DELETE', path: '/agents/{agent}/corrections/{job}', query: [], body: 'none',
    scope: 'agent', needs: 'documents.correct', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'extractions corrections remove JOB --agent AGENT',
  },
  'keys.list': {
    method: 'GET', path: '/agents/{agent}/keys', query: [], body: 'none',
    scope: 'agent', needs: 'keys.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'keys list --agent AGENT',
  },
  'keys.create': {
    method: 'POST', path: '/agents/{agent}/keys', query: [], body: 'json',
    scope: 'agent', needs: 'keys.manage', stepUp: true, versioned: false, secret: true,
    changes: true, command: 'keys create --agent AGENT --name NAME --allow contacts:read',
  },
  'keys.show': {
    method: 'GET', path: '/agents/{agent}/keys/{key}', query: [], body: 'none',
    scope: 'agent', needs: 'keys.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'keys show KEY',
  },
  'keys.edit': {
    method: 'PATCH', path: '/agents/{agent}/keys/{key}', query: [], body: 'json',
    scope: 'agent', needs: 'keys.manage', stepUp: true, versioned: true, secret: false,
    changes: true, command: 'keys edit KEY',
  },
  'keys.rotate': {
    method: 'POST', path: '/agents/{agent}/keys/{key}/rotate', query: [], body: 'json',
    scope: 'agent', needs: 'keys.manage', stepUp: true, versioned: false, secret: true,
    changes: true, command: 'keys rotate KEY --grace 24h',
  },
  'keys.disable': {
    method: 'POST', path: '/agents/{agent}/keys/{key}/disable', query: [], body: 'none',
    scope: 'agent', needs: 'keys.manage', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'keys disable KEY',
  },
  'keys.enable': {
    method: 'POST', path: '/agents/{agent}/keys/{key}/enable', query: [], body: 'none',
    scope: 'agent', needs: 'keys.manage', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'keys enable KEY',
  },
  'keys.revoke': {
    method: 'POST', path: '/agents/{agent}/keys/{key}/revoke', query: [], body: 'json',
    scope: 'agent', needs: 'keys.manage', stepUp: true, versioned: false, secret: false,
    changes: true, command: 'keys revoke KEY',
  },
  'keys.try': {
    method: 'POST', path: '/agents/{agent}/keys/try', query: [], body: 'json',
    scope: 'agent', needs: 'keys.manage', stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'webhooks.list': {
    method: 'GET', path: '/agents/{agent}/webhooks', query: [], body: 'none',
    scope: 'agent', needs: 'webhooks.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'webhooks list --agent AGENT',
  },
  'webhooks.create': {
    method: 'POST', path: '/agents/{agent}/webhooks', query: [], body: 'json',
    scope: 'agent', needs: 'webhooks.manage', stepUp: true, versioned: false, secret: true,
    changes: true, command: 'webhooks create URL --agent AGENT',
  },
  'webhooks.catalogue': {
    method: 'GET', path: '/agents/{agent}/webhooks/catalogue', query: [], body: 'none',
    scope: 'agent', needs: 'webhooks.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'events types',
  },
  'webhooks.show': {
    method: 'GET', path: '/agents/{agent}/webhooks/{webhook}', query: [], body: 'none',
    scope: 'agent', needs: 'webhooks.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'webhooks show ID --agent AGENT',
  },
  'webhooks.edit': {
    method: 'PATCH', path: '/agents/{agent}/webhooks/{webhook}', query: [], body: 'json',
    scope: 'agent', needs: 'webhooks.manage', stepUp: true, versioned: true, secret: false,
    changes: true, command: 'webhooks edit ID --agent AGENT',
  },
  'webhooks.enable': {
    method: 'POST', path: '/agents/{agent}/webhooks/{webhook}/enable', query: [], body: 'json',
    scope: 'agent', needs: 'webhooks.manage', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'webhooks enable ID --agent AGENT',
  },
  'webhooks.disable': {
    method: 'POST', path: '/agents/{agent}/webhooks/{webhook}/disable', query: [], body: 'none',
    scope: 'agent', needs: 'webhooks.manage', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'webhooks disable ID --agent AGENT',
  },
  'webhooks.remove': {
    method: 'DELETE', path: '/agents/{agent}/webhooks/{webhook}', query: [], body: 'none',
    scope: 'agent', needs: 'webhooks.manage', stepUp: true, versioned: false, secret: false,
    changes: true, command: 'webhooks delete ID --agent AGENT',
  },
  'webhooks.secret': {
    method: 'POST', path: '/agents/{agent}/webhooks/{webhook}/secret', query: [], body: 'none',
    scope: 'agent', needs: 'webhooks.manage', stepUp: true, versioned: false, secret: true,
    changes: true, command: 'webhooks secret ID --agent AGENT',
  },
  'webhooks.rotate': {
    method: 'POST', path: '/agents/{agent}/webhooks/{webhook}/rotate', query: [], body: 'json',
    scope: 'agent', needs: 'webhooks.manage', stepUp: true, versioned: false, secret: true,
    changes: true, command: 'webhooks rotate ID --agent AGENT --grace 24h',
  },
  'webhooks.test': {
    method: 'POST', path: '/agents/{agent}/webhooks/{webhook}/test', query: [], body: 'json',
    scope: 'agent', needs: 'webhooks.manage', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'webhooks test ID --agent AGENT --type contact.created',
  },
  'webhooks.replay': {
    method: 'POST', path: '/agents/{agent}/webhooks/{webhook}/replay', query: [], body: 'json',
    scope: 'agent', needs: 'webhooks.manage', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'webhooks replay ID --agent AGENT --since 2026-01-31T09:00:00Z',
  },
  'attempts.list': {
    method: 'GET', path: '/agents/{agent}/webhooks/{webhook}/attempts', query: ['failed', 'limit', 'cursor'], body: 'none',
    scope: 'agent', needs: 'webhooks.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'webhooks attempts ID --agent AGENT',
  },
  'attempts.show': {
    method: 'GET', path: '/agents/{agent}/webhooks/{webhook}/attempts/{number}', query: [], body: 'none',
    scope: 'agent', needs: 'webhooks.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'attempts.resend': {
    method: 'POST', path: '/agents/{agent}/webhooks/{webhook}/attempts/{number}/resend', query: [], body: 'none',
    scope: 'agent', needs: 'webhooks.manage', stepUp: false, versioned: false, secret: false,
    changes: true, command: 'webhooks replay ID --agent AGENT --id EVENT',
  },
  'credits.show': {
    method: 'GET', path: '/agents/{agent}/credits', query: [], body: 'none',
    scope: 'agent', needs: 'credits.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'credits show --agent AGENT',
  },
  'credits.change': {
    method: 'POST', path: '/agents/{agent}/credits', query: [], body: 'json',
    scope: 'agent', needs: 'credits.manage', stepUp: true, versioned: false, secret: false,
    changes: true, command: 'credits topup CREDITS --agent AGENT',
  },
  'credits.ledger': {
    method: 'GET', path: '/agents/{agent}/credits/ledger', query: ['limit', 'beforeAt', 'beforeId'], body: 'none',
    scope: 'agent', needs: 'credits.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'credits ledger --agent AGENT',
  },
  'stream.open': {
    method: 'GET', path: '/stream', query: ['agents'], body: 'none',
    scope: 'own', needs: null, stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
  'audit.list': {
    method: 'GET', path: '/agents/{agent}/audit', query: ['limit', 'beforeAt', 'beforeId'], body: 'none',
    scope: 'agent', needs: 'audit.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'audit tail',
  },
  'audit.listAll': {
    method: 'GET', path: '/audit', query: ['limit', 'beforeAt', 'beforeId'], body: 'none',
    scope: 'installation', needs: 'audit.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: 'audit tail',
  },
  'server.health': {
    method: 'GET', path: '/server/health', query: [], body: 'none',
    scope: 'installation', needs: 'server.read', stepUp: false, versioned: false, secret: false,
    changes: false, command: '',
  },
};
