// Keeps what is shown current: a stream of events while the tab is visible, and reading again every few seconds without it.
import { effect, signal } from '@preact/signals';
import { ApiError, offlineSince, seg } from '../lib/api';
import { touch } from '../lib/cache';
import { listen, type Sent } from '../lib/stream';
import { agents, session, start } from './session';
import type { Operations } from '../generated/operations';

type LiveEvent = Operations['stream.open']['output'];
/** After this time without a stream, pages read again every few seconds, and say so. */
const SILENT_MILLIS = 20_000;
const EVERY_MILLIS = 4_000;
/** The server sends something every 15 s; a connection that is silent for longer is dead. */
const DEAD_MILLIS = 35_000;
const PAUSES_MILLIS = [500, 1_000, 2_000, 4_000, 8_000];
/** How long a refusal is respected that a new attempt does not change. */
const REFUSED_MILLIS = 60_000;

/** Whether the stream is interrupted for so long that pages are read again every few seconds. */
export const interrupted = signal(false);

/** The agent that is shown. */
let own: string | null = null;
/** The cursors of the last events by agent; null where the server does not know the cursor. */
const cursors = new Map<string, string | null>();
/** Where the stream of an agent goes on: after the last event, or where the log was before a page of the agent was read. */
const cursorOf = (agent: string): string | null => (cursors.has(agent) ? cursors.get(agent)! : (agents.value?.find((one) => one.id == agent)?.liveFrom ?? null));
let heardAt = Date.now();
let isOffered = true;
/** Ends the stream or the pause. */
let end = () => {};
/** Whether the stream was ended to begin again at once. */
let isAgain = false;
const wake = (): void => {
  isAgain = true;
  end();
};
/** The agent of the stream that is open. */
let reads: string | null = null;

const of = (agent: string) => `/agents/${seg(agent)}`;
/** The lists that an event changes, and the record in them, by the first word of its type. */
const LISTS: Record<string, [string, string]> = {
  contact: ['/contacts', 'contactId'], file: ['/contacts', 'contactId'], conversation: ['/conversations', 'conversationId'], lead: ['/conversations', 'conversationId'],
  message: ['/conversations', 'conversationId'], knowledge: ['/knowledge', 'knowledgeId'], key: ['/keys', 'keyId'], contact_schema: ['/contact-schema', ''], credits: ['/credits', ''],
  endpoint: ['/webhooks', 'endpointId'],
};
/** Whether a path shows what an event has changed. */
const isChanged = ({ agent, type, subject }: LiveEvent): ((path: string) => boolean) => {
  const [list, name] = type == 'agent.configured' ? ['/settings', ''] : (LISTS[type.split('.')[0]!] ?? ['', '']);
  const root = of(agent) + list;
  if (!list && !type.startsWith('agent.')) return () => false;
  const id = (subject as Record<string, string | undefined>)[name];
  return (path: string) => path == root || (!list && path == '/agents') || path == root + '/counts' || (!!id && (path + '/').startsWith(`${root}/${seg(id)}/`));
};
const all = (agent: string) => (path: string) => path == of(agent) || path.startsWith(of(agent) + '/');
const take = (agent: string, { id, event, data }: Sent): void => {
  heardAt = Date.now();
  isOffered = true;
  interrupted.value = false;
  if (id) cursors.set(agent, id);
  const content = JSON.parse(data || '{}');
  if (event == 'event') touch(isChanged(content));
  // A stream without a cursor: what was read before it began may have changed before it, too.
  else if (event == 'ready') for (const fresh of content.fresh) touch(all(fresh));
  else if (event == 'gap') touch(all(content.agent));
  else if (event == 'session') {
    if (content.reason == 'changed') void start().catch(() => undefined);
    // Without a session, the next request asks to sign in again and leaves the page as it is.
    touch(() => true);
  }
};
const pause = (millis: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, millis * (0.8 + Math.random() * 0.4));
    end = () => {
      clearTimeout(timer);
      resolve();
    };
  });
/** Reads one stream to its end. */
const readOnce = async (agent: string): Promise<void> => {
  const ending = new AbortController();
  let dead = 0;
  const alive = () => {
    clearTimeout(dead);
    dead = window.setTimeout(() => ending.abort(), DEAD_MILLIS);
  };
  reads = agent;
  end = () => ending.abort();
  isAgain = false;
  alive();
  try {
    await listen('/stream', { agents: agent }, cursorOf(agent), ending.signal, (sent) => {
      alive();
      // A server that ends each stream at once is not asked every half a second.
      if (sent.event != 'ready') failures = 0;
      take(agent, sent);
    });
  } finally {
    clearTimeout(dead);
    reads = null;
  }
};
let failures = 0;
/** What a refusal means: how long to wait before the next attempt. */
const refused = (agent: string, error: ApiError): number => {
  // The server does not know the cursor: what is shown may be out of date.
  if (error.status == 400) cursors.set(agent, null);
  if (error.code == 'EVENTS_UNAVAILABLE') isOffered = false;
  return error.status == 401 || error.status == 403 || error.code == 'EVENTS_UNAVAILABLE' ? REFUSED_MILLIS : 0;
};
/** Reads streams for as long as the page lives: of the agent that is shown, while the tab is visible. */
const read = async (): Promise<void> => {
  for (;;) {
    const agent = document.hidden ? null : own;
    let wait = 0;
    if (agent)
      try {
        await readOnce(agent);
      } catch (error) {
        if (error instanceof ApiError) wait = refused(agent, error);
      }
    if (isAgain) isAgain = false;
    else await pause(wait || (agent ? PAUSES_MILLIS[Math.min(failures++, PAUSES_MILLIS.length - 1)]! : REFUSED_MILLIS));
  }
};
const poll = (): void => {
  if (document.hidden) return;
  const isSilent = Date.now() - heardAt > SILENT_MILLIS;
  interrupted.value = isOffered && isSilent;
  if (own && (isSilent || !isOffered)) touch((path) => path.startsWith(of(own!) + '/conversations'));
};
let hasBegun = false;
const begin = (): void => {
  if (hasBegun) return;
  hasBegun = true;
  void read();
  setInterval(poll, EVERY_MILLIS);
  // A hidden tab leaves its connection to others, and goes on after the last event that it has seen.
  document.addEventListener('visibilitychange', () => {
    heardAt = Date.now();
    wake();
  });
  // A stream over a network that is gone may stay open for minutes.
  addEventListener('offline', () => {
    offlineSince.value ??= Date.now();
    wake();
  });
  addEventListener('online', () => {
    wake();
    if (own) touch(all(own));
  });
  // Who signs in again does not wait for the end of the pause.
  let known = session.value;
  effect(() => {
    if (session.value != known && !reads) wake();
    known = session.value;
  });
};
/** Follows an agent. */
export const follow = (agent: string): (() => void) => {
  own = agent;
  if (reads != agent) wake();
  begin();
  return () => {
    own = null;
    wake();
  };
};
