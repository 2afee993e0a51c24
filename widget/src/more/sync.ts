// Fetches messages that were stored in the meantime, and those before the log.
import type { Failure, FormDefinition, Message, PersonChange, Session } from '../protocol';
import { add, build, built, clear, emitMessage, isReading, markRead, offerForm, refreshPeople, restart } from './conversation';
import { addMessage, lowest, prepend, toEnd } from './log';
import { peopleKnown } from './people';
import { adopt, ask, forget, handleRejection, isOpen, restore, resumed, S, setUnread, sleep, V } from './shared';
import { active } from './turn';
import { up } from './up';

interface State {
  messages: Message[];
  more: boolean;
  unread: number;
  running: string | null;
  /** The lead form, if the last of the messages offers it. */
  form?: FormDefinition | null;
  people?: PersonChange[];
  nextPollMs: number | null;
  session: Session;
}

let syncing: boolean;
let loading: boolean;
let waiting: object | undefined;

export const startSync = (): void => {
  syncing = loading = false;
  waiting = undefined;
  S._earlier = !!V.conversation;
};
export const stopPolling = (): void => {
  waiting = undefined;
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
    } else if (!handleRejection(error as Failure)) {
      // A person's reply arrives after an outage of the server, too.
      void poll(10000);
    }
  }
};
export const sync = async (): Promise<void> => {
  waiting = undefined;
  markRead();
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
  await fetchState('sync', { after: V.seq, read: V.read, open: isReading() }, ({ session, messages, unread, running, more, form, people = [], nextPollMs }) => {
    if (active) return;
    if (adopt(session)) clear();
    messages.forEach(add);
    // A panel that was never opened shows nobody.
    if (built || people[0] || S._human) build();
    refreshPeople(people);
    if (!more) peopleKnown();
    if (form) offerForm(form);
    if (!isReading()) setUnread(unread);
    if (running) up._followTurn(running);
    if (more || nextPollMs) void poll(more ? 0 : (nextPollMs as number));
  });
  syncing = false;
  if (moved && isOpen()) void history();
};
/** Syncs after a while, unless something else does before. */
export const poll = async (ms: number): Promise<void> => {
  const own = (waiting = {});
  await sleep(ms);
  if (waiting == own && !document.hidden) void sync();
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
