// The text of a reply: plain at first, formatted once the second script is loaded.
import { h } from '../dom';
import { withMore } from '../later';
import type { Render } from '../shared';

export interface Body {
  _element: HTMLElement;
  _render: Render;
}

/** `around` runs each change of the elements. */
export const createBody = (around: (change: () => void) => void): Body => {
  const _element = h('div.b', { dir: 'auto' });
  let latest: Parameters<Render> | undefined;
  let rich: Render | undefined;
  let frame = 0;
  const plain = () => {
    frame = 0;
    if (!rich && latest) around(() => (_element.textContent = (latest as Parameters<Render>)[0]));
  };
  withMore((more) => {
    rich = more._text(_element, around);
    if (latest) rich(...latest);
  });
  return {
    _element,
    _render: (...given) => {
      latest = given;
      if (rich) rich(...given);
      else if (given[1]) frame = frame || requestAnimationFrame(plain);
      else plain();
    },
  };
};
