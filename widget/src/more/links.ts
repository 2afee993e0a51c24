// Links of replies lead to any host, unless the server names those that are allowed.
import { S } from './shared';

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
/** Images of replies come only from the widget's own host and those that the agent allows. */
export const isImageAllowed = (url: string): boolean => {
  try {
    const { host, origin } = new URL(url);
    return origin == S._origin || !!S._config.limits?.imageHosts.includes(host);
  } catch {
    return false;
  }
};
