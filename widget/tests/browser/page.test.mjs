// The widget and the page around it: life cycle, start, keyboard, announcements, options.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach } from 'node:test';
import { AGENT, html, replied, say, start, tag, test, until } from './setup.mjs';

let s;
before(async () => { s = await start(); });
after(() => s.stop());
beforeEach(() => s.host.reset());

const STUB = `(function(w,g){var s=w[g]=w[g]||{q:[]};"init destroy open close toggle show hide send on once off update identify reset".split(" ").forEach(function(m){s[m]=s[m]||function(){s.q.push([m,arguments])}})})(window,"ServiceWidget")`;
const widgets = (visit) => visit.page.evaluate(() => document.querySelectorAll('service-widget').length);
const focused = (visit) => visit.page.evaluate(() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node == document.body ? 'body' : node.className || node.id || node.tagName;
});
const loaded = (visit) => visit.page.waitForFunction(() => window.ServiceWidget?.version);
const bare = (name, more = {}) => s.visit({ name, body: `<p>page</p>${tag(s.host, more.attributes ?? '')}`, ...more });

test('init twice, destroy at every stage, init again', async () => {
  // Without the policy, so the stages can be passed to the page as text.
  const visit = await bare('cycle', { headers: {} });
  await loaded(visit);
  const first = await visit.page.evaluate((agentId) => {
    const one = ServiceWidget.init({ agentId });
    const two = ServiceWidget.init({ agentId: 'another' });
    return [one == two, ServiceWidget.instance == one, Object.isFrozen(ServiceWidget)];
  }, AGENT);
  assert.deepEqual(first, [true, true, true]);
  assert.ok(visit.messages.some((line) => /init\(\) does nothing: a widget is mounted/.test(line)));
  await visit.at('.launcher').waitFor();
  assert.equal(await widgets(visit), 1);
  s.host.script.deltaMs = 20;
  s.host.script.reply = () => 'word '.repeat(200);
  const stages = {
    'at once': () => {},
    'while the configuration is loaded': () => new Promise((resolve) => setTimeout(resolve, 5)),
    'mounted': () => new Promise((resolve) => ServiceWidget.once('ready', resolve)),
    'open': () => { ServiceWidget.open(); return new Promise((resolve) => ServiceWidget.once('ready', resolve)); },
    'streaming': async () => { ServiceWidget.open(); await ServiceWidget.send('x'); await new Promise((resolve) => setTimeout(resolve, 100)); },
    'uploading': async () => {
      ServiceWidget.open();
      await new Promise((resolve) => ServiceWidget.once('ready', resolve));
      const input = document.querySelector('service-widget').shadowRoot.querySelector('[type=file]');
      const files = new DataTransfer();
      files.items.add(new File(['%PDF-'], 'letter.pdf'));
      input.files = files.files;
      input.dispatchEvent(new Event('change'));
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
    'sending': async () => { ServiceWidget.open(); ServiceWidget.send('x'); await new Promise((resolve) => setTimeout(resolve, 5)); },
  };
  for (const [name, stage] of Object.entries(stages)) {
    const result = await visit.page.evaluate(async ([agentId, stage]) => {
      ServiceWidget.destroy();
      const events = [];
      const instance = ServiceWidget.init({ agentId, on: { ready: () => events.push('ready'), destroy: () => events.push('destroy'), error: () => events.push('error') } });
      await eval(`(${stage})()`);
      instance.destroy();
      instance.destroy();
      await new Promise((resolve) => setTimeout(resolve, 30));
      return [document.querySelectorAll('service-widget').length, ServiceWidget.instance, events.at(-1), events.filter((one) => one == 'destroy').length];
    }, [AGENT, String(stage)]);
    assert.deepEqual(result, [0, null, 'destroy', 1], name);
  }
  await visit.done();
});

test('methods of a destroyed instance and methods without an instance warn and do nothing', async () => {
  const visit = await bare('gone');
  await loaded(visit);
  const results = await visit.page.evaluate(async (agentId) => {
    ServiceWidget.open();
    const none = await ServiceWidget.send('x');
    const instance = ServiceWidget.init({ agentId });
    const pending = instance.send('y');
    instance.destroy();
    instance.open();
    return [none, await pending, await instance.send('z'), typeof instance.on('reply', () => {})];
  }, AGENT);
  assert.deepEqual(results, [{ ok: false, code: 'NOT_MOUNTED' }, { ok: false, code: 'DESTROYED' }, { ok: false, code: 'DESTROYED' }, 'function']);
  for (const name of ['open', 'send', 'on']) assert.ok(visit.messages.some((line) => line.includes(`${name}() needs a mounted widget`)), name);
  assert.ok(visit.messages.some((line) => line.includes('open() needs a mounted widget')));
  await visit.done();
});

test('queued commands run first and in order, then the configuration object, then the attributes', async () => {
  const { host } = s;
  const queued = await s.visit({
    name: 'queued', headers: {},
    body: `<script>window.ServiceWidgetConfig={agentId:"fromConfig"};${STUB};__log=[];ServiceWidget.on("ready",function(){__log.push("ready")});ServiceWidget.init({agentId:"${AGENT}",title:"Queued"});ServiceWidget.open();ServiceWidget.send("from the queue");</script>${tag(host)}`,
  });
  await replied(queued);
  assert.equal(await queued.at('h2').innerText(), 'Queued');
  assert.deepEqual(await queued.page.evaluate(() => __log), ['ready']);
  assert.equal(host.calls('config').length, 1);
  await queued.done();
  host.reset();
  const configured = await s.visit({ name: 'configured', headers: {}, body: `<script>window.ServiceWidgetConfig={title:"Configured"}</script>${tag(host, `data-agent-id="${AGENT}" data-title="Attribute" data-open data-locale="de"`)}` });
  await configured.at('.panel').waitFor();
  assert.equal(await configured.at('h2').innerText(), 'Configured');
  assert.equal(host.calls('config')[0].query, `?agentId=${AGENT}&locale=de`);
  await configured.done();
  const bad = await s.visit({ name: 'bad', headers: {}, body: `<script>window.ServiceWidgetConfig={agentId:"not an id"}</script>${tag(host, '')}` });
  await loaded(bad);
  assert.ok(bad.messages.some((line) => line.startsWith('error: [ServiceWidget]')), 'an error of the automatic start goes to the console');
  await bad.done();
});

test('an element with the name of the global is not a queue', async () => {
  const visit = await s.visit({ name: 'clobbered', headers: {}, body: `<form id="ServiceWidget"><input name="q"></form>${tag(s.host)}` });
  await visit.at('.launcher').waitFor();
  await visit.done();
});

test('a second script, a module, and an inserted script', async () => {
  const { host } = s;
  const twice = await s.visit({ name: 'twice', body: tag(host) + tag(host) });
  await twice.at('.launcher').waitFor();
  assert.equal(await widgets(twice), 1);
  await twice.done();
  const module = await s.visit({ name: 'module', body: `<script type="module" src="${host.url}/embed.js" data-agent-id="${AGENT}"></script>` });
  await module.at('.launcher').waitFor();
  await module.done();
  const inserted = await s.visit({ name: 'inserted', headers: {}, body: `<script>onload=function(){setTimeout(function(){var e=document.createElement("script");e.src="${host.url}/embed.js";e.dataset.agentId="${AGENT}";document.head.append(e)},50)}</script>` });
  await inserted.at('.launcher').waitFor();
  await inserted.done();
  const pinned = await s.visit({ name: 'pinned', body: `<script src="${host.url}/embed.${host.hash}.js" integrity="${JSON.parse(readFileSync(new URL('../../dist/integrity.json', import.meta.url))).integrity}" crossorigin="anonymous" data-agent-id="${AGENT}" async></script>` });
  await pinned.at('.launcher').waitFor();
  await pinned.done();
});

test('the page is left as it was: one global, no built-in patched, no listener left', async () => {
  const visit = await bare('untouched', {
    init: () => {
      window.__listeners = new Map();
      for (const method of ['addEventListener', 'removeEventListener']) {
        const real = EventTarget.prototype[method];
        window['__' + method] = EventTarget.prototype[method] = function (type, handler, options) {
          const kind = this == window ? 'window' : this == document ? 'document' : this == window.visualViewport ? 'viewport' : this instanceof MediaQueryList ? 'media' : this instanceof AbortSignal ? null : this instanceof Node && this.getRootNode() instanceof ShadowRoot ? null : this instanceof Node && !this.isConnected ? null : 'other';
          // Additions of the browser's driver are ignored.
          if (kind && new Error().stack.includes('/embed.js')) {
            const key = `${kind} ${type}`;
            const change = (by) => window.__listeners.set(key, (window.__listeners.get(key) || 0) + by);
            change(method == 'addEventListener' ? 1 : -1);
            if (method == 'addEventListener') options?.signal?.addEventListener('abort', () => change(-1));
          }
          return real.call(this, type, handler, options);
        };
      }
      window.__before = Object.getOwnPropertyNames(window);
      window.__builtins = () => [Object, Array, String, Promise, Element, Node, Document, EventTarget, History, XMLHttpRequest].flatMap((one) => Object.entries(Object.getOwnPropertyDescriptors(one.prototype)).map(([key, { value, get }]) => [key, value, get]));
      window.__was = window.__builtins();
      window.__fetch = [fetch, history.pushState, setTimeout, console.log];
    },
  });
  await loaded(visit);
  const found = await visit.page.evaluate(async (agentId) => {
    const scroll = document.documentElement.style.cssText + document.body.style.cssText;
    const title = document.title;
    const ready = new Promise((resolve) => ServiceWidget.once('ready', resolve));
    ServiceWidget.init({ agentId, open: true });
    await ready;
    const reply = new Promise((resolve) => ServiceWidget.once('reply', resolve));
    await ServiceWidget.send('hello');
    await reply;
    const during = [...__listeners].filter(([, n]) => n > 0).map(([key]) => key).sort();
    ServiceWidget.destroy();
    const now = __builtins();
    return {
      globals: Object.getOwnPropertyNames(window).filter((name) => !__before.includes(name) && !name.startsWith('__')),
      patched: now.filter(([, value, get], i) => value !== __was[i][1] || get !== __was[i][2]).length,
      functions: [fetch, history.pushState, setTimeout, console.log].every((one, i) => one == __fetch[i]),
      during,
      after: [...__listeners].filter(([, n]) => n > 0).map(([key]) => key),
      same: scroll == document.documentElement.style.cssText + document.body.style.cssText && title == document.title,
      handler: [window.onmessage, window.onerror, window.onunload, window.onbeforeunload].every((one) => one == null),
    };
  }, AGENT);
  assert.deepEqual(found.globals, ['ServiceWidget']);
  assert.equal(found.patched, 0);
  assert.ok(found.functions && found.same && found.handler);
  const allowed = ['window load', 'window online', 'window pageshow', 'window pagehide', 'document DOMContentLoaded', 'document visibilitychange', 'viewport resize', 'viewport scroll', 'media change'];
  assert.deepEqual(found.during.filter((one) => !allowed.includes(one)), []);
  assert.ok(found.during.includes('window pagehide'), 'the count sees what is there');
  assert.deepEqual(found.after, []);
  await visit.done();
});

test('no cookie, no storage before the first message, then one entry; consent and persistence', async () => {
  const visit = await s.visit({ name: 'storage' });
  await visit.at('.launcher').click();
  const stored = () => visit.page.evaluate(() => [Object.keys(localStorage), Object.keys(sessionStorage), document.cookie]);
  assert.deepEqual(await stored(), [[], [], '']);
  await say(visit, 'x');
  await replied(visit);
  const key = `service-widget:${AGENT}`;
  assert.deepEqual(await stored(), [[key], [], '']);
  await visit.page.evaluate(() => ServiceWidget.update({ consent: false }));
  assert.deepEqual(await stored(), [[], [], '']);
  await visit.page.evaluate(() => ServiceWidget.update({ consent: true }));
  assert.deepEqual(await stored(), [[key], [], '']);
  await visit.page.evaluate(() => ServiceWidget.update({ persist: 'session' }));
  assert.deepEqual(await stored(), [[], [key], '']);
  await visit.page.evaluate(() => ServiceWidget.reset());
  assert.deepEqual(await stored(), [[], [], '']);
  assert.equal(await visit.at('.m.v').count(), 0);
  await until(() => s.host.calls('close').length == 1, 'the conversation is closed');
  assert.deepEqual(await visit.context.cookies(), []);
  await visit.done();
  const denied = await s.visit({ name: 'denied', init: () => { for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError'); } }); } });
  await say(denied, 'x');
  await replied(denied);
  await denied.done();
  const full = await s.visit({ name: 'full', init: () => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; } });
  await say(full, 'x');
  await replied(full);
  await full.done();
});

test('nothing is asked of a third party', async () => {
  const visit = await s.visit({ name: 'third' });
  const origins = new Set();
  visit.page.on('request', (request) => origins.add(new URL(request.url()).origin));
  s.host.script.reply = () => '![x](https://evil.example/a.png) [y](https://evil.example) https://evil.example/z';
  await say(visit, 'x');
  await replied(visit);
  await visit.page.waitForTimeout(200);
  assert.deepEqual([...origins].filter((one) => one != s.host.url && one != s.host.site), []);
  await visit.done();
});

test('doubled effects, a swapped body, a removed host, two agents in turn', async () => {
  const visit = await bare('swap');
  await loaded(visit);
  await visit.page.evaluate((agentId) => { ServiceWidget.init({ agentId }); ServiceWidget.destroy(); ServiceWidget.init({ agentId, open: true }); }, AGENT);
  // Or `say` would find it closed, wait for the launcher, and close with it what has opened by then.
  await visit.at('.panel').waitFor();
  await say(visit, 'retained');
  await replied(visit);
  await visit.page.evaluate(() => { document.body.replaceChildren('new'); });
  await visit.page.evaluate(() => document.body.replaceWith(document.createElement('body')));
  assert.equal(await widgets(visit), 1);
  assert.equal(await visit.at('.m.v').count(), 1);
  await visit.page.evaluate(() => document.querySelector('service-widget').remove());
  await visit.at('.panel').waitFor();
  // A persistent page: the host is inserted again at most five times a second.
  const puts = await visit.page.evaluate(async () => {
    const puts = [];
    const watch = new MutationObserver((records) => { for (const { addedNodes } of records) for (const node of addedNodes) if (node.localName == 'service-widget') { puts.push(performance.now()); node.remove(); } });
    watch.observe(document.documentElement, { childList: true });
    document.querySelector('service-widget').remove();
    await new Promise((resolve) => setTimeout(resolve, 2500));
    watch.disconnect();
    return puts;
  });
  assert.ok(puts.length > 5);
  puts.forEach((at, i) => assert.ok(!(puts[i + 5] - at < 990), `${puts.map(Math.round)}`));
  await visit.at('.panel').waitFor();
  await visit.page.evaluate((agentId) => { ServiceWidget.destroy(); ServiceWidget.init({ agentId }); }, AGENT);
  await visit.at('.launcher').click();
  await visit.at('.m.v').filter({ hasText: 'retained' }).waitFor();
  assert.equal(await widgets(visit), 1);
  await visit.done();
});

test('the page enters the back/forward cache during a stream, and the reply continues', async () => {
  const { host } = s;
  host.script.deltaMs = 30;
  host.script.reply = () => 'A reply that is cut by leaving the page and goes on afterwards.';
  const visit = await s.visit({ name: 'cache', body: `<p>page</p>${tag(host)}` });
  await say(visit, 'x');
  await visit.at('.m:not(.v) .b').nth(1).waitFor();
  await visit.page.evaluate(() => { window.__shown = []; addEventListener('pageshow', (event) => __shown.push(event.persisted)); });
  await visit.page.goto(host.page('other', html('<p>other</p>')));
  // A page from the cache has no load event.
  await visit.page.goBack({ waitUntil: 'commit' });
  await visit.page.waitForFunction(() => window.ServiceWidget);
  const shown = await visit.page.evaluate(() => window.__shown ?? null);
  if (shown) assert.deepEqual(shown, [true]);
  else await visit.at('.launcher').click();
  await replied(visit);
  assert.match((await visit.at('.m:not(.v):has(time) .b').allInnerTexts()).join(), /goes on afterwards\.$/);
  assert.equal(host.visitor().messages.length, 2);
  assert.ok(shown, 'the page was in the cache');
  await visit.done();
});

test('keyboard: reach, open, focus in, Escape, focus back, nothing lost', async () => {
  const visit = await s.visit({ name: 'keyboard', body: `<button id="here">here</button>${tag(s.host)}` });
  await visit.at('.launcher').waitFor();
  const { keyboard } = visit.page;
  await keyboard.press('Tab');
  assert.equal(await focused(visit), 'here');
  await keyboard.press('Tab');
  assert.equal(await focused(visit), 'launcher');
  await keyboard.press('Enter');
  assert.equal(await visit.at('.panel').isVisible(), true);
  assert.equal(await focused(visit), 'TEXTAREA');
  await keyboard.type('draft');
  await keyboard.press('Escape');
  await visit.at('.panel').waitFor({ state: 'hidden' });
  assert.equal(await focused(visit), 'launcher');
  await keyboard.press('Enter');
  assert.equal(await visit.at('textarea').inputValue(), 'draft');
  await keyboard.press('Escape');
  await visit.page.focus('#here');
  await visit.page.evaluate(() => ServiceWidget.open());
  assert.equal(await focused(visit), 'TEXTAREA', 'opened by the page during a gesture');
  await keyboard.press('Escape');
  assert.equal(await focused(visit), 'here');
  await visit.done();
});

test('opened by the page without a gesture, the focus does not move; Enter sends, Shift+Enter and composition do not', async () => {
  const visit = await bare('focus', { body: `<input id="field" autofocus>${tag(s.host, '')}` });
  await loaded(visit);
  await visit.page.evaluate((agentId) => { document.querySelector('#field').focus(); ServiceWidget.init({ agentId, open: true }); }, AGENT);
  await visit.at('.panel').waitFor();
  assert.equal(await focused(visit), 'field');
  await visit.at('textarea').click();
  const { keyboard } = visit.page;
  await keyboard.type('one');
  await keyboard.press('Shift+Enter');
  await keyboard.type('two');
  await visit.at('textarea').evaluate((node) => node.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true })));
  await visit.at('textarea').evaluate((node) => node.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true })));
  assert.equal(await visit.at('.m.v').count(), 0);
  await keyboard.press('Enter');
  await replied(visit);
  assert.equal(await visit.at('.m.v .b').innerText(), 'one\ntwo');
  await visit.done();
});

