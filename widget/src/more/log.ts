// The log: messages, the growing reply, notes, suggestions.
import type { Message, Upload } from '../protocol';
import { type Render, shared } from '../shared';
import { agentName, type Entry, on, pick, S, t } from '../state';
import { type Child, fill, h, set, show } from '../dom';
import { more, withMore } from '../later';
import { type Body, createBody } from './body';

interface Reply extends Entry {
  _render: Render;
}
let greeting: Body;
let intro: HTMLElement;
let list: HTMLElement;
let dots: HTMLElement;
export let log: HTMLElement;
export let jump: HTMLElement;
let entries: Entry[];
let chips: HTMLElement;
let atEnd: boolean;
let growing: Reply | undefined;

export const startLog = (): void => {
  greeting = createBody(still);
  intro = h('div.m');
  list = h('div.list');
  chips = h('div.chips');
  dots = h('div.dots', { hidden: true });
  log = h('div.log', { role: 'log', tabindex: '0', 'aria-live': 'off' }, list, dots, chips);
  jump = h('button.jump', {
    click: () => {
      toEnd();
      log.focus();
    },
  });
  clearLog();
  on(log, 'scroll', () => {
    atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 32;
    if (atEnd) show(jump, 0);
    if (log.scrollTop < 64) void shared._history();
  });
};
export const labelLog = (): void => {
  set(log, 'aria-label', t('log'));
  jump.textContent = t('latest');
  const text = pick('greeting') || '';
  greeting._render(text);
  fill(intro, sender(agentName()), greeting._element);
  show(intro, text);
};
export const clearLog = (but?: Entry): void => {
  growing = undefined;
  entries = [];
  atEnd = true;
  fill(list, intro, but?._element);
  typing();
  suggest([]);
  show(jump, 0);
  set(log, 'aria-busy');
};

export const toEnd = (): void => {
  log.scrollTop = log.scrollHeight;
  atEnd = true;
  show(jump, 0);
};
// Changes the end of the log and scrolls to it only if it was visible.
const grow = (change: () => void) => {
  change();
  if (atEnd) toEnd();
  else show(jump, 1);
};
/** A change that does not scroll. */
const still: typeof grow = (change) => change();
export const append = (node: HTMLElement): void => grow(() => list.append(node));
/** A note of the widget. */
export const line = (style: '' | 'err', ...nodes: (Node | string)[]): HTMLElement => {
  const made = h(`div.note ${style}`, { role: style && 'alert' }, ...nodes);
  append(made);
  return made;
};

const time = (at: string) =>
  h('time', { datetime: at }, new Date(at).toLocaleTimeString(S._locale, { timeStyle: 'short' }));
/** Replaces the foot line of a message. */
export const note = ({ _foot }: Entry, ...nodes: Child[]): void => fill(_foot, ...nodes);
/** The sender of a message, for screen readers. */
const sender = (who: string) => h('span.x', null, who + ': ');
const entry = (style: string, who: string, ...content: Child[]): Entry => {
  const _foot = h('div.f');
  const _element = h(`div.m ${style}`, null, sender(who), ...content, _foot);
  return { _element, _foot, _seq: 0 };
};
const plainEntry = (role: 'visitor' | 'human', text: string, uploads: Upload[]) => {
  const made = entry(role[0], t(role == 'human' ? role : 'you'), text && h('div.b', { dir: 'auto' }, text));
  if (uploads[0]) withMore((more) => more._listFiles(made._foot, uploads));
  return made;
};
const reply = (around: typeof grow): Reply => {
  const { _element, _render } = createBody(around);
  return { ...entry('', agentName(), _element), _render };
};

/** Inserts a stored message by its number; the stored reply replaces the growing one. */
export const addMessage = (message: Message, earlier?: boolean): void => {
  const { role, seq, state, sources, uploads, at } = message;
  if (entries.some((one) => one._seq == seq)) return;
  const around = earlier ? still : grow;
  const change = () => {
    let made: Entry;
    if (role == 'agent') {
      const shown = (!earlier && growing) || reply(around);
      if (!earlier) growing = undefined;
      shown._render(message.text, false, sources);
      made = shown;
    } else made = plainEntry(role, message.text, uploads);
    note(made, time(at), state != 'complete' && t(state));
    if (role == 'agent') withMore((more) => more._addFeedback(made._foot, message));
    insertEntry(made, seq);
    const next = entries.find((one) => one._seq > seq);
    // An element in the right position is not moved, to avoid another layout of all of it. Earlier messages come before those
    // that are not stored yet: a growing reply, a message being sent.
    if (next || !made._element.isConnected) list.insertBefore(made._element, (next?._element || (earlier && list.children[entries.length])) as Node);
  };
  if (!earlier) {
    set(log, 'aria-busy');
    typing();
  }
  around(change);
};
const insertEntry = (made: Entry, seq: number) => {
  made._seq = seq;
  entries.push(made);
};
/** The visitor's message before it is stored. */
export const addPending = (text: string, uploads: Upload[]): Entry => {
  const made = plainEntry('visitor', text, uploads);
  note(made, t('sending'));
  suggest([]);
  list.append(made._element);
  toEnd();
  return made;
};
export const stored = (made: Entry, seq: number, at: string): void => {
  note(made, time(at));
  if (!made._seq) insertEntry(made, seq);
};
/** Number of the first message, 0 in an empty log. */
export const lowest = (): number => (entries.length ? Math.min(...entries.map((one) => one._seq)) : 0);
export const typing = (kind?: string): void => {
  more?._showDots(dots, !growing && kind);
  if (atEnd) toEnd();
};

/** The reply so far. */
export const draft = (text: string): void => {
  if (!growing) {
    growing = reply(grow);
    list.append(growing._element);
    set(log, 'aria-busy', 'true');
    typing();
  }
  growing._render(text, true);
};
/** Ends the growing reply, if any, as it is. */
export const unfinished = (): Entry | undefined => {
  const left = growing;
  growing = undefined;
  set(log, 'aria-busy');
  typing();
  return left;
};

export const suggest = (items: string[] = []): void => {
  const inside = chips.matches(':focus-within');
  grow(() => fill(chips, ...items.slice(0, 6).map((item) => h('button', { dir: 'auto', click: () => void shared._submit(item, []) }, item))));
  if (inside) shared._focus();
};

/** Changes the beginning of the log and preserves the position of its visible part. */
export const prepend = (change: () => void): void => {
  if (!log) return change();
  const below = log.scrollHeight - log.scrollTop;
  change();
  log.scrollTop = log.scrollHeight - below;
};
