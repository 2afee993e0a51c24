// Keeps what is shown current: one stream of events for all tabs of a browser, and reading again every few seconds without it.
import { effect, signal } from '@preact/signals';
import { ApiError, offlineSince, seg } from '../lib/api';
import { base } from '../lib/base';
import { touch } from '../lib/cache';
import { listen, type Sent } from '../lib/stream';
import { session, start } from './session';
import type { Operations } from '../generated/operations';

type LiveEvent = Operations['stream.open']['output'];
/** What tabs pass on to each other. */
type Note =
  | { kind: 'sent'; sent: Sent }
  /** The server sends no events. */
  | { kind: 'none' }
  /** Which agent a tab shows; `null` when it goes. */
  | { kind: 'shows'; tab: string; agent: string | null }
  | { kind: 'who' };

/** After this time without a stream, pages read again every few seconds, and say so. */
const SILENT_MILLIS = 20_000;
const EVERY_MILLIS = 4_000;
/** The server sends something every 15 s; a connection that is silent for longer is dead. */
const DEAD_MILLIS = 35_000;
const PAUSES_MILLIS = [500, 1_000, 2_000, 4_000, 8_000];
/** How long a refusal is respected that a new attempt does not change. */
const REFUSED_MILLIS = 60_000;
/** The most agents of a stream. */
const MAX_AGENTS = 20;

/** Whether the stream is interrupted for so long that pages are read again every few seconds. */
export const interrupted = signal(false);

const NAME = 'console-stream' + base;
const tab = Math.random().toString(36).slice(2);
// Browsers offer locks to secure pages alone; without them each tab has its own stream.
const channel = navigator.locks ? new BroadcastChannel(NAME) : null;
/** The agents that tabs show, by tab. */
const shown = new Map<string, string>();
let own: string | null = null;
/** The cursor of the last event that any tab has received. */
let cursor: string | null = null;
let heardAt = Date.now();
let isOffered = true;
/** Ends the stream or the pause of the tab that reads. */
let end = () => {};
/** Whether the stream was ended to begin again at once. */
let isAgain = false;
const wake = (): void => {
  isAgain = true;
  end();
};
/** Whether this tab reads the stream for all, and the agents of the stream. */
let isReader = false;
let reads: readonly string[] = [];
/** Whether it waits because no tab shows an agent. */
let isIdle = false;

const of = (agent: string) => `/agents/${seg(agent)}`;
/** The lists that an event changes, and the record in them, by the first word of its type. */
const LISTS: Record<string, [string, string]> = {
  contact: ['/contacts', 'contactId'], file: ['/contacts', 'contactId'], conversation: ['/conversations', 'conversationId'], lead: ['/conversations', 'conversationId'],
  message: ['/conversations', 'conversationId'], knowledge: ['/knowledge', 'knowledgeId'], key: ['/keys', 'keyId'], contact_schema: ['/contact-schema', ''],
};
/** Whether a path shows what an event has changed. */
const isChanged = ({ agent, type, subject }: LiveEvent): ((path: string) => boolean) => {
  const [list, name] = LISTS[type.split('.')[0]!] ?? ['', ''];
  const root = of(agent) + list;
  if (!list && !type.startsWith('agent.')) return () => false;
  const id = (subject as Record<string, string | undefined>)[name];
  return (path: string) => path == root || (!list && path == '/agents') || path == root + '/counts' || (!!id && (path + '/').startsWith(`${root}/${seg(id)}/`));
};
const all = (agent: string) => (path: string) => path == of(agent) || path.startsWith(of(agent) + '/');
const take = ({ id, event, data }: Sent): void => {
  heardAt = Date.now();
  isOffered = true;
  interrupted.value = false;
  if (id) cursor = id;
  const content = JSON.parse(data || '{}');
  if (event == 'event') touch(isChanged(content));
  // What was read before the stream began may have changed before it, too.
  else if (event == 'ready') for (const agent of content.fresh) touch(all(agent));
  else if (event == 'gap') touch(all(content.agent));
  else if (event == 'session') {
    if (content.reason == 'changed') void start().catch(() => undefined);
    // Without a session, the next request asks to sign in again and leaves the page as it is.
    touch(() => true);
  }
};
/** Begins the stream again if it lacks an agent that a tab shows. A pause after a refusal goes on. */
const join = (agent: string): void => {
  if (isIdle || (reads.length && !reads.includes(agent))) wake();
};
const pass = (note: Note): void => channel?.postMessage(note);
const introduce = () => {
  if (own) shown.set(tab, own);
  else shown.delete(tab);
  pass({ kind: 'shows', tab, agent: own });
  if (own) join(own);
};
channel?.addEventListener('message', ({ data }: MessageEvent<Note>) => {
  if (data.kind == 'sent') take(data.sent);
  else if (data.kind == 'none') isOffered = false;
  else if (data.kind == 'who') introduce();
  else if (data.agent) {
    shown.set(data.tab, data.agent);
    if (isReader && !isOffered) pass({ kind: 'none' });
    join(data.agent);
  } else shown.delete(data.tab);
});

