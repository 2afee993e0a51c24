// Appearance and accessibility: hostile pages, small displays, languages. Saves screenshots.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, beforeEach } from 'node:test';
import { LEAD } from '../host.mjs';
import { inspect } from './axe.mjs';
import { AGENT, artefacts, replied, say, start, tag, test } from './setup.mjs';

let s;
before(async () => { s = await start(); });
after(() => s.stop());
beforeEach(() => s.host.reset());

const focused = (visit) => visit.page.evaluate(() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node == document.body ? 'body' : node.className || node.id || node.tagName;
});
const loaded = (visit) => visit.page.waitForFunction(() => window.ServiceWidget?.version);
const bare = (name, more = {}) => s.visit({ name, body: `<p>page</p>${tag(s.host, more.attributes ?? '')}`, ...more });

const MAIN = '<header><h1>A page</h1></header><main><p>Some text of the page.</p></main>';
const prepare = {
  closed: async () => {},
  open: async (visit) => { await visit.at('.launcher').click(); await visit.page.waitForTimeout(250); },
  streaming: async (visit) => {
    // A stream that pauses during the check.
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
for (const [look, { options, lang }] of Object.entries(looks))
  for (const state of Object.keys(prepare))
    test(`accessible, with a screenshot: ${look}, ${state}`, async () => {
      const { host } = s;
      if (lang) host.script.configs[lang] = { locale: lang, strings: locale(lang), greeting: 'مرحبا! كيف يمكننا المساعدة؟', title: 'عيادة الشارع', subtitle: null, disclosure: null, suggestions: ['ساعات العمل'] };
      const visit = await s.visit({ name: `look-${look}`, options, headers: {}, body: `${MAIN}${tag(host, `data-agent-id="${AGENT}" ${lang ? `data-locale="${lang}"` : ''}`)}` });
      await visit.page.addStyleTag({ content: look == 'dark' ? 'body{background:#111;color:#eee;font:16px sans-serif}' : 'body{font:16px sans-serif}' });
      await visit.at('.launcher').waitFor();
      await prepare[state](visit);
      await inspect(visit, `${look}, ${state}`);
      await visit.page.screenshot({ path: `${artefacts}${look}-${state}.png` });
      await visit.done();
    });

test('accessible, with a screenshot: forms, with and without errors, and other colours', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, prechat: { ...LEAD, fields: [...LEAD.fields, { name: 'topic', label: 'Topic', type: 'enum', required: true, options: ['Prices', { value: 'x', label: 'Something else' }] }] } };
  const visit = await s.visit({ name: 'forms', headers: {}, body: MAIN + tag(host) });
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
  const failed = await s.visit({ name: 'failed', headers: {}, body: MAIN + tag(host) });
  await failed.at('.teaser').waitFor();
  await failed.page.waitForTimeout(250);
  await inspect(failed, 'teaser');
  await failed.page.screenshot({ path: `${artefacts}teaser.png` });
  await say(failed, 'What are your opening hours on public holidays?');
  await failed.at('.note.err').waitFor();
  await inspect(failed, 'error');
  await failed.page.screenshot({ path: `${artefacts}error.png` });
  host.script.failure = undefined;
  await failed.at('.head [aria-label="New conversation"]').click();
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
    // Only the widget is compared; the page under it is not.
    await visit.page.evaluate(() => ServiceWidget.update({ radius: 0 }));
    const box = await visit.at('.panel').boundingBox();
    const clip = { x: box.x + 2, y: box.y + 2, width: box.width - 4, height: box.height - 4 };
    const shot = () => visit.page.screenshot({ clip, animations: 'disabled', caret: 'hide' });
    await visit.page.waitForTimeout(200);
    const plain = await shot();
    assert.ok(plain.equals(await shot()), 'two screenshots of the same are equal');
    for (const css of HOSTILE) {
      const style = await visit.page.addStyleTag({ content: css });
      assert.ok(plain.equals(await shot()), css);
      await style.evaluate((node) => node.remove());
    }
    await visit.page.evaluate(() => { document.querySelector('service-widget').shadowRoot.querySelector('h2').style.color = 'red'; });
    assert.ok(!plain.equals(await shot()), 'a changed pixel is seen');
    await visit.done();
  });

test('right to left: text of the other direction is aligned to its own edge, the empty text field by the language', async () => {
  const { host } = s;
  host.script.configs.ar = { locale: 'ar', strings: locale('ar'), greeting: null };
  host.script.deltaMs = 60000;
  const visit = await s.visit({ name: 'mirrored', headers: {}, body: tag(host, `data-agent-id="${AGENT}" data-locale="ar"`) });
  await visit.at('.launcher').click();
  const direction = () => visit.at('textarea').evaluate((node) => getComputedStyle(node).direction);
  assert.equal(await direction(), 'rtl');
  await visit.at('textarea').fill('English');
  assert.equal(await direction(), 'ltr');
  await visit.at('.send').click();
  await visit.at('.dots').waitFor();
  await visit.page.screenshot({ path: `${artefacts}rtl-typing.png` });
  const [bubble, message] = [await visit.at('.m.v .b').boundingBox(), await visit.at('.m.v').boundingBox()];
  assert.ok(bubble.width < message.width - 50 && Math.abs(bubble.x - message.x) < 2, `${bubble.x}, ${message.x}`);
  const [title, face] = [await visit.at('h2').boundingBox(), await visit.at('.head .face').boundingBox()];
  assert.ok(Math.abs(title.x + title.width - face.x) < 20, 'the title is next to the image');
  const [dots, dot] = [await visit.at('.dots').boundingBox(), await visit.at('.dots i').nth(1).boundingBox()];
  assert.ok(Math.abs(dots.x + dots.width / 2 - dot.x - dot.width / 2) < 2, 'the dots stand in the middle');
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
    // An on-screen keyboard: the visual viewport shrinks and moves.
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
test(`${NAMES.length + 1} languages: every text exists, and nothing overflows at 200 % text size`, async () => {
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
    await visit.at('.head .i').nth(1).click();
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
