// Which links of replies are made: all that are safe, or those to the hosts that the server names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import '../sources.mjs';

const { take } = await import('../../src/more/shared.ts');
const { isLinkAllowed } = await import('../../src/more/links.ts');
const { blocks } = await import('../../src/more/text/blocks.ts');

const links = (text, limits) => {
  take({ _S: { _config: { limits } } });
  const found = [];
  const walk = (span) => {
    if (typeof span == 'string') return;
    if (span[0] == 'a') found.push(span[2]);
    span[1].forEach(walk);
  };
  blocks(text, 0, () => false, isLinkAllowed).forEach(([node]) => walk(node));
  return found;
};

const TEXT = [
  '[a](https://good.example/a) <https://a.shop.example> https://evil.example/x [m](mailto:x@evil.example)',
  '- > https://shop.example [b](https://good.example.evil.example/) [c](https://good.example@evil.example/) https://[',
].join('\n');

test('without a list, links lead anywhere', () => {
  for (const limits of [undefined, {}, { linkHosts: null }]) assert.equal(links(TEXT, limits).length, 7);
});

test('with a list, links lead to its hosts only', () => {
  const limits = { linkHosts: ['good.example', '*.shop.example'] };
  assert.deepEqual(links(TEXT, limits), ['https://good.example/a', 'https://a.shop.example', 'mailto:x@evil.example']);
  assert.deepEqual(links(TEXT, { linkHosts: [] }), ['mailto:x@evil.example']);
});
