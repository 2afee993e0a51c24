// The second script: when it is loaded, what works before and without it, and how it takes over.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach } from 'node:test';
import { LEAD } from '../host.mjs';
import { AGENT, html, replied, say, start, tag, test, until } from './setup.mjs';

let s;
before(async () => { s = await start(); });
after(() => s.stop());
beforeEach(() => s.host.reset());

const MORE = /^\/more\.[0-9a-f]{16}\.js$/;
const loads = () => s.host.log.filter((one) => MORE.test(one.path)).length;
/** Delays the script; the returned function lets it through or, with `true`, fails the waiting requests. */
const hold = async (visit) => {
  let isOpen = false;
  const waiting = [];
  await visit.page.route('**/more.*.js', (route) => (isOpen ? route.continue() : void waiting.push(route)));
  return async (fail) => {
    isOpen = !fail;
    for (const route of waiting.splice(0)) await (fail ? route.abort() : route.continue());
  };
};
const focused = (visit) => visit.page.evaluate(() => document.activeElement.shadowRoot?.activeElement?.localName ?? document.activeElement.localName);
const plain = (visit) => visit.at('.m:not(.v):has(time) .b:not(.md)');
const formatted = (visit) => visit.at('.m:not(.v):has(time) .b.md');

test('it is requested once, when the launcher is hovered, focused or used', async () => {
  for (const [name, act] of [
    ['pointer', (visit) => visit.at('.launcher').hover()],
    ['focus', (visit) => visit.page.keyboard.press('Tab')],
    ['open', (visit) => visit.page.evaluate(() => ServiceWidget.open())],
    ['send', (visit) => visit.page.evaluate(() => void ServiceWidget.send('x'))],
  ]) {
    s.host.reset();
    const visit = await s.visit({ name: 'when' });
    await visit.at('.launcher').waitFor();
    await visit.page.waitForTimeout(200);
    assert.equal(loads(), 0, name);
    await act(visit);
    await until(loads, name);
    await visit.page.evaluate(() => { ServiceWidget.open(); ServiceWidget.close(); ServiceWidget.open(); });
    await say(visit, 'x');
    await replied(visit);
    await visit.page.evaluate((agentId) => { ServiceWidget.destroy(); ServiceWidget.init({ agentId, open: true }); return new Promise((resolve) => ServiceWidget.once('ready', resolve)); }, AGENT);
    assert.equal(loads(), 1, name);
    await visit.done();
  }
});

test('while it loads: header, greeting, composer and sending; then texts are formatted, and the draft remains', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, greeting: '**Hello!**\nHow can we help?', uploads: true, limits: { ...host.script.config.limits, uploadTypes: ['pdf'] } };
  host.script.reply = () => 'This is **it** [1].\n\n- a\n- b';
  host.script.sources = [{ n: 1, title: 'Services', url: 'https://www.example.com/services', page: 2 }];
  const visit = await s.visit({ name: 'onitsway' });
  const go = await hold(visit);
  await visit.at('.launcher').click();
  assert.equal(await focused(visit), 'textarea');
  assert.equal(await visit.at('h2').innerText(), 'Mill Lane Practice');
  assert.equal(await visit.at('.m .b').first().innerText(), '**Hello!**\nHow can we help?');
  assert.deepEqual(await visit.at('.chips button').allInnerTexts(), ['Opening hours', 'Home visits']);
  await visit.page.keyboard.type('Do you offer home visits?');
  await visit.page.keyboard.press('Enter');
  await plain(visit).waitFor();
  assert.equal(await plain(visit).innerText(), 'This is **it** [1].\n\n- a\n- b');
  assert.equal(host.visitor().messages.length, 2);
  await visit.page.keyboard.type('and');
  await visit.page.screenshot();
  await go();
  await formatted(visit).waitFor();
  assert.match(await formatted(visit).innerHTML(), /^<p>This is <strong>it<\/strong> <sup><a href="https:\/\/www\.example\.com\/services"[^>]*>\[1\]<\/a><\/sup>\.<\/p><ul><li>a<\/li><li>b<\/li><\/ul>$/);
  assert.equal(await visit.at('.m .b').first().innerHTML(), '<p><strong>Hello!</strong><br>How can we help?</p>');
  assert.equal(await visit.at('.src a').innerText(), 'Services, page 2');
  assert.equal(await visit.at('.f .i').count(), 2, 'feedback');
  assert.equal(await visit.at('[aria-label="Attach files"]').isVisible(), true);
  assert.equal(await visit.at('textarea').inputValue(), 'and');
  assert.equal(await focused(visit), 'textarea');
  await visit.page.keyboard.press('Enter');
  await replied(visit, 2);
  await visit.done();
});

