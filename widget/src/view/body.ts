// The text of a reply: plain at once, formatted by the second script as soon as that is there.
import { h } from '../dom';
import { withMore } from '../later';
import type { Source } from '../public';

/**
 * Draws a text in place of the one before; `soon` leaves it to the next frame. With sources the citations become links,
 * and these are listed below.
 */
export type Draw = (text: string, soon?: boolean, sources?: Source[]) => void;
export interface Body {
  _element: HTMLElement;
  _draw: Draw;
}

/** `around` is called with each change of the elements. */
export const createBody = (around: (change: () => void) => void): Body => {
  const _element = h('div.b', { dir: 'auto' });
  let latest: Parameters<Draw> | undefined;
  let rich: Draw | undefined;
  let frame = 0;
  const plain = () => {
    frame = 0;
    if (!rich && latest) around(() => (_element.textContent = (latest as Parameters<Draw>)[0]));
  };
  withMore((more) => {
    rich = more._text(_element, around);
    if (latest) rich(...latest);
  });
  return {
    _element,
    _draw: (...given) => {
      latest = given;
      if (rich) rich(...given);
      else if (given[1]) frame = frame || requestAnimationFrame(plain);
      else plain();
    },
  };
};
