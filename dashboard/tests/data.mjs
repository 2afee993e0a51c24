// Data of the stub: an agency of the documentation, invented people at example.com.
import { readFileSync } from 'node:fs';

const now = Date.now();
const before = (minutes) => new Date(now - minutes * 60000).toISOString();
const after = (days) => new Date(now + days * 86400000).toISOString();
let ids = 0;
export const newId = () => (0x697dc816_0000 + ++ids * 7919).toString(16).padStart(24, '0');

const FIRST = ['Zoë', 'Amara', 'Liam', 'Noor', 'Jürgen', 'Chloé', 'Mateo', 'Ingrid', 'Tomasz', 'Yuki', 'Fatima', 'Oisín', 'Priya', 'Dan', 'Esther', 'Kofi'];
const LAST = ['Okafor', 'Lindqvist', 'Brennan', 'Haddad', 'Weiß', 'Laurent', 'García', 'Sørensen', 'Nowak', 'Tanaka', 'Rahman', 'Byrne', 'Nair', 'Whitfield', 'Cohen', 'Mensah'];
const TAGS = [['vip', 'newsletter'], ['newsletter'], [], ['lead'], ['trial', 'spring campaign'], [], ['partner']];
export const contact = (n) => {
  const firstName = FIRST[n % 16];
  const lastName = LAST[(n * 7 + (n >> 4)) % 16];
  return {
    id: newId(), agentId: 'acme', externalReferenceId: n % 3 ? null : `crm-${1001 + n}`, salutation: null, firstName, middleName: null, lastName, dob: null, gender: null, lastContactedAt: null, masked: [],
    primaryEmail: `${firstName}.${lastName}`.toLowerCase().normalize('NFD').replace(/[^a-z.]/g, '') + (n > 15 ? n : '') + '@example.com',
    primaryPhone: '20 7946 0' + String(100 + (n % 900)), primaryPhoneCode: '+44', fullAddress: `${(n % 80) + 1} Mill Lane\nLeeds LS1 4AB`, tags: TAGS[n % 7],
    status: n % 11 == 5 ? 'blocked' : n % 6 == 4 ? 'inactive' : 'active', source: n % 4 ? 'api' : 'widget', isArchived: false, archivedAt: null, createdAt: before(n * 911 + 4000), updatedAt: before(n * n * 3 + n * 13 + 2),
    customFields: { plan: ['gold', 'silver', 'basic'][n % 3] },
  };
};
export const key = (name, more = {}) => ({
  id: newId(), agentId: 'acme', apiKey: 'svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ', name, description: null, permissions: ['contacts:create', 'contacts:read', 'contacts:update'], perMinute: 60, perHour: 1000,
  allowedAddresses: [], expiresAt: null, status: 'active', createdBy: { type: 'operator', id: 'op:697dc8160000000000000001', name: 'Ada Whitfield' }, createdAt: before(60 * 24 * 40), updatedAt: before(60), lastUsedAt: before(2), lastUsedAddress: '192.0.2.7', ...more,
});
const ADA = { type: 'operator', id: 'op:697dc8160000000000000001', name: 'Ada Whitfield' };
export const KOFI = { type: 'operator', id: 'op:697dc8160000000000000002', name: 'Kofi Mensah' };
export const note = (text, at, more = {}) => ({ id: newId(), text, by: ADA, at, editedBy: null, editedAt: null, etag: '"1"', ...more });
export const ME = { id: '697dc8160000000000000001', name: 'Ada Whitfield', displayName: 'Ada', email: 'ada@example.com', locale: null, grants: ['owner'] };
const member = (id, name, email, grants, more = {}) => ({ id, name, displayName: null, email, grants, isDisabled: false, methods: ['password'], sessions: 0, lastSeenAt: before(900), recoveredAt: null, createdAt: before(60 * 24 * 40), updatedAt: before(60 * 24 * 4), ...more });
/** A service token without its text. */
export const token = (name, grants, more = {}) => ({ id: newId(), name, start: 'svcc_' + (name.replace(/\W/g, '') + 'RfJZUgVExJF3').slice(0, 12), grants, dangerous: [], addresses: [], state: 'active', createdBy: { type: 'operator', id: 'op:' + ME.id, name: ME.name }, createdAt: before(60 * 24 * 20), expiresAt: after(70), revokedAt: null, lastUsedAt: null, lastUsedAddress: null, ...more });
/** A provider that members sign in with. */
export const provider = (id, name, more = {}) => ({
  id, name, issuer: `https://${id}.example.com/realms/staff`, clientId: 'console', hasClientSecret: true, scopes: ['openid', 'email', 'profile'], groupsClaim: 'groups', groups: { support: ['inbox@acme'], staff: ['viewer'] }, domains: ['example.com'], isEnabled: true,
  redirectUri: 'http://localhost/console/v1/sign-in/oidc/callback', trial: null, etag: '"1"', createdAt: before(60 * 24 * 30), updatedAt: before(60 * 24), ...more,
});
const TRIAL = { at: before(12), claims: [['sub', '"5f0c7a52-9d1e-4c0b-8a57-3f6b1f0f9c11"'], ['email', '"ada@example.com"'], ['email_verified', 'true'], ['name', '"Ada Whitfield"'], ['groups', '["support","staff"]']].map(([name, value]) => ({ name, value })) };
/** The code that every authenticator app of these tests shows. */
export const CODE = '123456';
export const CODES = ['7K3QN-0VXRD', 'M2ZT8-4HAYE', 'PW9C1-J6FGB', '05SXK-RNQ7V', 'D3HAY-8ET4M', '6GBPW-C19ZJ', 'VXRD2-QN07K', 'F4MZT-5SHEA', 'YE8J6-1PWCB', 'RNQ7D-3XK05'];
/** Not a QR code that a camera reads, but one to look at: the three corners, and modules that are the same in each run. */
const qr = (size) => {
  const corner = (x, y) => { const [a, b] = [Math.min(x, size - 1 - x), Math.min(y, size - 1 - y)]; return (x < 8 || y < 8) && (x < 8 || x > size - 9) && (y < 8 || y > size - 9) ? ![1, 5].includes(Math.max(Math.abs(a - 3), Math.abs(b - 3)) * 2 - 3) && Math.max(Math.abs(a - 3), Math.abs(b - 3)) < 4 : null; };
  let path = '';
  for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) if (corner(x, y) ?? ((x * 7919 + y * 104729 + x * y * 31) % 97) % 2) path += `M${x} ${y}h1v1h-1z`;
  return path;
};
export const seed = () => ({ secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', url: 'otpauth://totp/Acme:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Acme', qrPath: qr(37), qrSize: 37, enrolment: 'enrolment', expiresAt: after(1 / 48) });
const ALL = ['agents.read', 'agents.manage', 'inbox.read', 'inbox.reply', 'inbox.manage', 'contacts.read', 'contacts.write', 'sensitive.read', 'contacts.erase', 'studio.read', 'insights.read', 'studio.write', 'studio.secret', 'documents.read', 'documents.run', 'documents.correct', 'credits.read', 'credits.manage', 'keys.read', 'keys.manage', 'webhooks.read', 'webhooks.manage', 'audit.read', 'schema.read', 'schema.write', 'members.read', 'members.manage', 'tokens.manage', 'server.read', 'signIn.manage', 'contacts.bulk'];
export const capabilities = (names = ALL) => Object.fromEntries(names.map((name) => [name, 'full']));
const talk = (n, more) => ({
  id: newId(), status: 'open', mode: 'ai', waitingSince: null, visitor: { level: 0, name: `${FIRST[n]} ${LAST[(n * 7) % 16]}`, email: null, phone: null, verifiedAs: null }, contactId: null, isMasked: false, locale: 'en', timeZone: 'Europe/London',
  pageUrl: 'https://www.example.com/services', messageCount: 1, unread: 0, lastMessage: { role: 'visitor', text: 'Thank you, that helps.' }, lastMessageAt: before(n * 31 + 4), participants: [], closedAt: null, createdAt: before(n * 40 + 20), updatedAt: before(n * 31 + 4), expiresAt: after(90), ...more,
});
export const message = (seq, role, text, minutes, more = {}) => ({ id: newId(), seq, role, author: null, text, state: 'complete', sources: [], uploads: [], feedback: 0, comment: null, outcome: null, at: before(minutes), ...more });
const described = JSON.parse(readFileSync(new URL('../../openapi/v1.json', import.meta.url), 'utf8')).webhooks;
/** Every type of events. */
export const CATALOGUE = Object.entries(described).map(([type, { post }]) => ({ type, group: type.split('.')[0], description: post.summary, example: { contactId: '697dc8160000000000000042' } }));
export const webhook = (url, more = {}) => ({
  id: newId(), agentId: 'acme', url, description: null, types: ['*'], mode: 'parallel', status: 'enabled', statusReason: null, cursor: 4711, pending: 0, openFailures: 0, failingSince: null, lastSuccessAt: before(3), lastFailureAt: null, secretExpiresAt: null,
  createdAt: before(60 * 24 * 30), updatedAt: before(60 * 24), ...more,
});
const webhooks = () => [
  webhook('https://hooks.example.com/crm', { description: 'CRM of the head office', types: ['contact.*', 'lead.created'], lastFailureAt: before(60 * 50) }),
  webhook('https://chat.example.com/services/T01/B02/a-long-path-that-is-cut-in-the-list-and-shown-in-full-in-the-record', { types: ['conversation.handoff_requested', 'conversation.unanswered', 'conversation.feedback', 'message.created'], openFailures: 2, pending: 2, lastFailureAt: before(1), secretExpiresAt: after(0.8) }),
  webhook('https://erp.example.com/events', { description: 'Orders', mode: 'ordered', pending: 1240, openFailures: 1, failingSince: before(60 * 7), lastSuccessAt: before(60 * 8), lastFailureAt: before(12) }),
  webhook('https://old.example.com/receive', { status: 'disabled', statusReason: 'gone', pending: 311, lastSuccessAt: before(60 * 24 * 3), lastFailureAt: before(60 * 24 * 2) }),
  webhook('https://staging.example.com/', { status: 'disabled', statusReason: 'operator', pending: 90, lastSuccessAt: before(60 * 24 * 9) }),
  webhook('https://new.example.com/hook', { description: 'ياسمين', lastSuccessAt: null, createdAt: before(1), updatedAt: before(1) }),
];
/** The log of attempts of an endpoint: `[type, result, status, error, attempt, minutes, body]`. */
const attemptsOf = (rows) => rows.map(([type, result, status, error, attempt, minutes, body = null], n) => ({
  attempt: { number: rows.length - n, at: before(minutes), result, seq: 4711 - n, upto: null, attempt, status, error, milliseconds: attempt ? 40 + ((n * 7919) % 900) : 0, body },
  type, eventId: type && newId(),
}));
const ATTEMPTS = [
  ['contact.updated', 'failed', 503, null, 3, 12, '{"error":"The queue is full","retry":true}'], ['contact.created', 'failed', null, 'timeout', 2, 40], ['lead.created', 'succeeded', 204, null, 1, 61], ['message.created', 'failed', 500, null, 1, 62, 'Internal Server Error\n  at Receiver.handle (receiver.js:41)'], [null, 'expired', null, null, 0, 300],
  ['conversation.handoff_requested', 'givenUp', 404, null, 10, 900, '<html><title>Not found</title></html>'], ['contact.created', 'failed', null, 'tls', 9, 2300], ...Array.from({ length: 38 }, (_, n) => ['contact.created', 'succeeded', 200, null, 1, 3000 + n * 61]),
];
/** A website, and its pages: `[path, outcome, detail, misses]`. */
export const website = (url, more = {}, pages = {}) => ({
  id: newId(), url, state: 'scheduled', everyHours: 24, createdAt: before(60 * 24 * 21), nextAt: after(0.6), beganAt: before(60 * 9.6), endedAt: before(60 * 9.5), discovery: 'sitemap', isLimited: false, error: null, ...more,
  pages: { found: 0, read: 0, unchanged: 0, notRead: 0, waiting: 0, ...pages },
});
const websites = () => [
  website('https://blog.example.com/', { state: 'waiting', everyHours: null, nextAt: null, beganAt: null, endedAt: null, discovery: null, createdAt: before(1) }),
  website('https://help.example.com/en/', { state: 'reading', nextAt: null, beganAt: before(2), endedAt: before(60 * 24), discovery: 'links' }, { found: 340, read: 12, unchanged: 101, notRead: 4, waiting: 223 }),
  website('https://www.example.com/', {}, { found: 231, read: 3, unchanged: 209, notRead: 19 }),
  website('https://shop.example.com/', { everyHours: 168, discovery: null, error: 'https://shop.example.com/robots.txt was answered with status 503, so nothing may be read' }),
  website('https://docs.example.com/a-folder-with-a-long-name/and-another-one-below-it/', { everyHours: null, nextAt: null, state: 'ended', isLimited: true, discovery: 'links' }, { found: 2000, read: 996, notRead: 1004 }),
];
const NOT_READ = [
  ['/about/team', 'unchanged', null, 1], ['/careers/2019/dental-nurse', 'status', '404', 1], ['/search', 'robots', null], ['/account', 'login', null], ['/price-list.pdf', 'type', 'application/pdf'], ['/map', 'noText', 'the page gets its text by a script, which is not run'],
  ['/archive', 'tooLarge', null], ['/menu-1998', 'charset', null], ['/services', 'taken', "'Services' has the same address or name"], ['/status', 'error', 'the connection was refused'], ['/internal', 'noindex', null], ['/events/2031/1', 'trap', 'and all further addresses of the form /events/#/#'],
  ['/home', 'redirect', 'https://www.example.com/'], ['/index.html', 'canonical', 'https://www.example.com/'], ['/print/prices', 'duplicate', 'https://www.example.com/prices'], ['/über-uns', 'limit', null],
];
/** What a crawl of a website has come to, page by page. */
export const pagesOf = (one) => {
  const origin = new URL(one.url).origin;
  const page = ([path, outcome, detail = null, misses = 0]) => ({ url: origin + path, outcome, detail, documentId: outcome == 'unchanged' ? newId() : null, misses });
  const rest = one.isLimited ? Array.from({ length: 120 }, (_, n) => ['/chapter/' + (n + 1), 'limit', null]) : one.error ? [] : one.pages.notRead ? NOT_READ : [];
  return [['/', 'read', null], ['/prices', 'unchanged', null], ...rest, ...(one.pages.waiting ? [['/contact', null, null]] : [])].map(page);
};
/** A document, and what was found in it: `[name, value, confidence, sourceText]`. */
const documentOf = (fileName, more = {}) => ({ fileName, contentType: 'application/pdf', fileSize: 48213, sha256: 'ab'.repeat(32), pageCount: 2, characterCount: 2410, ocrApplied: false, language: 'en', stored: true, fileId: null, ...more });
const resultOf = (document, found, more = {}) => {
  const known = found.filter(([, value]) => value !== null);
  return {
    data: Object.fromEntries(found.map(([name, value]) => [name, value])),
    metadata: {
      confidence: 0.83, fieldConfidences: Object.fromEntries(known.map(([name, , confidence]) => [name, confidence])), processingTime: 412, document, engine: 'builtin', usage: { creditsCharged: 2, creditsRemaining: 388 },
      validation: { isValid: true, errors: [], warnings: [], missingRequired: found.filter(([, value]) => value === null).map(([name]) => name), lowConfidence: known.filter(([, , confidence]) => confidence < 0.6).map(([name]) => name) },
      fields: Object.fromEntries(known.filter(([, value]) => typeof value != 'object').map(([name, , confidence, sourceText]) => [name, { confidence, page: 1, sourceText, boundingBox: { x: 310.5, y: 96, width: 88, height: 11 } }])), ...more,
    },
  };
};
const BILL = [
  ['vendor', 'Lindqvist Office Supplies', 0.94, 'Lindqvist Office Supplies'], ['invoice_number', 'LO-20418', 0.97, 'Invoice LO-20418'], ['issued_on', '2026-11-12', 0.71, '12/11/26'], ['total', 284.4, 0.52, 'Balance carried 284.40'], ['is_paid', false, 0.66, 'Payable within 14 days'], ['purchase_order', null, 0],
  ['items', [{ description: 'Paper A4, 5 boxes', amount: 118.5 }, { description: 'Desk lamp', amount: 118.5 }], 0.88],
];
const BILL_SCHEMA = { vendor: 'string', invoice_number: 'string', issued_on: { type: 'date' }, total: { type: 'number' }, is_paid: { type: 'boolean' }, purchase_order: { type: 'string', required: true }, items: { type: 'array', items: { type: 'object' } } };
const extraction = (fileName, status, minutes, more = {}) => {
  const isOpen = status == 'queued' || status == 'running';
  return {
    id: newId(), agentId: 'acme', status, batchId: null, clientId: null, contactId: null, fileId: null, document: documentOf(fileName), attempts: status == 'queued' ? 0 : 1, creditsReserved: isOpen ? 2 : 0,
    createdAt: before(minutes), startedAt: status == 'queued' ? null : before(minutes - 0.1), finishedAt: isOpen ? null : before(minutes - 0.2), expiresAt: isOpen ? null : after(6), error: null, result: null, ...more,
  };
};
/** Groups of questions that were not answered. */
const questions = (conversations) => {
  const nearest = (title, headings, confidence, answers = false) => ({ documentId: '697dc8160000000000000e01', title, headings, url: null, page: null, confidence, answers });
  const group = (question, others, unanswered, unsure, visitors, languages, minutes, near) => ({ question, others, count: unanswered + unsure, unanswered, unsure, conversations: visitors, visitors, languages, lastAskedAt: before(minutes), lastConversationId: conversations[0].id, nearest: near });
  return [
    group('Is there parking for a van near the practice?', ['where can I park', 'Kann ich mit dem Auto kommen?', 'Parking for disabled people?'], 14, 3, 12, ['en', 'de'], 40, nearest('Find us', ['Find us', 'By car'], 0.31)),
    group('Do you treat children under three?', ['from which age do you see kids'], 6, 0, 6, ['en'], 300, nearest('Services', ['Services', 'Children'], 0.44)),
    group('هل تقبلون التأمين الخاص؟', [], 2, 1, 3, ['ar'], 1500, nearest('Prices', ['Prices'], 0.27)),
    group('Can I pay by card?', ['do you take cards', 'Kartenzahlung?'], 3, 2, 4, ['en', 'de'], 3000, nearest('Payment', ['Payment'], 0.91, true)),
    group('What is the WLAN password', [], 1, 0, 1, ['en'], 9000, null),
  ];
};
const extractions = (contacts) => [
  extraction('delivery-note-0911.pdf', 'queued', 0.2, { batchId: 'november' }),
  extraction('scan of a contract, signed.png', 'running', 0.5, { document: documentOf('scan of a contract, signed.png', { contentType: 'image/png', fileSize: 2418213, pageCount: 1, ocrApplied: true }) }),
  extraction('invoice-20418.pdf', 'succeeded', 6, { batchId: 'november', clientId: 'erp-7781', contactId: contacts[2].id, result: resultOf(documentOf('invoice-20418.pdf'), BILL) }),
  extraction('holiday.jpg', 'failed', 30, { error: { code: 'DOCUMENT_UNREADABLE', message: 'No text was found in the document' } }),
  extraction('old-offer.docx', 'cancelled', 90),
  ...Array.from({ length: 130 }, (_, n) => extraction(`invoice-${20300 - n}.pdf`, 'succeeded', 200 + n * 47, { batchId: n % 3 ? 'october' : null, result: resultOf(documentOf(`invoice-${20300 - n}.pdf`), BILL.slice(0, 4)) })),
];
/** What the console shows of an extraction. */
export const reportOf = (one, correction = null) => ({ extraction: one, schema: BILL_SCHEMA, by: { type: 'apiKey', id: 'svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ', name: null }, correction });
export const correctionOf = (one, values) => ({ job: one.id, document: one.document, contactId: one.contactId, schema: BILL_SCHEMA, expected: { ...one.result.data, ...values }, by: ADA, at: new Date().toISOString() });
/** The built-in settings of an agent. */
export const SETTINGS = {
  appearance: { title: null, subtitle: null, avatar: null, color: '#3b5bdb', position: null, theme: 'auto', greeting: null, suggestions: [], teaser: null, footer: null, privacyUrl: null, disclosure: null, strings: {} },
  origins: [], imageHosts: [], linkHosts: [], onlyLinkHosts: false, emailReplies: false, feedback: true, retentionDays: 365,
  lead: { fields: ['primaryEmail', 'firstName'], prechat: false, consent: null }, uploads: { enabled: false, types: ['pdf', 'jpeg', 'png'] },
  chat: { responder: 'knowledge', instructions: null, minCoverage: 0.5, fallback: 'knowledge', turnsPerDay: 2000, handoff: { enabled: false, timeoutMinutes: 10 }, llm: { endpoint: 'default', model: null, grounding: 'strict', temperature: 0.2, maxOutputTokens: 800, contextTokens: 8000, tokensPerDay: 1000000, costPerDay: null, releasedFields: [] } },
};
export const data = (empty = false) => {
  ids = 0;
  const sources = empty ? [] : websites();
  const contacts = empty ? [] : Array.from({ length: 1240 }, (_, n) => contact(n));
  const joined = (name, after, minutes) => ({ change: 'joined', name, after, at: before(minutes) });
  const conversations = empty ? [] : [
    talk(0, { mode: 'human', waitingSince: before(2), unread: 1, messageCount: 4, contactId: contacts[0].id, lastMessage: { role: 'agent', text: 'I have asked a person to answer you.' }, lastMessageAt: before(2), visitor: { level: 2, name: 'Zoë Okafor', email: 'zoe@example.com', phone: null, verifiedAs: 'crm-1001' } }),
    talk(3, { mode: 'human', waitingSince: before(9), unread: 1, lastMessage: { role: 'visitor', text: 'Is there parking for a van near the practice?' }, lastMessageAt: before(9), visitor: { level: 0, name: null, email: null, phone: null, verifiedAs: null } }),
    talk(5, { mode: 'human', lastMessage: { role: 'human', text: 'I have moved it to Thursday, 10:30.' }, lastMessageAt: before(14), participants: [joined('Ada', 1, 15)] }),
    talk(7, { mode: 'human', lastMessage: { role: 'visitor', text: 'Merci beaucoup' }, lastMessageAt: before(25), locale: 'fr', participants: [joined('Kofi', 1, 30)] }),
    ...Array.from({ length: 9 }, (_, n) => talk((n + 8) % 16, { lastMessageAt: before(40 + n * 77), lastMessage: { text: ['Thank you, that helps.', 'Do you take new patients?', 'Which forms do I need to bring?', 'ما هي ساعات العمل؟', 'Great, booked for Monday.'][n % 5], role: n % 2 ? 'visitor' : 'agent' }, ...(n > 6 ? { status: 'closed', closedAt: before(30), participants: [{ change: 'closed', name: 'Ada', after: 1, at: before(30) }] } : {}) })),
  ];
  const threads = Object.fromEntries(conversations.map((one) => [one.id, [message(1, one.lastMessage.role, one.lastMessage.text, 25)]]));
  if (!empty)
    threads[conversations[0].id] = [
      message(1, 'visitor', 'Hello! Do you do home visits?', 12),
      message(2, 'agent', 'Yes. We visit patients **in Leeds on weekdays**, from 9 am to 5 pm [1].\n\n- A visit costs £40\n- Book at least one day ahead [2]', 12, { outcome: 'answered', sources: [{ n: 1, title: 'prices.md', url: null }, { n: 2, title: 'services.pdf', url: 'https://www.example.com/services' }], feedback: 1 }),
      message(3, 'visitor', 'and Saturdays?', 3),
      message(4, 'agent', 'I could not find that. I have asked a person to answer you.', 2, { outcome: 'queued' }),
    ];
  return {
    agents: empty ? [{ id: 'acme', name: 'Mill Lane Practice', status: 'active', createdAt: before(9), updatedAt: before(9) }] : [{ id: 'acme', name: 'Mill Lane Practice', status: 'active', createdAt: before(99999), updatedAt: before(9) }, { id: 'harbour', name: 'Harbour Dental', status: 'active', createdAt: before(39999), updatedAt: before(9) }, { id: 'old', name: 'Old pilot', status: 'disabled', createdAt: before(199999), updatedAt: before(9) }],
    contacts, conversations, threads,
    notes: empty ? {} : { [contacts[0].id]: Array.from({ length: 23 }, (_, n) => note(n ? `Called about visit ${23 - n}.` : 'Prefers mornings.\nAsk for Kofi when she calls.', before(n * 700 + 30), n == 1 ? { editedBy: KOFI, editedAt: before(20), etag: '"2"' } : {})) },
    keys: empty ? [] : [
      key('CRM sync', { description: 'Nightly and on change, from the CRM' }),
      key('Nightly extraction', { apiKey: 'svck_9aTqLmPz0KJ2xWvB7cRdEfG82LxQ1T', permissions: ['contacts:read', 'document-extraction:create', 'document-extraction:read'], perMinute: 600, perHour: 6000, lastUsedAt: null, lastUsedAddress: null, expiresAt: after(3) }),
      key('Booking site', { apiKey: 'svck_Kw71nTbVdX0yUeRaQ5mZcS3hJp4f8L', permissions: ['contacts:create', 'forms:create', 'forms:read'], lastUsedAt: before(0.1), lastUsedAddress: '2001:db8::14' }),
      key('Reporting', { apiKey: 'svck_Bx2PqYt6sNcVw9LrE1oUiKd5aHgM3Z', permissions: ['contacts:read', 'forms:read', 'document-extraction:read'], status: 'disabled', lastUsedAt: before(60 * 24 * 12) }),
      key('Old import', { apiKey: 'svck_Tz8WmRf4vQbJk6XnC2yHsAe0pGdL7U', status: 'revoked', lastUsedAt: before(60 * 24 * 90) }),
    ],
    knowledge: empty ? [] : [
      ['prices.md', 'Prices and visits', 'en', 14, 5120, null], ['services.pdf', 'Services', 'en', 41, 38200, 12], ['faq-de.docx', 'Häufige Fragen', 'de', 88, 64000, 19], ['scan-2019.pdf', 'Leaflet 2019', null, 0, 0, 2],
    ].map(([fileName, title, language, passages, characters, pages], n) => ({ id: newId(), fileName, title, url: n == 1 ? 'https://www.example.com/services' : null, language, contentType: 'text/markdown', characters, pages, passages, questions: [], sourceId: null, createdAt: before(9000 + n), updatedAt: before(n * n * 900 + 40) })).concat(
      ['Home', 'Prices', 'Opening hours'].map((title, n) => ({ id: newId(), fileName: ['www.example.com/', 'www.example.com/prices', 'www.example.com/hours'][n], title, url: 'https://www.example.com/' + ['', 'prices', 'hours'][n], language: 'en', contentType: 'text/html', characters: 2400, pages: null, passages: 7, questions: [], sourceId: sources[2].id, createdAt: before(9000), updatedAt: before(600) })),
    ),
    sources,
    sourcePages: Object.fromEntries(sources.map((one) => [one.id, pagesOf(one)])),
    audit: empty ? [] : ['key.create', 'contact.update', 'operator.signIn', 'conversation.change', 'knowledge.add', 'key.rotate', 'contact.archive', 'authentication.failure', 'agent.configure'].flatMap((action, n) => [0, 1, 2].map((m) => ({ id: newId(), agentId: 'acme', at: before((n * 3 + m) * 47 + 3), actor: action == 'authentication.failure' ? { type: 'anonymous', id: '', name: null } : [{ type: 'operator', id: 'op:697dc8160000000000000001', name: 'Ada Whitfield' }, { type: 'operator', id: 'op:697dc8160000000000000002', name: 'Kofi Mensah' }, { type: 'operator', id: 'deploy', name: null }][(n + m) % 3], action, resource: newId(), address: m ? '192.0.2.' + (n + 7) : '2001:db8::' + n, requestId: '0199c1f2-5d8e-7cc3-9a51-' + newId().slice(-12), details: action == 'contact.update' ? { changed: ['tags', 'primaryPhone'] } : {} }))),
    schemaVersions: [
      { version: 2, at: before(6000), changes: [{ field: 'customFields.plan', change: 'added', members: [] }, { field: 'lastName', change: 'changed', members: ['label', 'maxLength'] }, { field: 'customFields.oldPlan', change: 'removed', members: [] }] },
      { version: 1, at: before(99999), changes: [] },
    ],
    schema: { agentId: 'acme', version: 2, updatedAt: before(6000), allowUndeclaredCustomFields: true, fields: [['firstName', 'First name', 'string'], ['lastName', 'Last name', 'string'], ['primaryEmail', 'Primary email', 'email', true], ['primaryPhoneCode', 'Phone code', 'phoneCode'], ['primaryPhone', 'Primary phone', 'phone'], ['fullAddress', 'Address', 'text'], ['status', 'Status', 'select', true], ['tags', 'Tags', 'tags'], ['source', 'Source', 'string'], ['externalReferenceId', 'External reference id', 'string'], ['id', 'Id', 'string', false, true]].map(([name, label, type, required = false, readOnly = false]) => ({ name, label, type, required, readOnly, custom: false, sensitive: false, options: name == 'status' ? [{ value: 'active', label: 'Active' }, { value: 'inactive', label: 'Inactive' }, { value: 'blocked', label: 'Blocked' }] : null, default: null, unique: false })), customFields: [{ name: 'plan', label: 'Plan', type: 'select', required: false, readOnly: false, custom: true, sensitive: false, options: [{ value: 'basic', label: 'Basic' }, { value: 'silver', label: 'Silver' }, { value: 'gold', label: 'Gold' }] }] },
    members: [
      member(ME.id, ME.name, ME.email, ['owner'], { displayName: 'Ada', methods: ['passkey'], sessions: 2, lastSeenAt: before(0) }),
      ...(empty ? [] : [
        member('697dc8160000000000000002', 'Kofi Mensah', 'kofi@example.com', ['inbox@acme', 'inbox@harbour'], { sessions: 1, lastSeenAt: before(40), recoveredAt: before(190) }),
        member('697dc8160000000000000003', 'Ingrid Lindqvist', 'ingrid@example.com', ['developer', 'agent-editor@acme'], { methods: ['passkey', 'password'], lastSeenAt: before(60 * 24 * 9) }),
        member('697dc8160000000000000004', 'ياسمين حداد', 'yasmin@example.com', ['viewer'], { isDisabled: true, lastSeenAt: null }),
      ]),
    ],
    invitations: empty ? [] : [
      { id: '697dc8160000000000000005', email: 'liam@example.com', name: 'Liam Brennan', grants: ['reviewer@acme'], invitedBy: { type: 'operator', id: 'op:' + ME.id, name: ME.name }, invitedAt: before(300), expiresAt: after(6), isVoid: false },
      { id: '697dc8160000000000000006', email: 'noor@example.com', name: null, grants: ['admin'], invitedBy: { type: 'operator', id: 'op:697dc8160000000000000009', name: null }, invitedAt: before(4000), expiresAt: after(3), isVoid: true },
    ],
    tokens: empty ? [] : [
      token('Nightly sync', ['inbox@acme', 'developer@harbour'], { dangerous: ['keys.rotate', 'contacts.erase'], addresses: ['192.0.2.0/24', '2001:db8::/32'], lastUsedAt: before(4), lastUsedAddress: '192.0.2.19' }),
      token('CI', ['developer'], { expiresAt: after(3), lastUsedAt: before(60 * 26), lastUsedAddress: '198.51.100.7' }),
      token('قراءة التقارير', ['viewer'], { createdBy: { type: 'operator', id: 'op:697dc8160000000000000009', name: null } }),
      token('Migration of the old CRM with a name that is longer than the column', ['admin'], { state: 'revoked', revokedAt: before(60 * 24 * 3), lastUsedAt: before(60 * 24 * 4), lastUsedAddress: '203.0.113.4' }),
      token('Load test', ['viewer@acme'], { state: 'expired', createdAt: before(60 * 24 * 14), expiresAt: before(60 * 24 * 7) }),
    ],
    webhooks: empty ? [] : webhooks(),
    attempts: attemptsOf(empty ? [] : ATTEMPTS),
    settings: structuredClone(SETTINGS),
    credits: empty ? { isUnlimited: true, available: 0, plan: 0, topUp: 0, reserved: 0, lowAt: null, perPage: 1, charactersPerPage: 3000 } : { isUnlimited: false, available: 1412, plan: 912, topUp: 500, reserved: 12, lowAt: 200, perPage: 2, charactersPerPage: 3000 },
    ledger: empty ? [] : [['charge', -4, 0, 1412], ['chat', -3, 0, 1416], ['topUp', 0, 500, 1419, 'Order 1042'], ['refund', 2, 0, 919], ['charge', -83, 0, 917], ['set', 1000, 0, 1000, 'Plan of November']].map(([kind, plan, topUp, available, note = null], n) => ({ id: newId(), at: before(n * 211 + 6), kind, plan, topUp, available, actor: note ? { type: 'operator', id: 'op:' + ME.id, name: ME.name } : { type: 'apiKey', id: 'svck_RfJZ', name: null }, note })),
    providers: empty ? [] : [provider('id', 'Acme ID', { trial: TRIAL }), provider('partners', 'Partner login', { isEnabled: false, hasClientSecret: false, domains: [], groups: {} })],
    identities: empty ? [] : [{ id: 'i1', provider: 'id', providerName: 'Acme ID', issuer: 'https://id.example.com/realms/staff', email: 'ada@example.com', linkedAt: before(60 * 24 * 20), lastUsedAt: before(60 * 26) }, { id: 'i2', provider: null, providerName: null, issuer: 'https://old.example.com', email: null, linkedAt: before(60 * 24 * 90), lastUsedAt: null }],
    methods: { passkeys: 2, passwordChangedAt: before(60 * 24 * 12), totpConfirmedAt: before(60 * 24 * 12), recoveryCodesLeft: 3, recoveryCodesMadeAt: before(60 * 24 * 40) },
    recoveryCodes: CODES,
    passkeys: [{ id: 'pk1', name: 'MacBook', isBackedUp: true, isSuspect: false, transports: ['internal'], createdAt: before(60 * 24 * 40), lastUsedAt: before(30) }, { id: 'pk2', name: 'Security key', isBackedUp: false, isSuspect: false, transports: ['usb'], createdAt: before(60 * 24 * 39), lastUsedAt: null }],
    sessions: [{ id: 's1', isCurrent: true, method: 'passkey', createdAt: before(300), lastSeenAt: before(0), endsAt: after(29), address: '192.0.2.7', browser: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36' }, { id: 's2', isCurrent: false, method: 'password', createdAt: before(9000), lastSeenAt: before(800), endsAt: after(20), address: '2001:db8::4', browser: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1' }],
    extractions: empty ? [] : extractions(contacts),
    questions: empty ? [] : questions(conversations),
    /** By the extraction. */
    corrections: {},
  };
};