test('a human agent takes over before it is loaded: the page gets the event at once, the visitor the note once it is loaded', async () => {
  const { host } = s;
  host.script.reply = () => null;
  host.script.before = () => [['handoff', { name: 'Ada', avatar: null, etaSeconds: 60 }]];
  host.script.outcome = 'queued';
  const visit = await s.visit({ name: 'taken-over' });
  const go = await hold(visit);
  await visit.page.evaluate(() => { window.__names = []; ServiceWidget.on('handoff', ({ name }) => __names.push(name)); });
  await say(visit, 'a person please');
  await until(() => visit.page.evaluate(() => __names.length), 'the event');
  assert.deepEqual(await visit.page.evaluate(() => __names), ['Ada']);
  await go();
  await visit.at('.note').filter({ hasText: 'Ada is here to help.' }).waitFor();
  await visit.at('.note').filter({ hasText: 'A person will answer.' }).waitFor();
  await visit.done();
});

test('it arrives during a reply, which continues formatted; the end of the log stays visible', async () => {
  const { host } = s;
  host.script.deltaMs = 15;
  host.script.reply = () => Array.from({ length: 30 }, (_, n) => `**line ${n}**\n\n- one\n- two`).join('\n\n');
  const visit = await s.visit({ name: 'middle' });
  const go = await hold(visit);
  await say(visit, 'x');
  await visit.at('.m:not(.v) .b').filter({ hasText: '**line 2**' }).waitFor();
  await go();
  await visit.at('.m:not(.v) .md strong').filter({ hasText: 'line 3' }).waitFor();
  await formatted(visit).waitFor();
  await visit.at('.md strong').filter({ hasText: 'line 29' }).waitFor();
  await visit.page.waitForTimeout(200);
  assert.ok((await visit.at('.log').evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight)) < 2);
  await visit.done();
});

test('if it cannot be loaded: plain text, nothing lost, one event for each attempt; it loads once the connection is back', async () => {
  const { host } = s;
  host.script.reply = () => 'A **plain** answer';
  const visit = await s.visit({ name: 'blocked' });
  await visit.page.route('**/more.*.js', (route) => route.abort());
  await visit.page.evaluate(() => { window.__errors = []; ServiceWidget.on('error', (error) => __errors.push(error)); });
  await say(visit, 'one');
  await plain(visit).waitFor();
  await say(visit, 'two');
  await plain(visit).nth(1).waitFor();
  assert.deepEqual(await plain(visit).allInnerTexts(), ['A **plain** answer', 'A **plain** answer']);
  assert.equal(host.visitor().messages.length, 4);
  // The question before a new conversation waits for it.
  await visit.at('header [aria-label="New conversation"]').click();
  assert.equal(await visit.at('.m.v').count(), 2);
  const errors = await visit.page.evaluate(() => __errors);
  assert.ok(errors.length && errors.every((one) => one.code == 'SCRIPT_NOT_LOADED' && one.retryable && /^more\./.test(one.message)), JSON.stringify(errors));
  await visit.page.unroute('**/more.*.js');
  await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await formatted(visit).nth(1).waitFor();
  await visit.at('.ask').waitFor();
  assert.equal(await visit.at('.f .i').count(), 4);
  assert.equal(loads(), 1);
  await visit.at('.ask').getByRole('button', { name: 'Not now' }).click();
  await visit.context.close();
});

