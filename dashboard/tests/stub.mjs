// A stub of the server: the files of dist under the policy of the console, and /console/v1 on data in memory. It refuses what
// the real one refuses: changes without `Origin`, `X-Console` or `Idempotency-Key`, versioned changes without `If-Match`.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { checkCharacters } from './check.mjs';
import { badAnswer, badRequest, operationOf, violations } from './contract.mjs';
import { capabilities, CATALOGUE, CODE, CODES, correctionOf, data, key as newKey, ME, message, newId, note as newNote, provider, reportOf, seed, SETTINGS, token as newToken, webhook as newWebhook, website } from './data.mjs';
import { imports } from './imports.mjs';

const dist = new URL('../dist/', import.meta.url);
export const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };
export const SETUP_TOKEN = 'A'.repeat(43);

/** Starts the stub. `base` is where it is mounted. */
export const startStub = async (base = '') => {
  const stub = {
    log: [],
    violations: [],
    /** Behaviour; tests change it. */
    signedIn: true,
    isSetUp: true,
    hasAccounts: true,
    /** Whether the session can only set up a way to sign in. */
    needsMethod: false,
    delayMs: 0,
    stepUp: false,
    /** Answers instead of an operation: `(method, path) => { status, code, message, details } | null`. */
    fail: () => null, pieceOfImport: 5000, letterOf: () => null,
    granted: undefined,
    /** The live streams that are open, and the events of all agents, oldest first. */
    streams: new Set(),
    events: [],
    /** Appends an event to the log of an agent, and sends it. */
    emit(agent, type, subject = {}, changed = null) {
      const event = { agent, seq: stub.head(agent) + 1, type, at: new Date().toISOString(), actor: 'visitor', subject, changed };
      stub.violations.push(...violations({ $ref: '#/components/schemas/LiveEvent' }, event, 'event'));
      stub.events.push(event);
      for (const stream of stub.streams) stream.pass(event);
    },
    head: (agent) => stub.events.filter((one) => one.agent == agent).length,
    /** A message of a visitor, with its event unless it is silent. */
    say(id, text, isSilent = false) {
      const one = of('conversations', id);
      const thread = stub.data.threads[id];
      const said = message(thread.length + 1, 'visitor', text, 0, { at: new Date().toISOString() });
      thread.push(said);
      Object.assign(one, { unread: one.unread + 1, messageCount: thread.length, lastMessage: { role: 'visitor', text }, lastMessageAt: said.at });
      stub.data.conversations.sort((a, b) => b.lastMessageAt.localeCompare(a.lastMessageAt));
      if (!isSilent) stub.emit('acme', 'message.created', { conversationId: id, messageId: said.id });
    },
    reset(empty = false) {
      stub.events = [];
      stub.data = data(empty);
      stub.versions = new Map();
      /** The invitations by the token of their link. */
      stub.links = new Map();
      Object.assign(stub, { signedIn: true, isSetUp: true, hasAccounts: true, needsMethod: false, wrongCodes: 0, delayMs: 0, stepUp: false, stepUpMethods: ['password'], lands: 'done', errands: [], problem: null, fail: () => null, granted: undefined, violations: [], log: [] });
    },
    version: (id) => stub.versions.get(id) ?? 1,
    touch: (id) => stub.versions.set(id, stub.version(id) + 1),
  };
  stub.reset();
  const ok = (value, more = {}) => ({ status: 200, body: { success: true, message: 'OK', data: value, ...more.envelope }, headers: more.headers ?? {} });
  const page = (rows, query) => {
    const limit = Number(query.get('limit') ?? 20);
    const from = Number(query.get('cursor') ?? 0);
    const more = from + limit < rows.length;
    return ok(rows.slice(from, from + limit), { envelope: { pagination: { totalItems: rows.length, hasNextPage: more, nextCursor: more ? String(from + limit) : null, itemsPerPage: limit } } });
  };
  const refuse = (status, code, message, more = {}) => ({ status, body: { success: false, code, message, requestId: '0199c1f2-5d8e-7cc3-9a51-0123456789ab', ...more }, headers: {} });
  const missing = (what) => refuse(404, 'NOT_FOUND', `There is no ${what} with this id`);
  const tagged = (record) => ok(record, { headers: { ETag: `"${stub.version(record.id)}"` } });
  const invalid = (field, message, type = 'required') => refuse(400, 'VALIDATION_ERROR', 'Validation failed: ' + message, { validationErrors: [{ field, message, type, value: null, in: 'body' }] });
  const of = (list, id) => stub.data[list].find((row) => row.id == id);
  const views = { open: (one) => one.status == 'open', human: (one) => one.status == 'open' && one.mode == 'human', closed: (one) => one.status == 'closed', all: () => true };
  const makeKey = (text) => text + checkCharacters(text);
  /** Who calls: the person of the cookie, else Ada, if anybody is signed in. */
  const caller = (headers = {}) => stub.data.members.find((one) => one.id == /stub=(\w+)/.exec(headers.cookie ?? '')?.[1]) ?? (stub.signedIn ? ME : null);
  /** What the other people may do: a viewer's share of each agent that their roles name. */
  const ofAgents = (me) => Object.fromEntries(me.grants.filter((one) => one.includes('@')).map((one) => [one.split('@')[1], capabilities(['agents.read', 'inbox.read', 'contacts.read', 'schema.read'])]));
  const session = (me = caller()) => ({ operator: me && { id: me.id, name: me.name, displayName: me.displayName, email: me.email, locale: null, grants: me.grants }, capabilities: me?.id == ME.id ? capabilities(stub.granted) : {}, agentCapabilities: me && me.id != ME.id ? ofAgents(me) : {}, stepUpUntil: null, methods: ['passkey', 'password'], providers: stub.data.providers.filter((one) => one.isEnabled).map(({ id, name }) => ({ id, name })), isSetUp: stub.isSetUp, needsMethod: stub.needsMethod, hasAccounts: stub.hasAccounts, serviceName: 'Acme', publicUrl: 'https://api.example.com', apiKeyPrefix: 'svc', build: '1.4.0' });
  const enter = () => {
    stub.signedIn = true;
    return ok({ session: session(), pageSecret: 'page-secret' });
  };
  const origin = () => stub.url + base;
  /** Where the provider would be: the page of the stub that leads back at once, with what `stub.lands` says. */
  const away = (errand) => { stub.errands.push(errand); return `${stub.url}/provider?to=${encodeURIComponent(errand.returnTo ?? '/')}`; };
  const changeMember = (id, change) => {
    const one = of('members', id);
    if (!one) return missing('operator');
    change(one);
    return ok(one, { headers: { ETag: `"${stub.version(id)}"` } });
  };
  const isLast = (id) => stub.data.members.filter((one) => one.grants.includes('owner') && !one.isDisabled).every((one) => one.id == id);
  const lastOwner = () => refuse(409, 'LAST_OWNER', 'This is the last owner. Make another operator an owner first');
  const rolesOf = (grants) => grants.map((grant) => { const [role, agentId = null] = grant.split('@'); return { role, agentId, agentName: agentId && of('agents', agentId).name }; });
  const wrong = () => refuse(401, 'UNAUTHENTICATED', 'This does not match an account. Check what you entered and try again');
  const wrongCode = () => invalid('code', 'code is not what the app shows now; check the clocks of both devices', 'reference');
  const nothing = () => ok(null);
  const challenge = 'AAAAAAAAAAAAAAAAAAAAAA';
  const creation = { challenge, rp: { id: 'localhost', name: 'Acme' }, user: { id: challenge, name: '', displayName: '' }, pubKeyCredParams: [{ type: 'public-key', alg: -8 }, { type: 'public-key', alg: -7 }], authenticatorSelection: { residentKey: 'required', userVerification: 'required' }, attestation: 'none', excludeCredentials: [] };
  const request = { challenge, rpId: 'localhost', allowCredentials: [], userVerification: 'required' };
  const converse = (id, change) => {
    const one = of('conversations', id);
    change(one);
    return tagged(one);
  };
  const part = (change) => (one) => one.participants.push({ change, name: ME.displayName, after: one.messageCount, at: new Date().toISOString() });
  const take = (one) => {
    if (one.participants.at(-1)?.name != ME.displayName || one.participants.at(-1)?.change != 'joined') part('joined')(one);
    one.mode = 'human';
    one.waitingSince = null;
    one.unread = 0;
  };
  const setKey = (id, status) => {
    const one = of('keys', id);
    one.status = status;
    return ok(one);
  };
  const archive = (id, is) => {
    const one = of('contacts', id);
    one.isArchived = is;
    one.archivedAt = is ? new Date().toISOString() : null;
    stub.touch(id);
    return tagged(one);
  };
  const schema = () => ok(stub.data.schema, { headers: { ETag: `"${stub.data.schema.version}"` } });
  const badSchema = (definition) => { const at = definition.customFields?.findIndex((one) => one.pattern == '(') ?? -1; return at < 0 ? null : invalid(`customFields[${at}].pattern`, 'pattern is not a regular expression', 'format'); };
  const notesOf = (contact) => (stub.data.notes[contact] ??= []);
  /** A change of a note by somebody who has seen it. */
  const onNote = (contact, id, headers, change) => {
    const one = notesOf(contact).find((note) => note.id == id);
    if (!one) return missing('note');
    if (!headers['if-match']) return refuse(428, 'PRECONDITION_REQUIRED', 'Send If-Match');
    if (headers['if-match'] != one.etag) return refuse(412, 'PRECONDITION_FAILED', 'The note was changed', { details: { current: one } });
    return change(one);
  };
  /** Sends events as the server does: those after `Last-Event-ID`, then each as it happens. */
  const stream = (request, response, agents) => {
    const after = new Map((request.headers['last-event-id'] ?? '').split(',').filter(Boolean).map((one) => one.split(':')));
    const cursor = new Map(agents.map((agent) => [agent, Number(after.get(agent) ?? stub.head(agent))]));
    const one = {
      send: (event, data) => response.write(`id: ${[...cursor].map((at) => at.join(':'))}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
      pass(event) {
        if (!cursor.has(event.agent) || event.seq <= cursor.get(event.agent)) return;
        cursor.set(event.agent, event.seq);
        one.send('event', event);
      },
      end: () => response.end(),
      drop: () => response.destroy(),
    };
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store, no-transform' });
    one.send('ready', { agents, fresh: agents.filter((agent) => !after.has(agent)) });
    stub.events.forEach(one.pass);
    stub.streams.add(one);
    response.on('close', () => stub.streams.delete(one));
  };
  /** An agent with the head of its log. */
  const live = (agent) => ({ ...agent, liveFrom: `${agent.id}:${stub.head(agent.id)}` });
  const secretOf = (letter) => 'whsec_' + letter.repeat(43) + '=';
  const setWebhook = (id, change) => {
    const one = of('webhooks', id);
    if (!one) return missing('webhook');
    stub.touch(id);
    return tagged(Object.assign(one, change));
  };
  const badUrl = (url) => (/^https:\/\/[^/]+\.[^/]+/.test(url ?? '') ? null : invalid('url', url ? 'url must be an https URL' : 'url is required', url ? 'format' : 'required'));
  const withSecret = (id, secret) => (of('webhooks', id) ? ok(secret) : missing('webhook'));
  /** The operations by name. */
  const operations = {
    'session.show': ({ headers }) => ok(session(caller(headers))),
    'session.end': () => { stub.signedIn = false; return nothing(); },
    'session.stepUpOptions': () => ok({ publicKey: request, methods: ['password'] }),
    'session.stepUp': ({ body }) => { if (body.password != 'correct horse battery' || body.code != CODE) return wrong(); stub.stepUp = false; return ok({ stepUpUntil: new Date(Date.now() + 600000).toISOString() }); },
    'signIn.options': () => ok({ publicKey: request, methods: ['passkey', 'password'] }),
    'signIn.passkey': enter,
    'signIn.password': ({ body }) => {
      if (body.email != ME.email || body.password != 'correct horse battery') return wrong();
      stub.wrongCodes = 0;
      if (stub.data.methods.totpConfirmedAt) return ok({ pending: 'pending', signedIn: null });
      stub.needsMethod = true;
      return ok({ pending: null, signedIn: enter().body.data });
    },
    'signIn.code': ({ body }) => (stub.wrongCodes >= 5 ? refuse(401, 'SESSION_ENDED', 'This sign-in is over. Enter the password again') : body.code == CODE ? enter() : (stub.wrongCodes++, wrong())),
    'signIn.recover': ({ body }) => {
      const left = stub.data.recoveryCodes.filter((code) => code.replace('-', '') != body.recoveryCode.toUpperCase().replace(/\W/g, ''));
      if (body.email != ME.email || left.length == stub.data.recoveryCodes.length) return wrong();
      Object.assign(stub.data, { recoveryCodes: left });
      stub.needsMethod = true;
      return enter();
    },
    'links.inspect': ({ body }) => {
      const invited = stub.links.get(body.token);
      const link = { name: null, inviter: null, roles: [], publicKey: creation, totp: seed(), serviceName: 'Acme' };
      if (invited) return ok({ ...link, kind: 'invite', email: invited.email, name: invited.name, inviter: ME.name, roles: rolesOf(invited.grants), expiresAt: invited.expiresAt });
      return body.token == SETUP_TOKEN ? ok({ ...link, kind: 'setUp', email: null, expiresAt: new Date(Date.now() + 3600000).toISOString() }) : refuse(404, 'LINK_INVALID', 'This link is unknown, used, revoked or expired');
    },
    'links.accept': ({ body }) => {
      const invited = stub.links.get(body.token);
      if (invited) {
        stub.links.delete(body.token);
        stub.data.invitations = stub.data.invitations.filter((one) => one.id != invited.id);
        const one = { ...stub.data.members[0], id: invited.id, name: body.name, email: invited.email, displayName: null, grants: invited.grants, methods: [body.credential ? 'passkey' : 'password'], sessions: 1 };
        stub.data.members.push(one);
        return ok({ session: session(one), pageSecret: 'page-secret', recoveryCodes: CODES }, { headers: { 'Set-Cookie': `stub=${one.id}; Path=/; SameSite=Strict` } });
      }
      if (!body.name) return invalid('name', 'name is required');
      if (!body.credential && (body.password ?? '').length < 12) return invalid('password', 'password must have at least 12 characters', 'minLength');
      if (!body.credential && body.code != CODE) return wrongCode();
      stub.isSetUp = true;
      return ok({ ...enter().body.data, recoveryCodes: CODES });
    },
    'me.update': ({ body }) => ok({ ...ME, ...body }),
    'me.sessions': () => ok(stub.data.sessions),
    'me.endSession': ({ session: id }) => { stub.data.sessions = stub.data.sessions.filter((row) => row.id != id); return nothing(); },
    'me.endOtherSessions': () => { stub.data.sessions.length = 1; return nothing(); },
    'me.passkeys': () => ok(stub.data.passkeys),
    'me.passkeyOptions': () => ok({ publicKey: creation, methods: ['passkey'] }),
    'me.addPasskey': ({ body }) => { stub.needsMethod = false; stub.data.passkeys.push({ ...stub.data.passkeys[0], id: newId(), name: body.name }); return ok(stub.data.passkeys); },
    'me.removePasskey': ({ passkey }) => { stub.data.passkeys = stub.data.passkeys.filter((row) => row.id != passkey); return ok(stub.data.passkeys); },
    'me.methods': () => ok(stub.data.methods),
    'me.beginTotp': () => ok(seed()),
    'me.confirmTotp': ({ body }) => {
      const { methods } = stub.data;
      if (!methods.passwordChangedAt && (body.password ?? '').length < 12) return invalid('password', 'password must have at least 12 characters', 'minLength');
      if (body.code != CODE) return wrongCode();
      methods.totpConfirmedAt = new Date().toISOString();
      methods.passwordChangedAt ??= methods.totpConfirmedAt;
      stub.needsMethod = false;
      return ok(methods);
    },
    'me.removeTotp': () => ok(Object.assign(stub.data.methods, { passwordChangedAt: null, totpConfirmedAt: null })),
    'me.makeRecoveryCodes': () => { Object.assign(stub.data.methods, { recoveryCodesLeft: 10, recoveryCodesMadeAt: new Date().toISOString() }); return ok({ recoveryCodes: CODES }); },
    'me.setPassword': ({ body }) => (body.password.length < 12 ? invalid('password', 'password must have at least 12 characters', 'minLength') : nothing()),
    'signIn.oidcStart': ({ body }) => ok({ url: away({ kind: 'signIn', ...body }) }),
    'session.stepUpOidc': ({ body }) => ok({ url: away({ kind: 'stepUp', ...body }) }),
    'me.identities': () => ok(stub.data.identities),
    'me.linkIdentity': ({ body }) => ok({ url: away({ kind: 'link', ...body }) }),
    'me.unlinkIdentity': ({ identity }) => ok((stub.data.identities = stub.data.identities.filter((one) => one.id != identity))),
    'providers.list': () => ok(stub.data.providers),
    'providers.save': ({ provider: id, body, headers }) => {
      const known = of('providers', id);
      if (headers['if-match'] != (known?.etag ?? '"0"')) return refuse(412, 'PRECONDITION_FAILED', 'The provider was changed');
      if (!/^https:/.test(body.issuer)) return invalid('issuer', 'issuer must begin with https://; plain http:// is for a provider on this machine', 'format');
      if (body.isEnabled && /nowhere/.test(body.issuer)) return invalid('isEnabled', 'isEnabled cannot be switched on: discovery: the name was not resolved', 'conflict');
      const { clientSecret, ...rest } = body;
      const next = { ...provider(id, body.name), ...known, ...rest, hasClientSecret: !!clientSecret || !!known?.hasClientSecret, trial: null, etag: `"${Number((known?.etag ?? '"0"').slice(1, -1)) + 1}"` };
      stub.data.providers = known ? stub.data.providers.map((one) => (one.id == id ? next : one)) : [...stub.data.providers, next];
      return ok(next, { headers: { ETag: next.etag } });
    },
    'providers.test': ({ provider: id }) => {
      const fails = !of('providers', id).hasClientSecret;
      return ok({ passed: !fails, steps: [
        { name: 'discovery', passed: true, detail: `The description is of the issuer ${of('providers', id).issuer}` },
        { name: 'endpoints', passed: !fails, detail: fails ? 'jwks_uri must begin with https:// and have no fragment' : 'Browsers go to https://id.example.com/auth, codes to https://id.example.com/token' },
        { name: 'keys', passed: fails ? null : true, detail: fails ? '' : 'Keys: 3 (ES256, RS256)' },
      ] });
    },
    'providers.try': ({ provider: id, body }) => ok({ url: away({ kind: 'try', provider: id, ...body }) }),
    'providers.remove': ({ provider: id }) => { stub.data.providers = stub.data.providers.filter((one) => one.id != id); return nothing(); },
    'members.list': () => ok(stub.data.members),
    'members.show': ({ member }) => changeMember(member, () => undefined),
    'members.invitations': () => ok(stub.data.invitations),
    'members.invite': ({ body }) => {
      if (!/@/.test(body.email ?? '')) return invalid('email', 'email must be an e-mail address', 'format');
      if (stub.data.members.some((one) => one.email == body.email)) return refuse(409, 'CONFLICT', 'An operator has this address already');
      const one = { id: newId(), email: body.email, name: body.name ?? null, grants: body.grants, invitedBy: { type: 'operator', id: 'op:' + ME.id, name: ME.name }, invitedAt: new Date().toISOString(), expiresAt: new Date(Date.now() + body.validForSeconds * 1000).toISOString(), isVoid: false };
      stub.data.invitations.unshift(one);
      const token = one.id.padEnd(43, 'J');
      stub.links.set(token, one);
      return ok({ link: `${origin()}/join#${token}`, expiresAt: one.expiresAt });
    },
    'members.revokeInvitation': ({ invitation }) => { stub.data.invitations = stub.data.invitations.filter((one) => one.id != invitation); return nothing(); },
    'members.grant': ({ member, body, headers }) => {
      if (!headers['if-match']) return refuse(428, 'PRECONDITION_REQUIRED', 'Send If-Match');
      if (headers['if-match'] != `"${stub.version(member)}"`) return refuse(412, 'PRECONDITION_FAILED', 'The roles were changed', { details: { current: of('members', member) } });
      if (isLast(member) && !body.grants.includes('owner')) return lastOwner();
      stub.touch(member);
      return changeMember(member, (one) => (one.grants = body.grants));
    },
    'members.disable': ({ member }) => (isLast(member) ? lastOwner() : changeMember(member, (one) => Object.assign(one, { isDisabled: true, sessions: 0 }))),
    'members.enable': ({ member }) => changeMember(member, (one) => (one.isDisabled = false)),
    'members.remove': ({ member }) => { if (isLast(member)) return lastOwner(); stub.data.members = stub.data.members.filter((one) => one.id != member); return nothing(); },
    'members.recover': () => ok({ link: `${origin()}/setup#${SETUP_TOKEN}`, expiresAt: new Date(Date.now() + 3600000).toISOString() }),
    'members.endSessions': ({ member }) => { of('members', member).sessions = 0; return nothing(); },
    'server.health': () => ok({ isHealthy: !stub.problem, problem: stub.problem ?? null, build: '1.4.0', contractVersion: '1.0', publicUrl: 'https://api.example.com', now: new Date().toISOString() }),
    'tokens.list': () => ok(stub.data.tokens),
    'tokens.create': ({ body }) => {
      if (!body.name) return invalid('name', 'name is required');
      const out = body.dangerous.find((name) => body.grants.every((grant) => !/^(admin|developer)/.test(grant)) && name.startsWith('keys.'));
      if (out) return invalid('dangerous', `dangerous '${out}' needs keys.manage, which none of the roles has`, 'conflict');
      const one = newToken(body.name, body.grants, { dangerous: body.dangerous, addresses: body.addresses, createdAt: new Date().toISOString(), expiresAt: new Date(Date.now() + body.validForSeconds * 1000).toISOString() });
      stub.data.tokens.unshift(one);
      return ok({ token: one, secret: one.start + 'S'.repeat(37) });
    },
    'tokens.revoke': ({ token: id, body }) => {
      const one = of('tokens', id);
      if (body.confirm != one.name) return invalid('confirm', `confirm must be ${one.name}, to confirm`, 'conflict');
      return ok(Object.assign(one, { state: 'revoked', revokedAt: new Date().toISOString() }));
    },
    'agents.list': ({ headers }) => { const me = caller(headers); return ok(stub.data.agents.filter((one) => me.id == ME.id || me.grants.some((grant) => grant == 'viewer' || grant.endsWith('@' + one.id))).map(live)); },
    'agents.create': ({ body }) => { if (!body.name) return invalid('name', 'name is required'); const one = { ...stub.data.agents[0], id: body.id ?? newId(), name: body.name, status: 'active' }; stub.data.agents.push(one); return ok(live(one)); },
    'schema.show': () => schema(),
    'schema.history': () => ok(stub.data.schemaVersions),
    'schema.check': ({ body }) => {
      const refused = badSchema(body.definition);
      const fields = new Map(stub.data.schema.customFields.map((one) => [one.name, one]));
      const changes = body.definition.customFields.filter((one) => JSON.stringify(one) != JSON.stringify(fields.get(one.name))).map((one) => ({ field: 'customFields.' + one.name, change: fields.has(one.name) ? 'changed' : 'added', members: fields.has(one.name) ? ['required'] : [] }));
      const failing = body.definition.customFields.some((one) => one.required) ? stub.data.contacts.slice(0, 3) : [];
      return refused ?? ok({ changes, contactsChecked: stub.data.contacts.length, contactsFailing: failing.length, isComplete: true, examples: failing.map((one) => ({ contact: one.id, messages: ['customFields.plan is required'] })) });
    },
    'schema.replace': ({ body, headers }) => {
      if (!headers['if-match']) return refuse(428, 'PRECONDITION_REQUIRED', 'Send If-Match');
      if (headers['if-match'] != `"${stub.data.schema.version}"`) return refuse(412, 'PRECONDITION_FAILED', 'The schema was changed', { details: { current: stub.data.schema } });
      const refused = badSchema(body.definition);
      if (refused) return refused;
      Object.assign(stub.data.schema, body.definition, { version: stub.data.schema.version + 1, updatedAt: new Date().toISOString() });
      stub.data.schemaVersions.unshift({ version: stub.data.schema.version, at: stub.data.schema.updatedAt, changes: [] });
      return schema();
    },
    'keys.list': () => ok(stub.data.keys),
    'keys.create': ({ body }) => {
      if (!body.name) return invalid('name', 'name is required');
      if (!body.permissions?.length) return invalid('permissions', 'permissions must have at least 1 element', 'minItems');
      const { description = null, allowedAddresses = [], expiresAt = null, name, ...rest } = body;
      const one = newKey(name, { apiKey: makeKey('svck_N3wK3yOfTheT3stN3wK3yOfT'), description, allowedAddresses, expiresAt, ...rest, lastUsedAt: null, lastUsedAddress: null });
      stub.data.keys.push(one);
      return ok({ key: one, secret: makeKey('svcs_S3cr3tOfTheT3stS3cr3tOfTheT3stS3cr3tOfTheT3') });
    },
    'keys.try': () => ok([{ method: 'GET', path: '/v1/open/health', status: 200, body: '{"success":true,"message":"API is healthy"}' }, { method: 'GET', path: '/v1/open/contacts/chatbots/acme?limit=1', status: 200, body: '{"success":true,"message":"Contacts retrieved successfully","data":[]}' }]),
    'keys.show': ({ key }) => { const one = of('keys', key); return one ? tagged(one) : missing('key'); },
    'keys.edit': ({ key, body, headers }) => {
      if (!headers['if-match']) return refuse(428, 'PRECONDITION_REQUIRED', 'Send If-Match');
      if (headers['if-match'] != `"${stub.version(key)}"`) return refuse(412, 'PRECONDITION_FAILED', 'The key was changed', { details: { current: of('keys', key) } });
      stub.touch(key);
      return tagged(Object.assign(of('keys', key), body));
    },
    'keys.rotate': ({ key }) => ok({ key: of('keys', key), secret: makeKey('svcs_R0tat3dOfTheT3stS3cr3tOfTheT3stS3cr3tOfTheT3') }),
    'keys.revoke': ({ key, body }) => (body.confirm != of('keys', key).name ? invalid('confirm', 'must be the name, to confirm', 'conflict') : setKey(key, 'revoked')),
    'keys.disable': ({ key }) => setKey(key, 'disabled'),
    'keys.enable': ({ key }) => setKey(key, 'active'),
    ...imports(stub, { ok, refuse }),
    'contacts.list': ({ query }) => {
      const q = (query.get('search') ?? '').toLowerCase();
      const field = query.get('sortBy') ?? 'createdAt';
      const rows = stub.data.contacts.filter((one) => (!one.isArchived || query.get('includeArchived') == 'true') && (!query.get('status') || one.status == query.get('status')) && (!q || `${one.firstName} ${one.lastName} ${one.primaryEmail}`.toLowerCase().includes(q)));
      rows.sort((a, b) => String(a[field]).localeCompare(String(b[field])) * (query.get('sortOrder') == 'asc' ? 1 : -1));
      return page(rows, query);
    },
    'contacts.create': ({ body }) => { if (!body.primaryEmail) return invalid('primaryEmail', 'primaryEmail is required'); const { id, masked } = contactLike(); const one = { ...contactLike(), ...body, id, masked }; stub.data.contacts.push(one); return tagged(one); },
    'contacts.show': ({ contact }) => { const one = of('contacts', contact); return one ? tagged(one) : missing('contact'); },
    'contacts.reveal': ({ contact }) => tagged({ ...of('contacts', contact), masked: [] }),
    'contacts.update': ({ contact: id, body, headers }) => {
      const one = of('contacts', id);
      if (!headers['if-match']) return refuse(428, 'PRECONDITION_REQUIRED', 'Send If-Match');
      if (headers['if-match'] != `"${stub.version(id)}"`) return refuse(412, 'PRECONDITION_FAILED', 'The contact was changed', { details: { current: one } });
      if ('primaryEmail' in body && !/@/.test(body.primaryEmail ?? '')) return invalid('primaryEmail', 'primaryEmail must be an e-mail address', 'format');
      const { customFields, ...rest } = body;
      Object.assign(one, rest, { customFields: { ...one.customFields, ...customFields }, updatedAt: new Date().toISOString() });
      stub.touch(id);
      return tagged(one);
    },
    'contacts.notes': ({ contact, query }) => {
      const all = notesOf(contact);
      const from = query.get('after') ? all.findIndex((one) => one.id == query.get('after')) + 1 : 0;
      const notes = all.slice(from, from + Number(query.get('limit') ?? 20));
      return ok({ notes, next: from + notes.length < all.length ? notes.at(-1).id : null });
    },
    'contacts.addNote': ({ contact, body }) => { if (!body.text?.trim()) return invalid('text', 'text is required'); const one = newNote(body.text, new Date().toISOString()); notesOf(contact).unshift(one); return ok(one); },
    'contacts.editNote': ({ contact, note: id, body, headers }) => onNote(contact, id, headers, (one) => ok(Object.assign(one, { text: body.text, editedBy: one.by, editedAt: new Date().toISOString(), etag: `"${Number(one.etag.replaceAll('"', '')) + 1}"` }))),
    'contacts.removeNote': ({ contact, note: id, headers }) => onNote(contact, id, headers, (one) => { stub.data.notes[contact] = notesOf(contact).filter((other) => other != one); return nothing(); }),
    'contacts.archive': ({ contact }) => archive(contact, true),
    'contacts.unarchive': ({ contact }) => archive(contact, false),
    'contacts.erase': ({ contact, body }) => { const one = of('contacts', contact); if (body.confirm != (one.externalReferenceId ?? one.primaryEmail)) return invalid('confirm', 'must be the id', 'conflict'); stub.data.contacts = stub.data.contacts.filter((row) => row != one); return nothing(); },
    'inbox.counts': () => ok(Object.fromEntries(Object.entries(views).map(([name, fits]) => [name, stub.data.conversations.filter(fits).length]))),
    'inbox.list': ({ query }) => page(stub.data.conversations.filter((one) => (!query.get('status') || one.status == query.get('status')) && (!query.get('mode') || one.mode == query.get('mode'))), query),
    'inbox.show': ({ conversation }) => { const one = of('conversations', conversation); return one ? tagged(one) : missing('conversation'); },
    'inbox.thread': ({ conversation, query }) => { const before = Number(query.get('before') ?? Infinity); return ok((stub.data.threads[conversation] ?? []).filter((one) => one.seq < before).slice(-Number(query.get('limit') ?? 20))); },
    'inbox.take': ({ conversation }) => converse(conversation, take),
    'inbox.release': ({ conversation }) => converse(conversation, (one) => { part('left')(one); one.mode = 'ai'; }),
    'inbox.close': ({ conversation }) => converse(conversation, (one) => { part('closed')(one); one.status = 'closed'; one.mode = 'ai'; }),
    'inbox.reply': ({ conversation: id, body }) => {
      const one = of('conversations', id);
      const thread = stub.data.threads[id];
      const last = [...thread].reverse().find((each) => each.role == 'human')?.seq ?? 0;
      if (body.afterReply !== undefined && body.afterReply < last) return refuse(409, 'CONVERSATION_MOVED', 'A colleague has replied in the meantime');
      take(one);
      const reply = message(thread.length + 1, 'human', body.text, 0, { author: ME.displayName });
      thread.push(reply);
      Object.assign(one, { messageCount: thread.length, lastMessage: { role: 'human', text: body.text }, lastMessageAt: reply.at });
      return ok(reply);
    },
    'knowledge.list': () => ok(stub.data.knowledge),
    'knowledge.add': ({ body }) => { if (!body.text) return invalid('text', 'text is required'); const one = document(body.title, body.title); stub.data.knowledge.push(one); return ok(one); },
    'knowledge.addFile': ({ query }) => { const one = document(query.get('fileName'), query.get('fileName')); stub.data.knowledge.push(one); return ok(one); },
    'knowledge.teach': ({ body }) => {
      if (!body.answer) return invalid('answer', 'answer is required');
      const one = { ...document(body.questions[0], body.title ?? body.questions[0]), contentType: 'text/markdown', passages: 1, questions: body.questions };
      stub.data.knowledge.push(one);
      // What was taught is no longer open.
      stub.data.questions = stub.data.questions.filter((group) => !body.questions.includes(group.question));
      return ok(one);
    },
    'insights.questions': ({ query }) => {
      const groups = stub.data.questions.filter((one) => !query.get('outcome') || one[query.get('outcome')]);
      return ok({ groups, totalGroups: groups.length, questions: groups.reduce((sum, one) => sum + one.count, 0), since: new Date(Date.now() - 86400000 * Number(query.get('days') ?? 30)).toISOString(), partial: false, groupedBy: 'meaning' });
    },
    'knowledge.remove': ({ document: id }) => { const one = of('knowledge', id); stub.data.knowledge = stub.data.knowledge.filter((row) => row != one); return ok(one); },
    'webhooks.list': () => ok(stub.data.webhooks),
    'webhooks.catalogue': () => ok(CATALOGUE),
    'webhooks.show': ({ webhook }) => (of('webhooks', webhook) ? tagged(of('webhooks', webhook)) : missing('webhook')),
    'webhooks.create': ({ body }) => {
      const { from, ...rest } = body;
      const refused = badUrl(body.url);
      if (refused) return refused;
      const one = newWebhook(body.url, { ...rest, lastSuccessAt: null, createdAt: new Date().toISOString() });
      stub.data.webhooks.push(one);
      return ok({ webhook: one, secret: { secret: secretOf('N'), previous: null, previousUntil: null } });
    },
    'webhooks.edit': ({ webhook, body, headers }) => {
      if (!headers['if-match']) return refuse(428, 'PRECONDITION_REQUIRED', 'Send If-Match');
      if (headers['if-match'] != `"${stub.version(webhook)}"`) return refuse(412, 'PRECONDITION_FAILED', 'The webhook was changed', { details: { current: of('webhooks', webhook) } });
      return ('url' in body && badUrl(body.url)) || setWebhook(webhook, body);
    },
    'webhooks.enable': ({ webhook, body }) => setWebhook(webhook, { status: 'enabled', statusReason: null, ...(body.resume == 'now' ? { pending: 0 } : {}) }),
    'webhooks.disable': ({ webhook }) => setWebhook(webhook, { status: 'disabled', statusReason: 'operator' }),
    'webhooks.remove': ({ webhook }) => { stub.data.webhooks = stub.data.webhooks.filter((one) => one.id != webhook); return nothing(); },
    'webhooks.secret': ({ webhook }) => withSecret(webhook, { secret: secretOf('A'), previous: null, previousUntil: null }),
    'webhooks.rotate': ({ webhook, body }) => { const until = body.graceSeconds ? new Date(Date.now() + body.graceSeconds * 1000).toISOString() : null; setWebhook(webhook, { secretExpiresAt: until }); return withSecret(webhook, { secret: secretOf('R'), previous: until && secretOf('A'), previousUntil: until }); },
    'webhooks.test': ({ webhook }) => { const one = of('webhooks', webhook); return ok(one.failingSince ? { status: 503, milliseconds: 212, error: null, body: '{"error":"The queue is full"}' } : /new/.test(one.url) ? { status: null, milliseconds: 5000, error: 'connect', body: null } : { status: 204, milliseconds: 48, error: null, body: null }); },
    'webhooks.replay': ({ webhook, body }) => (of('webhooks', webhook) ? ok(new Date(body.since) > Date.now() - 60000 ? { from: 4712, to: 4711 } : { from: 4690, to: 4711 }) : missing('webhook')),
    'attempts.list': ({ query }) => {
      const from = stub.data.attempts.filter((one) => one.attempt.number < Number(query.get('cursor') ?? Infinity) && (query.get('failed') != 'true' || one.attempt.result != 'succeeded'));
      const deliveries = from.slice(0, Number(query.get('limit') ?? 20));
      return ok({ deliveries, nextCursor: from.length > deliveries.length ? String(deliveries.at(-1).attempt.number) : null });
    },
    'attempts.show': ({ number }) => {
      const delivery = stub.data.attempts.find((one) => one.attempt.number == number);
      if (!delivery) return missing('attempt');
      const message = delivery.type && { id: delivery.eventId, seq: delivery.attempt.seq, cursor: `${delivery.attempt.seq}.${delivery.eventId}`, type: delivery.type, timestamp: delivery.attempt.at, agentId: 'acme', actor: { type: 'apiKey', id: 'svck_RfJZ' }, data: { contactId: '697dc8160000000000000042', changed: ['tags'] } };
      return ok({ delivery, message });
    },
    'attempts.resend': ({ number }) => { const { attempt } = stub.data.attempts.find((one) => one.attempt.number == number); return ok({ from: attempt.seq, to: attempt.seq }); },
    'credits.show': () => ok(stub.data.credits),
    'credits.ledger': () => ok({ entries: stub.data.ledger, next: null }),
    'credits.change': ({ body }) => {
      const { credits } = stub.data;
      if (typeof (body.topUp ?? 1) != 'number') return invalid('topUp', 'topUp must be an integer', 'type');
      if (body.topUp) {
        credits.topUp += body.topUp;
        credits.available += body.topUp;
        stub.data.ledger.unshift({ id: newId(), at: new Date().toISOString(), kind: 'topUp', plan: 0, topUp: body.topUp, available: credits.available, actor: { type: 'operator', id: 'op:' + ME.id, name: ME.name }, note: body.note ?? null });
      }
      Object.assign(credits, Object.fromEntries(Object.entries(body).filter(([name]) => ['plan', 'lowAt', 'perPage', 'charactersPerPage', 'isUnlimited'].includes(name))));
      return ok(credits);
    },
    'settings.show': () => shownSettings(),
    'settings.save': ({ body, headers }) => {
      if (headers['if-match'] != `"${stub.version('settings')}"`) return refuse(412, 'PRECONDITION_FAILED', 'Somebody changed this in the meantime. Look at both and save again', { details: { current: {} } });
      if (!/^#([\da-f]{3}|[\da-f]{6})$/i.test(body.settings.appearance.color)) return invalid('appearance.color', 'appearance.color must be a color such as #3b5bdb', 'format');
      const at = body.settings.origins.findIndex((origin) => !/^https:\/\/[^/]+$/.test(origin));
      if (at >= 0) return invalid(`origins[${at}]`, `origins[${at}] must be an origin such as https://www.example.com`, 'format');
      stub.data.settings = body.settings;
      stub.touch('settings');
      return shownSettings();
    },
    'settings.install': () => ok({ origin: 'https://widget.example.com', global: 'AcmeWidget', tag: '<script src="https://widget.example.com/embed.js" data-agent-id="acme" async></script>', pinnedTag: '<script src="https://widget.example.com/embed.0123456789abcdef.js" integrity="sha384-abc" crossorigin="anonymous" data-agent-id="acme" async></script>', policy: 'script-src https://widget.example.com; connect-src https://widget.example.com' }),
    'identity.show': () => ok({ secret: 'svci_' + 'k'.repeat(40), previous: null }),
    'identity.rotate': () => ok({ secret: 'svci_' + 'n'.repeat(40), previous: 'svci_' + 'k'.repeat(40) }),
    'studio.ask': ({ body }) => {
      if (!body.question) return invalid('question', 'question is required');
      const isModel = stub.data.settings.chat.responder != 'knowledge';
      const knows = /open|visit/i.test(body.question);
      const passage = { documentId: newId(), title: 'Prices and visits', url: null, headings: ['Prices and visits', 'Opening hours'], page: null, text: 'The practice is open from 9 am to 5 pm on weekdays.\nA home visit costs £40.', score: 3.2 };
      const reply = knows ? { text: 'We are open **from 9 am to 5 pm** on weekdays [1].', outcome: 'answered', sources: [{ n: 1, title: 'Prices and visits', url: null }], error: null } : { text: 'I could not find that in the documents.', outcome: 'unknown', sources: [], error: null };
      return ok({ coverage: knows ? 0.82 : 0.1, minCoverage: 0.5, hasDocuments: stub.data.knowledge.length > 0, passages: knows ? [passage] : [], reply: isModel ? null : reply, millis: 6 });
    },
    'sources.list': () => ok(stub.data.sources),
    'sources.add': ({ body }) => {
      if (!body.url) return invalid('url', 'url is required');
      if (/^https?:\/\/[^/]*$/.test(body.url)) body.url += '/';
      if (!/^https?:\/\/[\w.-]+\//.test(body.url)) return refuse(422, 'NOT_POSSIBLE', `'${body.url}' is no website; write such as https://www.example.com/`);
      const known = stub.data.sources.find((one) => one.url == body.url);
      if (known) return refuse(409, 'CONFLICT', `The agent already has the website ${known.url}; its id is ${known.id}`);
      const one = website(body.url, { state: 'waiting', everyHours: body.everyHours === undefined ? 24 : body.everyHours, nextAt: null, beganAt: null, endedAt: null, discovery: null, createdAt: new Date().toISOString() });
      stub.data.sources.unshift(one);
      stub.data.sourcePages[one.id] = [];
      return ok(one);
    },
    'sources.show': ({ source }) => { const one = of('sources', source); return one ? ok({ website: one, pages: stub.data.sourcePages[source] }) : missing('website'); },
    'sources.sync': ({ source }) => { const one = of('sources', source); return ok(Object.assign(one, { state: 'waiting', nextAt: null })); },
    'sources.remove': ({ source }) => {
      const one = of('sources', source);
      stub.data.sources = stub.data.sources.filter((row) => row != one);
      stub.data.knowledge = stub.data.knowledge.filter((row) => row.sourceId != source);
      return ok({ ...one, state: 'removing' });
    },
    'extractions.list': ({ query }) => page(stub.data.extractions.filter((one) => (!query.get('status') || one.status == query.get('status')) && (!query.get('batchId') || one.batchId == query.get('batchId'))).map((one) => ({ ...one, result: null })), query),
    'extractions.show': ({ job }) => shownExtraction(job),
    'extractions.cancel': ({ job }) => changedExtraction(job, (one) => Object.assign(one, { status: 'cancelled', creditsReserved: 0, finishedAt: new Date().toISOString() })),
    'extractions.retry': ({ job }) => changedExtraction(job, (one) => Object.assign(one, { status: 'queued', error: null, finishedAt: null, expiresAt: null })),
    'extractions.correct': ({ job, body }) => {
      const one = of('extractions', job);
      if (!one?.result) return missing('extraction');
      if ('total' in body.values && body.values.total !== null && typeof body.values.total != 'number') return invalid('values.total', 'values.total must be a number', 'type');
      stub.data.corrections[job] = correctionOf(one, body.values);
      return ok(stub.data.corrections[job]);
    },
    'corrections.remove': ({ job }) => {
      const one = stub.data.corrections[job];
      if (!one) return missing('correction');
      delete stub.data.corrections[job];
      return ok(one);
    },
    'stream.open': ({ query }) => ({ status: 200, stream: query.get('agents').split(',') }),
    'audit.list': ({ query }) => { const from = query.get('beforeId') ? stub.data.audit.findIndex((one) => one.id == query.get('beforeId')) + 1 : 0; const entries = stub.data.audit.slice(from, from + 12); const last = entries.at(-1); return ok({ entries, next: from + 12 < stub.data.audit.length ? { beforeAt: last.at, beforeId: last.id } : null }); },
  };
  const contactLike = () => ({ id: newId(), agentId: 'acme', externalReferenceId: null, salutation: null, firstName: null, middleName: null, lastName: null, dob: null, gender: null, primaryEmail: '', primaryPhone: null, primaryPhoneCode: null, fullAddress: null, tags: [], status: 'active', source: 'console', lastContactedAt: null, customFields: {}, isArchived: false, archivedAt: null, createdAt: new Date().toISOString(), updatedAt: new Date().toISOString(), masked: [] });
  const shownExtraction = (id, show = (one) => reportOf(one, stub.data.corrections[id] ?? null)) => {
    const one = of('extractions', id);
    return one ? ok(show(one)) : refuse(404, 'JOB_NOT_FOUND', 'There is no extraction with this id');
  };
  const changedExtraction = (id, change) => shownExtraction(id, (one) => ({ id, status: change(one).status }));
  const shownSettings = () => ok({ settings: stub.data.settings, builtIn: SETTINGS, responders: ['knowledge', 'llm'] }, { headers: { ETag: `"${stub.version('settings')}"` } });
  const document = (fileName, title) => ({ id: newId(), fileName, title, url: null, language: 'en', contentType: 'text/plain', characters: 900, pages: null, passages: 3, questions: [], sourceId: null, createdAt: new Date().toISOString(), updatedAt: new Date().toISOString() });
  const PUBLIC = /^\/(session$|sign-in\/|links\/)/;
  const answer = (method, path, query, headers, raw) => {
    if (method != 'GET' && headers.origin != stub.url) stub.violations.push(`${method} ${path}: Origin ${headers.origin}`);
    if (!headers['x-console']) stub.violations.push(`${method} ${path}: no X-Console`);
    if (method == 'POST' && !/^[0-9a-f]{32}$/.test(headers['idempotency-key'] ?? '')) stub.violations.push(`${method} ${path}: no Idempotency-Key`);
    const failure = stub.fail(method, path);
    if (failure) return refuse(failure.status, failure.code, failure.message ?? failure.code, { details: failure.details, validationErrors: failure.validationErrors });
    if (!caller(headers) && !PUBLIC.test(path)) return refuse(401, 'SESSION_ENDED', 'Your session has ended. Sign in again');
    const found = operationOf(method, path);
    const run = found && operations[found.id];
    if (!run) {
      stub.violations.push(`no operation ${method} ${path}`);
      return refuse(404, 'ROUTE_NOT_FOUND', 'No such path');
    }
    if (stub.stepUp && /^(credits\.change|webhooks\.(create|edit|remove|secret|rotate)|identity\.(show|rotate)|keys\.(create|edit|rotate|revoke)|members\.(invite|grant|disable|remove|recover)|tokens\.(create|revoke)|providers\.(save|try|remove)|me\.(linkIdentity|unlinkIdentity))$/.test(found.id)) return refuse(403, 'STEP_UP_REQUIRED', 'Prove once more who you are', { details: { methods: stub.stepUpMethods } });
    if (stub.needsMethod && !PUBLIC.test(path) && !/^me\.(methods|beginTotp|confirmTotp|passkeyOptions|addPasskey)$/.test(found.id)) return refuse(403, 'SET_UP_REQUIRED', 'First set up a way to sign in');
    let body = {};
    if (/json/.test(headers['content-type'] ?? '')) body = JSON.parse(raw || '{}');
    stub.violations.push(...badRequest(found, query, body, raw));
    const reply = run({ ...found.values, query, headers, body, raw });
    if (reply.status == 200) stub.violations.push(...badAnswer(found, 200, reply.body));
    return reply;
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://localhost');
    let path = url.pathname;
    if (path == '/provider') {
      const isIn = stub.lands == 'done' && stub.errands.at(-1).kind == 'signIn';
      if (isIn) stub.signedIn = true;
      if (stub.lands == 'done' && stub.errands.at(-1).kind == 'stepUp') stub.stepUp = false;
      const to = stub.lands != 'done' && stub.errands.at(-1).kind == 'signIn' ? '/sign-in' : url.searchParams.get('to');
      return response.writeHead(303, { Location: `${base}${to}#oidc=${stub.lands == 'done' ? (isIn ? 'done.page-secret' : 'done') : `${stub.lands}.0199c1f2-5d8e-7cc3-9a51-0123456789ab`}` }).end();
    }
    if (!path.startsWith(base)) return response.writeHead(404).end();
    path = path.slice(base.length) || '/';
    if (path.startsWith('/console/v1')) {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const raw = Buffer.concat(chunks).toString();
      const short = path.slice('/console/v1'.length);
      stub.log.push({ method: request.method, path: short, query: url.search, raw, headers: request.headers });
      if (stub.delayMs) await new Promise((resolve) => setTimeout(resolve, stub.delayMs));
      const { status, body, headers, stream: agents } = answer(request.method, short, url.searchParams, request.headers, raw);
      if (agents) return stream(request, response, agents);
      response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store', ...headers });
      return response.end(body === null ? undefined : JSON.stringify(body));
    }
    const asset = /^\/assets\/([\w.-]+)$/.exec(path);
    if (asset) {
      try {
        const bytes = readFileSync(new URL('assets/' + asset[1], dist));
        response.writeHead(200, { 'Content-Type': TYPES[asset[1].split('.').pop()] ?? 'application/octet-stream', 'Cache-Control': 'max-age=31536000, immutable', 'X-Content-Type-Options': 'nosniff' });
        return response.end(bytes);
      } catch {
        return response.writeHead(404).end();
      }
    }
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-cache', 'Content-Security-Policy': POLICY, 'Cross-Origin-Opener-Policy': 'same-origin', 'Referrer-Policy': 'no-referrer' });
    response.end(readFileSync(new URL('index.html', dist), 'utf8').replaceAll('{{base}}', base));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  stub.url = `http://localhost:${server.address().port}`;
  stub.page = (path = '/') => stub.url + base + path;
  stub.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return stub;
};
