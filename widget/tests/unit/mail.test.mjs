// The server renders replies for e-mail by a reader of its own: `examples.json` holds what both must find in a text.
// `UPDATE=1` writes it; the server's test is `conversations/src/mail/markdown/mod.rs`.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { attacks } from './attacks.mjs';
import { CASES } from './cases.mjs';
import { load } from './load.mjs';

const { blocks } = await load('more/text/blocks.ts');
const FILE = new URL('../../../conversations/src/mail/markdown/examples.json', import.meta.url);

const PIECES = ['*', '**', '***', '_', '__', '~~', '`', '``', '```\n', '~~~\n', '[', ']', '](', ')', '(', '![', '<', '>', '\n', '\n\n', '- ', '* ', '1. ', '2) ', '> ', '#', '# ', '|', '|---|\n', 'a|b\n', '\\', ' ', '  ', '\t', 'http://a', 'https://ok.example', '<https://ok.example>', '[x](https://ok.example)', '](https://ok.example "t")', 'mailto:', 'word', 'é', '漢', '、', '！', '[1]', '---', '\n---\n', '&lt;', '"', "'", '.', '\n  ', '\n    '];
let seed = 1;
const random = (n) => (seed = (Math.imul(seed, 48271) >>> 0) % 2147483647) % n;
const drawn = () => Array.from({ length: 1 + random(24) }, () => PIECES[random(PIECES.length)]).join('');

// An e-mail has no images, the numbers of its sources are text, and code has no language.
const show = (span) => {
  if (typeof span == 'string') return span;
  const [tag, kids, value] = span;
  if (tag == 'sup') return kids.map(show).join('');
  if (tag == 'pre') return `pre(${kids[0][1].join('')})`;
  return `${tag}${value ? '=' + value : ''}(${kids.map(show).join('')})`;
};
const tree = (text) => blocks(text, 0, () => false).map(([node]) => show(node)).join('');

test('the examples of the server are what the widget shows', () => {
  const short = attacks.filter((text) => text.length < 400);
  const texts = [...Object.keys(CASES), ...short, ...Array.from({ length: 500 }, drawn)];
  // The server takes characters out that are not shown before it reads a text.
  const shown = [...new Set(texts.filter((text) => !/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/.test(text)))];
  const found = shown.map((text) => [text, tree(text)]);
  assert.ok(found.length > 500, `${found.length} examples`);
  const json = `[\n${found.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`;
  if (process.env.UPDATE == '1') writeFileSync(FILE, json);
  assert.equal(readFileSync(FILE, 'utf8'), json, 'run it with UPDATE=1');
});
