import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './load.mjs';

const { merge, changed, same } = await load('lib/merge.ts');
let seed = 7;
const random = (below) => {
  // SplitMix32.
  seed = (seed + 0x9e3779b9) | 0;
  let z = Math.imul(seed ^ (seed >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return ((z ^ (z >>> 15)) >>> 0) % below;
};
const VALUES = [null, '', 'a', 'b', 'c', ['x'], ['x', 'y'], 0, false, { k: 1 }];
const FIELDS = ['one', 'two', 'three', 'four'];
const record = () => Object.fromEntries(FIELDS.filter(() => random(8)).map((field) => [field, VALUES[random(VALUES.length)]]));
const edited = (from) => Object.fromEntries(Object.entries(from).map(([field, value]) => [field, random(3) ? value : VALUES[random(VALUES.length)]]));

test('100,000 merges lose and invent no value', () => {
  let conflicts = 0;
  for (let n = 0; n < 100000; n++) {
    const base = record();
    const mine = edited(base);
    const theirs = edited(base);
    const result = merge(base, mine, theirs);
    const open = new Set(result.conflicts.map((one) => one.field));
    conflicts += open.size;
    for (const field of Object.keys(base)) {
      const my = !same(base[field], mine[field]);
      const their = !same(base[field], theirs[field]);
      assert.equal(open.has(field), my && their && !same(mine[field], theirs[field]), field);
      // The value of the side that changed it; where both did, theirs until the person chooses.
      const expected = open.has(field) ? theirs[field] : my ? mine[field] : theirs[field];
      assert.ok(same(result.merged[field], expected), JSON.stringify({ field, base, mine, theirs }));
      assert.equal(result.yours.includes(field), my && !their);
      assert.equal(result.others.includes(field), their && !my);
    }
    assert.deepEqual(Object.keys(result.merged).filter((field) => !(field in base) && !(field in theirs)), []);
  }
  assert.ok(conflicts > 1000);
});
test('what is sent are the members that differ', () => {
  assert.deepEqual(changed({ a: 1, b: ['x'], c: null }, { a: 1, b: ['x', 'y'], c: '' }), { b: ['x', 'y'], c: '' });
  assert.deepEqual(changed({ a: null }, { a: null }), {});
});
