// The sign that an answer is on its way.
import { fill, h, show } from '../dom';
import { t } from './shared';

/** Of a kind that the server names, or none. */
export const drawDots = (dots: HTMLElement, kind?: string | false): void => {
  fill(dots, h('i'), h('span', null, kind == 'searching' && t(kind)));
  show(dots, kind);
};
