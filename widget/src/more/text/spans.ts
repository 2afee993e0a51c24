// The inline part of the Markdown subset: parses a text into a tree of spans, in one pass.
import { safeUrl } from '../../dom';

/** A text, or an element: its tag, its children, and the URL of a link or image. */
export type Span = string | Node;
export type Node = [tag: string, children: Span[], address?: string];
export type Allow = (url: string) => unknown;

interface Opener {
  _mark: string;
  /** Its index in the spans. */
  _at: number;
}

// Every quantifier is bounded or cannot backtrack, so the cost of a step is linear in what it consumes.
const TOKEN =
  /\\([!-/:-@[-`{-~])|(`+)|\*\*?|__?|~~|\[(\d{1,3})\](?!\()|!?\[|\](?:\((<[^<>\n]{0,2000}>|[^\s()<>]{0,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500})?)(?:\s{1,9}"[^"\n]{0,200}")?\))?|<(https?:\/\/[^\s<>]{1,2000}|(?:mailto|tel):[^\s<>]{1,2000})>|https?:\/\/[^\s<>[\]"`|\\、-』！-～]{1,2000}|\n/gi;
const WORD = /[\p{L}\p{N}]/u;

/** The text without markup, for screen readers. */
export const plain = (kids: Span[]): string =>
  kids.map((kid) => (typeof kid == 'string' ? kid : plain(kid[1]) + (/^(p|li|t.|pre|br)$/.test(kid[0]) ? '\n' : ''))).join('');
// Links cannot nest.
const withoutLinks = (kids: Span[]): Span[] =>
  kids.flatMap((kid): Span[] =>
    typeof kid == 'string' ? [kid] : kid[0] == 'a' ? withoutLinks(kid[1]) : [[kid[0], withoutLinks(kid[1]), kid[2]]],
  );

/** `image` and `allow` decide which URLs of images and links are allowed; `room` is the maximum nesting depth. */
export const spans = (text: string, image: Allow, room: number, allow: Allow = safeUrl): Span[] => {
  const out: Span[] = [];
  // At most `room` openers: the oldest is discarded.
  let stack: Opener[] = [];
  const missing: Record<string, boolean> = {};
  const token = new RegExp(TOKEN);
  let at = 0;
  const open = (_mark: string) => {
    out.push(_mark);
    stack.push({ _mark, _at: out.length - 1 });
    if (stack.length > room) stack.shift();
  };
  /** Pops the last matching opener and all after it. */
  const opener = (test: (mark: string) => boolean) => {
    for (let i = stack.length; i--; )
      if (test(stack[i]._mark)) {
        const found = stack[i];
        stack.length = i;
        return found;
      }
    return;
  };
  const link = (url: string, label: Span[]) => {
    out.push(safeUrl(url) && room > 0 && allow(url) ? ['a', label, url] : plain(label));
  };

  for (let match; (match = token.exec(text)); at = token.lastIndex) {
    let [mark, escaped, ticks, cite, target, auto] = match;
    out.push(text.slice(at, match.index));
    const first = mark[0];
    if (escaped) out.push(escaped);
    else if (mark == '\n') out.push(['br', []]);
    else if (ticks) {
      const end = missing[ticks] ? -1 : text.indexOf(ticks, token.lastIndex);
      missing[ticks] = end < 0;
      out.push(end < 0 ? ticks : ['code', [text.slice(token.lastIndex, end).replace(/\n/g, ' ')]]);
      if (end >= 0) token.lastIndex = end + ticks.length;
    } else if (cite) out.push(['sup', [mark]]);
    else if (mark.endsWith('[')) open(mark);
    else if (first == ']') {
      const from = opener((one) => one.endsWith('['));
      const url = target?.replace(/^<|>$/g, '').replace(/\\(?=[!-/:-@[-`{-~])/g, '');
      if (!from || target == null) {
        out.push(']');
        token.lastIndex = match.index + 1;
        continue;
      }
      const kids = out.splice(from._at).slice(1);
      if (from._mark == '[') {
        // Brackets around a link are plain text.
        stack = stack.filter((one) => one._mark != '[');
        link(url, withoutLinks(kids));
      } else out.push(/^http/i.test(safeUrl(url)) && image(url) ? ['img', [plain(kids)], url] : plain(kids));
    } else if (auto) link(auto, [auto.replace(/^(mailto|tel):/i, '')]);
    else if (first == 'h' || first == 'H') {
      // Trailing punctuation and unmatched closing parentheses belong to the sentence.
      let unmatched = mark.split(')').length - mark.split('(').length;
      let end = mark.length;
      while (mark[end - 1] == ')' ? unmatched-- > 0 : /[.,;:!?'*_~]/.test(mark[end - 1])) end--;
      token.lastIndex = match.index + end;
      mark = mark.slice(0, end);
      link(mark, [mark]);
    } else {
      const top = stack[stack.length - 1];
      // `***` closes the innermost element first.
      if (mark[1] && text[token.lastIndex] == first && top?._mark == first) {
        mark = first;
        token.lastIndex--;
      }
      const before = text[match.index - 1] || ' ';
      const after = text[token.lastIndex] || ' ';
      const word = first == '_';
      const from = before.trim() && !(word && WORD.test(after)) && opener((one) => one == mark);
      if (from) {
        const kids = out.splice(from._at).slice(1);
        out.push([first == '~' ? 'del' : mark[1] ? 'strong' : 'em', kids]);
      } else if (after.trim() && !(word && WORD.test(before))) open(mark);
      else out.push(mark);
    }
  }
  out.push(text.slice(at));
  return out;
};
