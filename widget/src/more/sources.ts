// The sources of a reply: chips below it, and links from its citations.
import type { Source } from '../public';
import { h, link, safeUrl, set } from '../dom';
import { t } from './shared';

const labelOf = ({ title, page }: Source) => title + (page ? ', ' + t('page', page) : '');

/** A chip for each document; one that is cited several times has all its numbers. */
export const listSources = (sources: Source[]): HTMLElement => {
  const chips = new Map<string, { _source: Source; _numbers: number[] }>();
  for (const source of sources) {
    const key = [source.url, labelOf(source)].join('\n');
    const chip = chips.get(key);
    chip ? chip._numbers.push(source.n) : chips.set(key, { _source: source, _numbers: [source.n] });
  }
  const items = [...chips.values()].map(({ _source, _numbers }) => {
    const { url } = _source;
    const content = [h('b', { 'aria-hidden': 'true' }, _numbers.join(' ')), h('span', { dir: 'auto' }, labelOf(_source))];
    const chip = safeUrl(url) ? link(url as string, ...content) : h('span', null, ...content);
    chip.title = labelOf(_source);
    return h('li', null, chip);
  });
  return h('ul.src', { 'aria-label': t('sources') }, ...items);
};
/** Gives each citation the title of its source, and its address if that is safe. */
export const linkCitations = (element: HTMLElement, sources: Source[]): void => {
  for (const mark of element.querySelectorAll('sup')) {
    const label = mark.textContent as string;
    const source = sources.find(({ n }) => `[${n}]` == label);
    if (!source) continue;
    const to = safeUrl(source.url) && link(source.url as string, label);
    mark.title = labelOf(source);
    if (to) {
      set(to, 'aria-label', `${label} ${labelOf(source)}`);
      mark.replaceChildren(to);
    }
  }
};
