// The widget and the page around it: life cycle, start, isolation, keyboard, screen readers, small displays, languages.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, beforeEach } from 'node:test';
import { LEAD } from '../host.mjs';
import { AGENT, artefacts, html, isLong, replied, say, start, STRICT, tag, test, until } from './setup.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
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
  // Without the policy, so that the stages can be told to the page as text.
  const visit = await bare('cycle', { headers: {} });
  await loaded(visit);
  const first = await visit.page.evaluate((agentId) => {
    const one = ServiceWidget.init({ agentId });
    const two = ServiceWidget.init({ agentId: 'another' });
    return [one == two, ServiceWidget.instance == one, Object.isFrozen(ServiceWidget)];
  }, AGENT);
  assert.deepEqual(first, [true, true, true]);
  assert.ok(visit.messages.some((line) => /init\(\) was called while a widget is mounted/.test(line)));
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

test('methods of a destroyed instance warn and do nothing; those without an instance too', async () => {
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
  for (const name of ['open', 'send', 'on']) assert.ok(visit.messages.some((line) => line.includes(`${name}() does nothing after destroy()`)), name);
  assert.ok(visit.messages.some((line) => line.includes('open() needs a widget')));
  await visit.done();
});

test('queued commands come first and in order, then the configuration object, then the attributes', async () => {
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
          // What the driver of the browser adds is not ours.
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
  await say(visit, 'kept');
  await replied(visit);
  await visit.page.evaluate(() => { document.body.replaceChildren('new'); });
  await visit.page.evaluate(() => document.body.replaceWith(document.createElement('body')));
  assert.equal(await widgets(visit), 1);
  assert.equal(await visit.at('.m.v').count(), 1);
  await visit.page.evaluate(() => document.querySelector('service-widget').remove());
  await visit.at('.panel').waitFor();
  // A page that insists: put back at most five times a second.
  const puts = await visit.page.evaluate(async () => {
    let puts = 0;
    const watch = new MutationObserver((records) => { for (const { addedNodes } of records) for (const node of addedNodes) if (node.localName == 'service-widget') { puts++; node.remove(); } });
    watch.observe(document.documentElement, { childList: true });
    await new Promise((resolve) => setTimeout(resolve, 1200));
    document.querySelector('service-widget')?.remove();
    await new Promise((resolve) => setTimeout(resolve, 300));
    watch.disconnect();
    return puts;
  });
  assert.ok(puts <= 12, `put back ${puts} times`);
  await visit.at('.panel').waitFor();
  await visit.page.evaluate((agentId) => { ServiceWidget.destroy(); ServiceWidget.init({ agentId }); }, AGENT);
  await visit.at('.launcher').click();
  await visit.at('.m.v').filter({ hasText: 'kept' }).waitFor();
  assert.equal(await widgets(visit), 1);
  await visit.done();
});

