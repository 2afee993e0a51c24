// The stateful parts that the first script passes in. Stateless parts are imported directly.
import type { Shared } from '../shared';

export let S: Shared['_S'];
export let V: Shared['_V'];
export let t: Shared['_t'];
export let emit: Shared['_emit'];
export let say: Shared['_say'];
export let announce: Shared['_announce'];
export let dropForm: Shared['_dropForm'];
export let isReading: Shared['_isReading'];
export let showAlert: Shared['_showAlert'];
export let ask: Shared['_ask'];
export let request: Shared['_request'];
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
    _say: say,
    _announce: announce,
    _dropForm: dropForm,
    _isReading: isReading,
    _showAlert: showAlert,
    _ask: ask,
    _request: request,
    _describePage: describePage,
    _sendTurn: sendTurn,
    _focus: focus,
    _renew: renew,
    _sleep: sleep,
    _adopt: adopt,
    _clear: clear,
  } = shared);
};
