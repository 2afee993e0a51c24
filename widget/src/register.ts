// Sets `shared`. A module of its own above all others, so lower layers need no import of the layers that they call.
import { showAlert } from './view/composer';
import { adopt, V } from './wire/visit';
import { emit, S, say, sleep, t } from './state';
import { announce, clear, focus, isReading, loadFailed, setForm } from './conversation';
import { followTurn, sendTurn } from './turns';
import { renew, submit, toggle } from './chat';
import { describePage } from './wire/page';
import { register } from './shared';
import { ask, request } from './wire/call';
import { prepend } from './view/log';
import { history } from './sync';

register({
  _dropForm: setForm,
  _S: S,
  _clear: clear,
  _say: say,
  _announce: announce,
  _emit: emit,
  _t: t,
  _isReading: isReading,
  _V: V,
  _request: request,
  _ask: ask,
  _toggle: toggle,
  _renew: renew,
  _sendTurn: sendTurn,
  _history: history,
  _adopt: adopt,
  _describePage: describePage,
  _showAlert: showAlert,
  _sleep: sleep,
  _focus: focus,
  _loadFailed: loadFailed,
  _followTurn: followTurn,
  _submit: submit,
  _prepend: prepend,
});
