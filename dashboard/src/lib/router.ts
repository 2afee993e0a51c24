// The address: every view, filter and open record is in it.
import { computed, signal } from '@preact/signals';
import { base } from './base';

const read = () => ({ path: decodeURI(location.pathname.slice(base.length)) || '/', query: new URLSearchParams(location.search) });
/** The path after the base, and the query. */
export const address = signal(read());
/** Asked before the address changes; a page with unsaved input that cannot be restored says no. */
export const guard: { leave: (() => boolean) | null } = { leave: null };

/** The URL of a path of the console. */
export const href = (path: string): string => base + path;
/** Goes to a path of the console. */
export const navigate = (path: string, replace = false): void => {
  if (!replace && guard.leave && !guard.leave()) return;
  if (base + path == location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', base + path);
  address.value = read();
};
/** Changes members of the query; null removes one. */
export const setQuery = (changes: Record<string, string | null>): void => {
  const query = new URLSearchParams(address.value.query);
  for (const [name, value] of Object.entries(changes)) value === null || value === '' ? query.delete(name) : query.set(name, value);
  const text = query.toString();
  navigate(address.value.path + (text ? '?' + text : ''), true);
};
addEventListener('popstate', () => (address.value = read()));
addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest?.('a');
  if (!link || link.target || link.download || link.origin != location.origin || !link.pathname.startsWith(base + '/')) return;
  // A link to a part of this document, such as a skip link.
  if (link.hash && link.pathname == location.pathname) return;
  event.preventDefault();
  navigate(link.pathname.slice(base.length) + link.search);
});

/** The parts of the path. */
export const parts = computed(() => address.value.path.split('/').filter(Boolean).map((part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}));
