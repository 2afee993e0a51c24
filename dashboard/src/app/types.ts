// The records of the console API that the pages show: the generated types, and the session as the pages need it.
import type { OfferedProvider, Operations, Person } from '../generated/operations';

export type { AcceptedLink, Agent, AgentSettings, AuditEntry, AuditPage, ExtractionJob, ExtractionReport, ExtractionState, Ceremony, ContactNotes, Note as ContactNote, Conversation, ConversationCounts, CreditAccount, CreditLedger, FoundPassage, Identity, IdentitySecrets, Invitation, InvitedRole, IssuedKey, IssuedServiceToken, Key, KnowledgeDocument, Leaving, Link, MadeLink, Member, Message, NewRecoveryCodes, OfferedProvider, OpenQuestions, OwnMethods, OwnSession, QuestionGroup, Passkey, PasswordAccepted, Provider, ProviderStep, ProviderTest, SchemaChange, SchemaCheck, SchemaVersion, ServerHealth, ServiceToken, SignedIn, TotpSeed, TrialAnswer, TriedRequest, Website, WebsitePage, WebhookDeliveries, WebhookDelivery, WebhookDeliveryReport, WebhookEndpoint, WebhookEventType, WebhookReplayed, WebhookSecret, WebhookTestResult, IssuedWebhook, WebsiteReport, WidgetInstallation, ImportColumn, ImportLine, ImportPreview, ImportProgress } from '../generated/operations';
/** A contact, with the names of the fields whose values are left out. */
export type Contact = Operations['contacts.show']['output'] & { readonly masked?: readonly string[] };
/** A field of the contact schema. */
export interface SchemaField {
  name: string;
  label: string;
  type: string;
  required: boolean;
  readOnly: boolean;
  custom: boolean;
  sensitive: boolean;
  options: readonly { value: string; label: string }[] | null;
}
/** The session: who is signed in, and what that person may do. */
export interface Session {
  operator: Person | null;
  /** Capabilities by agent; `*` for the installation and every agent. */
  capabilities: Readonly<Record<string, Readonly<Record<string, string>>>>;
  methods: readonly string[];
  /** The providers that one can sign in with. */
  providers: readonly OfferedProvider[];
  isSetUp: boolean;
  /** Whether the session can only set up a way to sign in. */
  needsMethod: boolean;
  /** Whether accounts are the console's own, and not those of the application that it is mounted in. */
  hasAccounts: boolean;
  serviceName: string;
  publicUrl: string;
  build: string;
}
