// What the first script has given: everything that has a state. Pure parts are imported as they are.
import type { Shared } from '../shared';

export let S: Shared['_S'];
export let V: Shared['_V'];
export let t: Shared['_t'];
export let emit: Shared['_emit'];
export let pick: Shared['_pick'];
export let say: Shared['_say'];
export let announce: Shared['_announce'];
export let dropForm: Shared['_dropForm'];
export let isReading: Shared['_isReading'];
export let tell: Shared['_tell'];
export let ask: Shared['_ask'];
export let report: Shared['_report'];
export let request: Shared['_request'];
export let asFailure: Shared['_asFailure'];
export let describePage: Shared['_describePage'];
export let sendTurn: Shared['_sendTurn'];
export let focus: Shared['_focus'];
export let renew: Shared['_renew'];
export let sleep: Shared['_sleep'];
export let adopt: Shared['_adopt'];
export let clear: Shared['_clear'];

export const take = (shared: Shared): void => {
  ({
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
  } = shared);
};
