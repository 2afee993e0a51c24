// The active turn, as far as lower layers need it: stopping and dropping it.
import type { Turn } from '../state';
import { request, V } from './shared';

/** The turn whose reply is awaited. */
export let active: Turn | undefined;
export const setActive = (turn?: Turn): void => {
  active = turn;
};

export const cancelTurn = ({ _id }: Turn): void => void request('turns/cancel', { token: V.token, turn: _id }).catch(() => {});
/** Asks the server to end the reply; before the first event, the request follows the session event. */
export const stopTurn = (turn: Turn): void => {
  turn._stopped = true;
  if (turn._last || turn._foreign) cancelTurn(turn);
};
/** Gives up the turn without an event. */
export const dropTurn = (): void => {
  active?._settle({ ok: false, code: 'DROPPED' });
  active?._control?.abort();
  active = undefined;
};
