// Images and links: only to hosts that the agent allows; images without a referrer.
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
/** Links of replies lead to any host, unless the server names those that are allowed. */
export const isLinkAllowed = (url: string): boolean => {
  const hosts = S._config.limits?.linkHosts;
  try {
    // Addresses of mail and telephone have no host.
    const { hostname } = new URL(url);
    return !hosts || !hostname || hosts.some((host) => hostname == host || (host[0] == '*' && hostname.endsWith(host.slice(1))));
  } catch {
    return false;
  }
};
/** The image in the header, instead of the first letter of the name. */
export const avatar = (src = ''): HTMLElement | false => isImageAllowed(src) && h('img', { src, referrerpolicy: 'no-referrer' });