test('a control that disappears passes the focus to the composer', async () => {
  const visit = await s.visit({ name: 'handed' });
  await visit.at('.launcher').click();
  await visit.at('.chips button').first().focus();
  await visit.page.keyboard.press('Enter');
  await replied(visit);
  assert.equal(await focused(visit), 'TEXTAREA');
  // The send button is disabled once the reply is complete and the text field is empty.
  await visit.at('textarea').fill('x');
  await visit.at('.send').focus();
  await visit.page.keyboard.press('Enter');
  await replied(visit, 2);
  await visit.page.waitForTimeout(100);
  assert.equal(await focused(visit), 'TEXTAREA');
  // A control that is rendered again retains the focus.
  await visit.page.evaluate(() => ServiceWidget.update({ sound: true }));
  await visit.at('.head [aria-label="Sound"]').focus();
  await visit.page.keyboard.press('Enter');
  assert.equal(await visit.page.evaluate(() => document.querySelector('service-widget').shadowRoot.activeElement.getAttribute('aria-pressed')), 'false');
  await visit.done();
  s.host.reset();
  s.host.script.config = { ...s.host.script.config, teaser: { text: 'Questions?', delayMs: 1 } };
  const teased = await s.visit({ name: 'teased' });
  await teased.at('.teaser .i').focus();
  await teased.page.keyboard.press('Enter');
  assert.equal(await focused(teased), 'launcher');
  // Once a page view, also if the page mounts the widget again.
  await teased.page.evaluate((agentId) => { ServiceWidget.destroy(); ServiceWidget.init({ agentId }); return new Promise((resolve) => ServiceWidget.once('ready', resolve)); }, AGENT);
  await teased.page.waitForTimeout(100);
  assert.equal(await teased.at('.teaser').count(), 0);
  await teased.done();
});

