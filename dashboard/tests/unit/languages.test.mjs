// What the languages do to numbers, names, times and searches, with the translations of dist.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { load } from './load.mjs';

const dist = new URL('../../dist/', import.meta.url);
const scripts = readFileSync(new URL('index.html', dist), 'utf8').match(/data-scripts="([^"]+)"/)[1].replaceAll('&quot;', '"');
globalThis.document = { querySelector: (selector) => (selector.startsWith('meta') ? { content: dist.href.slice(0, -1) } : { dataset: { scripts } }), documentElement: {} };
const { ago, fieldLabel, fieldText, fits, fullName, holds, languages, list, sentences, setLocale, t, tn } = await load('lib/i18n.ts', 'lib/errors.ts', 'app/fields.ts');
const inLanguage = async (tag, action) => {
  await setLocale(tag);
  assert.equal(document.documentElement.lang, tag);
  await action();
};

test('a limit is shown as a number of the language, or not taken from the text', async () => {
  const text = (type, message) => fieldText({ field: 'x', type, message });
  await inLanguage('de', () => {
    assert.equal(text('maxLength', 'must have at most 1000 characters'), 'Höchstens 1.000 Zeichen.');
    assert.equal(text('maximum', 'must be at most 0.5'), t('{n} or less.', { n: '0,5' }));
    assert.equal(text('minimum', 'must be at least -5.'), t('{n} or more.', { n: '-5' }));
    assert.equal(text('maxItems', 'must have at most 1 entry'), 'Höchstens 1 Eintrag.');
    assert.equal(text('maximum', 'must be at most 1e3'), t('{n} or less.', { n: '1.000' }));
    assert.equal(text('required', 'is required'), t('A value is needed.'));
    for (const message of ['must be at most 1e308', 'must be at least 1875-01-01', 'must be between 1 and 5', 'must be at most 0.00001', 'must be at least 9007199254740993', 'is v2.0.1', 'must be as fields[3]x2 says'])
      assert.equal(text('maximum', message), t('This value is not valid: {reason}', { reason: message }), message);
  });
  await inLanguage('ar', () => assert.equal(text('maxLength', 'must have at most 2 characters'), 'حرفان على الأكثر.'));
  await inLanguage('en', () => assert.equal(text('maxLength', 'must have at most 5 characters'), 'must have at most 5 characters'));
});
test('a plural form that names its number leaves the digits out', async () => {
  const weeks = (n) => tn(n, 'every week', 'every {n} weeks');
  for (const [tag, one, two] of [['de', 'jede Woche', '2 Wochen'], ['fr', 'chaque semaine', '2 semaines'], ['he', 'כל שבוע', 'כל שבועיים'], ['ar', 'كل أسبوع', 'كل أسبوعين'], ['en', 'every week', 'every 2 weeks']])
    await inLanguage(tag, () => assert.ok(weeks(1) == one && weeks(2).endsWith(two), `${tag}: ${weeks(1)}, ${weeks(2)}`));
});
test('no language writes a time that has passed with a bare sign', async () => {
  const now = Date.parse('2026-11-28T12:00:00Z');
  for (const [tag] of languages())
    await inLanguage(tag, () => {
      for (const seconds of [-30, -300, -3 * 3600, -5 * 86400, 7200]) assert.doesNotMatch(ago(new Date(now + seconds * 1000).toISOString(), now), /^\P{L}*[-+−]/u, tag);
    });
});
test('names, sentences and lists are joined as the language does', async () => {
  await inLanguage('ja', () => {
    assert.equal(fullName('花子', '山田'), '山田 花子');
    assert.equal(fullName('Zoë', 'Okafor'), 'Zoë Okafor');
    assert.equal(sentences('一。', false, '二。'), '一。二。');
  });
  await inLanguage('zh-Hans', () => assert.deepEqual([fullName('小明', '王'), fullName('小明', null), fullName(null, '王')], ['王小明', '小明', '王']));
  await inLanguage('de', () => assert.deepEqual([fullName('花子', '山田'), sentences('Eins.', undefined, 'Zwei.'), list(['a', 'b'])], ['花子 山田', 'Eins. Zwei.', 'a und b']));
});
test('searches know the case of the language, and words without spaces', async () => {
  await inLanguage('tr', () => {
    assert.ok(holds('API ERİŞİMİ', 'api erişimi') && holds('İstek SINIRI', 'istek sınırı') && holds('CRM sync', 'SYNC'));
    assert.ok(fits('Yeni API anahtarı', 'api ANAHTARI'));
  });
  await inLanguage('ja', () => {
    assert.ok(fits('新しい連絡先', '連絡先') && fits('APIキーを作成', '作成'));
    assert.ok(!fits('新しい連絡先', '先連') && !fits('Import', 'port'));
  });
  await inLanguage('en', () => assert.ok(fits('Import contacts', 'con imp') && !fits('Import contacts', 'tacts')));
});
test('a standard field is called in the language, unless somebody has given it another label', async () => {
  await inLanguage('de', () => {
    assert.equal(fieldLabel({ name: 'dob', label: 'Date of birth' }), 'Geburtsdatum');
    assert.equal(fieldLabel({ name: 'dob', label: 'Birthday' }), 'Birthday');
    assert.equal(fieldLabel({ name: 'dob' }), 'Geburtsdatum');
    assert.equal(fieldLabel({ name: 'plan', label: 'Date of birth' }), 'Date of birth');
    assert.equal(fieldLabel({ name: 'constructor', label: null }), 'constructor');
  });
});
