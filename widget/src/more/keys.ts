// The focus trap on a small display, where the panel covers the page.

/** Tab from the last control moves to the first one; Shift+Tab does the reverse. */
export const wrapFocus = (panel: HTMLElement, event: KeyboardEvent): void => {
  const all = Array.from(panel.querySelectorAll<HTMLButtonElement>('*')).filter((one) => one.tabIndex >= 0 && !one.disabled && one.getClientRects()[0]);
  if (event.shiftKey) all.reverse();
  if (!all[all.length - 1].matches(':focus')) return;
  event.preventDefault();
  all[0].focus();
};