test('each message begins with its sender; the disclosure cannot be emptied; print hides all', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, disclosure: ' ' };
  const visit = await s.visit({ name: 'senders', headers: {} });
  await visit.page.evaluate(() => ServiceWidget.update({ strings: { disclosure: ' ' } }));
  await say(visit, 'x');
  await replied(visit);
  host.store(host.visitor(), 'human', 'Hello from Ada');
  await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await visit.at('.m.h').waitFor();
  assert.deepEqual(await visit.at('.list .m > .x').allTextContents(), ['Mill Lane Practice: ', 'You: ', 'Mill Lane Practice: ', 'Team: ']);
  assert.match(await visit.at('.hint').innerText(), /^Answers come from an AI/);
  await visit.page.emulateMedia({ media: 'print' });
  assert.equal(await visit.at('.launcher').isVisible(), false);
  await visit.page.emulateMedia({ media: 'screen', forcedColors: 'active', reducedMotion: 'reduce' });
  assert.equal(await visit.at('.panel').evaluate((node) => getComputedStyle(node).animationName), 'none');
  await visit.at('textarea').focus();
  assert.equal(await visit.at('.write').evaluate((node) => getComputedStyle(node).outlineStyle), 'solid', 'the focus is seen where shadows are not drawn');
  assert.equal(await visit.at('textarea').evaluate((node) => getComputedStyle(node).outlineStyle), 'none', 'one ring, not two');
  await visit.done();
});

