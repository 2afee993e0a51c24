// Fetches messages that were stored in the meantime, and those before the log.
import { shared } from './shared';
import { S, sleep } from './state';
import { add, clear, emitMessage, handleRejection, isReading, markRead, offerForm, restart, resumed } from './conversation';
import type { Failure, FormDefinition, Message, Session } from './protocol';
import { isOpen, setUnread } from './view/frame';
import { addMessage, lowest, prepend, toEnd } from './view/log';
import { ask } from './wire/call';
import { adopt, forget, restore, V } from './wire/visit';
import { active } from './wire/turn';

interface State {
  messages: Message[];
  more: boolean;
  unread: number;
  running: string | null;
  /** The lead form, if the last of the messages offers it. */
  form?: FormDefinition | null;
  nextPollMs: number | null;
  session: Session;
}

let syncing: boolean;
let loading: boolean;
let poll: object | undefined;

export const startSync = (): void => {
  syncing = loading = false;
  poll = undefined;
  S._earlier = !!V.conversation;
};
export const stopPolling = (): void => {
  poll = undefined;
};
/** Passes the response to `take`, unless the conversation was forgotten or restarted in the meantime. */
const fetchState = async (path: string, body: object, take: (state: State) => void): Promise<void> => {
  const { token } = V;
  try {
    const state = await ask<State>(path, { token, ...body });
    if (V.token == token) take(state);
  } catch (error) {
    // An active turn detects the failure itself and recovers.
    if (V.token != token || active) return;
    if ((error as Failure)._code == 'TOKEN_INVALID') {
      forget();
      restart();
    } else if (!handleRejection(error as Failure) && S._human) {
      // A visitor who waits for a human agent gets the reply after an outage of the server.
      void wait(10000);
    }
  }
};
export const sync = async (): Promise<void> => {
  poll = undefined;
  if (syncing || active) return;
  // Another tab may have started or forgotten a conversation, or consent gives access to a stored one.
  const moved = restore();
  if (moved) {
    restart();
    startSync();
    resumed();
  }
  if (!V.conversation) return;
  syncing = true;
  await fetchState('sync', { after: V.seq, read: V.read, open: isReading() }, ({ session, messages, unread, running, more, form, nextPollMs }) => {
    if (active) return;
    if (adopt(session)) clear();
    messages.forEach(add);
    if (form) offerForm(form);
    if (!isReading()) setUnread(unread);
    if (running) shared._followTurn(running);
    if (more || nextPollMs) void wait(more ? 0 : (nextPollMs as number));
  });
  syncing = false;
  if (moved && isOpen()) void history();
};
const wait = async (ms: number) => {
  const own = (poll = {});
  await sleep(ms);
  if (poll == own && !document.hidden) void sync();
};
export const history = async (): Promise<void> => {
  if (!S._earlier || loading) return;
  loading = true;
  const before = lowest();
  await fetchState('history', { before: before || undefined, limit: 50 }, ({ messages, more }) => {
    S._earlier = more;
    prepend(() => messages.forEach((message) => addMessage(message, true)));
    // Emits events only for messages without any so far.
    messages.forEach(emitMessage);
    if (!before) toEnd();
    markRead();
  });
  loading = false;
};
/** Loads the messages that the panel shows when it opens. */
export const arrive = async (): Promise<void> => {
  await sync();
  if (!lowest() || lowest() > 1) await history();
};
