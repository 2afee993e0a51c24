// The languages: every text, with the values it needs and the plural forms of its language.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { load } from './load.mjs';

// The texts of both scripts.
const [ENGLISH, own] = await Promise.all(['strings.ts', 'more/strings.ts'].map(async (file) => (await load(file)).ENGLISH));
for (const key of Object.keys(own)) assert.ok(!(key in ENGLISH), `${key} stands in one script`);
Object.assign(ENGLISH, own);
const folder = new URL('../../locales/', import.meta.url);
const values = (text) => (text.match(/\{\w+\}/g) || []).sort().join();

for (const file of readdirSync(folder))
  test(`language ${file}`, () => {
    const name = file.replace('.json', '');
    const texts = JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
    assert.equal(Intl.getCanonicalLocales(name)[0], name);
    const forms = new Intl.PluralRules(name).resolvedOptions().pluralCategories;
    const expected = Object.keys(ENGLISH).filter((key) => !/^(unread|wait)\./.test(key)).concat(['unread', 'wait'].flatMap((key) => forms.map((form) => `${key}.${form}`)));
    assert.deepEqual(Object.keys(texts).sort(), expected.sort());
    for (const [key, text] of Object.entries(texts)) {
      assert.ok(text.trim() == text && text, key);
      // A plural form may spell its number.
      if (!/^(unread|wait)\./.test(key)) assert.equal(values(text), values(ENGLISH[key]), key);
    }
  });
