// The visitor's session: rejected tokens, other tabs, consent, and messages missed in the meantime.
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { LEAD } from '../host.mjs';
import { AGENT, replied, say, start, test, until } from './setup.mjs';

let s;
before(async () => { s = await start(); });
after(() => s.stop());
beforeEach(() => s.host.reset());

const KEY = `service-widget:${AGENT}`;
const texts = (visit) => visit.at('.m:not(.v):has(time) .b').allInnerTexts();
const last = (list) => list.at(-1);
const entry = (visit) => visit.page.evaluate((key) => JSON.parse(localStorage[key] ?? 'null'), KEY);
/** A tab in another process sees a stored entry a little later. */
const seen = (visit, id) => until(async () => (await entry(visit))?.conversation == id, 'the entry');
const conversation = (visit) => visit.page.evaluate(() => ServiceWidget.instance.state.conversation);
/** Delays the calls of a path until the returned function is called. */
const hold = async (visit, path) => {
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  await visit.page.route(`**/widget/v1/${path}`, async (route) => { await held; await route.continue(); });
  return go;
};
const wake = (visit) => visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
const quickly = () => { Math.random = () => 0.01; };
const PDF = { name: 'letter.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4') };

test('a rejected token is dropped, and the message is sent again in a new session', async () => {
  const { host } = s;
  const visit = await s.visit();
  await say(visit, 'one');
  await replied(visit);
  host.visitors.clear();
  await say(visit, 'two');
  await until(async () => host.visitor()?.messages.length == 2, 'a new session');
  await replied(visit);
  assert.deepEqual(host.calls('turns').slice(-2).map((call) => !!call.body.token), [true, false]);
  assert.deepEqual(await texts(visit), ['You said: two']);
  await visit.done();
});

test('a wrong hash and another verified user', async () => {
  const { host } = s;
  host.script.identity = 'rejected';
  const visit = await s.visit();
  await visit.page.evaluate(() => ServiceWidget.identify({ email: 'zoe.okafor@example.com', hash: '1.ab' }));
  await say(visit, 'x');
  await replied(visit);
  assert.deepEqual(last(host.calls('turns')).body.user, { email: 'zoe.okafor@example.com', hash: '1.ab' });
  assert.ok(visit.messages.some((line) => /option "user": the hash is wrong or expired/.test(line)));
  host.visitor().status = 'closed';
  await say(visit, 'as someone else');
  await until(async () => (await texts(visit)).join() == 'You said: as someone else', 'nothing of the old one');
  assert.deepEqual(await visit.at('.m.v .b').allInnerTexts(), ['as someone else']);
  await visit.done();
});

test('a rejection of the token during or after a message affects neither the message nor the new session', async () => {
  const { host } = s;
  for (const late of [false, true]) {
    host.reset();
    const visit = await s.visit();
    await say(visit, 'one');
    await replied(visit);
    host.visitors.clear();
    host.script.deltaMs = 60;
    const go = await hold(visit, 'sync');
    await wake(visit);
    await say(visit, 'two');
    await until(() => host.visitor()?.messages.length, 'a new session');
    if (late) await until(() => host.visitor().messages.length == 2, 'the reply');
    go();
    await until(() => host.calls('sync').length, 'the refusal');
    await visit.at('.m:not(.v):has(time)').filter({ hasText: 'You said: two' }).waitFor();
    await visit.page.waitForTimeout(100);
    assert.deepEqual(await visit.at('.m.v .b').allInnerTexts(), ['two']);
    assert.deepEqual(await texts(visit), ['You said: two']);
    assert.equal(await conversation(visit), host.visitor().conversation);
    assert.equal((await entry(visit)).conversation, host.visitor().conversation);
    await visit.done();
  }
});