test('the form before the first message: while the script loads, and if it cannot be loaded', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, prechat: LEAD };
  const visit = await s.visit({ name: 'late-form' });
  const go = await hold(visit);
  await visit.at('.launcher').click();
  assert.equal(await visit.at('.composer').isVisible(), false);
  assert.equal(await visit.at('.m .b').first().innerText(), 'Hello! How can we help?');
  assert.deepEqual(await visit.page.evaluate(() => ServiceWidget.send('saved for later')), { ok: false, code: 'FORM_REQUIRED' });
  await go(true);
  await visit.at('.note.err').filter({ hasText: 'That did not work.' }).waitFor();
  assert.equal(host.calls('turns').length, 0, 'no message without the form');
  await visit.page.unroute('**/more.*.js');
  await visit.at('.note.err button').click();
  await visit.at('.form').waitFor();
  assert.equal(await visit.at('.note.err').count(), 0);
  assert.equal(await focused(visit), 'input', 'who asked for it can write at once');
  await visit.page.keyboard.type('zoe.okafor@example.com');
  await visit.at('.form [type=checkbox]').check();
  await visit.at('.form .go').click();
  await replied(visit);
  assert.equal(host.calls('turns')[0].body.text, 'saved for later');
  assert.deepEqual(host.calls('turns')[0].body.lead.fields, { primaryEmail: 'zoe.okafor@example.com' });
  await visit.context.close();
});

test('a press during which it arrives is a click', async () => {
  const visit = await s.visit({ name: 'pressed' });
  const go = await hold(visit);
  const press = async (selector, between) => {
    const box = await visit.at(selector).boundingBox();
    await visit.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await visit.page.mouse.down();
    await between();
    await visit.page.mouse.up();
  };
  await visit.at('.launcher').waitFor();
  await press('.launcher', () => visit.page.evaluate(() => ServiceWidget.update({ color: '#0a7d33' })));
  await visit.at('.panel').waitFor();
  await press('header [aria-label="Close chat"]', async () => { await go(); await visit.at('.md').first().waitFor({ state: 'attached' }); });
  await visit.at('.panel').waitFor({ state: 'hidden' });
  await visit.done();
});

test('destroyed while it loads, and mounted again', async () => {
  const visit = await s.visit({ name: 'gone' });
  await visit.at('.launcher').waitFor();
  const go = await hold(visit);
  await visit.page.evaluate(() => { ServiceWidget.open(); ServiceWidget.destroy(); });
  await visit.page.evaluate((agentId) => { ServiceWidget.init({ agentId, open: true }); ServiceWidget.send('x'); }, AGENT);
  await plain(visit).waitFor();
  await visit.page.evaluate(() => ServiceWidget.destroy());
  await go();
  await visit.page.waitForTimeout(200);
  assert.equal(await visit.page.evaluate(() => document.querySelectorAll('service-widget').length), 0);
  await visit.page.evaluate((agentId) => ServiceWidget.init({ agentId, open: true }), AGENT);
  await replied(visit);
  assert.equal(await visit.page.evaluate(() => document.querySelector('service-widget').shadowRoot.adoptedStyleSheets.length), 2);
  assert.equal(loads(), 1);
  await visit.done();
  // The script that the first widget requested arrives at the second one before that is opened.
  const other = await s.visit({ name: 'gone' });
  await other.at('.launcher').waitFor();
  const come = await hold(other);
  await other.page.evaluate((agentId) => { ServiceWidget.open(); ServiceWidget.destroy(); ServiceWidget.init({ agentId }); }, AGENT);
  await other.at('.launcher').waitFor();
  await come();
  await other.page.waitForTimeout(200);
  await say(other, 'x');
  await replied(other);
  assert.equal(await other.page.evaluate(() => document.querySelector('service-widget').shadowRoot.adoptedStyleSheets.length), 2);
  await other.done();
});

