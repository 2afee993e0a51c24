// Renders the text of a reply as elements. Complete blocks remain; only the end of a growing text is rendered again.
import type { Source } from '../public';
import type { Render } from '../shared';
import { fill, h, iconButton, link, safeUrl, set } from '../dom';
import { COPY } from './icons';
import { isImageAllowed, isLinkAllowed } from './images';
import { say, sleep, t } from './shared';
import { blocks } from './text/blocks';
import { plain, type Span } from './text/spans';

const build = (span: Span): Node | string => {
  if (typeof span == 'string') return span;
  const [tag, children, value] = span;
  if (tag == 'img') return h('img', { src: value, alt: children[0], loading: 'lazy', referrerpolicy: 'no-referrer' });
  const kids = children.map(build);
  if (tag == 'a') return link(value as string, ...kids);
  const node = h(tag as 'p', { start: value }, ...kids);
  if (tag == 'pre') {
    set(node, 'tabindex', '0');
    node.dir = 'ltr';
    const { clipboard } = navigator;
    return h('div.code', null, node, clipboard && iconButton(COPY, t('copy'), () => clipboard.writeText(node.textContent as string).then(() => say(t('copied')), () => {})));
  }
  return tag == 'table' ? h('div.table', { tabindex: '0' }, node) : node;
};

/** Maximum of new characters a frame, to keep layout short. */
const PIECE = 1000;

/** Takes over an element with plain text or without text; `around` runs each change of the elements. */
export const createText = (element: HTMLElement, around: (change: () => void) => void): Render => {
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
    const made = blocks(part, stable, isImageAllowed, isLinkAllowed);
    element.className = shown > 400 ? 'b md wide' : 'b md';
    while (element.childNodes[stableNodes]) (element.lastChild as ChildNode).remove();
    element.append(...made.map(([node]) => build(node)));
    // A block is stable once the first line of the next one is complete.
    let settled = made.length - 1;
    if (settled > 0 && part.indexOf('\n', made[settled][1]) < 0) settled--;
    if (settled > 0) {
      stable = made[settled][1];
      stableNodes += settled;
    }
    for (const mark of cited[0] ? element.querySelectorAll('sup') : []) {
      const label = mark.textContent as string;
      const url = safeUrl(cited.find(({ n }) => `[${n}]` == label)?.url);
      if (url) fill(mark, link(url, label));
    }
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
    if (sources[0]) {
      cited = sources;
      stable = stableNodes = 0;
      around(() =>
        element.after(
          h('div.src', null, t('sources'), h('ol', null, ...sources.map(({ n, title, url, page }) => {
            const label = title + (page ? ', ' + t('page', page) : '');
            return h('li', { value: '' + n }, safeUrl(url) ? link(url as string, label) : label);
          }))),
        ),
      );
    }
    tick();
  };
};

/** Announces a reply to screen readers, in a separate task after the rendering of a long text. */
export const readOut = async (text: string): Promise<void> => {
  await sleep(0);
  say(plain(blocks(text, 0, () => false).map(([node]) => node)).trim());
};
