// Judges replies that the server has filtered: what the widget would link or load, in every state of the stream.
// Reads lines of JSON from standard input: first `{ hosts, suffixes, addresses }`, what may be linked; then
// `{ said, parts, code, links }`: what a model has said, the parts that a visitor receives, and the code and links that must be
// there. Prints what is wrong, and fails if anything is. Needs Node 22.18 or newer and no packages.
import { createInterface } from 'node:readline';
import './sources.mjs';

const { blocks } = await import('../src/more/text/blocks.ts');

const found = (text) => {
  const links = [];
  const code = [];
  const walk = (span) => {
    if (typeof span == 'string') return;
    const [tag, kids, address] = span;
    if (tag == 'a' || tag == 'img') links.push(address);
    if (tag == 'code') code.push(kids.join(''));
    kids.forEach(walk);
  };
  // Every image counts, whatever hosts of images an agent has.
  blocks(text, 0, () => true).forEach(([node]) => walk(node));
  return { links, code };
};

let allowed;
const isAllowed = (address) => {
  if (allowed.addresses.includes(address.toLowerCase())) return true;
  try {
    const { protocol, hostname, username, password } = new URL(address);
    const isHost = allowed.hosts.includes(hostname) || allowed.suffixes.some((suffix) => hostname.endsWith(suffix));
    return /^https?:$/.test(protocol) && isHost && !username && !password;
  } catch {
    return false;
  }
};

let replies = 0;
let states = 0;
let linked = 0;
let wrong = 0;
const say = (what, reply) => {
  if (wrong++ < 10) console.log(JSON.stringify({ what, ...reply }));
};
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const reply = JSON.parse(line);
  if (!allowed) {
    allowed = reply;
    continue;
  }
  replies++;
  let text = '';
  let last = { links: [], code: [] };
  for (const part of reply.parts) {
    text += part;
    states++;
    last = found(text);
    const foreign = last.links.find((address) => !isAllowed(address));
    if (foreign != null) {
      say(`links ${foreign}`, reply);
      break;
    }
  }
  linked += last.links.length;
  for (const kind of ['code', 'links'])
    for (const wanted of reply[kind]) if (!last[kind].includes(wanted)) say(`lacks the ${kind} ${wanted}`, reply);
}
console.log(`${replies} replies in ${states} states, ${linked} links, ${wrong} wrong`);
process.exitCode = wrong || !replies || !linked ? 1 : 0;
