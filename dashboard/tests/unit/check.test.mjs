import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkCharacters as reference } from '../check.mjs';
import { load } from './load.mjs';

const { checkCharacters, credentials } = await load('lib/check.ts');
const KEY = 'svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ';

test('check characters are those of the contract', () => {
  assert.equal(checkCharacters(KEY.slice(0, -6)), KEY.slice(-6));
  for (let n = 0; n < 2000; n++) assert.equal(checkCharacters('svck_' + n * 7919), reference('svck_' + n * 7919));
});
test('keys and secrets are found in any text, and a typo of one character is seen', () => {
  const secret = 'svcs_' + 'a'.repeat(43);
  const text = `export KEY=${KEY}\nexport SECRET="${secret}${reference(secret)}"`;
  assert.deepEqual(credentials(text).map((one) => [one.kind, one.valid]), [['key', true], ['secret', true]]);
  for (let at = 5; at < KEY.length; at++) {
    const typo = KEY.slice(0, at) + (KEY[at] == 'A' ? 'B' : 'A') + KEY.slice(at + 1);
    assert.equal(credentials(typo)[0].valid, false, typo);
  }
  assert.deepEqual(credentials('nothing here'), []);
});