test('the back/forward cache takes the page in the middle of a stream, and the reply goes on', async () => {
  const { host } = s;
  host.script.deltaMs = 30;
  host.script.reply = () => 'A reply that is cut by leaving the page and goes on afterwards.';
  const visit = await s.visit({ name: 'cache', body: `<p>page</p>${tag(host)}` });
  await say(visit, 'x');
  await visit.at('.m:not(.v) .b').nth(1).waitFor();
  await visit.page.evaluate(() => { window.__shown = []; addEventListener('pageshow', (event) => __shown.push(event.persisted)); });
  await visit.page.goto(host.page('other', html('<p>other</p>')));
  // Out of the cache there is no load to wait for.
  await visit.page.goBack({ waitUntil: 'commit' });
  await visit.page.waitForFunction(() => window.ServiceWidget);
  const shown = await visit.page.evaluate(() => window.__shown ?? null);
  if (shown) assert.deepEqual(shown, [true]);
  else await visit.at('.launcher').click();
  await replied(visit);
  assert.match((await visit.at('.m:not(.v):has(time) .b').allInnerTexts()).join(), /goes on afterwards\.$/);
  assert.equal(host.visitor().messages.length, 2);
  assert.ok(shown, 'the page was kept in the cache');
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
  assert.equal(await visit.at('.panel').isVisible(), false);
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

test('opened by the page without a gesture no focus moves; Enter sends, Shift+Enter and composition do not', async () => {
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

test('a control that disappears hands the focus to the composer', async () => {
  const visit = await s.visit({ name: 'handed' });
  await visit.at('.launcher').click();
  await visit.at('.chips button').first().focus();
  await visit.page.keyboard.press('Enter');
  await replied(visit);
  assert.equal(await focused(visit), 'TEXTAREA');
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
  await visit.at('.m.u').waitFor();
  assert.deepEqual(await visit.page.evaluate(() => __said), ['Mill Lane Practice is typing', 'The answer is [1]:\ncode', 'Hello from Ada']);
  assert.deepEqual(await visit.page.evaluate(() => __busy), [null, 'true'], 'busy from the first piece to the last');
  assert.equal(await visit.at('[role=log]').getAttribute('aria-live'), 'off');
  await visit.done();
});

const prepare = {
  closed: async () => {},
  open: async (visit) => { await visit.at('.launcher').click(); await visit.page.waitForTimeout(250); },
  streaming: async (visit) => {
    // A stream that stands still while it is looked at.
    s.host.script.before = () => [['status', { kind: 'writing' }], ['delta', { text: 'A reply that **streams** for quite a while, with `code`, a [link](https://ok.example) and\n\n- a list\n- that goes' }]];
    s.host.script.deltaMs = 60000;
    await say(visit, 'Do you offer home visits?');
    await visit.at('.m:not(.v) .b').nth(1).waitFor();
    await visit.page.waitForTimeout(300);
  },
  replied: async (visit) => {
    s.host.script.reply = () => '## Home visits\n\nThis is what I found:\n\n> Home visits are available in Leeds on *weekdays* from 8:00 to 18:00. [1]\n\n1. one `code`\n2. two\n\n| Day | Hours |\n|---|---|\n| Mon | 8–18 |\n\n```js\nconst a = 1;\n```';
    s.host.script.sources = [{ n: 1, title: 'Services', url: 'https://www.example.com/services', page: 2 }];
    s.host.script.after = () => [['suggestions', { items: ['Prices', 'Parking'] }]];
    await say(visit, 'Do you offer home visits?');
    await replied(visit);
    await visit.at('.f .i').first().click();
    await visit.page.waitForTimeout(250);
  },
};
const looks = {
  light: { options: { colorScheme: 'light' } },
  dark: { options: { colorScheme: 'dark' } },
  rtl: { lang: 'ar' },
  small: { options: { viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true } },
};
const locale = (name) => JSON.parse(readFileSync(new URL(`../../locales/${name}.json`, import.meta.url), 'utf8'));
/** Violations, and contrasts that axe cannot decide computed from the colours themselves. */
const inspect = async (visit, name) => {
  await visit.page.evaluate(axe);
  const { violations, incomplete } = await visit.page.evaluate(() => axe.run({ include: [['service-widget']] }, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  assert.deepEqual(violations.map((one) => `${name}: ${one.id} ${one.nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary).join('; ')}`), []);
  for (const one of incomplete.filter((rule) => rule.id == 'color-contrast'))
    for (const node of one.nodes) {
      const ratio = await visit.page.evaluate((target) => {
        let found = document;
        for (const step of target.flat()) found = (found.shadowRoot ?? found).querySelector(step);
        const channels = (text) => text.match(/[\d.]+/g).map(Number);
        const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        let ground = null;
        for (let up = found; up && !ground; up = up.parentElement) { const c = channels(getComputedStyle(up).backgroundColor); if (c.length == 3 || c[3] == 1) ground = c.slice(0, 3); }
        const [a, b] = [light(channels(getComputedStyle(found).color).slice(0, 3)), light(ground ?? [255, 255, 255])];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      }, node.target);
      assert.ok(ratio >= 4.5, `${name}: ${node.target} has ${ratio}`);
    }
};
for (const [look, { options, lang }] of Object.entries(looks))
  for (const state of Object.keys(prepare))
    test(`accessible and drawn: ${look}, ${state}`, async () => {
      const { host } = s;
      if (lang) host.script.configs[lang] = { locale: lang, strings: locale(lang), greeting: 'مرحبا! كيف يمكننا المساعدة؟', title: 'عيادة الشارع', subtitle: null, disclosure: null, suggestions: ['ساعات العمل'] };
      const visit = await s.visit({ name: `look-${look}`, options, headers: {}, body: `<main><h1>A page</h1><p>Some text of the page.</p></main>${tag(host, `data-agent-id="${AGENT}" ${lang ? `data-locale="${lang}"` : ''}`)}` });
      await visit.page.addStyleTag({ content: look == 'dark' ? 'body{background:#111;color:#eee;font:16px sans-serif}' : 'body{font:16px sans-serif}' });
      await visit.at('.launcher').waitFor();
      await prepare[state](visit);
      await inspect(visit, `${look}, ${state}`);
      await visit.page.screenshot({ path: `${artefacts}${look}-${state}.png` });
      await visit.done();
    });

test('accessible and drawn: forms, with and without errors, and other colours', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, prechat: { ...LEAD, fields: [...LEAD.fields, { name: 'topic', label: 'Topic', type: 'enum', required: true, options: ['Prices', { value: 'x', label: 'Something else' }] }] } };
  const visit = await s.visit({ name: 'forms', headers: {} });
  await visit.at('.launcher').click();
  await visit.at('.form').waitFor();
  await visit.page.waitForTimeout(250);
  await inspect(visit, 'form');
  await visit.page.screenshot({ path: `${artefacts}form.png` });
  await visit.at('.form .go').click();
  await inspect(visit, 'form with errors');
  await visit.page.screenshot({ path: `${artefacts}form-errors.png` });
  for (const [color, theme] of [['#ffe14d', 'light'], ['#ffe14d', 'dark'], ['#111111', 'dark'], ['#777777', 'light']]) {
    await visit.page.evaluate((options) => ServiceWidget.update(options), { color, theme });
    await visit.page.waitForTimeout(200);
    await inspect(visit, `${color} ${theme}`);
    await visit.page.screenshot({ path: `${artefacts}color-${color.slice(1)}-${theme}.png` });
  }
  await visit.done();
  host.reset();
  host.script.failure = () => ({ at: 20, retryable: true });
  host.script.config = { ...host.script.config, teaser: { text: 'Questions? We are here.', delayMs: 1 } };
  const failed = await s.visit({ name: 'failed', headers: {} });
  await failed.at('.teaser').waitFor();
  await failed.page.waitForTimeout(250);
  await inspect(failed, 'teaser');
  await failed.page.screenshot({ path: `${artefacts}teaser.png` });
  await say(failed, 'What are your opening hours on public holidays?');
  await failed.at('.note.err').waitFor();
  await inspect(failed, 'error');
  await failed.page.screenshot({ path: `${artefacts}error.png` });
  host.script.failure = undefined;
  await failed.at('header [aria-label="New conversation"]').click();
  await inspect(failed, 'question');
  await failed.page.screenshot({ path: `${artefacts}question.png` });
  await failed.done();
});

const HOSTILE = [
  '* { all: revert !important }', '* { margin: 9px !important; padding: 9px !important; border: 3px solid red !important; box-sizing: content-box !important }',
  '* { color: red !important; background: yellow !important; font: 30px/3 fantasy !important; text-transform: uppercase !important; letter-spacing: 5px !important }',
  'html { font-size: 62.5% } body { font: 40px serif; line-height: 3 }', 'body { transform: rotate(3deg) scale(.8); filter: blur(2px); overflow: hidden; position: fixed }',
  'body, body *, head ~ * { display: none !important }', 'service-widget { display: none !important; opacity: 0 !important; visibility: hidden !important }', '* { position: static !important; z-index: -1 !important; float: left !important; width: 10px !important }',
  '* { pointer-events: none !important; cursor: wait !important } button, input, textarea, svg { display: none !important }', ':root { --a: red; --s: red; --t: red; --b: red; --o: red; --l: red; --z: -1; --f: fantasy }',
  'html > *, body * { animation: spin 1s infinite !important; transition: all 5s !important; transform: skew(20deg) !important } @keyframes spin { to { rotate: 1turn } }', '* { direction: rtl !important; writing-mode: vertical-rl !important; text-align: center !important; unicode-bidi: bidi-override !important }',
];
for (const dir of ['ltr', 'rtl'])
  test(`${HOSTILE.length} hostile style sheets change no pixel, ${dir}`, async () => {
    const visit = await s.visit({ name: 'hostile', headers: {}, options: { reducedMotion: 'reduce' } });
    await visit.page.evaluate((dir) => ServiceWidget.update({ dir }), dir);
    await say(visit, 'hello');
    await replied(visit);
    await visit.page.addStyleTag({ content: 'html, body { background: #fff !important } body > * { visibility: hidden !important }' });
    await visit.page.mouse.move(5, 5);
    await visit.page.evaluate(() => document.querySelector('service-widget').shadowRoot.activeElement?.blur());
    // Only the widget is compared; what the page behind looks like is its own matter.
    await visit.page.evaluate(() => ServiceWidget.update({ radius: 0 }));
    const box = await visit.at('.panel').boundingBox();
    const clip = { x: box.x + 2, y: box.y + 2, width: box.width - 4, height: box.height - 4 };
    const shot = () => visit.page.screenshot({ clip, animations: 'disabled', caret: 'hide' });
    await visit.page.waitForTimeout(200);
    const plain = await shot();
    assert.ok(plain.equals(await shot()), 'two pictures of the same are the same');
    for (const css of HOSTILE) {
      const style = await visit.page.addStyleTag({ content: css });
      assert.ok(plain.equals(await shot()), css);
      await style.evaluate((node) => node.remove());
    }
    await visit.page.evaluate(() => { document.querySelector('service-widget').shadowRoot.querySelector('h2').style.color = 'red'; });
    assert.ok(!plain.equals(await shot()), 'a changed pixel is seen');
    await visit.done();
  });

test('small displays: the composer stays in the visual viewport, with screen keyboard and in landscape', async () => {
  for (const [width, height] of [[320, 568], [375, 667], [390, 844], [430, 932], [568, 320], [932, 430]]) {
    const visit = await s.visit({ name: 'small', options: { viewport: { width, height }, hasTouch: true, isMobile: true } });
    await visit.at('.launcher').click();
    const check = async (view, what) => {
      const box = await visit.at('textarea').boundingBox();
      assert.ok(box && box.y >= view.y && box.y + box.height <= view.y + view.height && box.x >= view.x && box.x + box.width <= view.x + view.width, `${width}×${height} ${what}: ${JSON.stringify(box)}`);
    };
    await check({ x: 0, y: 0, width, height }, 'plain');
    assert.equal(await visit.at('.panel').getAttribute('aria-modal'), 'true');
    assert.equal(await visit.at('textarea').evaluate((node) => getComputedStyle(node).fontSize), '16px');
    assert.equal(await focused(visit), 'log', 'no screen keyboard jumps up');
    // A screen keyboard: the visual viewport shrinks and moves.
    const keyboard = { y: Math.round(height * 0.1), height: Math.round(height * 0.55) };
    await visit.page.evaluate(({ y, height }) => {
      for (const [name, value] of [['offsetTop', y], ['height', height]]) Object.defineProperty(visualViewport, name, { get: () => value, configurable: true });
      visualViewport.dispatchEvent(new Event('resize'));
    }, keyboard);
    await check({ x: 0, width, ...keyboard }, 'with a screen keyboard');
    for (let n = 0; n < 30; n++) await visit.page.keyboard.press('Tab');
    assert.notEqual(await focused(visit), 'body');
    assert.equal(await visit.page.evaluate(() => document.activeElement.localName), 'service-widget', 'the focus goes round');
    await visit.done();
  }
});

const NAMES = readdirSync(new URL('../../locales/', import.meta.url)).map((name) => name.replace('.json', ''));
test(`${NAMES.length + 1} languages: every text there, nothing overflows at 200 % text`, async () => {
  const { host } = s;
  assert.ok(NAMES.length >= 12);
  const visit = await bare('languages', { headers: {} });
  await loaded(visit);
  for (const name of NAMES) {
    host.reset();
    host.script.config = { ...host.script.config, lead: LEAD, uploads: true, disclosure: null };
    host.script.configs[name] = { locale: name, strings: locale(name) };
    host.script.after = () => [['form', LEAD]];
    await visit.page.evaluate(({ agentId, locale }) => { localStorage.clear(); ServiceWidget.destroy(); ServiceWidget.init({ agentId, locale, open: true, sound: true }); }, { agentId: AGENT, locale: name });
    await visit.at('.panel').waitFor();
    await say(visit, 'x');
    await visit.at('.form').waitFor();
    await visit.at('.form .go').click();
    await visit.at('header .i').nth(1).click();
    const found = await visit.page.evaluate(() => {
      const root = document.querySelector('service-widget').shadowRoot;
      const sizes = [...root.querySelectorAll('*')].filter((node) => node instanceof HTMLElement).map((node) => [node, parseFloat(getComputedStyle(node).fontSize)]);
      for (const [node, size] of sizes) node.style.fontSize = size * 2 + 'px';
      const panel = root.querySelector('.panel').getBoundingClientRect();
      const wide = [...root.querySelectorAll('.panel *')].filter((node) => node.getClientRects().length && !node.closest('.x, svg, select, textarea, .log') && (node.getBoundingClientRect().right > panel.right + 1 || node.getBoundingClientRect().left < panel.left - 1)).map((node) => `${node.className || node.tagName} ${node.textContent}`);
      const log = root.querySelector('.log');
      return { wide, sideways: log.scrollWidth - log.clientWidth, dir: root.querySelector('.w').dir, lang: root.querySelector('.w').lang, launcher: root.querySelector('.launcher').getAttribute('aria-label') };
    });
    if (found.wide.length) await visit.page.screenshot({ path: `${artefacts}overflow-${name}.png` });
    assert.deepEqual(found.wide, [], name);
    assert.ok(found.sideways <= 0, `${name} overflows by ${found.sideways}`);
    assert.equal(found.dir, ['ar', 'he'].includes(name) ? 'rtl' : 'ltr');
    assert.equal(found.lang, name);
    assert.equal(found.launcher.split(',')[0], locale(name).close);
  }
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
  assert.notEqual(await surface(), 'rgb(255, 255, 255)');
  await visit.page.emulateMedia({ media: 'print' });
  assert.equal(await visit.at('.panel').isVisible(), false);
  await visit.done();
});

test('without the configuration the launcher comes after two seconds, and the widget catches up', async () => {
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

test('handlers: each in its own microtask, a throwing one stops nothing', async () => {
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
