// Data of the stub: an agency of the documentation, invented people at example.com.
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
    id: newId(), agentId: 'acme', externalReferenceId: n % 3 ? null : `crm-${1001 + n}`, firstName, lastName,
    primaryEmail: `${firstName}.${lastName}`.toLowerCase().normalize('NFD').replace(/[^a-z.]/g, '') + (n > 15 ? n : '') + '@example.com',
    primaryPhone: '20 7946 0' + String(100 + (n % 900)), primaryPhoneCode: '+44', fullAddress: `${(n % 80) + 1} Mill Lane\nLeeds LS1 4AB`, tags: TAGS[n % 7],
    status: n % 11 == 5 ? 'blocked' : n % 6 == 4 ? 'inactive' : 'active', source: n % 4 ? 'api' : 'widget', isArchived: false, archivedAt: null, createdAt: before(n * 911 + 4000), updatedAt: before(n * n * 3 + n * 13 + 2),
    customFields: { plan: ['gold', 'silver', 'basic'][n % 3] },
  };
};
export const key = (name, more = {}) => ({
  id: newId(), agentId: 'acme', apiKey: 'svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ', name, description: null, permissions: ['contacts:create', 'contacts:read', 'contacts:update'], limits: { perMinute: 60, perHour: 1000 },
  allowedAddresses: [], expiresAt: null, status: 'active', createdBy: 'op:ada', createdAt: before(60 * 24 * 40), updatedAt: before(60), lastUsedAt: before(2), lastUsedAddress: '192.0.2.7', usage: { minute: 38, hour: 412 }, secrets: [{ endsAt: null, lastUsedAt: before(2), lastUsedAddress: '192.0.2.7', uses: 2210 }], ...more,
});
export const ME = { id: 'ada', name: 'Ada Whitfield', displayName: 'Ada', email: 'ada@example.com', locale: null, timeZone: null, theme: null, density: null, shortcuts: true };
const ALL = ['agents.read', 'agents.manage', 'inbox.read', 'inbox.reply', 'inbox.manage', 'contacts.read', 'contacts.write', 'sensitive.read', 'contacts.erase', 'studio.read', 'studio.write', 'keys.read', 'keys.manage', 'audit.read', 'schema.read'];
export const capabilities = (names = ALL) => Object.fromEntries(names.map((name) => [name, true]));
const talk = (n, more) => ({
  id: newId(), visitor: { name: `${FIRST[n]} ${LAST[(n * 7) % 16]}`, email: null, verified: false, contactId: null }, status: 'open', mode: 'ai', assignee: null, waitingSince: null, waitingTimeoutAt: null, labels: [], unread: 0,
  last: { text: 'Thank you, that helps.', at: before(n * 31 + 4), role: 'visitor' }, locale: 'en', page: { url: 'https://www.example.com/services', title: 'Services' }, outcome: 'answered', createdAt: before(n * 40 + 20), ...more,
});
const entry = (kind, role, author, text, minutes, more = {}) => ({ id: newId(), kind, role, author, text, at: before(minutes), ...more });
export const data = (empty = false) => {
  ids = 0;
  const contacts = empty ? [] : Array.from({ length: 1240 }, (_, n) => contact(n));
  const conversations = empty ? [] : [
    talk(0, { mode: 'waiting', waitingSince: before(2), waitingTimeoutAt: after(0.006), unread: 2, labels: ['pricing'], last: { text: 'and Saturdays?', at: before(2), role: 'visitor' }, outcome: 'unanswered', visitor: { name: 'Zoë Okafor', email: 'zoe@example.com', verified: true, contactId: contacts[0].id } }),
    talk(3, { mode: 'waiting', waitingSince: before(9), waitingTimeoutAt: after(0.0005), unread: 1, last: { text: 'Is there parking for a van near the practice?', at: before(9), role: 'visitor' }, visitor: { name: null, email: null, verified: false, contactId: null } }),
    talk(5, { mode: 'human', assignee: { id: 'ada', name: 'Ada Whitfield' }, last: { text: 'I have moved it to Thursday, 10:30.', at: before(14), role: 'human' }, labels: ['appointment'] }),
    talk(7, { mode: 'human', assignee: { id: 'kofi', name: 'Kofi Mensah' }, last: { text: 'Merci beaucoup', at: before(25), role: 'visitor' }, locale: 'fr' }),
    ...Array.from({ length: 9 }, (_, n) => talk((n + 8) % 16, { last: { text: ['Thank you, that helps.', 'Do you take new patients?', 'Which forms do I need to bring?', 'ما هي ساعات العمل؟', 'Great, booked for Monday.'][n % 5], at: before(40 + n * 77), role: n % 2 ? 'visitor' : 'agent' } })),
  ];
  const threads = Object.fromEntries(conversations.map((one) => [one.id, [entry('message', 'visitor', null, one.last.text, 5)]]));
  if (!empty)
    threads[conversations[0].id] = [
      entry('message', 'visitor', null, 'Hello! Do you do home visits?', 12),
      entry('message', 'agent', 'Mill Lane assistant', 'Yes. We visit patients **in Leeds on weekdays**, from 9 am to 5 pm [1].\n\n- A visit costs £40\n- Book at least one day ahead [2]', 12, { outcome: 'answered', coverage: 0.62, sources: [{ title: 'prices.md', url: null }, { title: 'services.pdf', url: 'https://www.example.com/services' }], feedback: 1 }),
      entry('message', 'visitor', null, 'and Saturdays?', 3),
      entry('message', 'agent', 'Mill Lane assistant', 'I could not find that. I have asked a person to answer you.', 3, { outcome: 'unanswered', sources: [] }),
      entry('action', null, null, 'Zoë asked for a person', 2),
      entry('note', null, 'Kofi Mensah', 'The practice confirmed: Saturdays from May on.', 1),
    ];
  return {
    agents: empty ? [{ id: 'acme', name: 'Mill Lane Practice', status: 'active', createdAt: before(9) }] : [{ id: 'acme', name: 'Mill Lane Practice', status: 'active', createdAt: before(99999) }, { id: 'harbour', name: 'Harbour Dental', status: 'active', createdAt: before(39999) }, { id: 'old', name: 'Old pilot', status: 'disabled', createdAt: before(199999) }],
    contacts, conversations, threads,
    keys: empty ? [] : [
      key('CRM sync', { description: 'Nightly and on change, from the CRM' }),
      key('Nightly extraction', { apiKey: 'svck_9aTqLmPz0KJ2xWvB7cRdEfG82LxQ1T', permissions: ['contacts:read', 'document-extraction:create', 'document-extraction:read'], limits: { perMinute: 600, perHour: 6000 }, usage: { minute: 0, hour: 0 }, lastUsedAt: null, lastUsedAddress: null, expiresAt: after(3), secrets: [{ endsAt: null, lastUsedAt: null, lastUsedAddress: null, uses: 0 }] }),
      key('Booking site', { apiKey: 'svck_Kw71nTbVdX0yUeRaQ5mZcS3hJp4f8L', permissions: ['contacts:create', 'forms:create', 'forms:read'], usage: { minute: 55, hour: 900 }, lastUsedAt: before(0.1), lastUsedAddress: '2001:db8::14', secrets: [{ endsAt: null, lastUsedAt: before(0.1), lastUsedAddress: '2001:db8::14', uses: 90 }, { endsAt: after(0.8), lastUsedAt: before(12), lastUsedAddress: '192.0.2.40', uses: 31 }] }),
      key('Reporting', { apiKey: 'svck_Bx2PqYt6sNcVw9LrE1oUiKd5aHgM3Z', permissions: ['contacts:read', 'forms:read', 'document-extraction:read'], status: 'disabled', usage: { minute: 0, hour: 0 }, lastUsedAt: before(60 * 24 * 12) }),
      key('Old import', { apiKey: 'svck_Tz8WmRf4vQbJk6XnC2yHsAe0pGdL7U', status: 'revoked', usage: null, lastUsedAt: before(60 * 24 * 90) }),
    ],
    knowledge: empty ? [] : [
      { id: newId(), title: 'prices.md', url: null, language: 'en', state: 'ready', error: null, passages: 14, bytes: 5120, quoted: 41, updatedAt: before(200), passageTexts: ['A home visit costs £40. Patients with a chronic condition pay half.', 'Telephone advice is free on weekdays between 9 am and 11 am.'] },
      { id: newId(), title: 'services.pdf', url: 'https://www.example.com/services', language: 'en', state: 'reading', error: null, passages: 0, bytes: 812000, quoted: 12, updatedAt: before(1) },
      { id: newId(), title: 'Häufige Fragen.docx', url: null, language: 'de', state: 'ready', error: null, passages: 88, bytes: 64000, quoted: 0, updatedAt: before(60 * 24 * 80) },
      { id: newId(), title: 'scan-2019.pdf', url: null, language: null, state: 'failed', error: 'The pages are images without text, and no text recognition is installed', passages: 0, bytes: 4200000, quoted: 0, updatedAt: before(60 * 24 * 2) },
    ],
    audit: empty ? [] : ['key.create', 'contact.update', 'operator.signIn', 'conversation.change', 'knowledge.add', 'key.rotate', 'contact.archive', 'authentication.failure', 'agent.configure'].flatMap((action, n) => [0, 1, 2].map((m) => ({ id: newId(), agentId: 'acme', at: before((n * 3 + m) * 47 + 3), actor: action == 'authentication.failure' ? 'anonymous' : ['op:Ada Whitfield', 'op:Kofi Mensah', 'cli:deploy'][(n + m) % 3], action, resource: newId(), address: m ? '192.0.2.' + (n + 7) : '2001:db8::' + n, requestId: '0199c1f2-5d8e-7cc3-9a51-' + newId().slice(-12), details: action == 'contact.update' ? { changed: ['tags', 'primaryPhone'] } : {} }))),
    schema: { version: 2, allowUndeclaredCustomFields: true, fields: [['firstName', 'First name', 'string'], ['lastName', 'Last name', 'string'], ['primaryEmail', 'E-mail', 'email', true], ['primaryPhoneCode', 'Phone code', 'phoneCode'], ['primaryPhone', 'Phone', 'phone'], ['fullAddress', 'Address', 'text'], ['status', 'Status', 'select', true], ['tags', 'Tags', 'tags'], ['source', 'Source', 'string'], ['externalReferenceId', 'Your id', 'string'], ['id', 'Id', 'string', false, true]].map(([name, label, type, required = false, readOnly = false]) => ({ name, label, type, required, readOnly, custom: false, sensitive: false, options: name == 'status' ? ['active', 'inactive', 'blocked'] : null, default: null, unique: false })), customFields: [{ name: 'plan', label: 'Plan', type: 'select', required: false, readOnly: false, custom: true, sensitive: false, options: ['basic', 'silver', 'gold'] }] },
    passkeys: [{ id: 'pk1', name: 'MacBook', createdAt: before(60 * 24 * 40), lastUsedAt: before(30) }, { id: 'pk2', name: 'Security key', createdAt: before(60 * 24 * 39), lastUsedAt: null }],
    sessions: [{ id: 's1', createdAt: before(300), lastSeenAt: before(0), address: '192.0.2.7', browser: 'Chrome 141 on macOS', isCurrent: true }, { id: 's2', createdAt: before(9000), lastSeenAt: before(800), address: '2001:db8::4', browser: 'Safari on iPhone', isCurrent: false }],
    overview: empty
      ? { waiting: [], numbers: [], steps: [['agent', true], ['document', false], ['try', false], ['tag', false], ['key', false], ['colleague', false]].map(([name, done]) => ({ name, done })) }
      : { waiting: [{ kind: 'handovers', count: 2 }, { kind: 'keys', count: 1 }, { kind: 'knowledge', count: 1 }], numbers: [['conversations', 214, 180], ['answered', 171, 139], ['handedOver', 12, 17], ['contacts', 38, 41], ['leads', 19, 11], ['requests', 48210, 45100]].map(([name, value, earlier]) => ({ name, value, before: earlier })), steps: null },
  };
};