test('the launcher: accessible name, icon, and a warning about an invalid option', async () => {
  const visit = await s.visit({ name: 'launching' });
  await visit.at('.launcher').waitFor();
  const path = () => visit.at('.launcher path').getAttribute('d');
  const chat = await path();
  await visit.page.evaluate(() => ServiceWidget.update({ launcherLabel: 'Ask us', launcher: { icon: 'help' } }));
  assert.notEqual(await path(), chat);
  assert.equal(await visit.at('.launcher').getAttribute('aria-label'), 'Ask us');
  await visit.page.evaluate(() => ServiceWidget.update({ launcher: { icon: 'star' } }));
  assert.ok(visit.messages.some((line) => /option "launcher" is unusable/.test(line)));
  await visit.page.evaluate(() => ServiceWidget.update({ launcher: { hidden: true } }));
  assert.equal(await visit.at('.launcher').isVisible(), false);
  await visit.done();
});

test('each reply, state and human message is announced once', async () => {
  const { host } = s;
  const visit = await s.visit({ name: 'said' });
  await visit.at('.launcher').click();
  await visit.page.evaluate(() => {
    const root = document.querySelector('service-widget').shadowRoot;
    window.__said = [];
    new MutationObserver((records) => { for (const { addedNodes } of records) for (const node of addedNodes) __said.push(node.textContent); }).observe(root.querySelector('[role=status]'), { childList: true });
    window.__busy = [];
    new MutationObserver((records) => __busy.push(...records.map((one) => one.oldValue))).observe(root.querySelector('[role=log]'), { attributes: true, attributeFilter: ['aria-busy'], attributeOldValue: true });
  });
  host.script.deltaMs = 5;
  host.script.reply = () => 'The **answer** is [1]:\n\n```\ncode\n```';
  await say(visit, 'question');
  await replied(visit);
  host.store(host.visitor(), 'human', 'Hello from Ada');
  await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await visit.at('.m.h').waitFor();
  assert.deepEqual(await visit.page.evaluate(() => __said), ['Mill Lane Practice is typing', 'The answer is [1]:\ncode', 'Hello from Ada']);
  assert.deepEqual(await visit.page.evaluate(() => __busy), [null, 'true'], 'busy from the first piece to the last');
  assert.equal(await visit.at('[role=log]').getAttribute('aria-live'), 'off');
  await visit.done();
});