test('a file and a form with a rejected token are sent again, in a new session with an empty log', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, uploads: true };
  const visit = await s.visit();
  await say(visit, 'one');
  await replied(visit);
  host.visitors.clear();
  await visit.at('input[type=file]').setInputFiles(PDF);
  await visit.at('.composer .files li:not(.wait)').waitFor();
  assert.equal(await visit.at('.composer .err').innerText(), '');
  assert.equal(await visit.at('.m.v').count(), 0, 'what was said before is another conversation');
  host.script.after = () => [['form', LEAD]];
  await say(visit, 'two');
  await replied(visit);
  assert.equal(host.visitor().messages[0].uploads[0].name, 'letter.pdf');
  host.visitors.clear();
  await visit.at('.form input[autocomplete=email]').fill('zoe.okafor@example.com');
  await visit.at('.form [type=checkbox]').check();
  await visit.at('.form .go').click();
  await visit.at('.note').filter({ hasText: 'Thank you!' }).waitFor();
  assert.equal(host.visitor().leads.length, 1);
  host.script.after = () => [];
  await say(visit, 'three');
  await replied(visit);
  assert.deepEqual(await texts(visit), ['You said: three']);
  await visit.done();
});

test('a file that is rejected while its button has the focus passes the focus to the composer', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, uploads: true };
  host.script.refuse = (path) => path == 'uploads' && { status: 415, code: 'UNSUPPORTED_FILE_TYPE', message: 'Files of this type are not accepted' };
  const visit = await s.visit();
  await visit.at('.launcher').click();
  const go = await hold(visit, 'uploads');
  await visit.at('input[type=file]').setInputFiles(PDF);
  await visit.at('.composer .files button').focus();
  go();
  await visit.at('.composer .err').filter({ hasText: 'not accepted' }).waitFor();
  assert.equal(await visit.page.evaluate(() => document.activeElement.shadowRoot?.activeElement.tagName), 'TEXTAREA');
  await visit.done();
});

test('tabs share the conversation: when one starts or forgets it, the other follows at its next request', async () => {
  const { host } = s;
  const one = await s.visit();
  const two = await s.visit({ context: one.context });
  await say(one, 'first');
  await replied(one);
  // The second tab has no message yet.
  await two.page.evaluate(() => { window.__events = []; ServiceWidget.on('conversation', (payload) => __events.push(payload)); });
  await seen(two, host.visitor().conversation);
  await wake(two);
  await until(async () => (await conversation(two)) == host.visitor().conversation, 'the conversation of the first tab');
  assert.deepEqual(await two.page.evaluate(() => __events), [{ id: host.visitor().conversation, isNew: false }]);
  await two.at('.launcher').click();
  await two.at('.m.v').filter({ hasText: 'first' }).waitFor();
  // A new conversation in the second one.
  await two.at('.head .i').first().click();
  await two.at('.ask .go').click();
  await say(two, 'second');
  await replied(two);
  const { conversation: latest } = host.visitor();
  await seen(one, latest);
  await wake(one);
  await one.at('.m.v').filter({ hasText: 'second' }).waitFor();
  await until(async () => (await one.at('.m .b').count()) == 3, 'the reply');
  assert.deepEqual(await one.at('.m .b').allInnerTexts(), ['Hello! How can we help?', 'second', 'You said: second']);
  assert.deepEqual([await conversation(one), (await entry(one)).conversation], [latest, latest]);
  // A log-out.
  await two.page.evaluate(() => ServiceWidget.reset());
  await seen(one);
  await wake(one);
  await until(async () => !(await conversation(one)), 'the log-out');
  assert.equal(await one.at('.m.v').count(), 0);
  await one.page.waitForTimeout(100);
  assert.equal(await entry(one), null, 'the token does not come back');
  await one.done();
});

test('storage that cannot be written is not taken for a log-out', async () => {
  const visit = await s.visit({ init: () => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; } });
  await say(visit, 'x');
  await replied(visit);
  await wake(visit);
  await until(() => s.host.calls('sync').length, 'a call');
  assert.equal(await conversation(visit), s.host.visitor().conversation);
  assert.equal(await visit.at('.m.v').count(), 1);
  await visit.done();
});

