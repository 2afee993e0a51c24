// A scripted double of the widget host: it speaks the wire protocol like the server, rejects what the protocol does
// not allow, and simulates states that a real server cannot: cuts at a byte, delays, errors, restarts.
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

const dist = new URL('../dist/', import.meta.url);
export const AGENT = '695b6f80de7378c4412112d3';

export const CONFIG = {
  agentId: AGENT, title: 'Mill Lane Practice', subtitle: 'Usually answers at once', avatar: null, color: '#3b5bdb', position: null,
  theme: 'auto', greeting: 'Hello! How can we help?', suggestions: ['Opening hours', 'Home visits'], teaser: null,
  disclosure: 'Answers come from an AI and may be wrong.', privacyUrl: 'https://www.example.com/privacy', footer: null, prechat: null,
  lead: null, feedback: true, uploads: false,
  limits: { messageChars: 4000, uploadBytes: 10485760, uploadTypes: [], imageHosts: [] }, locale: 'en', strings: {},
};
export const LEAD = {
  fields: [
    { name: 'primaryEmail', label: 'Email', type: 'email', required: true, options: null },
    { name: 'firstName', label: 'Name', type: 'string', required: false, options: null },
  ],
  consent: { version: '2026-01', text: 'You may contact me about my question.', required: true },
};

/** The members of each request: `!` is required. */
const SHAPES = {
  'turns': { 'v!': 'number', 'agentId!': 'string', 'id!': 'string', 'token!': 'string|null', 'text!': 'string', 'uploads!': 'array', 'lead!': 'object|null', 'user!': 'object|null', page: 'object|null', 'locale!': 'string', 'tz!': 'string', 'metadata!': 'object', 'persist!': 'string', 'challenge!': 'object|null', 'hp!': 'string' },
  'turns/resume': { 'token!': 'string', 'turn!': 'string', 'after!': 'number' },
  'turns/cancel': { 'token!': 'string', 'turn!': 'string' },
  'sync': { 'token!': 'string', 'after!': 'number', read: 'number', open: 'boolean' },
  'history': { 'token!': 'string', before: 'number', limit: 'number' },
  'lead': { 'agentId!': 'string', token: 'string|null', persist: 'string', 'fields!': 'object', consent: 'object|null', page: 'object|null', 'elapsedMs!': 'number', challenge: 'object', 'hp!': 'string' },
  'feedback': { 'token!': 'string', 'message!': 'string', 'value!': 'number', comment: 'string|null' },
  'close': { 'token!': 'string' },
};
const SIMPLE = /^(accept|accept-encoding|accept-language|content-length|content-type|host|connection|origin|user-agent|sec-.*|cache-control|pragma|dnt|if-none-match|priority|upgrade-insecure-requests|transfer-encoding)$/;
const kind = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
// A delay does not prevent the process from exiting.
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref());
let ids = 0;
const newId = () => (++ids).toString(16).padStart(24, '0');

