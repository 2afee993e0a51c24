// What a turn does to the view: pending, stored, answered, failed.
import { build, hide, notice, trouble } from './chat';
import { withMore } from './later';
import { complain } from './name';
import { agentName, type Message, S, say, t } from './state';
import { sync } from './sync';
import { block, focusComposer, pause, restoreText, tell, turned } from './view/composer';
import { isOpen } from './view/frame';
import { addPending, note, stored, typing, unfinished } from './view/log';
import type { Failure } from './wire/call';
import { followTurn, type Turn } from './wire/turns';

let offline: boolean;

export const startReplies = (): void => {
  offline = false;
};
const fail = (turn: Turn, retry?: () => void) => {
  const partial = unfinished();
  if (partial) note(partial, t('incomplete'));
  if (turn._entry && !turn._entry._seq) note(turn._entry);
  trouble(
    retry &&
      (() => {
        partial?._element.remove();
        focusComposer();
        retry();
      }),
  );
};
export const failed = (turn: Turn, retry?: () => void, failure?: Failure): void => {
  S._refusal = failure;
  if (!failure) return fail(turn, retry);
  if (turn._lead) return;
  const { _details, _after, _status, _code, _fields, _message } = failure;
  if (restoreText(turn._text, turn._uploads)) turn._entry?._element.remove();
  else fail(turn, retry);
  queueMicrotask(() => {
    const words = _code == 'TURN_IN_PROGRESS' ? t('busy') : _fields[0]?.message || _message || t('failed');
    if (_status == 429) pause(Math.ceil(_after) || 5, words);
    else tell(words);
    if (_details.turn) followTurn(_details.turn as string);
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
  if (!turn._foreign) notice({ ...message, role: 'visitor', text: turn._text });
  typing('thinking');
  if (isOpen()) say(t('typing', '', agentName()));
};
export const setOffline = (is: boolean): void => {
  if (is != offline) tell(is ? t('offline') : '');
  offline = is;
};
export const idle = (outcome?: string): void => {
  unfinished();
  turned();
  if (outcome == 'queued') withMore((more) => more._queued());
  if (S._human || outcome == 'queued') void sync();
};
/** Failures that mean the same for every call. */
export const refused = ({ _code, _message }: Failure): boolean => {
  const { agentId } = S._options;
  // ORIGIN_NOT_ALLOWED, AGENT_NOT_AVAILABLE
  if (/[NT]_NOT_A/.test(_code)) {
    S._refused = _code;
    hide(true);
    complain(
      /^O/.test(_code) ? `origin ${location.origin} is not allowed for agent ${agentId}; add it to the agent's allowed origins` : `agent ${agentId}: ${_message}`,
    );
  } else if (_code == 'VISITOR_BLOCKED') {
    build();
    block();
  } else return false;
  return true;
};