test('the page enters the back/forward cache while it loads', async () => {
  const { host } = s;
  const visit = await s.visit({ name: 'leaving', body: `<p>page</p>${tag(host)}` });
  await visit.at('.launcher').waitFor();
  await visit.page.evaluate(() => { window.__shown = []; addEventListener('pageshow', (event) => __shown.push(event.persisted)); ServiceWidget.open(); });
  await visit.page.goto(host.page('elsewhere', html('<p>other</p>')));
  await visit.page.goBack({ waitUntil: 'commit' });
  await visit.page.waitForFunction(() => window.ServiceWidget);
  if (!(await visit.page.evaluate(() => window.__shown))) await visit.at('.launcher').click();
  await say(visit, 'x');
  await replied(visit);
  await visit.done();
});

test('a policy that knows nonces only, and a pinned build with its integrity value', async () => {
  const { host } = s;
  host.script.reply = () => '**yes**';
  host.script.after = () => [['form', LEAD]];
  const script = readFileSync(new URL('../../dist/embed.js', import.meta.url));
  const integrity = 'sha384-' + createHash('sha384').update(script).digest('base64');
  for (const sources of ["'nonce-abc'", "'nonce-abc' 'strict-dynamic'"]) {
    host.reset();
    host.script.reply = () => '**yes**';
    host.script.after = () => [['form', LEAD]];
    const visit = await s.visit({
      name: 'nonces',
      headers: { 'Content-Security-Policy': `default-src 'none'; script-src ${sources}; connect-src ${host.url}; require-trusted-types-for 'script'; trusted-types 'none'` },
      body: `<script src="${host.url}/embed.${host.hash}.js" integrity="${integrity}" crossorigin="anonymous" nonce="abc" data-agent-id="${AGENT}" async></script>`,
    });
    await say(visit, 'x');
    await replied(visit);
    await visit.at('.form').waitFor();
    await visit.done();
  }
});

test('without constructable style sheets both scripts add style elements', async () => {
  const visit = await s.visit({ name: 'elements', headers: {}, init: () => { window.CSSStyleSheet = undefined; } });
  await say(visit, 'x');
  await replied(visit);
  assert.equal(await visit.page.evaluate(() => document.querySelector('service-widget').shadowRoot.querySelectorAll('style').length), 2);
  assert.equal(await visit.at('.md').last().evaluate((node) => getComputedStyle(node).whiteSpace), 'normal');
  assert.equal(await visit.at('.launcher').evaluate((node) => getComputedStyle(node).width), '56px');
  await visit.done();
});

test('an image only from an allowed host, otherwise the first letter of the name', async () => {
  const { host } = s;
  for (const [avatar, count] of [[`${host.url}/face.png`, 1], ['https://evil.example/face.png', 0]]) {
    host.script.config = { ...host.script.config, avatar };
    const visit = await s.visit({ name: 'face', headers: {} });
    await visit.at('.launcher').click();
    await say(visit, 'x');
    await replied(visit);
    assert.equal(await visit.at('.face img').count(), count);
    if (!count) assert.equal(await visit.at('.face').innerText(), 'M');
    await visit.done();
  }
});

test('a visitor whom no human agent answered gets the form, once', async () => {
  const { host } = s;
  const visit = await s.visit({ name: 'vain' });
  await say(visit, 'x');
  await replied(visit);
  host.store(host.visitor(), 'agent', 'Nobody is there. May we write to you?');
  host.script.syncForm = LEAD;
  await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await visit.at('.form').waitFor();
  await visit.at('.form [autocomplete=email]').fill('zoe.okafor@example.com');
  await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await until(() => host.calls('sync').length > 1, 'another look');
  await visit.page.waitForTimeout(100);
  assert.equal(await visit.at('.form [autocomplete=email]').inputValue(), 'zoe.okafor@example.com', 'what is entered stays');
  await visit.done();
});