export const startHost = async () => {
  const files = Object.fromEntries(['embed.js', 'more.js', 'challenge.js'].map((name) => [name, readFileSync(new URL(name, dist))]));
  const hash = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const scripts = {
    '/embed.js': files['embed.js'],
    [`/embed.${hash(files['embed.js'])}.js`]: files['embed.js'],
    [`/more.${hash(files['more.js'])}.js`]: files['more.js'],
    [`/challenge.${hash(files['challenge.js'])}.js`]: files['challenge.js'],
  };
  const host = {
    hash: hash(files['embed.js']),
    /** All requests: method, path, headers, body. */
    log: [],
    /** Requests that violate the protocol. */
    violations: [],
    visitors: new Map(),
    turns: new Map(),
    pages: new Map(),
  };
  const sockets = new Set();
  /** The host's behaviour; tests change it. */
  const defaults = () => ({
    config: { ...CONFIG },
    configs: {},
    reply: (turn) => `You said: ${turn.text}`,
    /** Further events before the message, and after it. */
    before: () => [],
    after: () => [],
    outcome: 'answered',
    mode: 'ai',
    sources: [],
    deltaChars: 14,
    deltaMs: 0,
    delayMs: 0,
    /** Bytes of a stream after which the connection is destroyed; undefined for no cut. */
    cut: () => undefined,
    /** Responds to a call with an error: `(path, body, count) => ({ status, code, … })`, or a promise of it. */
    refuse: () => undefined,
    cutAfterMs: 150,
    /** The number of events that a resumed stream repeats; the client skips them. */
    overlap: 0,
    silent: false,
  });
  host.reset = () => {
    host.script = defaults();
    host.log.length = host.violations.length = 0;
    host.visitors.clear();
    host.turns.clear();
  };
  host.reset();

  const send = (response, status, body, headers = {}) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    response.writeHead(status, {
      ...(body !== undefined && { 'Content-Type': 'application/json; charset=utf-8' }),
      'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'Retry-After, X-Request-Id', 'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff', 'X-Request-Id': randomUUID(), ...headers,
    });
    response.end(text);
  };
  const fail = (response, status, code, extra = {}) =>
    send(response, status, { success: false, message: extra.message || code, code, requestId: randomUUID(), ...extra },
      extra.details?.retryAfterSeconds ? { 'Retry-After': '' + extra.details.retryAfterSeconds } : {});
  const ok = (response, data, status = 200) => send(response, status, { success: true, message: 'OK', data });

  const visitor = (token) => host.visitors.get(token?.split('.')[1]);
  const session = (one) => ({ conversation: one.conversation, token: `vt1.${one.id}.x`, exp: '2099-01-01T00:00:00.000Z', mode: host.script.mode });
  const begin = () => {
    const one = { id: randomUUID().replace(/-/g, ''), conversation: newId(), messages: [], status: 'open', leads: [], uploads: [], closed: 0 };
    host.visitors.set(one.id, one);
    return one;
  };
  const store = (one, role, text, more = {}) => {
    const message = { id: newId(), seq: one.messages.length + 1, role, text, state: 'complete', sources: [], uploads: [], feedback: 0, at: new Date().toISOString(), ...more };
    one.messages.push(message);
    return message;
  };
  host.store = store;
  host.visitor = () => [...host.visitors.values()].at(-1);

  /** Runs a turn to its end, with or without listeners. */
  const run = async (turn, one) => {
    const { script } = host;
    const emit = (event, data) => {
      turn.events.push({ event, data, n: turn.events.length + 1 });
      turn.listeners.forEach((listener) => listener());
    };
    emit('session', { ...session(one), ...(script.identity && { identity: script.identity }) });
    if (script.delayMs) await sleep(script.delayMs);
    turn.ack = turn.ack || store(one, 'visitor', turn.text, { uploads: one.uploads.filter((upload) => turn.uploads.includes(upload.id)) });
    emit('ack', { id: turn.ack.id, seq: turn.ack.seq, at: turn.ack.at });
    for (const [event, data] of script.before(turn)) emit(event, data);
    const failure = script.failure?.(turn);
    const text = script.reply(turn);
    let sent = '';
    const characters = [...(text || '')];
    for (let at = 0; at < characters.length && !turn.cancelled; at += script.deltaChars) {
      const part = characters.slice(at, at + script.deltaChars).join('');
      if (script.deltaMs) await sleep(script.deltaMs);
      // Several pieces at a time, as from a fast model.
      else if (script.pace && (at / script.deltaChars) % script.pace == 0) await sleep(8);
      if (failure && sent.length >= failure.at) break;
      if (turn.cancelled) break;
      emit('delta', { text: part });
      sent += part;
    }
    if (failure) {
      turn.failed = failure.retryable;
      emit('error', { code: failure.code || 'RESPONDER_UNAVAILABLE', message: 'The answer could not be completed', retryable: failure.retryable, retryAfterSeconds: null });
    } else {
      if (text !== null) emit('message', store(one, 'agent', sent, { state: turn.cancelled ? 'stopped' : 'complete', sources: script.sources }));
      for (const [event, data] of script.after(turn)) emit(event, data);
      emit('done', { outcome: turn.cancelled ? 'stopped' : script.outcome });
    }
    turn.ended = true;
    turn.listeners.forEach((listener) => listener());
  };
  let streams = 0;
  const stream = (response, turn, after) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no', 'Access-Control-Allow-Origin': '*' });
    response.write(': welcome\n\n');
    const limit = host.script.cut(streams++, turn);
    let written = 0;
    let next = after;
    const pump = () => {
      if (host.script.silent) return;
      while (next < turn.events.length) {
        const { event, data, n } = turn.events[next++];
        let bytes = Buffer.from(`event: ${event}\nid: ${turn.id}.${n}\ndata: ${JSON.stringify(data)}\n\n`);
        const cut = limit !== undefined && written + bytes.length > limit;
        if (cut) bytes = bytes.subarray(0, Math.max(0, limit - written));
        written += bytes.length;
        response.write(bytes);
        if (cut) {
          turn.listeners.delete(pump);
          // The client reads the data before the connection breaks: a browser drops data that it has not passed on.
          setTimeout(() => response.destroy(), host.script.cutAfterMs);
          return;
        }
      }
      if (turn.ended) {
        turn.listeners.delete(pump);
        response.end();
      }
    };
    turn.listeners.add(pump);
    response.on('close', () => turn.listeners.delete(pump));
    pump();
  };
  const whole = async (response, turn) => {
    while (!turn.ended) await sleep(5);
    const find = (name) => turn.events.find((one) => one.event == name)?.data ?? null;
    ok(response, { session: find('session'), ack: find('ack'), message: find('message'), suggestions: find('suggestions')?.items ?? [], form: find('form'), handoff: find('handoff'), outcome: find('done')?.outcome });
  };

  const calls = {
    'turns': (request, response, body) => {
      let one = body.token ? visitor(body.token) : begin();
      if (!one) return fail(response, 401, 'TOKEN_INVALID');
      if (one.status == 'closed') Object.assign(one, { conversation: newId(), messages: [], status: 'open' });
      let turn = host.turns.get(body.id);
      if (turn && turn.text != body.text) return fail(response, 422, 'IDEMPOTENCY_KEY_REUSED');
      if (!turn || turn.failed) {
        if (!turn) {
          const running = [...host.turns.values()].find((other) => other.visitor == one && !other.ended);
          if (running) return fail(response, 409, 'TURN_IN_PROGRESS', { details: { turn: running.id } });
        }
        turn = { ...body, id: body.id, visitor: one, events: [], listeners: new Set(), requests: (turn?.requests || 0) + 1, ack: turn?.ack };
        if (body.lead) one.leads.push(body.lead);
        host.turns.set(body.id, turn);
        void run(turn, one);
      }
      if ((request.headers.accept || '').includes('application/json')) return whole(response, turn);
      return stream(response, turn, 0);
    },
    'turns/resume': (request, response, body) => {
      const turn = host.turns.get(body.turn);
      if (!visitor(body.token)) return fail(response, 401, 'TOKEN_INVALID');
      if (!turn || turn.visitor != visitor(body.token)) return fail(response, 404, 'TURN_NOT_FOUND');
      return stream(response, turn, Math.max(0, body.after - host.script.overlap));
    },
    'turns/cancel': (request, response, body) => {
      const turn = host.turns.get(body.turn);
      if (!turn) return fail(response, 404, 'TURN_NOT_FOUND');
      turn.cancelled = true;
      send(response, 204);
    },
    'sync': (request, response, body) => {
      const one = visitor(body.token);
      if (!one) return fail(response, 401, 'TOKEN_INVALID');
      const rest = one.messages.filter((message) => message.seq > body.after);
      const running = [...host.turns.values()].find((turn) => turn.visitor == one && !turn.ended);
      ok(response, {
        messages: rest.slice(0, 50), more: rest.length > 50, unread: one.messages.filter((message) => message.role != 'visitor' && message.seq > (body.read || 0)).length,
        mode: host.script.mode, status: one.status, running: running?.id ?? null, nextPollMs: host.script.nextPollMs ?? null,
        // Like the server: only if the last of the returned messages offers it.
        form: (rest.length && host.script.syncForm) || null, people: host.script.people ?? [], session: session(one),
      });
    },
    'history': (request, response, body) => {
      const one = visitor(body.token);
      if (!one) return fail(response, 401, 'TOKEN_INVALID');
      const all = one.messages.filter((message) => message.seq < (body.before ?? Infinity));
      ok(response, { messages: all.slice(-(body.limit || 50)), more: all.length > (body.limit || 50) });
    },
    'lead': (request, response, body) => {
      const one = body.token ? visitor(body.token) : begin();
      if (!one) return fail(response, 401, 'TOKEN_INVALID');
      one.leads.push(body);
      ok(response, { session: session(one) });
    },
    'feedback': (request, response, body) => {
      const message = visitor(body.token)?.messages.find((one) => one.id == body.message);
      if (!message) return fail(response, 404, 'MESSAGE_NOT_FOUND');
      message.feedback = body.value;
      send(response, 204);
    },
    'close': (request, response, body) => {
      const one = visitor(body.token);
      if (!one) return fail(response, 401, 'TOKEN_INVALID');
      one.status = 'closed';
      one.closed++;
      send(response, 204);
    },
  };

  const upload = (response, raw, headers) => {
    const boundary = /boundary=(.*)$/.exec(headers['content-type'])?.[1];
    const parts = raw.toString('latin1').split(`--${boundary}`).slice(1, -1);
    const names = parts.map((part) => /name="([^"]*)"/.exec(part)?.[1]);
    if (!/^(token|agentId,persist),(challenge,)?file$/.test(names.join())) {
      host.violations.push(`uploads: parts ${names}`);
      return fail(response, 400, 'BAD_REQUEST');
    }
    const owner = parts[0].split('\r\n\r\n')[1].trim();
    const one = names[0] == 'token' ? visitor(owner) : begin();
    if (!one) return fail(response, 401, 'TOKEN_INVALID');
    const file = { id: newId(), name: /filename="([^"]*)"/.exec(parts.at(-1))[1], size: parts.at(-1).split('\r\n\r\n')[1].length - 2, type: 'application/pdf' };
    one.uploads.push(file);
    ok(response, { ...file, session: session(one) }, 201);
  };

  const check = (path, body, request) => {
    const wrong = [];
    const type = request.headers['content-type'] || '';
    if (path != 'uploads' && type.toLowerCase() != 'text/plain;charset=utf-8') wrong.push(`content type ${type}`);
    if (!request.headers.origin) wrong.push('no Origin');
    for (const name of Object.keys(request.headers)) if (!SIMPLE.test(name)) wrong.push(`header ${name}`);
    const shape = SHAPES[path];
    if (shape) {
      const named = Object.fromEntries(Object.entries(shape).map(([key, types]) => [key.replace('!', ''), types]));
      for (const key of Object.keys(body)) if (!named[key]) wrong.push(`member ${key}`);
      for (const [key, types] of Object.entries(shape)) {
        const value = body[key.replace('!', '')];
        if (value === undefined ? key.endsWith('!') : !types.split('|').includes(kind(value))) wrong.push(`${key} is ${kind(value)}`);
      }
      if (path == 'turns') {
        if (!/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(body.id)) wrong.push(`id ${body.id}`);
        if (body.text != body.text?.normalize().trim() || (!body.text && !body.lead && !body.uploads.length)) wrong.push('text');
        if (body.page && Object.keys(body.page).sort().join() != 'referrer,title,url,utm') wrong.push('page');
      }
    }
    return wrong;
  };

  const handle = async (request, response) => {
    const url = new URL(request.url, 'http://host');
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const raw = Buffer.concat(chunks);
    const entry = { method: request.method, path: url.pathname, query: url.search, headers: request.headers, raw, at: Date.now() };
    host.log.push(entry);
    if (request.headers.cookie) host.violations.push('a cookie was sent');
    if (request.method == 'GET' && scripts[url.pathname]) {
      const bytes = scripts[url.pathname];
      const etag = `"${hash(bytes)}"`;
      const packed = (request.headers['accept-encoding'] || '').includes('gzip');
      const out = packed ? gzipSync(bytes, { level: 9 }) : bytes;
      entry.bytes = out.length;
      response.writeHead(200, {
        'Content-Type': 'text/javascript; charset=utf-8', ETag: etag, 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin', 'X-Content-Type-Options': 'nosniff',
        'Cache-Control': url.pathname == '/embed.js' ? 'max-age=300, stale-while-revalidate=86400' : 'max-age=31536000, immutable', ...(packed && { 'Content-Encoding': 'gzip' }), 'Content-Length': out.length,
      });
      return response.end(out);
    }
    if (!url.pathname.startsWith('/widget/v1/')) return fail(response, 404, 'ROUTE_NOT_FOUND');
    const path = url.pathname.slice('/widget/v1/'.length);
    if (request.method == 'OPTIONS') {
      host.violations.push(`a preflight for ${path}`);
      return send(response, 204);
    }
    let body = {};
    if (request.method == 'POST' && path != 'uploads') {
      try {
        body = entry.body = JSON.parse(raw.toString());
      } catch {
        host.violations.push(`${path}: no JSON`);
        return fail(response, 400, 'INVALID_JSON');
      }
    }
    const count = host.log.filter((one) => one.path == url.pathname).length;
    const refusal = await host.script.refuse(path, body, count);
    if (refusal == 'destroy') return request.socket.destroy();
    if (refusal) return fail(response, refusal.status, refusal.code, refusal);
    if (request.method == 'GET' && path == 'config') {
      const locale = url.searchParams.get('locale') || 'en';
      if (url.searchParams.get('agentId') != AGENT) return fail(response, 404, 'AGENT_NOT_AVAILABLE');
      if (host.script.configDelayMs) await sleep(host.script.configDelayMs);
      const found = [locale, locale.split('-')[0]].map((tag) => host.script.configs[tag]).find(Boolean) || {};
      const text = JSON.stringify({ success: true, message: 'Widget configuration', data: { ...host.script.config, ...found } });
      const out = gzipSync(text);
      entry.bytes = out.length;
      response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'max-age=60, stale-while-revalidate=600', 'Content-Encoding': 'gzip', 'X-Content-Type-Options': 'nosniff' });
      return response.end(out);
    }
    if (request.method != 'POST') return fail(response, 405, 'METHOD_NOT_ALLOWED');
    const wrong = check(path, body, request);
    if (wrong.length) {
      host.violations.push(`${path}: ${wrong.join(', ')}`);
      return fail(response, 400, 'VALIDATION_ERROR', { validationErrors: [] });
    }
    if (path == 'uploads') return upload(response, raw, request.headers);
    if (!calls[path]) return fail(response, 404, 'ROUTE_NOT_FOUND');
    return calls[path](request, response, body);
  };
  const listen = (handler, port = 0) =>
    new Promise((resolve) => {
      const server = createServer((request, response) => void Promise.resolve(handler(request, response)).catch((error) => {
        if (!/aborted|ECONNRESET/.test(String(error))) host.violations.push(`the host failed: ${error.stack}`);
      }));
      server.on('connection', (socket) => {
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket));
      });
      server.listen(port, '127.0.0.1', () => resolve(server));
    });

  let widget = await listen(handle);
  const { port } = widget.address();
  // Pages have a separate origin.
  const site = await listen((request, response) => {
    const found = host.pages.get(new URL(request.url, 'http://site').pathname);
    response.writeHead(found ? 200 : 404, { 'Content-Type': found?.type || 'text/html; charset=utf-8', ...found?.headers });
    response.end(found?.html || 'not found');
  });
  host.url = `http://127.0.0.1:${port}`;
  host.site = `http://127.0.0.1:${site.address().port}`;
  /** Adds a page to the site; returns its URL. */
  host.page = (name, html, headers = {}) => {
    host.pages.set('/' + name, { html, headers });
    return `${host.site}/${name}`;
  };
  /** Breaks all connections; the address and the stored data remain. */
  host.restart = async (downMs = 200) => {
    const closed = new Promise((resolve) => widget.close(resolve));
    for (const socket of sockets) if (socket.localPort == port) socket.destroy();
    await closed;
    await sleep(downMs);
    widget = await listen(handle, port);
  };
  host.calls = (path) => host.log.filter((one) => one.path == '/widget/v1/' + path);
  host.close = () => {
    for (const socket of sockets) socket.destroy();
    widget.close();
    site.close();
  };
  return host;
};
