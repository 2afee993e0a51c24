// What happened elsewhere: messages that were stored meanwhile, and those before the ones in the log.
import { add, clear, isReading, markRead, notice, offer, restart, resumed, setUnread } from './chat';
import { refused } from './replies';
import { type FormDefinition, type Message, S, type Session, sleep } from './state';
import { isOpen } from './view/frame';
import { addMessage, lowest, prepend, toEnd } from './view/log';
import { ask, type Failure } from './wire/call';
import { activeTurn, followTurn } from './wire/turns';
import { adopt, forget, restore, V } from './wire/visit';

interface State {
  messages: Message[];
  more: boolean;
  unread: number;
  running: string | null;
  /** The lead form, where the last of the messages offers it. */
  form?: FormDefinition | null;
  nextPollMs: number | null;
  session: Session;
}

let syncing: boolean;
let loading: boolean;
// Whether messages before those in the log may exist.
let earlier: boolean;
let poll: object | undefined;

export const startSync = (): void => {
  syncing = loading = false;
  poll = undefined;
  earlier = !!V.conversation;
};
export const stopPolling = (): void => {
  poll = undefined;
};
/** The conversation begins with what is in the log. */
export const noEarlier = (): void => {
  earlier = false;
};

/** What was asked for goes to `take`, unless the conversation was forgotten or begun anew in the meantime. */
const inquire = async (path: string, body: object, take: (state: State) => void): Promise<void> => {
  const { token } = V;
  try {
    const state = await ask<State>(path, { token, ...body });
    if (V.token == token) take(state);
  } catch (error) {
    // A turn that runs finds out by itself, and knows how to go on.
    if (V.token != token || activeTurn()) return;
    if ((error as Failure)._code == 'TOKEN_INVALID') {
      forget();
      restart();
    } else if (!refused(error as Failure) && S._human) {
      // Who waits for a person does not wait in vain because the server was away.
      void wait(10000);
    }
  }
};
export const sync = async (): Promise<void> => {
  poll = undefined;
  if (syncing || activeTurn()) return;
  // What another tab has begun or forgotten, and what was stored before there was consent.
  const moved = restore();
  if (moved) {
    restart();
    startSync();
    resumed();
  }
  if (!V.conversation) return;
  syncing = true;
  await inquire('sync', { after: V.seq, read: V.read, open: isReading() }, ({ session, messages, unread, running, more, form, nextPollMs }) => {
    if (activeTurn()) return;
    if (adopt(session)) clear();
    messages.forEach(add);
    if (form) offer(form);
    if (!isReading()) setUnread(unread);
    if (running) followTurn(running);
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
  if (!earlier || loading) return;
  loading = true;
  const before = lowest();
  await inquire('history', { before: before || undefined, limit: 50 }, ({ messages, more }) => {
    earlier = more;
    prepend(() => messages.forEach((message) => addMessage(message, true)));
    // Where nothing else has told of them.
    messages.forEach(notice);
    if (!before) toEnd();
    markRead();
  });
  loading = false;
};
/** What the panel shows when it opens. */
export const arrive = async (): Promise<void> => {
  await sync();
  if (!lowest() || lowest() > 1) await history();
};
