// The theme of the page, for the option `theme: 'auto'`.
import { isDarkColor } from './color';

/** Whether the page is dark: by its color scheme, by its background, and if it has neither, as the system prefers. */
export const isPageDark = (prefersDark: boolean): boolean => {
  for (const node of [document.body, document.documentElement]) {
    if (!node) continue;
    const { colorScheme, backgroundColor } = getComputedStyle(node);
    if (/^(only )?(dark|light)( only)?$/.test(colorScheme)) return /dark/.test(colorScheme);
    const [r, g, b, alpha = 1] = (/^rgb/.test(backgroundColor) && backgroundColor.match(/[\d.]+/g)?.map(Number)) || [0, 0, 0, 0];
    if (alpha > 0.5) return isDarkColor([r, g, b]);
  }
  return prefersDark;
};
