// The public interface of the widget: options, methods, events. The build generates `dist/embed.d.ts` from this file.

/** Events and the payloads of their handlers. */
export interface EventMap {
  /** Mounted and configured; once for each `init`. */
  ready: { version: string };
  open: Record<string, never>;
  close: Record<string, never>;
  /** The last event of an instance. */
  destroy: Record<string, never>;
  /** Every stored message, once; `name` is that of a person who wrote it. */
  message: { id: string; seq: number; role: 'visitor' | 'agent' | 'human'; text: string; at: string; name?: string };
  reply: { id: string; seq: number; role: 'agent' | 'human'; text: string; sources: Source[]; name?: string };
  unread: { count: number };
  conversation: { id: string; isNew: boolean };
  handoff: { name: string | null };
  /** A form was submitted: the names of its fields, never their values. */
  lead: { fields: string[] };
  feedback: { message: string; value: -1 | 0 | 1 };
  error: { code: string; message: string; retryable: boolean };
}
export type EventName = keyof EventMap;
export type Handler<E extends EventName> = (payload: EventMap[E]) => void;

/** A passage that a reply cites as `[n]`. */
export interface Source {
  n: number;
  title: string;
  url: string | null;
  page: number | null;
}

/** The visitor's identity as the page knows it. `hash` proves it; see the guide. */
export interface User {
  externalReferenceId?: string;
  email?: string;
  name?: string;
  phone?: string;
  hash?: string;
}

export interface InitOptions {
  /** The agent's id. */
  agentId: string;
  /** Alias of `agentId`. */
  chatbotId?: string;
  /** Absolute http(s) address without a trailing slash; by default the origin of the script. */
  apiBase?: string;
  /** BCP 47 tag; by default `<html lang>`, then the browser's language, then `en`. */
  locale?: string;
  theme?: 'auto' | 'light' | 'dark';
  position?: 'bottom-right' | 'bottom-left';
  /** `#rgb` or `#rrggbb`; the widget derives the text colour from it. */
  color?: string;
  /** At most 80 characters. */
  title?: string;
  /** At most 80 characters. */
  subtitle?: string;
  /** Markdown subset, at most 1,000 characters. */
  greeting?: string;
  /** At most 60 characters. */
  launcherLabel?: string;
  /** Opens the panel at once, without moving the focus. */
  open?: boolean;
  /** Applies `open` on small displays too. */
  openOnMobile?: boolean;
  zIndex?: number;
  /** The parent of the widget; `document.documentElement` by default. */
  container?: HTMLElement | string;
  /** For the style element of browsers without constructable style sheets. */
  nonce?: string;
  user?: User;
  /** URL of an image on the widget's own host or an allowed image host. */
  avatar?: string;
  /** At most 6, each at most 80 characters. */
  suggestions?: string[];
  /** `text` of at most 200 characters; `delayMs` in milliseconds, 4,000 by default. */
  teaser?: { text: string; delayMs?: number } | false;
  mode?: 'bubble' | 'inline';
  launcher?: { hidden?: boolean; icon?: 'chat' | 'help' | 'avatar' };
  sound?: boolean;
  prechat?: 'config' | 'off';
  /** `false` disables what the agent allows. */
  uploads?: boolean;
  feedback?: boolean;
  persist?: 'local' | 'session' | 'memory';
  /** `false` stores nothing until `update({ consent: true })`. */
  consent?: boolean;
  /** The part of the page's URL that is sent with the first message. */
  page?: 'path' | 'full' | 'none';
  /** At most 20 keys of at most 40 characters; text values of at most 256. */
  metadata?: Record<string, string | number | boolean>;
  strings?: Partial<Record<StringKey, string>>;
  dir?: 'auto' | 'ltr' | 'rtl';
  /** Distance from the corner in CSS pixels. */
  offset?: { x?: number; y?: number };
  /** Corner radius of the panel in CSS pixels. */
  radius?: number;
  /** `inherit` is the font of the page. */
  fontFamily?: string;
  onReady?: Handler<'ready'>;
  onOpen?: Handler<'open'>;
  onClose?: Handler<'close'>;
  onMessage?: Handler<'message'>;
  onError?: Handler<'error'>;
  on?: { [E in EventName]?: Handler<E> };
}

export type SendResult = { ok: true; id: string } | { ok: false; code: string };

export interface Instance {
  destroy(): void;
  open(): void;
  close(): void;
  toggle(): void;
  /** Shows launcher and panel again after `hide`. */
  show(): void;
  hide(): void;
  /** Never rejects; resolves once the message is stored. */
  send(text: string): Promise<SendResult>;
  update(options: Partial<InitOptions>): void;
  identify(user: User | undefined): void;
  /** For the page's log-out: closes the conversation and forgets everything. */
  reset(): void;
  on<E extends EventName>(event: E, handler: Handler<E>): () => void;
  once<E extends EventName>(event: E, handler: Handler<E>): () => void;
  off<E extends EventName>(event: E, handler?: Handler<E>): void;
  readonly state: { ready: boolean; open: boolean; unread: number; conversation: string | null };
}

/** The global. Its methods act on the mounted instance. */
export interface Widget extends Omit<Instance, 'state'> {
  /** That of the mounted instance; `null` without one. */
  readonly state: Instance['state'] | null;
  init(options: InitOptions): Instance;
  readonly instance: Instance | null;
  readonly version: string;
}

/** Texts that the option `strings` may replace. `{n}`, `{name}` stand for values. `field.NAME` is the label of a form's field. */
export type StringKey =
  | 'open' | 'close' | 'title' | 'write' | 'loading' | 'send' | 'stop' | 'attach' | 'remove' | 'newChat' | 'askNew' | 'cancel' | 'sound'
  | 'hello' | 'assistant' | 'you' | 'human' | 'log' | 'latest' | 'typing' | 'searching' | 'disclosure' | 'privacy' | 'sources' | 'page' | 'up' | 'down'
  | 'copy' | 'copied' | 'retry' | 'failed' | 'incomplete' | 'stopped' | 'sending' | 'now' | 'offline' | 'busy' | 'uploading' | 'unavailable'
  | 'handoff' | 'left' | 'ended' | 'queued' | 'form' | 'formIntro' | 'prechatIntro' | 'thanks' | 'thanksName' | 'willWrite'
  | 'optional' | 'required' | 'consent' | 'invalid' | 'invalidEmail' | 'invalidPhone' | 'long' | 'large' | 'types'
  | `field.${string}`
  | 'unread.zero' | 'unread.one' | 'unread.two' | 'unread.few' | 'unread.many' | 'unread.other'
  | 'wait.zero' | 'wait.one' | 'wait.two' | 'wait.few' | 'wait.many' | 'wait.other';
