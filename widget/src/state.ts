// The shared state. A page has at most one mounted widget, so the state is in module variables that `init` resets.
// A destroyed widget never continues: its requests and waits do not settle. The build shortens names with `_`.
import type { Options } from './options';
import type { Config, Failure, Lead, Message, Upload } from './protocol';
import type { EventMap, EventName, SendResult } from './public';
import { h } from './dom';
import { ENGLISH } from './strings';
import { logError } from './name';

/** A message in the log; `_seq` is 0 until it is stored. */
export interface Entry {
  _element: HTMLElement;
  _seq: number;
  _role: Message['role'];
  /** The sender's name. */
  _name: string;
  /** When it was stored; empty until then. */
  _at: string;
  /** The line below the text: time, state, buttons. */
  _foot: HTMLElement;
  /** The state in that line, if there is more to say than the time. */
  _note: string;
}
export interface Turn {
  _id: string;
  _text: string;
  _uploads: Upload[];
  _lead?: Lead;
  /** The value of the honeypot field. */
  _honeypot: string;
  /** Number of the last processed event. */
  _last: number;
  /** Started in another tab or before a reload. */
  _foreign?: boolean;
  _stopped?: boolean;
  _silent?: boolean;
  /** Its message in the log. */
  _entry?: Entry;
  /** Aborts the current request and its stream. */
  _control?: AbortController;
  _settle: (result: SendResult) => void;
}

/** Event, handler, and whether the handler runs once only. */
type Subscription = [event: string, handler: (payload: unknown) => void, once?: boolean];

export const S = { _handlers: [] as Subscription[] } as {
  _options: Options & { agentId: string; apiBase: string };
  /** Origin of the script; empty when unknown. */
  _origin: string;
  _config: Partial<Config>;
  _locale: string;
  /** Whether messages before those in the log may exist. */
  _earlier: boolean;
  /** Aborted by `destroy`: removes listeners, ends requests. */
  _signal: AbortSignal;
  /** Also contains the handlers that the page adds before `init`. */
  _handlers: Subscription[];
  /** The live region for screen readers. */
  _status: HTMLElement;
  /** The code of the rejection that prevents the widget from running. */
  _rejected: string;
  /** A human agent replies. */
  _human: boolean;
  /** Set while the rate limit blocks sending. */
  _waiting?: object;
  /** The text field, which exists before the second script. */
  _input: HTMLTextAreaElement;
  /** The panel; undefined until it is opened or a message arrives. */
  _panel?: HTMLElement;
  /** The visitor or the page has hidden the widget. */
  _hidden: boolean;
  /** The message that waits for the form before it. */
  _held: string;
  /** Removes the question about a new conversation; undefined without one. `then` runs afterwards. */
  _closeQuestion?: (then?: () => void) => void;
  /** The rejection of the last turn; undefined if there was no response. */
  _rejection?: Failure;
};

/** Runs each handler in its own microtask and logs its errors. */
export const emit = <E extends EventName>(event: E, payload: EventMap[E]): void =>
  S._handlers.forEach((one) => {
    if (one[0] != event) return;
    if (one[2]) drop(one);
    queueMicrotask(() => {
      try {
        one[1](payload);
      } catch (error) {
        logError(`a handler of "${event}" threw`, error);
      }
    });
  });
const drop = (one: Subscription) => {
  S._handlers = S._handlers.filter((other) => other != one);
};
const subscribe = (...one: Subscription): (() => void) => {
  S._handlers = [...S._handlers, one];
  return () => drop(one);
};
/** The subscription methods, which also work without a mounted widget. */
export const EVENTS = {
  on: (event: string, handler: never): (() => void) => subscribe(event, handler),
  once: (event: string, handler: never): (() => void) => subscribe(event, handler, true),
  off: (event: string, handler?: unknown): void => {
    S._handlers = S._handlers.filter((one) => one[0] != event || (handler && one[1] != handler));
  },
};

/** An option if it is given, otherwise the value of the configuration. */
export const pick = <K extends keyof Options & keyof Config>(key: K): Options[K] | undefined =>
  S._options[key] ?? (S._config[key] as Options[K]) ?? undefined;

/** A text in the visitor's language; for counts in the plural form of `n`. */
export const t = (key: string, n?: number | string, name = ''): string => {
  const find = (key: string): string | undefined =>
    ([S._options.strings, S._config.strings, ENGLISH] as Record<string, string>[]).map((set) => set?.[key]).find((text) => text?.trim());
  const text = find(key) || find(`${key}.${new Intl.PluralRules(S._locale).select(n as number)}`) || find(key + '.other') || key;
  return text.replace('{n}', (n ?? '').toLocaleString(S._locale)).replace('{name}', () => name);
};

export const agentName = (): string => pick('title') || t('title');

export const on = (target: EventTarget, names: string, handler: (event: never) => void): void =>
  names.split(' ').forEach((name) => target.addEventListener(name, handler as EventListener, { signal: S._signal }));

/** Waits; an event of the window can end it earlier. Never resolves once the widget is destroyed. */
export const sleep = (ms: number, until?: string): Promise<void> =>
  new Promise((resolve) => {
    const { _signal: signal } = S;
    const end = () => {
      clearTimeout(timer);
      if (until) removeEventListener(until, end);
      signal.removeEventListener('abort', end);
      if (!signal.aborted) resolve();
    };
    const timer = setTimeout(end, Math.min(ms, 2 ** 31 - 1));
    if (until) addEventListener(until, end);
    signal.addEventListener('abort', end);
  });

/** Announces a text once. */
export const say = (text: string): void => {
  const said = h('p', null, text);
  S._status.append(said);
  void sleep(5000).then(() => said.remove());
};
