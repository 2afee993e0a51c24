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
const formatted = (visit) => visit.at('.m.a:has(time) .b.md');

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

test('while it loads: name, skeleton and a field to write in; what is written is sent once it is there', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, greeting: '**Hello!**\nHow can we help?', uploads: true, limits: { ...host.script.config.limits, uploadTypes: ['pdf'] } };
  host.script.reply = () => 'This is **it** [1].\n\n- a\n- b';
  host.script.sources = [{ n: 1, title: 'Services', url: 'https://www.example.com/services', page: 2 }];
  const visit = await s.visit({ name: 'onitsway' });
  const go = await hold(visit);
  await visit.at('.launcher').click();
  assert.equal(await focused(visit), 'textarea');
  assert.equal(await visit.at('.head').innerText(), 'M\nMill Lane Practice');
  assert.equal(await visit.at('.bones').getAttribute('aria-label'), 'Loading…');
  await visit.page.keyboard.type('Do you offer home visits?');
  await visit.page.keyboard.press('Enter');
  const sent = visit.page.evaluate(() => ServiceWidget.send('by the page'));
  await visit.page.keyboard.type(' and');
  assert.equal(await visit.at('textarea').inputValue(), 'Do you offer home visits? and');
  await visit.page.screenshot();
  await go();
  await formatted(visit).waitFor();
  // Both wait for it: the visitor's message comes first.
  assert.equal(host.visitor().messages[0].text, 'Do you offer home visits? and');
  assert.deepEqual(await sent, { ok: false, code: 'TURN_IN_PROGRESS' });
  assert.equal(await visit.at('.m .b').first().innerHTML(), '<p><strong>Hello!</strong><br>How can we help?</p>');
  assert.equal(await visit.at('.src a span').innerText(), 'Services, page 2');
  assert.equal(await visit.at('.f .i').count(), 2, 'feedback');
  assert.equal(await visit.at('[aria-label="Attach files"]').isVisible(), true);
  assert.equal(await focused(visit), 'textarea');
  assert.equal(await visit.at('.bones').count(), 0);
  await visit.page.keyboard.type('and');
  await visit.page.keyboard.press('Enter');
  await replied(visit, 2);
  await visit.done();
});

test('if it cannot be loaded: the panel says so, nothing is lost, one event for each attempt; it loads once the connection is back', async () => {
  const { host } = s;
  const visit = await s.visit({ name: 'blocked' });
  await visit.page.route('**/more.*.js', (route) => route.abort());
  await visit.page.evaluate(() => { window.__errors = []; ServiceWidget.on('error', (error) => __errors.push(error)); });
  await visit.at('.launcher').click();
  await visit.page.keyboard.type('one');
  await visit.at('.bones .go').waitFor();
  assert.equal(await visit.at('.bones').getAttribute('role'), 'alert');
  const sent = visit.page.evaluate(() => ServiceWidget.send('two'));
  const errors = await visit.page.evaluate(() => __errors);
  assert.ok(errors.length && errors.every((one) => one.code == 'SCRIPT_NOT_LOADED' && one.retryable && /^more\./.test(one.message)), JSON.stringify(errors));
  await visit.page.unroute('**/more.*.js');
  await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await formatted(visit).waitFor();
  assert.equal((await sent).ok, true);
  assert.equal(host.visitor().messages[0].text, 'two');
  assert.equal(await visit.at('textarea').inputValue(), 'one', 'what was written is still there');
  assert.equal(loads(), 1);
  await visit.context.close();
});

test('if it cannot be loaded: a press loads it at once', async () => {
  const visit = await s.visit({ name: 'again', options: { viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true } });
  await visit.page.route('**/more.*.js', (route) => route.abort());
  await visit.at('.launcher').click();
  await visit.at('.bones .go').waitFor();
  await visit.at('.head [aria-label="Close chat"]').click();
  await visit.at('.launcher').click();
  await visit.page.unroute('**/more.*.js');
  await visit.at('.bones .go').click();
  await visit.at('.hi').waitFor();
  await visit.context.close();
});

test('the form before the first message: while the script loads, nothing can be sent without it', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, prechat: LEAD };
  const visit = await s.visit({ name: 'late-form' });
  const go = await hold(visit);
  await visit.at('.launcher').click();
  assert.equal(await visit.at('.composer').count(), 0);
  const sent = visit.page.evaluate(() => ServiceWidget.send('saved for later'));
  await go();
  await visit.at('.form').waitFor();
  assert.deepEqual(await sent, { ok: false, code: 'FORM_REQUIRED' });
  assert.equal(host.calls('turns').length, 0, 'no message without the form');
  assert.equal(await focused(visit), 'input', 'who opened it can write at once');
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
  await press('.launcher', async () => { await go(); await visit.at('.md').first().waitFor({ state: 'attached' }); });
  await visit.at('.panel').waitFor({ state: 'hidden' });
  await visit.done();
});

test('destroyed while it loads, and mounted again', async () => {
  const visit = await s.visit({ name: 'gone' });
  await visit.at('.launcher').waitFor();
  const go = await hold(visit);
  await visit.page.evaluate(() => { ServiceWidget.open(); ServiceWidget.destroy(); });
  await visit.page.evaluate((agentId) => { ServiceWidget.init({ agentId, open: true }); ServiceWidget.send('x'); }, AGENT);
  await visit.page.waitForTimeout(100);
  await visit.page.evaluate(() => ServiceWidget.destroy());
  await go();
  await visit.page.waitForTimeout(200);
  assert.equal(await visit.page.evaluate(() => document.querySelectorAll('service-widget').length), 0);
  await visit.page.evaluate((agentId) => { ServiceWidget.init({ agentId, open: true }); ServiceWidget.send('x'); }, AGENT);
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
  assert.equal(await visit.at('.launcher').evaluate((node) => getComputedStyle(node).width), '60px');
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
    assert.equal(await visit.at('.head .face img').count(), count);
    if (!count) assert.equal(await visit.at('.head .face').innerText(), 'M');
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
