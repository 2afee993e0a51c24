// Images: only from hosts that the agent allows, without a referrer.
import { h } from '../dom';
import { S } from './shared';

export const isImageAllowed = (url: string): boolean => {
  try {
    const { host, origin } = new URL(url);
    return origin == S._origin || !!S._config.limits?.imageHosts.includes(host);
  } catch {
    return false;
  }
};
/** The image in the header, instead of the first letter of the name. */
export const avatar = (src = ''): HTMLElement | false => isImageAllowed(src) && h('img', { src, referrerpolicy: 'no-referrer' });
