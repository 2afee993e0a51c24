// The second script, `more`: everything a visitor needs only once the panel is open. It is loaded with the panel, or shortly
// before. Until it is loaded, and if it cannot be loaded, texts are plain, and only its own features wait for it.
import type { Failure } from './protocol';
import { S, sleep } from './state';
import { type More, type Shared, shared } from './shared';
import { ENGLISH } from './strings';
import { report } from './wire/call';

declare const MORE_FILE: string;

/** Undefined until the script is loaded. */
export let more: More | undefined;
let waiting: ((more: More) => void)[];
let loading: object | undefined;
let tries = 0;

/** Clears all callbacks when a widget starts or is destroyed. */
export const startLater = (): void => {
  loading = undefined;
  waiting = [];
};
/** Runs the callback at once if the script is loaded, otherwise as soon as it is. */
export const withMore = (use: (more: More) => void): void => void (more ? use(more) : waiting.push(use));

const attempt = async () => {
  const { _origin, _options } = S;
  // Many browsers cache a failed module import under its whole URL.
  const { start } = (await import(`${_origin || _options.apiBase}/${MORE_FILE}${tries ? '#' + tries : ''}`)) as { start: (given: Shared) => More };
  more = more || start(shared);
  Object.assign(ENGLISH, more._strings);
  // Formatting changes the height of messages; the visible part of the log stays where it is.
  shared._prepend(() => waiting.splice(0).forEach(withMore));
};
/** Retries until the script is loaded or the widget is destroyed; `now` retries at once, also during a pause. */
export const load = async (now?: boolean): Promise<void> => {
  const { _signal } = S;
  if (loading && !now) return;
  const own = (loading = {});
  while (!more && loading == own)
    try {
      await attempt();
    } catch {
      if (_signal.aborted) return;
      // The browser logs the cause in its console.
      tries++;
      report({ _code: 'SCRIPT_NOT_LOADED', _message: MORE_FILE }, true);
      shared._loadFailed();
      await sleep(1000 * 2 ** Math.min(tries, 6), 'online');
    }
};

/** The solution of a challenge, if a failure asks for one; undefined if the solver cannot be loaded. */
export const solve = async (failure: Failure): Promise<object | undefined> => {
  if (failure._code != 'CHALLENGE_REQUIRED') return;
  try {
    if (!more) await attempt();
    return await (more as More)._solve(failure);
  } catch {
    return;
  }
};
