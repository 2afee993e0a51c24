// Options, colours, texts, retry delays, ids and the solver.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mock, test } from 'node:test';
import { load } from './load.mjs';

globalThis.document = { querySelector: () => null, documentElement: {} };
const { check, start, fromAttributes } = await load('options.ts');
const { contrast, parseColor, readable, shade, textOn } = await load('color.ts');
const { backOff } = await load('wire/failure.ts');
const { uuid } = await load('more/page.ts');
const ENGLISH = Object.assign({}, ...(await Promise.all(['strings.ts', 'more/strings.ts'].map(load))).map((one) => one.ENGLISH));
const { sha256, solve } = await load('challenge.ts');

const warnings = (action) => {
  const { mock: calls } = mock.method(console, 'warn', () => {});
  const result = action();
  const said = calls.calls.map((call) => call.arguments.join(' '));
  mock.restoreAll();
  return [result, said];
};

const f = () => {};
class FakeElement {}
Object.defineProperty(FakeElement.prototype, Symbol.toStringTag, { value: 'HTMLElement' });
/** Valid values, and values that cause a warning. */
const OPTIONS = {
  agentId: [['a', 'A_b-9'], ['', 'a b', 'a'.repeat(65), 1]],
  chatbotId: [['a'], ['é']],
  apiBase: [['https://widget.example.com', 'http://localhost:8080/x'], ['https://widget.example.com/', 'widget.example.com', 'ftp://x', '']],
  locale: [['de', 'pt-BR', 'zh-Hans'], ['german language', '', 'de_AT', 'd', 'de-']],
  theme: [['auto', 'light', 'dark'], ['blue', 1]],
  position: [['bottom-right', 'bottom-left'], ['top', 'bottom']],
  color: [['#abc', '#AABBCC'], ['red', '#ab', '#abcde', '#abcd']],
  title: [['', 'x'.repeat(80), '👍'.repeat(80)], ['x'.repeat(81), 1]],
  subtitle: [['x'], ['x'.repeat(81)]],
  greeting: [['x'.repeat(1000), 'a\nb'], ['x'.repeat(1001)]],
  launcherLabel: [['x'.repeat(60)], ['x'.repeat(61)]],
  open: [[true, false], ['true', 1, 1n]],
  openOnMobile: [[true], ['']],
  zIndex: [[0, 5, -1, 2147483647], ['5', 1.5, NaN, Infinity]],
  container: [['#chat', new FakeElement()], [5, {}]],
  nonce: [['abc'], [1]],
  user: [[{ email: 'a@b.example' }, { email: null, name: undefined }, {}], ['x', { email: 1 }, { email: 'x'.repeat(513) }]],
  avatar: [['https://ok.example/a.png'], [1]],
  suggestions: [[['a'], []], [['x'.repeat(81)], [1], Array(7).fill('a'), 'a', { a: 'a' }]],
  teaser: [[false, { text: 'a' }, { text: 'a', delayMs: 10 }], [true, 'a', { text: 5 }, { text: 'x'.repeat(201) }, { text: 'a', delayMs: '10' }, { text: 'a', delayMs: -1 }, { words: 'a' }, { text: false }]],
  mode: [['bubble', 'inline'], ['window']],
  launcher: [[{ hidden: true }, { icon: 'help' }, { icon: 'avatar' }], [true, 'x', { hidden: 'chat' }, { icon: true }, { icon: 'star' }]],
  sound: [[true], ['on']],
  prechat: [['config', 'off'], [false]],
  uploads: [[false], ['no']],
  feedback: [[true], [0]],
  persist: [['local', 'session', 'memory'], ['cookie']],
  consent: [[true, false], ['yes']],
  page: [['path', 'full', 'none'], ['all']],
  metadata: [[{}, { a: 1, b: true, c: 'x' }], [{ a: null }, { a: {} }, { a: 'x'.repeat(257) }, { ['k'.repeat(41)]: 1 }, Object.fromEntries(Array.from({ length: 21 }, (_, n) => ['k' + n, 1])), { a: NaN }, { a: Infinity }]],
  strings: [[{ open: 'Hi' }], [{ open: 1 }, 'x']],
  dir: [['auto', 'ltr', 'rtl'], ['up']],
  offset: [[{ x: 1 }, { x: 0, y: 2.5 }, {}], [{ x: '1' }, { x: -1 }, 5]],
  radius: [[0, 16], [-1, '4']],
  fontFamily: [['Inter, "A B", serif'], ['x;color:red', 'a}b', '']],
  onReady: [[f], ['f']], onOpen: [[f], [1]], onClose: [[f], [{}]], onMessage: [[f], [1]], onError: [[f], [1]],
  on: [[{ reply: f }, {}], [{ reply: 1 }, f]],
};
for (const [name, [good, bad]] of Object.entries(OPTIONS)) {
  test(`option ${name}`, () => {
    for (const value of good) {
      const [out, said] = warnings(() => check({ [name]: value }));
      assert.equal(out[name], value);
      assert.deepEqual(said, []);
    }
    for (const value of bad) {
      const [out, said] = warnings(() => check({ [name]: value }));
      assert.ok(!(name in out), `${name} took ${typeof value} ${JSON.stringify({ value }, (_, one) => (typeof one == 'bigint' ? '' + one : one))}`);
      assert.equal(said.length, 1);
      assert.match(said[0], new RegExp(`^\\[ServiceWidget\\] option "${name}"`));
    }
    for (const value of [null, undefined]) assert.deepEqual(warnings(() => check({ [name]: value })), [{}, []]);
  });
}
test('unknown options cause a warning, also those with names of built-in members', () => {
  for (const name of ['colour', 'constructor', '__proto__x', 'toString', '']) {
    const [out, said] = warnings(() => check({ [name]: 1 }));
    assert.deepEqual(out, {});
    assert.match(said[0], /is unknown; remove it/);
  }
});
test('options that cannot be updated cause a warning', () => {
  const [out, said] = warnings(() => check({ agentId: 'b', color: '#abc' }, 'agentId mode'));
  assert.deepEqual(out, { color: '#abc' });
  assert.match(said[0], /"agentId" cannot be updated/);
});
test('init needs an agent, a URL and, inline, a container', () => {
  for (const given of [undefined, null, {}, { agentId: '' }, { agentId: 'a b' }, { agentId: 5 }, 'x']) assert.throws(() => warnings(() => start(given, 'https://w.example')), TypeError);
  assert.throws(() => start({ agentId: 'a' }, ''), TypeError);
  assert.throws(() => warnings(() => start({ agentId: 'a', mode: 'inline', container: '#none' }, 'https://w.example')), TypeError);
  assert.equal(start({ agentId: 'a' }, 'https://w.example').apiBase, 'https://w.example');
  assert.equal(start({ chatbotId: 'b' }, 'https://w.example').agentId, 'b');
  const [out, said] = warnings(() => start({ agentId: 'a', chatbotId: 'b', container: '#none' }, 'https://w.example'));
  assert.equal(out.agentId, 'a');
  assert.equal(said.length, 2);
});
test('attributes become options', () => {
  // As a browser gives them: `data-agent-id` is `agentId`.
  assert.deepEqual(fromAttributes({ agentId: 'a', open: '', openOnMobile: 'true', zIndex: '5', colour: 'x', locale: 'de', launcherLabel: 'Ask' }), { agentId: 'a', locale: 'de', launcherLabel: 'Ask', open: true, openOnMobile: true, zIndex: 5 });
  assert.deepEqual(fromAttributes({ open: 'false', apiBase: 'https://w.example' }), { apiBase: 'https://w.example', open: false });
});

