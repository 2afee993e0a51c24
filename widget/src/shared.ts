// What the second script is given of the first: everything that has a state.
import { announce, clear, dropForm, focus, isReading, renew } from './chat';
import { emit, pick, S, say, sleep, t } from './state';
import { tell } from './view/composer';
import { ask, asFailure, report, request } from './wire/call';
import { describePage } from './wire/page';
import { sendTurn } from './wire/turns';
import { adopt, V } from './wire/visit';

// Made when it is asked for: some of these modules need each other.
export const shared = () => ({
  _S: S,
  _V: V,
  _t: t,
  _emit: emit,
  _pick: pick,
  _say: say,
  _announce: announce,
  _dropForm: dropForm,
  _isReading: isReading,
  _tell: tell,
  _ask: ask,
  _report: report,
  _request: request,
  _asFailure: asFailure,
  _describePage: describePage,
  _sendTurn: sendTurn,
  _focus: focus,
  _renew: renew,
  _sleep: sleep,
  _adopt: adopt,
  _clear: clear,
});
export type Shared = ReturnType<typeof shared>;