test('consent gives access to what was stored before, and its withdrawal deletes it', async () => {
  const visit = await s.visit();
  await say(visit, 'one');
  await replied(visit);
  const { conversation: before } = await entry(visit);
  const remount = () => visit.page.evaluate(async (agentId) => {
    ServiceWidget.destroy();
    ServiceWidget.init({ agentId, consent: false });
    await new Promise((resolve) => ServiceWidget.once('ready', resolve));
  }, AGENT);
  await remount();
  await visit.at('.launcher').click();
  await visit.at('.chips button').first().waitFor();
  await visit.page.evaluate(() => ServiceWidget.update({ color: '#123456' }));
  assert.equal(await conversation(visit), null, 'not without consent');
  await visit.page.evaluate(() => ServiceWidget.update({ consent: true }));
  await visit.at('.m.v').filter({ hasText: 'one' }).waitFor();
  assert.equal(await conversation(visit), before);
  assert.equal(await visit.at('.chips button').count(), 0);
  await remount();
  await visit.page.evaluate(() => ServiceWidget.update({ consent: false }));
  assert.equal(await entry(visit), null);
  await visit.done();
});

test('a visitor who waits for a human agent polls again after an outage of the server', async () => {
  const { host } = s;
  const visit = await s.visit({ init: quickly });
  Object.assign(host.script, { mode: 'human', nextPollMs: 50, outcome: 'queued', reply: () => null });
  await say(visit, 'a person please');
  await until(() => host.calls('sync').length > 2, 'polling');
  host.script.refuse = (path) => path == 'sync' && { status: 503, code: 'SERVICE_UNAVAILABLE' };
  const tries = host.calls('sync').length;
  await until(() => host.calls('sync').length > tries + 5, 'all tries');
  host.script.refuse = () => undefined;
  host.store(host.visitor(), 'human', 'Hello from Ada');
  await until(() => visit.at('.m.h').count(), 'the message', 15000);
  await visit.done();
});

test('a message among the earlier ones has an event like any other', async () => {
  const { host } = s;
  const visit = await s.visit();
  await say(visit, 'one');
  await replied(visit);
  host.store(host.visitor(), 'human', 'Hello from Ada');
  host.script.refuse = (path) => path == 'sync' && { status: 429, code: 'RATE_LIMIT_EXCEEDED' };
  await visit.page.reload();
  await visit.at('.launcher').waitFor();
  await visit.page.evaluate(() => { window.__events = []; ServiceWidget.on('message', ({ text }) => __events.push(text)); });
  await visit.at('.launcher').click();
  await visit.at('.m.h').waitFor();
  assert.deepEqual(await visit.page.evaluate(() => __events), ['Hello from Ada']);
  await visit.done();
});

test('a turn that the server has forgotten starts again, and so does its text', async () => {
  const { host } = s;
  const visit = await s.visit({ init: quickly });
  await visit.at('.launcher').click();
  let first = true;
  host.script.deltaMs = 20;
  host.script.reply = () => 'one two three four five six seven eight nine ten eleven twelve';
  host.script.cut = () => (first ? 900 : undefined);
  host.script.refuse = (path) => {
    if (path != 'turns/resume' || !first) return;
    first = false;
    host.turns.clear();
    return { status: 404, code: 'TURN_NOT_FOUND' };
  };
  await visit.page.evaluate(() => {
    window.__drawn = [];
    const log = document.querySelector('service-widget').shadowRoot.querySelector('.log');
    new MutationObserver(() => __drawn.push([...log.querySelectorAll('.m:not(.v) .b')].at(-1).textContent)).observe(log, { subtree: true, childList: true, characterData: true });
  });
  await say(visit, 'count');
  await replied(visit);
  const drawn = await visit.page.evaluate(() => __drawn);
  assert.equal(first, false);
  assert.ok(drawn.some((text) => text.startsWith('one two')), 'something was drawn');
  assert.deepEqual(drawn.filter((text) => text.split('one').length > 2), []);
  await visit.done();
});

