// The text of a reply as elements; what was drawn stays, only the end of a growing text is drawn anew.
import { fill, h, iconButton, set } from '../dom';
import type { Source } from '../public';
import { say, S, t } from '../state';
import { blocks } from '../text/blocks';
import { plain, safeUrl, type Span } from '../text/spans';
import { COPY } from './icons';

/** A link that tells its target nothing. */
export const link = (href: string, ...children: (Node | string)[]): HTMLAnchorElement =>
  h('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow ugc' }, ...children);

/** Images come only from hosts that the agent allows. */
export const isImageAllowed = (url: string): boolean => {
  try {
    const { host, origin } = new URL(url);
    return origin == S._origin || !!S._config.limits?.imageHosts.includes(host);
  } catch {
    return false;
  }
};

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

export interface Body {
  _element: HTMLElement;
  /** Draws a text in place of the one before; `soon` leaves it to the next frame. */
  _draw: (text: string, soon?: boolean) => void;
  /** Makes the citations links to their sources and lists these below. */
  _cite: (sources: Source[]) => void;
}

/** So many characters more in one frame: what is laid out at once stays short. */
const PIECE = 1500;

/** `around` is called with each change of the elements. */
export const createBody = (around = (change: () => void): void => change()): Body => {
  const _element = h('div.b', { dir: 'auto' });
  // As given, and with its line ends made one; drawn is the latter.
  let given = '';
  let text = '';
  let sources: Source[] = [];
  // How much of the text is drawn; offset and number of the first block that may still change.
  let drawn = 0;
  let stable = 0;
  let kept = 0;
  let frame = 0;
  let notBefore = 0;

  const change = () => {
    const part = text.slice(0, drawn);
    const made = blocks(part, stable, isImageAllowed);
    _element.className = drawn > 400 ? 'b wide' : 'b';
    while (_element.childNodes[kept]) (_element.lastChild as ChildNode).remove();
    _element.append(...made.map(([node]) => build(node)));
    // A block is settled once the first line of the next one is complete.
    let settled = made.length - 1;
    if (settled > 0 && part.indexOf('\n', made[settled][1]) < 0) settled--;
    if (settled > 0) {
      stable = made[settled][1];
      kept += settled;
    }
    for (const mark of sources[0] ? _element.querySelectorAll('sup') : []) {
      const label = mark.textContent as string;
      const url = safeUrl(sources.find(({ n }) => `[${n}]` == label)?.url);
      if (url) fill(mark, link(url, label));
    }
  };
  const tick = () => {
    const began = performance.now();
    frame = 0;
    const due = began >= notBefore;
    if (due) {
      const next = given.replace(/\r\n?/g, '\n');
      if (!next.startsWith(text.slice(0, drawn))) drawn = stable = kept = 0;
      text = next;
      drawn = Math.min(text.length, drawn + PIECE);
      around(change);
      // What takes long is drawn less often.
      notBefore = began + (performance.now() - began - 4) * 9;
    }
    if (!due || drawn < text.length) later();
  };
  const later = () => {
    frame = frame || requestAnimationFrame(tick);
  };
  return {
    _element,
    // Called with every piece of a stream: nothing here may take as long as the text.
    _draw: (next, soon) => {
      given = next;
      if (soon) return later();
      notBefore = 0;
      tick();
    },
    _cite: (all) => {
      sources = all;
      stable = kept = 0;
      around(change);
      if (sources[0])
        _element.after(
          h('div.src', null, t('sources'), h('ol', null, ...sources.map(({ n, title, url, page }) => {
            const label = title + (page ? ', ' + t('page', page) : '');
            return h('li', { value: '' + n }, safeUrl(url) ? link(url as string, label) : label);
          }))),
        );
    },
  };
};

/** A text as it is read out. */
export const spoken = (text: string): string => plain(blocks(text, 0, () => false).map(([node]) => node)).trim();
