// A stub of the server: the files of dist under the policy of the console, and /console/v1 on data in memory. It refuses what
// the real one refuses: changes without `Origin`, `X-Console` or `Idempotency-Key`, versioned changes without `If-Match`.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { checkCharacters } from './check.mjs';
import { capabilities, data, key as newKey, ME, newId } from './data.mjs';

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
    delayMs: 0,
    stepUp: false,
    /** Answers instead of an operation: `(method, path) => { status, code, message, details } | null`. */
    fail: () => null,
    granted: undefined,
    streams: new Set(),
    reset(empty = false) {
      stub.data = data(empty);
      stub.versions = new Map();
      Object.assign(stub, { signedIn: true, isSetUp: true, delayMs: 0, stepUp: false, fail: () => null, granted: undefined, violations: [], log: [] });
    },
    /** Sends an event to the open streams. */
    emit(type) {
      for (const response of stub.streams) response.write(`id: ${Date.now()}\nevent: event\ndata: ${JSON.stringify({ agent: 'acme', seq: 1, type })}\n\n`);
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
  const counts = () => {
    const all = stub.data.conversations;
    return { waiting: all.filter((one) => one.mode == 'waiting').length, mine: all.filter((one) => one.assignee?.id == ME.id && one.status == 'open').length, open: all.filter((one) => one.status == 'open').length, closed: all.filter((one) => one.status == 'closed').length, all: all.length };
  };
  const inView = (view) => (one) => view == 'all' || (view == 'waiting' ? one.mode == 'waiting' : view == 'mine' ? one.assignee?.id == ME.id && one.status == 'open' : one.status == view);
  const makeKey = (text) => text + checkCharacters(text);
  const session = () => {
    const { id, name } = ME;
    return { operator: stub.signedIn ? ME : null, id, name, installation: capabilities(stub.granted), agents: {}, serviceName: 'Acme', build: '1.4.0', needsSetUp: !stub.isSetUp, isOwn: true, signIn: { passkey: true, password: true, providers: [] } };
  };
  /** The operations: a pattern, and what it answers. */
  const operations = [
    ['GET /session', () => ok(session())],
    ['DELETE /session', () => { stub.signedIn = false; return { status: 204, body: null, headers: {} }; }],
    ['POST /session/step-up', () => { stub.stepUp = false; return ok({ stepUpUntil: new Date(Date.now() + 600000).toISOString() }); }],
    ['POST /sign-in/password', ({ body }) => (body.email == ME.email && body.password == 'correct horse battery' ? ok({ pending: 'p1' }) : refuse(401, 'UNAUTHENTICATED', 'This does not match an account'))],
    ['POST /sign-in/code', ({ body }) => { if (body.code != '123456') return refuse(401, 'UNAUTHENTICATED', 'Wrong code'); stub.signedIn = true; return ok({ operator: ME, pageSecret: 'page-secret' }); }],
    ['POST /sign-in/passkey/options', () => ok({ challenge: 'AAAAAAAAAAAAAAAAAAAAAA', rpId: 'localhost', allowCredentials: [], userVerification: 'required' })],
    ['POST /sign-in/passkey', () => { stub.signedIn = true; return ok({ operator: ME }); }],
    ['POST /links/inspect', ({ body }) => (body.token == SETUP_TOKEN ? ok({ kind: 'setup', email: null, inviter: null, agents: [], end: new Date(Date.now() + 3600000).toISOString(), passkey: { challenge: 'AAAAAAAAAAAAAAAAAAAAAA', rp: { id: 'localhost', name: 'Acme' }, user: { id: 'AAAAAAAAAAAAAAAAAAAAAA', name: '', displayName: '' }, pubKeyCredParams: [{ type: 'public-key', alg: -8 }, { type: 'public-key', alg: -7 }], authenticatorSelection: { residentKey: 'required', userVerification: 'required' }, attestation: 'none' }, totp: { secret: 'JBSWY3DPEHPK3PXP', url: 'otpauth://totp/Acme', qr: 'M0 0h7v7h-7zM10 0h3v3h-3zM14 0h7v7h-7zM0 14h7v7h-7zM9 9h4v4h-4zM15 15h5v5h-5z', sealed: 'sealed' } }) : refuse(404, 'LINK_INVALID', 'This link is unknown, used, revoked or expired'))],
    ['POST /links/accept', ({ body }) => { if (!body.name) return invalid('name', 'name is required'); stub.signedIn = true; stub.isSetUp = true; return ok({ operator: ME, recoveryCodes: Array.from({ length: 10 }, (_, n) => `K7Q2-${1000 + n * 77}X`) }); }],
    ['PATCH /me', ({ body }) => ok({ ...ME, ...body })],
    ['GET /me/passkeys', () => page(stub.data.passkeys, new URLSearchParams())],
    ['PATCH /me/passkeys/:id', ({ id, body }) => { const one = stub.data.passkeys.find((row) => row.id == id); one.name = body.name; return ok(one); }],
    ['DELETE /me/passkeys/:id', ({ id }) => { stub.data.passkeys = stub.data.passkeys.filter((row) => row.id != id); return { status: 204, body: null, headers: {} }; }],
    ['GET /me/sessions', () => page(stub.data.sessions, new URLSearchParams())],
    ['DELETE /me/sessions', () => { stub.data.sessions.length = 1; return { status: 204, body: null, headers: {} }; }],
    ['POST /me/recovery-codes', () => ok({ recoveryCodes: Array.from({ length: 10 }, (_, n) => `N3W8-${2000 + n * 91}Y`) })],
    ['PUT /me/password', ({ body }) => (body.password.length < 12 ? invalid('password', 'password must have at least 12 characters', 'minLength') : ok({}))],
    ['GET /agents', () => ok(stub.data.agents)],
    ['POST /agents', ({ body }) => { if (!body.name) return invalid('name', 'name is required'); const one = { id: body.id ?? newId(), name: body.name, status: 'active', createdAt: new Date().toISOString() }; stub.data.agents.push(one); return ok(one); }],
    ['GET /search', ({ query }) => { const q = query.get('q').toLowerCase(); return ok([...stub.data.contacts.filter((one) => `${one.firstName} ${one.lastName} ${one.primaryEmail}`.toLowerCase().includes(q)).slice(0, 5).map((one) => ({ kind: 'contact', id: one.id, title: `${one.firstName} ${one.lastName}`, detail: one.primaryEmail })), ...stub.data.keys.filter((one) => one.name.toLowerCase().includes(q)).map((one) => ({ kind: 'key', id: one.id, title: one.name, detail: one.apiKey }))]); }],
    ['GET /agents/:agent/overview', () => ok(stub.data.overview)],
    ['GET /agents/:agent/contact-schema', () => ok(stub.data.schema)],
    ['GET /agents/:agent/keys', () => ok(stub.data.keys)],
    ['POST /agents/:agent/keys', ({ body }) => { if (!body.name) return invalid('name', 'name is required'); if (!body.permissions?.length) return invalid('permissions', 'permissions must have at least 1 element', 'minItems'); const one = newKey(body.name, { apiKey: makeKey('svck_' + 'N3wK3yOfTheT3stN3wK3yOfT'), description: body.description ?? null, permissions: body.permissions, limits: { perMinute: body.perMinute, perHour: body.perHour }, allowedAddresses: body.allowedAddresses, lastUsedAt: null, lastUsedAddress: null, usage: { minute: 0, hour: 0 } }); stub.data.keys.push(one); return ok({ key: one, secret: makeKey('svcs_' + 'S3cr3tOfTheT3stS3cr3tOfTheT3stS3cr3tOfTheT3') }); }],
    ['POST /agents/:agent/keys/try', () => ok([{ method: 'GET', path: '/v1/open/contacts/chatbots/acme?limit=1', status: 200, durationMs: 3, body: { success: true, message: 'Contacts retrieved successfully', data: [] } }])],
    ['GET /agents/:agent/keys/:id', ({ id }) => { const one = stub.data.keys.find((row) => row.id == id); return one ? tagged(one) : missing('key'); }],
    ['PATCH /agents/:agent/keys/:id', ({ id, body }) => { const one = stub.data.keys.find((row) => row.id == id); Object.assign(one, body); return tagged(one); }],
    ['POST /agents/:agent/keys/:id/rotate', ({ id }) => { const one = stub.data.keys.find((row) => row.id == id); return ok({ key: one, secret: makeKey('svcs_' + 'R0tat3dOfTheT3stS3cr3tOfTheT3stS3cr3tOfTheT3') }); }],
    ['POST /agents/:agent/keys/:id/revoke', ({ id, query }) => { const one = stub.data.keys.find((row) => row.id == id); if (query.get('confirm') != one.name) return invalid('confirm', 'must be ' + one.name, 'conflict'); one.status = 'revoked'; return ok(one); }],
    ['POST /agents/:agent/keys/:id/:action', ({ id, action }) => { const one = stub.data.keys.find((row) => row.id == id); if (action == 'end-old-secret') one.secrets.length = 1; else one.status = action == 'disable' ? 'disabled' : 'active'; return ok(one); }],
    ['GET /agents/:agent/contacts', ({ query }) => {
      const q = (query.get('search') ?? '').toLowerCase();
      const sort = query.get('sort') ?? '-updatedAt';
      const field = sort.replace('-', '');
      const rows = stub.data.contacts.filter((one) => one.isArchived == (query.get('archived') == 'only') && (!query.get('status') || one.status == query.get('status')) && (!q || `${one.firstName} ${one.lastName} ${one.primaryEmail}`.toLowerCase().includes(q)));
      rows.sort((a, b) => String(a[field]).localeCompare(String(b[field])) * (sort.startsWith('-') ? -1 : 1));
      return page(rows, query);
    }],
    ['POST /agents/:agent/contacts', ({ body }) => { if (!body.primaryEmail) return invalid('primaryEmail', 'primaryEmail is required'); const one = { id: newId(), tags: [], status: 'active', source: 'console', isArchived: false, createdAt: new Date().toISOString(), updatedAt: new Date().toISOString(), customFields: {}, externalReferenceId: null, firstName: null, lastName: null, ...body }; stub.data.contacts.push(one); return tagged(one); }],
    ['GET /agents/:agent/contacts/:id', ({ id }) => { const one = stub.data.contacts.find((row) => row.id == id); return one ? tagged(one) : missing('contact'); }],
    ['PATCH /agents/:agent/contacts/:id', ({ id, body, headers }) => {
      const one = stub.data.contacts.find((row) => row.id == id);
      if (!headers['if-match']) return refuse(428, 'PRECONDITION_REQUIRED', 'Send If-Match');
      if (headers['if-match'] != `"${stub.version(id)}"`) return refuse(412, 'PRECONDITION_FAILED', 'The contact was changed', { details: { current: one, changedBy: 'Kofi Mensah', changedAt: new Date().toISOString() } });
      if ('primaryEmail' in body && !/@/.test(body.primaryEmail ?? '')) return invalid('primaryEmail', 'primaryEmail must be an e-mail address', 'format');
      const { customFields, ...rest } = body;
      Object.assign(one, rest, { customFields: { ...one.customFields, ...customFields }, updatedAt: new Date().toISOString() });
      stub.touch(id);
      return tagged(one);
    }],
    ['POST /agents/:agent/contacts/:id/:action', ({ id, action }) => { const one = stub.data.contacts.find((row) => row.id == id); one.isArchived = action == 'archive'; stub.touch(id); return tagged(one); }],
    ['DELETE /agents/:agent/contacts/:id', ({ id }) => { stub.data.contacts = stub.data.contacts.filter((row) => row.id != id); return { status: 204, body: null, headers: {} }; }],
    ['GET /agents/:agent/conversations/counts', () => ok(counts())],
    ['GET /agents/:agent/conversations', ({ query }) => page(stub.data.conversations.filter(inView(query.get('view') ?? 'all')).filter((one) => !query.get('search') || (one.visitor.name ?? '').toLowerCase().includes(query.get('search').toLowerCase())), query)],
    ['GET /agents/:agent/conversations/:id', ({ id }) => { const one = stub.data.conversations.find((row) => row.id == id); return one ? tagged(one) : missing('conversation'); }],
    ['GET /agents/:agent/conversations/:id/thread', ({ id }) => ok(stub.data.threads[id] ?? [])],
    ['POST /agents/:agent/conversations/:id/:action', ({ id, action, body }) => {
      const one = stub.data.conversations.find((row) => row.id == id);
      const thread = stub.data.threads[id];
      const add = (kind, role, text) => thread.push({ id: newId(), kind, role, author: ME.displayName, text, at: new Date().toISOString() });
      const before = one.mode;
      if (action == 'read') one.unread = 0;
      else if (action == 'notes') add('note', null, body.text);
      else if (action == 'close') { one.status = 'closed'; one.mode = 'ai'; }
      else if (action == 'release') { one.mode = 'ai'; one.assignee = null; }
      else { one.mode = 'human'; one.assignee = { id: ME.id, name: ME.name }; one.waitingSince = null; if (action == 'replies') { add('message', 'human', body.text); one.last = { text: body.text, at: new Date().toISOString(), role: 'human' }; } }
      return ok(one, { envelope: action == 'take' && before != 'human' ? { undo: { operation: 'inbox.release', input: { id } } } : {} });
    }],
    ['GET /agents/:agent/knowledge', () => ok(stub.data.knowledge)],
    ['POST /agents/:agent/knowledge', ({ body, raw }) => { const name = body.title ?? /filename="([^"]+)"/.exec(raw)?.[1] ?? 'text'; const one = { id: newId(), title: name, url: body.url ?? null, language: null, state: 'reading', error: null, passages: 0, bytes: raw.length, quoted: 0, updatedAt: new Date().toISOString() }; stub.data.knowledge.push(one); return ok(one); }],
    ['GET /agents/:agent/knowledge/:id', ({ id }) => { const one = stub.data.knowledge.find((row) => row.id == id); return one ? ok(one) : missing('document'); }],
    ['DELETE /agents/:agent/knowledge/:id', ({ id }) => { stub.data.knowledge = stub.data.knowledge.filter((row) => row.id != id); return { status: 204, body: null, headers: {} }; }],
    ['GET /agents/:agent/audit', ({ query }) => { const from = query.get('beforeId') ? stub.data.audit.findIndex((one) => one.id == query.get('beforeId')) + 1 : 0; const entries = stub.data.audit.slice(from, from + 12); const last = entries.at(-1); return ok({ entries, next: from + 12 < stub.data.audit.length ? { beforeAt: last.at, beforeId: last.id } : null }); }],
  ].map(([name, run]) => {
    const [method, path] = name.split(' ');
    const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1]);
    return { method, pattern: new RegExp('^' + path.replace(/:\w+/g, '([^/]+)') + '$'), names, run };
  });
  const PUBLIC = /^\/(session$|sign-in\/|links\/)/;
  const answer = (method, path, query, headers, raw) => {
    if (method != 'GET' && headers.origin != stub.url) stub.violations.push(`${method} ${path}: Origin ${headers.origin}`);
    if (!headers['x-console']) stub.violations.push(`${method} ${path}: no X-Console`);
    if (method == 'POST' && !/^[0-9a-f]{32}$/.test(headers['idempotency-key'] ?? '')) stub.violations.push(`${method} ${path}: no Idempotency-Key`);
    const failure = stub.fail(method, path);
    if (failure) return refuse(failure.status, failure.code, failure.message ?? failure.code, { details: failure.details, validationErrors: failure.validationErrors });
    if (!stub.signedIn && !PUBLIC.test(path)) return refuse(401, 'SESSION_ENDED', 'Your session has ended. Sign in again');
    const found = operations.find((one) => one.method == method && one.pattern.test(path));
    if (!found) {
      stub.violations.push(`no operation ${method} ${path}`);
      return refuse(404, 'ROUTE_NOT_FOUND', 'No such path');
    }
    if (stub.stepUp && method != 'GET' && /keys/.test(path) && !/try|disable|enable$/.test(path)) return refuse(403, 'STEP_UP_REQUIRED', 'Prove once more who you are', { details: { methods: ['password'] } });
    const values = found.pattern.exec(path).slice(1).map(decodeURIComponent);
    let body = {};
    try {
      body = JSON.parse(raw || '{}');
    } catch {
      // A form.
    }
    return found.run({ ...Object.fromEntries(found.names.map((name, n) => [name, values[n]])), query, headers, body, raw });
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://localhost');
    let path = url.pathname;
    if (!path.startsWith(base)) return response.writeHead(404).end();
    path = path.slice(base.length) || '/';
    if (path == '/console/v1/stream') {
      if (!stub.signedIn) return response.writeHead(401).end('{}');
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
      response.write('id: 1\nevent: ready\ndata: {}\n\n');
      stub.streams.add(response);
      request.on('close', () => stub.streams.delete(response));
      return;
    }
    if (path.startsWith('/console/v1')) {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const raw = Buffer.concat(chunks).toString();
      const short = path.slice('/console/v1'.length);
      stub.log.push({ method: request.method, path: short, query: url.search, raw, headers: request.headers });
      if (stub.delayMs) await new Promise((resolve) => setTimeout(resolve, stub.delayMs));
      const { status, body, headers } = answer(request.method, short, url.searchParams, request.headers, raw);
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
