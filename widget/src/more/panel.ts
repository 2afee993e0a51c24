// The panel on the screen: its size on a small display, its focus, and its scrolling.
import { set } from '../dom';
import { isSmall, on, S } from './shared';
import { wrapFocus } from './keys';

const scrolls = (node: EventTarget) => node instanceof HTMLElement && node.scrollHeight > node.clientHeight && /auto|scroll/.test(getComputedStyle(node).overflowY);
/** The page under a panel that fills the screen does not scroll. */
const holdPage = (event: Event) => {
  if (isSmall() && !event.composedPath().some(scrolls)) event.preventDefault();
};
export const startFitting = (panel: HTMLElement): void => {
  if (window.visualViewport) on(window.visualViewport, 'resize scroll', fit);
  for (const name of ['wheel', 'touchmove']) panel.addEventListener(name, holdPage, { passive: false });
};
/** Fills the part of a small display that the screen keyboard leaves. */
export const fit = (): void => {
  const view = window.visualViewport;
  const { _panel: panel } = S;
  if (!panel) return;
  set(panel, 'aria-modal', isSmall() && 'true');
  panel.style.cssText = '';
  if (view && isSmall())
    for (const [name, value] of [['top', view.offsetTop], ['left', view.offsetLeft], ['width', view.width], ['height', view.height]] as const) panel.style[name] = value + 'px';
};
export const keyDown = (event: KeyboardEvent): void => {
  if (event.key == 'Tab' && isSmall()) wrapFocus(S._panel as HTMLElement, event);
};