test('inline: a region in its container, always open, without launcher', async () => {
  const visit = await bare('inline', { headers: {}, body: `<div id="chat" style="width:360px;height:500px"></div>${tag(s.host, '')}` });
  await loaded(visit);
  await visit.page.evaluate((agentId) => ServiceWidget.init({ agentId, mode: 'inline', container: '#chat' }), AGENT);
  await visit.at('.panel').waitFor();
  assert.equal(await visit.at('.panel').getAttribute('role'), 'region');
  assert.equal(await visit.at('.launcher').count(), 0);
  const box = await visit.at('.panel').boundingBox();
  const outer = await visit.page.locator('#chat').boundingBox();
  assert.deepEqual(box, outer);
  assert.equal(await focused(visit), 'body');
  await say(visit, 'x');
  await replied(visit);
  await visit.page.keyboard.press('Escape');
  assert.equal(await visit.at('.panel').isVisible(), true);
  await visit.done();
});

test('appearance: an option beats the configuration, which beats the default; theme and position follow changes', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, position: 'bottom-left', color: '#0a7d33' };
  const visit = await s.visit({ name: 'looks', headers: {}, body: tag(host, `data-agent-id="${AGENT}" data-color="#ff0000"`) });
  await visit.at('.launcher').waitFor();
  const ground = () => visit.at('.launcher').evaluate((node) => getComputedStyle(node).backgroundColor);
  assert.equal(await ground(), 'rgb(255, 0, 0)');
  assert.ok((await visit.at('.launcher').boundingBox()).x < 100);
  await visit.page.evaluate(() => ServiceWidget.update({ position: 'bottom-right', color: '#000', zIndex: 5, offset: { x: 40 } }));
  const box = await visit.at('.launcher').boundingBox();
  assert.equal(Math.round(1280 - box.x - box.width), 40);
  assert.equal(await visit.at('.w').evaluate((node) => getComputedStyle(node).zIndex), '5');
  await visit.at('.launcher').click();
  const surface = () => visit.at('.panel').evaluate((node) => getComputedStyle(node).backgroundColor);
  assert.equal(await surface(), 'rgb(255, 255, 255)');
  await visit.page.emulateMedia({ colorScheme: 'dark' });
  // The page gets the change with its next frame.
  await until(async () => (await surface()) != 'rgb(255, 255, 255)', 'the dark theme');
  await visit.page.emulateMedia({ media: 'print' });
  assert.equal(await visit.at('.panel').isVisible(), false);
  await visit.done();
});

