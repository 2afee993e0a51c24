// Renders the text of a reply as elements. Complete blocks remain; only the end of a growing text is rendered again.
import type { Source } from '../public';
import { h, icon, link, set } from '../dom';
import { CHECK, COPY } from './icons';
import { isImageAllowed, isLinkAllowed } from './links';
import { say, sleep, t } from './shared';
import { linkCitations, listSources } from './sources';
import { blocks } from './text/blocks';
import { plain, type Span } from './text/spans';

/**
 * Renders a text in place of the previous one; `soon` defers it to the next frame. With sources, citations become links,
 * and the sources are listed below.
 */
export type Render = (text: string, soon?: boolean, sources?: Source[]) => void;

/** A block of code with its language and a button that copies it. */
const codeBlock = (code: HTMLElement, language = ''): HTMLElement => {
  const { clipboard } = navigator;
  const button = clipboard && h('button.copy', { click: () => clipboard.writeText(code.textContent as string).then(done, () => {}) }, icon(COPY), t('copy'));
  const done = () => {
    say(t('copied'));
    button.replaceChildren(icon(CHECK), t('copied'));
    void sleep(2000).then(() => button.replaceChildren(icon(COPY), t('copy')));
  };
  code.dir = 'ltr';
  set(code, 'tabindex', '0');
  return h('div.code', null, h('div.bar', null, h('span', { dir: 'ltr' }, language), button), code);
};
const build = (span: Span): Node | string => {
  if (typeof span == 'string') return span;
  const [tag, children, value] = span;
  if (tag == 'img') return h('img', { src: value, alt: children[0], loading: 'lazy', referrerpolicy: 'no-referrer' });
  const kids = buildAll(children);
  if (tag == 'a') return link(value as string, ...kids);
  if (tag == 'pre') return codeBlock(h('pre', null, ...kids), value);
  const node = h(tag as 'p', { start: value }, ...kids);
  return tag == 'table' ? h('div.table', { tabindex: '0' }, node) : node;
};
/** A citation stays with the word before it, without a space between. */
const buildAll = (spans: Span[]): (Node | string)[] => {
  const out: (Node | string)[] = [];
  for (const span of spans) {
    const node = build(span);
    const last = out[out.length - 1];
    if (span[0] != 'sup' || !node) out.push(node);
    else if (last instanceof HTMLElement && last.className == 'cited') last.append(node);
    else {
      while (out[0] && out[out.length - 1] === '') out.pop();
      const before = out[out.length - 1];
      const [, text = '', word = ''] = (typeof before == 'string' && /^([^]*?)(\S{0,24})\s*$/.exec(before)) || [];
      if (typeof before == 'string') out[out.length - 1] = text;
      out.push(h('span.cited', null, word, node));
    }
  }
  return out;
};

/** Maximum of new characters a frame, to keep layout short. */
const PIECE = 1000;

/** `around` runs each change of the elements; links of persons lead anywhere. */
export const createText = (element: HTMLElement, around: (change: () => void) => void, isAgent = true): Render => {
  // As given, and with normalized line ends; the latter is rendered.
  let given = '';
  let text = '';
  let cited: Source[] = [];
  // The length of the rendered text; offset and number of the first block that may still change.
  let shown = 0;
  let stable = 0;
  let stableNodes = 0;
  let frame = 0;
  let notBefore = 0;

  const change = () => {
    const part = text.slice(0, shown);
    const made = blocks(part, stable, isImageAllowed, isAgent ? isLinkAllowed : undefined);
    while (element.childNodes[stableNodes]) (element.lastChild as ChildNode).remove();
    element.append(...made.map(([node]) => build(node)));
    const isWide = shown > 400 || element.querySelector('.table, .code');
    element.className = isWide ? 'b md wide' : 'b md';
    // A block is stable once the first line of the next one is complete.
    let settled = made.length - 1;
    if (settled > 0 && part.indexOf('\n', made[settled][1]) < 0) settled--;
    if (settled > 0) {
      stable = made[settled][1];
      stableNodes += settled;
    }
    if (cited[0]) linkCitations(element, cited);
  };
  const tick = () => {
    const began = performance.now();
    frame = 0;
    const due = began >= notBefore;
    if (due) {
      const next = given.replace(/\r\n?/g, '\n');
      if (!next.startsWith(text.slice(0, shown))) shown = stable = stableNodes = 0;
      text = next;
      shown = Math.min(text.length, shown + PIECE);
      around(change);
      // The longer a rendering takes, the less often it runs.
      notBefore = began + (performance.now() - began - 4) * 9;
    }
    if (!due || shown < text.length) later();
  };
  const later = () => {
    frame = frame || requestAnimationFrame(tick);
  };
  // Called for every chunk of a stream, so its cost must not grow with the text.
  return (next, soon, sources = []) => {
    given = next;
    if (soon) return later();
    notBefore = 0;
    if (sources[0] && !cited[0]) {
      cited = sources;
      stable = stableNodes = 0;
      around(() => element.after(listSources(sources)));
    }
    tick();
  };
};

/** Announces a reply to screen readers, in a separate task after the rendering of a long text. */
export const readOut = async (text: string): Promise<void> => {
  await sleep(0);
  say(plain(blocks(text, 0, () => false).map(([node]) => node)).trim());
};
