// The block part of the Markdown subset: parses lines into a tree of blocks.
import { type Allow, type Node, type Span, spans } from './spans';

/** A top-level block and its offset in the text. */
export type Block = [node: Node, from: number];

const MAX_DEPTH = 6;
/** Beyond this many characters the rest is plain text. */
export const MAX_TEXT = 65536;

// Fence, heading, quote, rule, list item with its number.
const START = /^ {0,3}(?:(`{3,}|~{3,})|(#{1,6})(?:\s|$)|(>) ?|(([-*_])[ \t]*(?:\5[ \t]*){2,}$)|([-*+]|(\d{1,9})[.)])(?: |$))/;

const isTable = (lines: string[], i: number) =>
  lines[i].includes('|') && /^\|?[ \t]*:?-[-:| \t]*$/.test((lines[i + 1] || '').trim()) && lines[i + 1].includes('|');
const begins = (lines: string[], i: number) => START.test(lines[i]) || isTable(lines, i);

const parse = (lines: string[], depth: number, image: Allow, link?: Allow): [Node, number][] => {
  const out: [Node, number][] = [];
  const inline = (text: string) => spans(text, image, MAX_DEPTH - depth, link);
  const inner = (some: string[]): Span[] =>
    depth < MAX_DEPTH - 2 ? parse(some, depth + 1, image, link).map((one) => one[0]) : [['p', [some.join('\n')]]];
  const row = (line: string, tag: string): Node => [
    'tr',
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|', 64)
      .map((cell) => [tag, inline(cell.trim())]),
  ];
  for (let i = 0; i < lines.length; ) {
    const start = i;
    const line = lines[i++];
    if (!line.trim()) continue;
    const [mark, fence, heading, quote, rule, , item, number] = START.exec(line) || [''];
    const content: string[] = [];
    let node: Node;
    if (fence) {
      while (i < lines.length && !lines[i].trim().startsWith(fence)) content.push(lines[i++]);
      i++;
      const language = /^[\w+#.-]{1,20}/.exec(line.trim().slice(fence.length).trim())?.[0];
      node = ['pre', [['code', [content.join('\n')]]], ...((language ? [language] : []) as [string?])];
    } else if (heading)
      // A bold paragraph, so the page's heading outline does not change.
      node = ['p', [['strong', inline(line.slice(mark.length).trim())]]];
    else if (rule) node = ['hr', []];
    else if (quote) {
      for (i--; i < lines.length && START.exec(lines[i])?.[3]; i++) content.push(lines[i].replace(/^ {0,3}> ?/, ''));
      node = ['blockquote', inner(content)];
    } else if (item) {
      node = [number ? 'ol' : 'ul', [], number];
      for (i--; i < lines.length; ) {
        const [begin, , , , , , another, count] = START.exec(lines[i]) || [];
        if (!another || !begin || !count != !number) break;
        const some = [lines[i++].slice(begin.length)];
        for (let blank = false; i < lines.length; i++) {
          const text = lines[i].trimStart();
          const indent = lines[i].length - text.length;
          if (text && indent < 2 && (blank || begins(lines, i))) break;
          blank = !text;
          some.push(lines[i].slice(Math.min(indent, begin.length)));
        }
        const [head, ...rest] = inner(some);
        // The first paragraph of an item is its inline content.
        node[1].push(['li', head ? (head[0] == 'p' ? [...(head[1] as Span[]), ...rest] : [head, ...rest]) : []]);
      }
    } else if (isTable(lines, start)) {
      const rows = [row(line, 'th')];
      for (i++; i < lines.length && lines[i].includes('|'); i++) rows.push(row(lines[i], 'td'));
      node = ['table', rows];
    } else {
      while (i < lines.length && lines[i].trim() && !begins(lines, i)) i++;
      node = ['p', inline(lines.slice(start, i).map((one) => one.trim()).join('\n'))];
    }
    out.push([node, start]);
  }
  return out;
};

/** The blocks of a text from the offset of a block. `image` and `link` decide which addresses are allowed. */
export const blocks = (text: string, from: number, image: Allow, link?: Allow): Block[] => {
  const lines = text.slice(from, MAX_TEXT).split('\n');
  const offsets = [from];
  for (const line of lines) offsets.push((from += line.length + 1));
  const out = parse(lines, 0, image, link).map(([node, line]): Block => [node, offsets[line]]);
  if (text.length > MAX_TEXT) out.push([['p', [text.slice(MAX_TEXT)]], MAX_TEXT]);
  return out;
};
