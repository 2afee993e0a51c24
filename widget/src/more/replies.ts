// Shows the states of a turn: pending, stored, completed, failed.
import type { Failure, Message } from '../protocol';
import type { Turn } from '../state';
import { countDown, focusComposer, restoreText, showAlert, turned } from './composer';
import { begin, build, emitMessage, showError } from './conversation';
import { showStrip } from './header';
import { addPending, dropPending, note, stored, typing, unfinished } from './log';
import { agentName, isOpen, S, say, sleep, t } from './shared';
import { up } from './up';

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
  // Files that the server no longer has would fail again.
  const uploads = _fields.some(({ field }) => field == 'uploads') ? [] : turn._uploads;
  if (!restoreText(turn._text, uploads)) fail(turn, retry);
  else if (turn._entry) {
    dropPending(turn._entry);
    turn._entry = undefined;
  }
  // After the turn has ended, which clears the line above the text field.
  void sleep(0).then(() => {
    // An empty conversation offers its first questions again.
    begin();
    const text = _code == 'TURN_IN_PROGRESS' ? t('busy') : (!_fields[0] && _message) || t('failed');
    if (_status == 429) void countDown(Math.ceil(_after) || 5);
    else showAlert(text);
    if (_details.turn) up._followTurn(_details.turn as string);
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
  if (is != offline) {
    showStrip(is ? t('offline') : '');
    if (is) say(t('offline'));
  }
  offline = is;
};
export const idle = (outcome?: string): void => {
  unfinished();
  turned();
  // A person may reply at any time.
  if (S._human || outcome == 'queued') void up._sync();
  else up._poll(3000);
};
