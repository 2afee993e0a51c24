// Shows the states of a turn: pending, stored, completed, failed.
import { addPending, note, stored, typing, unfinished } from './view/log';
import { agentName, S, say, t, type Turn } from './state';
import { withMore } from './later';
import { isOpen } from './view/frame';
import { build, emitMessage, showError } from './conversation';
import type { Failure, Message } from './protocol';
import { sync } from './sync';
import { focusComposer, pause, restoreText, showAlert, turned } from './view/composer';
import { shared } from './shared';

let offline: boolean;

export const startReplies = (): void => {
  offline = false;
};
const fail = (turn: Turn, retry?: () => void) => {
  const partial = unfinished();
  if (partial) note(partial, t('incomplete'));
  if (turn._entry && !turn._entry._seq) note(turn._entry);
  showError(
    retry &&
      (() => {
        partial?._element.remove();
        focusComposer();
        retry();
      }),
  );
};
export const failed = (turn: Turn, retry?: () => void, failure?: Failure): void => {
  S._rejection = failure;
  if (!failure) return fail(turn, retry);
  if (turn._lead) return;
  const { _details, _after, _status, _code, _fields, _message } = failure;
  if (restoreText(turn._text, turn._uploads)) turn._entry?._element.remove();
  else fail(turn, retry);
  queueMicrotask(() => {
    const text = _code == 'TURN_IN_PROGRESS' ? t('busy') : _fields[0]?.message || _message || t('failed');
    if (_status == 429) pause(Math.ceil(_after) || 5, text);
    else showAlert(text);
    if (_details.turn) shared._followTurn(_details.turn as string);
  });
};
export const started = (turn: Turn): void => {
  build();
  turned();
  if (turn._entry) note(turn._entry, t('sending'));
  else if (turn._text || turn._uploads[0]) turn._entry = addPending(turn._text, turn._uploads);
  if (turn._foreign) typing('thinking');
};
export const acked = (turn: Turn, message: Message): void => {
  if (turn._entry) stored(turn._entry, message.seq, message.at);
  if (!turn._foreign) emitMessage({ ...message, role: 'visitor', text: turn._text });
  typing('thinking');
  if (isOpen()) say(t('typing', '', agentName()));
};
export const setOffline = (is: boolean): void => {
  if (is != offline) showAlert(is ? t('offline') : '');
  offline = is;
};
export const idle = (outcome?: string): void => {
  unfinished();
  turned();
  if (outcome == 'queued') withMore((more) => more._queued());
  if (S._human || outcome == 'queued') void sync();
};
