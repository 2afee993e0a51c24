// What the parts share. A page has at most one mounted widget, so its state lives in module variables that `init` sets
// anew. Nothing of a destroyed widget runs on: its requests and waits never end. Names with `_` are shortened by the build.
import { h } from './dom';
import { complain } from './name';
import type { Options } from './options';
import type { EventMap, EventName, InitOptions, Source } from './public';
import { ENGLISH } from './strings';
import type { Failure } from './wire/call';

export interface Field {
  name: string;
  label: string;
  type: string;
  required: boolean;
  options: (string | { value: string; label: string })[] | null;
}
export interface FormDefinition {
  fields: Field[];
  consent: { version: string; text: string; required: boolean } | null;
}
/** The published configuration of an agent. */
export interface Config {
  title: string;
  subtitle: string | null;
  avatar: string | null;
  color: string | null;
  position: InitOptions['position'] | null;
  theme: InitOptions['theme'] | null;
  greeting: string | null;
  suggestions: string[];
  teaser: { text: string; delayMs?: number } | null;
  disclosure: string | null;
  privacyUrl: string | null;
  footer: string | null;
  prechat: FormDefinition | null;
  feedback: boolean;
  uploads: boolean;
  limits: { messageChars: number; uploadBytes: number; uploadTypes: string[]; imageHosts: string[] };
  locale: string;
  strings: Record<string, string>;
}
export interface Upload {
  id: string;
  name: string;
}
/** A stored message. */
export interface Message {
  id: string;
  seq: number;
  role: 'visitor' | 'agent' | 'human';
  text: string;
  state: 'complete' | 'stopped' | 'incomplete';
  sources: Source[];
  uploads: Upload[];
  feedback: -1 | 0 | 1;
  at: string;
}
export interface Session {
  conversation: string;
  token: string;
  mode: 'ai' | 'human';
  identity?: string;
}

/** Event, handler, whether it is for the next one only. */
type Subscription = [event: string, handler: (payload: unknown) => void, once?: boolean];

export const S = { _handlers: [] as Subscription[] } as {
  _options: Options & { agentId: string; apiBase: string };
  /** Origin of the script; empty when unknown. */
  _origin: string;
  _config: Partial<Config>;
  _locale: string;
  /** Aborted by `destroy`: removes listeners, ends requests. */
  _signal: AbortSignal;
  /** Those that come before `init` wait here for it. */
  _handlers: Subscription[];
  /** Where a screen reader is told what happens. */
  _status: HTMLElement;
  /** Why the widget may not run here, as a code. */
  _refused: string;
  /** A person replies. */
  _human: boolean;
  /** Set while the visitor has written too much and has to wait. */
  _waiting?: object;
  /** What was to be sent while the form before the first message stood open. */
  _held: string;
  /** Takes the question away whether to begin anew, while it stands; `then` is what comes after. */
  _answer?: (then?: () => void) => void;
  /** Why the last turn was refused; absent where it failed without an answer. */
  _refusal?: Failure;
};

/** Events run in a microtask each and may throw without harm. */
export const emit = <E extends EventName>(event: E, payload: EventMap[E]): void =>
  S._handlers.forEach((one) => {
    if (one[0] != event) return;
    if (one[2]) drop(one);
    queueMicrotask(() => {
      try {
        one[1](payload);
      } catch (error) {
        complain(`a handler of "${event}" threw`, error);
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
/** The methods for handlers, which work without a mounted widget too. */
export const EVENTS = {
  on: (event: string, handler: never): (() => void) => subscribe(event, handler),
  once: (event: string, handler: never): (() => void) => subscribe(event, handler, true),
  off: (event: string, handler?: unknown): void => {
    S._handlers = S._handlers.filter((one) => one[0] != event || (handler && one[1] != handler));
  },
};

/** An option if it is given, otherwise what the configuration says. */
export const pick = <K extends keyof Options & keyof Config>(key: K): Options[K] | undefined =>
  S._options[key] ?? (S._config[key] as Options[K]) ?? undefined;

/** A text in the visitor's language; for counts in the form that belongs to `n`. */
export const t = (key: string, n?: number | string, name = ''): string => {
  const find = (key: string): string | undefined =>
    ([S._options.strings, S._config.strings, ENGLISH] as Record<string, string>[]).map((set) => set?.[key]).find((text) => text?.trim());
  const text = find(key) || find(`${key}.${new Intl.PluralRules(S._locale).select(n as number)}`) || find(key + '.other') || key;
  return text.replace('{n}', (n ?? '').toLocaleString(S._locale)).replace('{name}', () => name);
};

export const agentName = (): string => pick('title') || t('title');

export const on = (target: EventTarget, names: string, handler: (event: never) => void): void =>
  names.split(' ').forEach((name) => target.addEventListener(name, handler as EventListener, { signal: S._signal }));

/** Waits; an event of the window may end it sooner. Does not end once the widget is destroyed. */
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
export const say = (words: string): void => {
  const said = h('p', null, words);
  S._status.append(said);
  void sleep(5000).then(() => said.remove());
};
