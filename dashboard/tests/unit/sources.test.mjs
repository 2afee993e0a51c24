// Rules for the sources: what the policy of the console and the languages need.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const src = new URL('../../src/', import.meta.url);
const files = readdirSync(src, { recursive: true }).filter((name) => /\.tsx?$/.test(name) && !name.startsWith('generated'));
const text = (name) => readFileSync(new URL(name, src), 'utf8');
/** The texts of the sources: each first argument of `t`, and the plural of `tn`. */
export const texts = () =>
  new Set(files.flatMap((name) => [
    ...[...text(name).matchAll(/\bt\(\s*'((?:[^'\\]|\\.)*)'/g)].map((match) => match[1]),
    ...[...text(name).matchAll(/\btn\([^,]+,\s*'(?:[^'\\]|\\.)*',\s*'((?:[^'\\]|\\.)*)'/g)].map((match) => match[1]),
  ]).map((one) => one.replace(/\\'/g, "'")));
const locales = readdirSync(new URL('../../locales/', import.meta.url)).filter((name) => name.endsWith('.json'));

test('no source makes HTML of text, nor runs text', () => {
  for (const name of files) for (const word of ['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'document.write', 'eval(', 'new Function', 'style="']) assert.ok(!text(name).includes(word), `${name}: ${word}`);
});
test('no source stores records in the browser, but unsaved input for the tab', () => {
  for (const name of files) for (const word of ['indexedDB', 'serviceWorker', 'caches.open']) assert.ok(!text(name).includes(word), `${name}: ${word}`);
  const keys = files.flatMap((name) => [...text(name).matchAll(/stored\.write\('local', '([\w-]+)'/g)].map((match) => match[1]));
  assert.deepEqual([...new Set(keys)].sort(), ['agent', 'density', 'letters', 'locale', 'proof', 'theme']);
});
test('a page imports from the kit only', () => {
  for (const name of files.filter((one) => one.startsWith('pages/')))
    for (const [, from] of text(name).matchAll(/from '([^']+)'/g)) assert.match(from, /^(\.\.\/(\.\.\/)?kit|\.\/[\w/-]+|preact)$/, `${name}: ${from}`);
});
test('every text is written where it is shown, so that it can be found', () => {
  for (const name of files.filter((one) => one != 'lib/i18n.ts')) {
    const found = (of) => [...text(name).matchAll(of)].length;
    assert.equal(found(/\bt\(/g), found(/\bt\(\s*'/g), `${name}: t without a text`);
    assert.equal(found(/\btn\(/g), found(/\btn\([^,]+,\s*'(?:[^'\\]|\\.)*',\s*'/g), `${name}: tn without texts`);
  }
});
test('every action of the audit log has words', () => {
  const rust = readFileSync(new URL('../../../openapi-core/src/audit/mod.rs', import.meta.url), 'utf8');
  const words = text('pages/parts/audit-words.ts');
  const actions = [...rust.matchAll(/^ {4}\w+ = "(\w+\.\w+)",$/gm)].map((match) => match[1]);
  assert.ok(actions.length > 80, String(actions.length));
  for (const action of actions) assert.ok(words.includes(`'${action}':`), action);
});
test('every text of a language is one of the sources, complete, with the same values', () => {
  const known = texts();
  assert.ok(known.size > 250, String(known.size));
  const slots = (one) => [...new Set(one.match(/\{\w+\}/g))].sort().join();
  for (const file of locales) {
    const language = JSON.parse(readFileSync(new URL('../../locales/' + file, import.meta.url), 'utf8'));
    for (const key of known) assert.ok(key in language, `${file}: no translation of “${key}”`);
    for (const [key, value] of Object.entries(language)) {
      assert.ok(known.has(key), `${file}: “${key}” is no text of the sources`);
      for (const one of typeof value == 'string' ? [value] : Object.values(value)) assert.equal(slots(one), slots(key), `${file}: ${key}`);
    }
    const categories = new Intl.PluralRules(file.replace('.json', '')).resolvedOptions().pluralCategories;
    for (const [key, value] of Object.entries(language)) if (typeof value == 'object') assert.deepEqual(Object.keys(value).sort(), [...categories].sort(), `${file}: ${key}`);
  }
});
