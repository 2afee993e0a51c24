// The second script, `more`: what a visitor needs only once the panel is open. It is loaded with the panel, or a little
// before; until it is there, and where it cannot be had, texts are plain, and only what it holds waits for it.
import { missed } from './chat';
import { type Shared, shared } from './shared';
import { S, sleep } from './state';
import { ENGLISH } from './strings';
import { log, prepend } from './view/log';
import { type Failure, report } from './wire/call';
import type { More } from './more/main';

declare const MORE_FILE: string;

/** Absent until the script has come. */
export let more: More | undefined;
let waiting: ((more: More) => void)[];
let loading: object | undefined;
let tries = 0;

/** For a widget that begins or ends: nobody waits. */
export const startLater = (): void => {
  loading = undefined;
  waiting = [];
};
/** At once where the script is there, otherwise when it has come. */
export const withMore = (use: (more: More) => void): void => void (more ? use(more) : waiting.push(use));

const attempt = async () => {
  const { _origin, _options } = S;
  // Many browsers remember under the whole address that a module failed.
  const { start } = (await import(`${_origin || _options.apiBase}/${MORE_FILE}${tries ? '#' + tries : ''}`)) as { start: (given: Shared) => More };
  more = more || start(shared());
  Object.assign(ENGLISH, more._strings);
  const run = () => waiting.splice(0).forEach(withMore);
  // Drawn anew, messages change their height: what is in sight stays where it is.
  log ? prepend(run) : run();
};
/** Tries until the script is there or the widget destroyed; `now` tries at once, also between two tries. */
export const load = async (now?: boolean): Promise<void> => {
  const { _signal } = S;
  if (loading && !now) return;
  const own = (loading = {});
  while (!more && loading == own)
    try {
      await attempt();
    } catch {
      if (_signal.aborted) return;
      // The browser itself says why, in its console.
      tries++;
      report({ _code: 'SCRIPT_NOT_LOADED', _message: MORE_FILE }, true);
      missed();
      await sleep(1000 * 2 ** Math.min(tries, 6), 'online');
    }
};

/** The solution of a challenge, where a failure asks for one; where the solver is not to be had, the failure stands. */
export const solve = async (failure: Failure): Promise<object | undefined> => {
  if (failure._code != 'CHALLENGE_REQUIRED') return;
  try {
    if (!more) await attempt();
    return await (more as More)._solve(failure);
  } catch {
    return;
  }
};