test('the page description: clipped between letters, and no URL longer than the limit', async () => {
  for (const page of ['path', 'full']) {
    s.host.reset();
    const visit = await s.visit({ headers: {}, init: `window.ServiceWidgetConfig = { page: '${page}' }; addEventListener('DOMContentLoaded', () => { document.title = 'x'.repeat(199) + '👍👍'; history.replaceState(null, '', '/' + 'p'.repeat(3000) + '?utm_source=' + 'é'.repeat(200)); })` });
    await say(visit, 'x');
    await replied(visit);
    const { raw, body } = s.host.calls('turns')[0];
    assert.doesNotMatch(raw.toString(), /\\ud/, 'half a letter is no JSON');
    assert.equal(body.page.title, 'x'.repeat(199) + '👍');
    assert.equal(body.page.url.length, 2000);
    assert.equal(body.page.utm.source, 'é'.repeat(128));
    await visit.done();
  }
});

test('a log-out drops what waits for the second script', async () => {
  const visit = await s.visit();
  await visit.at('.launcher').waitFor();
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  await visit.page.route('**/more.*.js', async (route) => { await held; await route.continue(); });
  await visit.at('.launcher').click();
  await visit.page.keyboard.type('a secret');
  await visit.page.keyboard.press('Enter');
  const result = visit.page.evaluate(() => { const sent = ServiceWidget.send('another'); ServiceWidget.reset(); return sent; });
  await visit.page.waitForTimeout(100);
  go();
  assert.deepEqual(await result, { ok: false, code: 'DROPPED' });
  await visit.at('.hi').waitFor();
  assert.equal(await visit.at('textarea').inputValue(), '');
  assert.equal(s.host.calls('turns').length, 0);
  await visit.done();
});

test('a message that a log-out drops resolves its promise', async () => {
  s.host.script.delayMs = 60000;
  const visit = await s.visit();
  await visit.at('.launcher').waitFor();
  const result = await visit.page.evaluate(() => {
    setTimeout(() => ServiceWidget.reset(), 100);
    return Promise.race([ServiceWidget.send('x'), new Promise((resolve) => setTimeout(resolve, 5000))]);
  });
  assert.deepEqual(result, { ok: false, code: 'DROPPED' });
  await visit.done();
});

/** Opens the widget at once, and records its events; `wait` replaces the two seconds that it waits for its configuration. */
const recorded = (wait) => [
  ({ wait }) => {
    const { setTimeout } = window;
    window.setTimeout = (action, ms, ...rest) => setTimeout(action, ms == 2000 ? wait : ms, ...rest);
    window.__events = [];
    window.ServiceWidgetConfig = { open: true, on: { open: () => __events.push('open'), close: () => __events.push('close'), error: ({ code }) => __events.push(code) } };
  },
  { wait },
];
const events = (visit) => visit.page.evaluate(() => __events);
const reopened = async (visit) => {
  await visit.page.evaluate(() => ServiceWidget.open());
  await visit.page.waitForTimeout(200);
  assert.equal(await visit.page.evaluate(() => ServiceWidget.instance.state.open), false);
};

test('an agent that is not allowed on the page is not opened either', async () => {
  s.host.script.refuse = (path) => path == 'config' && { status: 403, code: 'ORIGIN_NOT_ALLOWED' };
  const visit = await s.visit({ init: recorded(60000) });
  await until(async () => (await events(visit)).length, 'the event');
  await reopened(visit);
  assert.deepEqual(await events(visit), ['ORIGIN_NOT_ALLOWED']);
  assert.deepEqual(s.host.log.map(({ path }) => path), ['/embed.js', '/widget/v1/config']);
  await visit.done();
});

test('an agent whose rejection arrives after the panel has opened is closed', async () => {
  let refuse;
  const refused = new Promise((resolve) => { refuse = () => resolve({ status: 403, code: 'ORIGIN_NOT_ALLOWED' }); });
  s.host.script.refuse = (path) => path == 'config' && refused;
  const visit = await s.visit({ init: recorded(0) });
  await until(async () => (await events(visit)).length, 'the opened panel');
  await visit.at('.panel').waitFor();
  refuse();
  await until(async () => (await events(visit)).length == 3, 'the rejection');
  await reopened(visit);
  assert.deepEqual(await events(visit), ['open', 'close', 'ORIGIN_NOT_ALLOWED']);
  assert.equal(await visit.at('.panel').isVisible(), false);
  await visit.done();
});
