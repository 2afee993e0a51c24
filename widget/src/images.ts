// Images: only from the widget's own host or those that the agent allows, without a referrer.
import { h } from './dom';
import { S } from './state';

export const isImageAllowed = (url: string): boolean => {
  try {
    const { host, origin } = new URL(url);
    return origin == S._origin || !!S._config.limits?.imageHosts.includes(host);
  } catch {
    return false;
  }
};
/** The image of an agent or a person if it may be loaded. */
export const avatar = (src?: string | null): HTMLElement | false => {
  if (!isImageAllowed(src || '')) return false;
  const image = h('img', { src, referrerpolicy: 'no-referrer' });
  image.alt = '';
  return image;
};