const pause = (millis: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, millis * (0.8 + Math.random() * 0.4));
    end = () => {
      clearTimeout(timer);
      resolve();
    };
  });
/** Reads one stream to its end. */
const readOnce = async (agents: readonly string[]): Promise<void> => {
  const ending = new AbortController();
  let dead = 0;
  const alive = () => {
    clearTimeout(dead);
    dead = window.setTimeout(() => ending.abort(), DEAD_MILLIS);
  };
  reads = agents;
  end = () => ending.abort();
  isAgain = false;
  alive();
  try {
    await listen('/stream', { agents: agents.join(',') }, cursor, ending.signal, (sent) => {
      alive();
      // A server that ends each stream at once is not asked every half a second.
      if (sent.event != 'ready') failures = 0;
      take(sent);
      pass({ kind: 'sent', sent });
    });
  } finally {
    clearTimeout(dead);
    reads = [];
  }
};
let failures = 0;
/** What a refusal means: how long to wait before the next attempt. */
const refused = (error: ApiError): number => {
  // An agent that another tab shows and that this person may not see.
  const missing = error.code == 'NOT_FOUND' && error.details['id'];
  if (missing) for (const [name, agent] of shown) if (agent == missing) shown.delete(name);
  if (missing) return 0;
  // The server does not know the cursor: what is shown may be out of date.
  if (error.status == 400) cursor = null;
  if (error.code == 'EVENTS_UNAVAILABLE') {
    isOffered = false;
    pass({ kind: 'none' });
  }
  return error.status == 401 || error.status == 403 || error.code == 'EVENTS_UNAVAILABLE' ? REFUSED_MILLIS : 0;
};
/** Reads streams for as long as the page lives. */
const read = async (): Promise<void> => {
  isReader = true;
  pass({ kind: 'who' });
  for (;;) {
    const agents = [...new Set([...(own ? [own] : []), ...shown.values()])].slice(0, MAX_AGENTS);
    let wait = 0;
    isIdle = !agents.length;
    if (agents.length)
      try {
        await readOnce(agents);
      } catch (error) {
        if (error instanceof ApiError) wait = refused(error);
      }
    if (isAgain) isAgain = false;
    else await pause(wait || (agents.length ? PAUSES_MILLIS[Math.min(failures++, PAUSES_MILLIS.length - 1)]! : REFUSED_MILLIS));
  }
};
const poll = (): void => {
  const isSilent = Date.now() - heardAt > SILENT_MILLIS;
  interrupted.value = isOffered && isSilent;
  if (own && (isSilent || !isOffered)) touch((path) => path.startsWith(of(own!) + '/conversations'));
};
let hasBegun = false;
const begin = (): void => {
  if (hasBegun) return;
  hasBegun = true;
  // The tab that holds the lock reads; another one takes over where it ended.
  if (channel) void navigator.locks.request(NAME, read);
  else void read();
  setInterval(poll, EVERY_MILLIS);
  addEventListener('pagehide', () => pass({ kind: 'shows', tab, agent: null }));
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
    if (session.value != known && !reads.length) wake();
    known = session.value;
  });
};
/** Follows an agent. */
export const follow = (agent: string): (() => void) => {
  own = agent;
  begin();
  introduce();
  return () => {
    own = null;
    introduce();
  };
};