test('suggestions follow changes until the first message', async () => {
  const visit = await s.visit({ name: 'suggesting' });
  await visit.at('.launcher').click();
  const offered = () => visit.at('.chips button').allInnerTexts();
  await until(async () => (await offered()).join() == 'Opening hours,Home visits', 'the suggestions');
  await visit.page.evaluate(() => ServiceWidget.update({ suggestions: ['Prices'] }));
  assert.deepEqual(await offered(), ['Prices']);
  await visit.at('.chips button').click();
  await replied(visit);
  await visit.page.evaluate(() => ServiceWidget.update({ suggestions: ['Too late'] }));
  assert.deepEqual(await offered(), []);
  await visit.done();
});

test('the safe area of a display is added to the offset', async () => {
  const insets = { top: 10, right: 20, bottom: 34, left: 30 };
  for (const position of ['bottom-right', 'bottom-left']) {
    const visit = await s.visit({ name: 'edges', headers: {}, body: tag(s.host, `data-agent-id="${AGENT}" data-position="${position}"`), options: { viewport: { width: 900, height: 600 } } });
    const session = await visit.context.newCDPSession(visit.page);
    await session.send('Emulation.setSafeAreaInsetsOverride', { insets });
    await visit.at('.launcher').click();
    // It grows under the pointer.
    await visit.page.mouse.move(0, 0);
    await visit.page.waitForTimeout(300);
    const edges = (selector) => visit.at(selector).evaluate((node) => {
      const { top, right, bottom, left } = node.getBoundingClientRect();
      return { top, right: innerWidth - right, bottom: innerHeight - bottom, left };
    });
    const side = position.slice(7);
    const launcher = await edges('.launcher');
    assert.deepEqual([launcher.bottom, launcher[side]], [54, 20 + insets[side]]);
    const panel = await edges('.panel');
    assert.equal(panel[side], 20 + insets[side]);
    assert.ok(panel.top >= insets.top, `${panel.top}`);
    // On a small display the panel goes to the edges, and what is in it does not.
    await visit.page.setViewportSize({ width: 400, height: 600 });
    await until(async () => (await edges('.panel')).top == 0, 'the panel of a small display');
    assert.deepEqual(await edges('.panel'), { top: 0, right: 0, bottom: 0, left: 0 });
    const [header, hint] = [await edges('.head'), await edges('.hint')];
    assert.deepEqual([header.top, header.left, header.right, hint.bottom], [10, 30, 20, 34]);
    await visit.done();
  }
});

