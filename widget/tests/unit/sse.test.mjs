// The parser of event streams, with its input cut at every byte.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './load.mjs';

const { eventStream } = await load('more/sse.ts');
const parse = (...pieces) => {
  const events = [];
  const feed = eventStream((name, data, id) => events.push([name, data, id]));
  for (const piece of pieces) feed(piece);
  return events;
};
const bytes = (text) => new TextEncoder().encode(text);

const STREAMS = {
  'line feeds': ['event: delta\nid: t.1\ndata: {"a":1}\n\nevent: done\nid: t.2\ndata: {}\n\n', [['delta', '{"a":1}', 't.1'], ['done', '{}', 't.2']]],
  'carriage returns': ['event: a\rdata: 1\r\revent: b\rdata: 2\r\r', [['a', '1', ''], ['b', '2', '']]],
  'both': ['event: a\r\ndata: 1\r\n\r\nevent: b\r\ndata: 2\r\n\r\n', [['a', '1', ''], ['b', '2', '']]],
  'mixed ends': ['event: a\rdata: 1\r\n\revent: b\ndata: 2\n\r\n', [['a', '1', ''], ['b', '2', '']]],
  'comments': [': hello\n\n:\nevent: a\n: inside\ndata: 1\n\n: bye\n\n', [['a', '1', '']]],
  'multi-byte characters': ['event: delta\ndata: é漢👍\u2028x\n\n', [['delta', 'é漢👍\u2028x', '']]],
  'several lines of data': ['data: a\ndata: b\ndata:\n\n', [['message', 'a\nb\n', '']]],
  'no blank after the colon': ['event:a\ndata:x: y\nid:7\n\n', [['a', 'x: y', '7']]],
  'a mark at the beginning': ['\ufeffevent: a\ndata: 1\n\n', [['a', '1', '']]],
  'an event without data': ['event: a\n\nevent: b\ndata: 1\n\n', [['b', '1', '']]],
  'unknown fields': ['retry: 5\nfoo\nevent: a\ndata: 1\n\n', [['a', '1', '']]],
  'an end without blank line': ['event: a\ndata: 1\n\nevent: b\ndata: 2\n', [['a', '1', '']]],
};
for (const [name, [text, expected]] of Object.entries(STREAMS))
  test(`${name}, cut anywhere`, () => {
    const all = bytes(text);
    assert.deepEqual(parse(all), expected);
    for (let cut = 0; cut <= all.length; cut++) {
      assert.deepEqual(parse(all.subarray(0, cut), all.subarray(cut)), expected, `cut at ${cut}`);
      assert.deepEqual(parse(all.subarray(0, cut), new Uint8Array(0), all.subarray(cut)), expected, `cut at ${cut} with an empty piece`);
    }
    assert.deepEqual(parse(...Array.from(all, (one) => Uint8Array.of(one))), expected, 'byte by byte');
  });
