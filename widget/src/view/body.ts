// The text of a reply as elements; what was drawn stays, only the end of a growing text is drawn anew.
import { h, iconButton, set } from '../dom';
import type { Source } from '../public';
import { say, S, t } from '../state';
import { blocks } from '../text/blocks';
import { safeUrl, type Span } from '../text/spans';
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
  _draw: (text: string) => void;
}

export const createBody = (): Body => {
  const _element = h('div.b', { dir: 'auto' });
  let drawn = '';
  // Offset and number of the first block that may still change.
  let stable = 0;
  let kept = 0;
  return {
    _element,
    _draw: (text) => {
      text = text.replace(/\r\n?/g, '\n');
      if (!text.startsWith(drawn.slice(0, stable))) stable = kept = 0;
      drawn = text;
      _element.classList.toggle('wide', text.length > 400);
      const made = blocks(text, stable, isImageAllowed);
      while (_element.childNodes[kept]) (_element.lastChild as ChildNode).remove();
      _element.append(...made.map(([node]) => build(node)));
      // A block is settled once the first line of the next one is complete.
      let settled = made.length - 1;
      if (settled > 0 && text.indexOf('\n', made[settled][1]) < 0) settled--;
      if (settled > 0) {
        stable = made[settled][1];
        kept += settled;
      }
    },
  };
};

/** The list under a reply, to which its citations lead. */
export const cite = (body: HTMLElement, sources: Source[]): HTMLElement | '' => {
  body.querySelectorAll('sup').forEach((mark) => {
    const text = mark.textContent as string;
    const source = sources.find(({ n }) => `[${n}]` == text);
    const url = safeUrl(source?.url);
    if (url) mark.replaceChildren(link(url, text));
  });
  return (
    sources.length &&
    h('div.src', null, t('sources'), h('ol', null, ...sources.map(({ n, title, url, page }) => {
      const text = title + (page ? ', ' + t('page', page) : '');
      return h('li', { value: '' + n }, safeUrl(url) ? link(url as string, text) : text);
    })))
  ) || '';
};
