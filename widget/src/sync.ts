// What happened elsewhere: messages that were stored meanwhile, and those before the ones in the log.
import { add, clear, isReading, markRead, offer, restart, setUnread } from './chat';
import { refused } from './replies';
import { type FormDefinition, type Message, type Session, sleep } from './state';
import { addMessage, lowest, prepend, toEnd } from './view/log';
import { ask, type Failure } from './wire/call';
import { activeTurn, followTurn } from './wire/turns';
import { adopt, forget, V } from './wire/visit';

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

const lost = (failure: Failure) => {
  if (failure._code == 'TOKEN_INVALID') {
    forget();
    restart();
  } else refused(failure);
};

export const sync = async (): Promise<void> => {
  const { token } = V;
  poll = undefined;
  if (!V.conversation || syncing || activeTurn()) return;
  syncing = true;
  try {
    const { session, messages, unread, running, more, form, nextPollMs } = await ask<State>('sync', { token, after: V.seq, read: V.read, open: isReading() });
    // Forgotten or begun anew in the meantime?
    if (V.token == token && !activeTurn()) {
      if (adopt(session)) clear();
      messages.forEach(add);
      if (form) offer(form);
      if (!isReading()) setUnread(unread);
      if (running) followTurn(running);
      if (more || nextPollMs) void wait(more ? 0 : (nextPollMs as number));
    }
  } catch (error) {
    lost(error as Failure);
  }
  syncing = false;
};
const wait = async (ms: number) => {
  const own = (poll = {});
  await sleep(ms);
  if (poll == own && !document.hidden) void sync();
};
export const history = async (): Promise<void> => {
  const { token } = V;
  if (!earlier || loading) return;
  loading = true;
  try {
    const before = lowest();
    const { messages, more } = await ask<State>('history', { token, before: before || undefined, limit: 50 });
    if (V.token == token) {
      earlier = more;
      prepend(() => messages.forEach((message) => addMessage(message, true)));
      for (const { seq } of messages) V.seq = Math.max(V.seq, seq);
      if (!before) toEnd();
      markRead();
    }
  } catch (error) {
    lost(error as Failure);
  }
  loading = false;
};
/** What the panel shows when it opens. */
export const arrive = async (): Promise<void> => {
  await sync();
  if (!lowest() || lowest() > 1) await history();
};