test('text is readable on every colour, and every colour on the surfaces', () => {
  for (let r = 0; r < 256; r += 15)
    for (let g = 0; g < 256; g += 15)
      for (let b = 0; b < 256; b += 15) {
        const color = '#' + [r, g, b].map((c) => c.toString(16).padStart(2, '0')).join('');
        assert.ok(contrast(parseColor(color), parseColor(textOn(color))) >= 4.5, color);
        assert.ok(contrast(parseColor(shade(color)), parseColor(textOn(color))) >= 4.5, `the shade of ${color}`);
        for (const [surface, isDark] of [['#e9ecef', false], ['#30353b', true]]) {
          const shade = parseColor(readable(color, isDark));
          assert.ok(contrast(shade, parseColor(surface)) >= 4.5, `${color} on ${surface}`);
        }
      }
  assert.deepEqual(parseColor('#abc'), [0xaa, 0xbb, 0xcc]);
});

test('retry delays are random, and their maximum doubles up to 8 s', () => {
  for (let n = 0; n < 12; n++) {
    const most = Math.min(8000, 400 * 2 ** n);
    const tries = Array.from({ length: 400 }, () => backOff(n));
    assert.ok(tries.every((one) => one >= 0 && one <= most));
    assert.ok(Math.max(...tries) > most * 0.9 && Math.min(...tries) < most * 0.1);
  }
});
test('ids are random UUIDs of version 4', () => {
  const all = new Set(Array.from({ length: 2000 }, uuid));
  assert.equal(all.size, 2000);
  for (const one of all) assert.match(one, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
test('the solver hashes as SHA-256 does and finds a nonce', async () => {
  for (const text of ['', 'abc', 'a'.repeat(55), 'a'.repeat(56), 'a'.repeat(64), 'x'.repeat(200)]) {
    const hex = Array.from(sha256(text), (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
    assert.equal(hex, createHash('sha256').update(text).digest('hex'));
  }
  const nonce = await solve('salt', 12);
  assert.ok(createHash('sha256').update('salt' + nonce).digest().readUInt32BE(0) < 2 ** 20);
});
test('texts have no markup and use known placeholders only', () => {
  for (const [key, text] of Object.entries(ENGLISH)) {
    assert.ok(text.trim() == text && text.length && !/[<>]/.test(text), key);
    assert.deepEqual(text.match(/\{\w+\}/g)?.filter((one) => !['{n}', '{name}'].includes(one)) ?? [], []);
  }
});
