// The typing indicator.
import { fill, h, show } from '../dom';
import { t } from './shared';

/** Shows the indicator for a status of the server; hides it without one. */
export const showDots = (dots: HTMLElement, kind?: string | false): void => {
  fill(dots, h('i'), h('i'), h('i'), kind == 'searching' && h('span', null, t(kind)));
  show(dots, kind);
};
