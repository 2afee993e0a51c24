// The second script, `more`: the panel and the conversation in it. It is loaded when a visitor is about to open the panel, when
// the page sends a message, or when an earlier conversation may have new ones.
import { S, sleep } from './state';
import type { More, Shared } from './shared';
import { ENGLISH } from './strings';
import { report } from './wire/call';

declare const MORE_FILE: string;

/** Undefined until the script is loaded. */
export let more: More | undefined;
let waiting: ((more: More) => void)[];
let loading: object | undefined;
let tries = 0;
let shared: Shared;
let onFailure: () => void;

/** `given` is passed to the script; `failed` runs after each attempt that has failed. */
export const prepareLater = (given: Shared, failed: () => void): void => {
  shared = given;
  onFailure = failed;
};
/** Runs the callback at once if the script is loaded, otherwise as soon as it is. */
export const withMore = (use: (more: More) => void): void => void (more ? use(more) : waiting.push(use));
/** A widget has started or is destroyed: earlier callbacks do not run. */
export const startLater = (): void => {
  loading = undefined;
  waiting = [];
};

/** Retries until the script is loaded or the widget is destroyed; `now` retries at once, also during a pause. */
export const load = async (now?: boolean): Promise<void> => {
  const { _signal, _origin, _options } = S;
  if (loading && !now) return;
  const own = (loading = {});
  while (!more && loading == own)
    try {
      // Many browsers cache a failed module import under its whole URL.
      const { start } = (await import(`${_origin || _options.apiBase}/${MORE_FILE}${tries ? '#' + tries : ''}`)) as { start: (given: Shared) => More };
      more = more || start(shared);
      Object.assign(ENGLISH, more._strings);
      waiting.splice(0).forEach(withMore);
    } catch {
      if (_signal.aborted) return;
      // The browser logs the cause in its console.
      tries++;
      report({ _code: 'SCRIPT_NOT_LOADED', _message: MORE_FILE }, true);
      onFailure();
      await sleep(1000 * 2 ** Math.min(tries, 6), 'online');
    }
};
