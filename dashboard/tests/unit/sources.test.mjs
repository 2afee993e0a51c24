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
/** The English singulars of the plurals. */
const singulars = () => new Map(files.flatMap((name) => [...text(name).matchAll(/\btn\([^,]+,\s*'((?:[^'\\]|\\.)*)',\s*'((?:[^'\\]|\\.)*)'/g)].map((match) => [match[2].replace(/\\'/g, "'"), match[1].replace(/\\'/g, "'")])));
/** The numbers of a plural category: one of them says itself which number it is. */
const isOneNumber = (rules, category) => [...Array(1200).keys(), 1e6, 2e6].filter((n) => rules.select(n) == category).length == 1;
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
test('no text is glued together: lists, quotation marks, sentences and numbers go through the language', () => {
  // Lists of codes and addresses have no language, nor what a field takes.
  const CODES = { 'pages/keys.tsx': 1, 'pages/parts/webhook-parts.tsx': 1, 'pages/parts/key-form.tsx': 1, 'pages/parts/contact-record.tsx': 1 };
  for (const name of files) {
    const source = text(name);
    const count = (of) => [...source.matchAll(of)].length;
    assert.ok(count(/join\(', '\)/g) <= (CODES[name] ?? 0), `${name}: join(', ') of words; use list()`);
    const code = source.replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '').replaceAll(/'(?:[^'\\\n]|\\.)*'/g, '');
    assert.ok(!/[“”]/.test(code), `${name}: quotation marks outside of a text`);
    assert.equal(count(/t\('[^'\n]*[.!?]'[^)]*\)\}? ?\{(' '\}|[^}\n]*\bt\('[^'\n]*[.!?]')/g), 0, `${name}: sentences with a literal space between them; use sentences()`);
    assert.equal(count(/\)\} <(When|Moment) /g) + count(/\bt\([^()]*\)\} <time/g), 0, `${name}: a time after a text; use filled()`);
    assert.equal(count(/toLocale(Lower|Upper)Case\(\)/g) - (name == 'ui/parts.tsx' ? 1 : 0), 0, `${name}: the case of the browser's language`);
    // A count of things has a plural; a number next to a unit, or after a name, has none.
    assert.equal(count(/\bt\('[^']*\{n\} [a-z]{2,}s\b[^']*'/g), 0, `${name}: a number of things without tn`);
  }
});
test('standard fields have the labels of the server, and the widget says what its preview says', async () => {
  const rust = readFileSync(new URL('../../../openapi-core/src/schema/builtin.rs', import.meta.url), 'utf8');
  const labels = [...rust.matchAll(/\b(?:field|text|read_only)\(\s*"(\w+)",\s*"([^"]+)"/g)].map((match) => [match[1], match[2]]);
  const own = [...text('app/fields.ts').matchAll(/^ {2}(\w+): \['([^']+)',/gm)].map((match) => [match[1], match[2]]);
  assert.ok(labels.length > 20);
  assert.deepEqual(own, labels);
  const widget = (tag) => JSON.parse(readFileSync(new URL(`../../../widget/locales/${tag}.json`, import.meta.url), 'utf8'));
  const shown = { hello: 'Hello! How can I help?', disclosure: 'Answers come from an AI and may be wrong.', write: 'Write a message…' };
  const english = readFileSync(new URL('../../../widget/src/strings.ts', import.meta.url), 'utf8') + readFileSync(new URL('../../../widget/src/more/strings.ts', import.meta.url), 'utf8');
  for (const [key, said] of Object.entries(shown)) {
    assert.ok(texts().has(said) && english.includes(`${key}: '${said}'`), said);
    for (const file of locales) assert.equal(JSON.parse(readFileSync(new URL('../../locales/' + file, import.meta.url), 'utf8'))[said], widget(file.replace('.json', ''))[key], `${file}: ${said}`);
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
  const singular = singulars();
  for (const file of locales) {
    const rules = new Intl.PluralRules(file.replace('.json', ''));
    const language = JSON.parse(readFileSync(new URL('../../locales/' + file, import.meta.url), 'utf8'));
    for (const key of known) assert.ok(key in language, `${file}: no translation of “${key}”`);
    for (const [key, value] of Object.entries(language)) {
      assert.ok(known.has(key), `${file}: “${key}” is no text of the sources`);
      // A form for one number alone need not show it, nor one whose English does not.
      const mayOmit = (category) => category != 'other' && (isOneNumber(rules, category) || (category == 'one' && !singular.get(key)?.includes('{n}')));
      for (const [category, one] of typeof value == 'string' ? [['other', value]] : Object.entries(value)) {
        const expected = mayOmit(category) && !one.includes('{n}') ? slots(key.replace('{n}', '')) : slots(key);
        assert.equal(slots(one), expected, `${file}: ${key} (${category})`);
      }
    }
    const categories = rules.resolvedOptions().pluralCategories;
    for (const [key, value] of Object.entries(language)) if (typeof value == 'object') assert.deepEqual(Object.keys(value).sort(), [...categories].sort(), `${file}: ${key}`);
  }
});
