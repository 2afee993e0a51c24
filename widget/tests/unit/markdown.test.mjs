// The Markdown subset: its trees, the elements it allows, and linear time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attacks } from './attacks.mjs';
import { CASES } from './cases.mjs';
import { load } from './load.mjs';

const { blocks } = await load('more/text/blocks.ts');
const isAllowed = (url) => url.startsWith('https://images.example/');
const tree = (text) => blocks(text, 0, isAllowed).map(([node]) => node);
/** A compact form for comparison: elements as `tag(children)`, with addresses after the tag. */
const show = (span) => (typeof span == 'string' ? span : `${span[0]}${span[2] ? '=' + span[2] : ''}(${span[1].map(show).join('')})`);
const drawn = (text) => tree(text).map(show).join('');

const TAGS = new Set('p br hr strong em del code pre ul ol li blockquote table tr th td a img sup'.split(' '));
/** Throws when a tree holds anything but the allowed elements with allowed values. */
const inspect = (span, depth = 0) => {
  if (typeof span == 'string') return;
  const [tag, kids, value, ...rest] = span;
  assert.ok(TAGS.has(tag), `element ${tag}`);
  assert.equal(rest.length, 0);
  assert.ok(depth < 24, 'nests too deep');
  if (tag == 'a') assert.match(value, /^(https?:\/\/|mailto:|tel:)[^\s\0-\x1f]+$/i);
  else if (tag == 'img') assert.ok(isAllowed(value), value);
  else if (tag == 'ol') assert.match(value, /^\d{1,9}$/);
  // The language of a block of code, which is shown as text.
  else if (tag == 'pre' && value) assert.match(value, /^[\w+#.-]{1,20}$/);
  else assert.equal(value, undefined, `${tag} has a value`);
  for (const kid of kids) inspect(kid, depth + 1);
};
const textOf = (span) => (typeof span == 'string' ? span : span[1].map(textOf).join(''));

for (const [text, expected] of Object.entries(CASES))
  test(`renders ${JSON.stringify(text)}`, () => assert.equal(drawn(text), expected));

test(`${attacks.length} attacks give allowed elements and URLs only`, () => {
  assert.ok(attacks.length >= 200, `only ${attacks.length}`);
  for (const text of attacks) tree(text).forEach((node) => inspect(node));
});
test('raw HTML stays text', () => {
  for (const text of ['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<b>x</b>']) assert.equal(tree(text).map(textOf).join(''), text);
});
test('the inspection finds what is not allowed', () => {
  for (const bad of [['script', []], ['a', ['x'], 'javascript:1'], ['img', ['x'], 'https://evil.example/a'], ['p', [['b', []]]], ['p', [], 'x']])
    assert.throws(() => inspect(bad));
});

const ROUNDS = process.env.WIDGET_LONG == '1' ? 100000 : 20000;
test(`${ROUNDS} random texts give allowed trees, and no letter is shown twice`, () => {
  const pieces = ['*', '**', '_', '~~', '`', '```\n', '[', ']', '](', ')', '(', '![', '<', '>', '\n', '\n\n', '- ', '1. ', '> ', '#', '# ', '|', '|---|', '\\', ' ', '  ', '\t', 'http://a', 'https://ok.example', 'javascript:', 'word', 'é', '漢', '👍', '[1]', '---', '\r', '\0', '&lt;', '"', "'"];
  let seed = 1;
  const random = (n) => (seed = (Math.imul(seed, 48271) >>> 0) % 2147483647) % n;
  for (let round = 0; round < ROUNDS; round++) {
    let text = '';
    for (let n = random(40); n--; ) text += pieces[random(pieces.length)];
    const nodes = tree(text);
    nodes.forEach((node) => inspect(node));
    const words = (some) => (some.match(/word|é|漢|👍/gu) || []).length;
    // URLs and the info string of a fence are not shown; nothing is shown twice.
    assert.ok(words(nodes.map(textOf).join('')) <= words(text), JSON.stringify(text));
  }
});

const ADVERSARIAL = {
  stars: '*', 'open strong': '**a ', 'star words': '*a ', 'closers without openers': 'a* ', brackets: '[', 'open links': '[a](', 'link tails': '](', 'link tails of text': '](a', images: '![', 'nested links': '[[a](b)',
  ticks: '`a', 'growing ticks': null, quotes: '>', 'quote lines': '> ', lists: '- ', 'nested lists': null, numbers: '1. ', tables: '|', 'table rows': '|-', 'table heads': 'a|b\n', hashes: '#', underscores: '_a_', tildes: '~~a', autolinks: '<http:', bare: 'http://', 'bare with parens': 'https://a)', 'all parens': null,
  escapes: '\\', spaces: ' ', 'spaces in rules': '- ', newlines: '\n', 'carriage returns': '\r', cites: '[1]', 'mixed openers': '*_~~[', 'tabs and bars': '\t|', 'angle targets': '[a](<', 'titles': '[a](b "', 'dashes and bars': '|--', fences: '```\n', 'open fences': '~~~a\n',
};
const filled = (name, piece) =>
  name == 'growing ticks' ? Array.from({ length: 360 }, (_, n) => '`'.repeat(n + 1) + 'a').join('')
    : name == 'nested lists' ? Array.from({ length: 250 }, (_, n) => ' '.repeat(n * 2) + '- a').join('\n')
      : name == 'all parens' ? 'https://a' + ')'.repeat(65500)
        : piece.repeat(Math.ceil(65536 / piece.length)).slice(0, 65536);
for (const [name, piece] of Object.entries(ADVERSARIAL))
  test(`64 KiB of ${name} in at most 150 ms`, () => {
    const text = filled(name, piece);
    let best = Infinity;
    for (let n = 0; n < 6 && best > 100; n++) {
      const began = performance.now();
      tree(text);
      tree(text + 'x');
      best = Math.min(best, (performance.now() - began) / 2);
    }
    assert.ok(best <= 150, `${best} ms`);
  });
test('text beyond 64 KiB is plain', () => {
  const nodes = tree('x'.repeat(65534) + '\n\n**d** [a](https://ok.example)');
  assert.deepEqual(nodes.at(-1), ['p', ['**d** [a](https://ok.example)']]);
});