test('without the configuration the launcher appears after two seconds, and the configuration applies later', async () => {
  s.host.script.configDelayMs = 4500;
  const visit = await s.visit({ name: 'late' });
  await visit.at('.launcher').waitFor();
  assert.equal(await visit.page.evaluate(() => ServiceWidget.instance.state.ready), false);
  await visit.at('.launcher').click();
  assert.equal(await visit.at('h2').innerText(), 'Chat');
  await visit.at('h2').filter({ hasText: 'Mill Lane' }).waitFor();
  assert.equal(await visit.page.evaluate(() => ServiceWidget.instance.state.ready), true);
  await visit.done();
});

test('handlers: each runs in its own microtask, and one that throws does not stop others', async () => {
  const visit = await bare('handlers');
  await loaded(visit);
  const seen = await visit.page.evaluate(async (agentId) => {
    const seen = [];
    ServiceWidget.on('ready', () => seen.push('early'));
    const off = ServiceWidget.on('ready', () => seen.push('taken off'));
    off();
    const instance = ServiceWidget.init({ agentId, onReady: () => { seen.push('onReady'); throw new Error('mine'); }, on: { ready: () => seen.push('on.ready') } });
    await new Promise((resolve) => instance.once('ready', resolve));
    const open = [];
    instance.once('open', () => open.push('once'));
    const handler = () => open.push('on');
    instance.on('open', handler);
    instance.open();
    open.push('after the call');
    await 0;
    instance.close();
    instance.off('open', handler);
    instance.open();
    await 0;
    return [seen.sort(), open];
  }, AGENT);
  assert.deepEqual(seen, [['early', 'on.ready', 'onReady'], ['after the call', 'once', 'on']]);
  assert.ok(visit.messages.some((line) => line.includes('a handler of "ready" threw')));
  await visit.done();
});
