// The second script: the panel and the conversation in it. The first script loads it when the panel opens.
import type { Upload } from '../protocol';
import type { SendResult } from '../public';
import type { More, Shared } from '../shared';
import { block, problem, resetComposer, showAlert, submitText } from './composer';
import { build, built, clear, first, focus, isReading, label, markRead, restart, setForm, startConversation } from './conversation';
import { log, lowest, toEnd } from './log';
import { fit, keyDown, startFitting } from './panel';
import { startReplies } from './replies';
import { ask, isOpen, leave, S, take, V } from './shared';
import { ENGLISH } from './strings';
import { arrive, history, poll, startSync, stopPolling, sync } from './sync';
import { dropTurn } from './turn';
import { followTurn, pauseTurns, sendTurn, startTurns, wakeTurns } from './turns';
import { up } from './up';

declare const MORE_STYLE: string;

const make = () => {
  if (built) return;
  build();
  startFitting(S._panel as HTMLElement);
  fit();
};
const submit = async (text: string, uploads: Upload[]): Promise<SendResult> => {
  make();
  const code = problem(text) || (!text && !uploads[0] ? 'VALIDATION_ERROR' : first ? 'FORM_REQUIRED' : '');
  if (first) S._held = text;
  return code ? { ok: false, code } : sendTurn(text, uploads);
};
const end = () => {
  if (V.token) ask('close', { token: V.token }).catch(() => {});
};
const parts: More = {
  _style: MORE_STYLE,
  _strings: ENGLISH,
  _start: () => {
    startConversation();
    startSync();
    startReplies();
    startTurns();
  },
  _opened: (byVisitor) => {
    make();
    // On a touch screen the focus stays out of the text field, so no screen keyboard appears.
    if (byVisitor) matchMedia('(pointer:coarse)').matches && !S._input.matches(':focus') ? log.focus({ preventScroll: true }) : focus();
    toEnd();
    markRead();
    void arrive();
  },
  _label: () => {
    label();
    fit();
  },
  _fit: fit,
  _keyDown: keyDown,
  _focus: focus,
  _enter: submitText,
  _send: (text) => submit(text, []),
  _reset: () => {
    if (built) resetComposer();
    restart();
  },
  _markRead: markRead,
  _sync: () => (isOpen() && !lowest() ? arrive() : sync()),
  _pause: () => {
    stopPolling();
    pauseTurns();
  },
  _wake: wakeTurns,
  _drop: dropTurn,
  _block: () => {
    make();
    block();
  },
};

export const start = (shared: Shared): More => {
  take(shared);
  Object.assign(up, {
    _submit: submit,
    _sendTurn: sendTurn,
    _history: history,
    _sync: sync,
    _poll: poll,
    _focus: focus,
    _followTurn: followTurn,
    _renew: () => {
      end();
      leave();
      restart();
    },
    _clear: clear,
    _dropForm: setForm,
    _isReading: isReading,
    _showAlert: showAlert,
  });
  return parts;
};
