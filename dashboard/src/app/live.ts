// Keeps conversations current: what is shown is read again every few seconds, while the tab is visible.
import { invalidate } from '../lib/cache';

const EVERY_MILLIS = 4000;
/** Follows the conversations of an agent. */
export const follow = (agent: string): (() => void) => {
  const read = () => document.hidden || invalidate(`/agents/${encodeURIComponent(agent)}/conversations`);
  const timer = setInterval(read, EVERY_MILLIS);
  document.addEventListener('visibilitychange', read);
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', read);
  };
};
