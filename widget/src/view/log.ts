// The conversation: messages, the reply that grows, and what lies between them.
import { focus, submit } from '../chat';
import { type Child, fill, h, set, show } from '../dom';
import { more, withMore } from '../later';
import { agentName, type Message, on, pick, S, t, type Upload } from '../state';
import { history } from '../sync';
import { type Body, createBody, type Draw } from './body';

/** A message in the log; without number it is not stored yet. */
export interface Entry {
  _element: HTMLElement;
  _seq: number;
  /** The line below the text: time, state, buttons. */
  _foot: HTMLElement;
}
interface Reply extends Entry {
  _draw: Draw;
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
    if (log.scrollTop < 64) void history();
  });
};
export const labelLog = (): void => {
  set(log, 'aria-label', t('log'));
  jump.textContent = t('latest');
  const words = pick('greeting') || '';
  greeting._draw(words);
  fill(intro, sender(agentName()), greeting._element);
  show(intro, words);
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
// Changes the end of the log, which is followed only while it is in sight.
const grow = (change: () => void) => {
  change();
  if (atEnd) toEnd();
  else show(jump, 1);
};
/** A change that nobody waits for at the end. */
const still: typeof grow = (change) => change();
export const append = (node: HTMLElement): void => grow(() => list.append(node));
/** A line of the widget's own. */
export const line = (style: '' | 'err', ...nodes: (Node | string)[]): HTMLElement => {
  const made = h(`div.note ${style}`, { role: style && 'alert' }, ...nodes);
  append(made);
  return made;
};

const time = (at: string) =>
  h('time', { datetime: at }, new Date(at).toLocaleTimeString(S._locale, { timeStyle: 'short' }));
/** Replaces what stands below the text. */
export const note = ({ _foot }: Entry, ...nodes: Child[]): void => fill(_foot, ...nodes);
/** Whose message it is, for those who do not see it. */
const sender = (who: string) => h('span.x', null, who + ': ');
const entry = (style: string, who: string, ...content: Child[]): Entry => {
  const _foot = h('div.f');
  const _element = h(`div.m ${style}`, null, sender(who), ...content, _foot);
  return { _element, _foot, _seq: 0 };
};
const plainEntry = (role: 'visitor' | 'human', words: string, uploads: Upload[]) => {
  const made = entry(role[0], t(role == 'human' ? role : 'you'), words && h('div.b', { dir: 'auto' }, words));
  if (uploads[0]) withMore((more) => more._listFiles(made._foot, uploads));
  return made;
};
const reply = (around: typeof grow): Reply => {
  const { _element, _draw } = createBody(around);
  return { ...entry('', agentName(), _element), _draw };
};

/** A stored message takes its place; the reply that grew becomes the message that ends it. */
export const addMessage = (message: Message, earlier?: boolean): void => {
  const { role, seq, state, sources, uploads, at } = message;
  if (entries.some((one) => one._seq == seq)) return;
  const around = earlier ? still : grow;
  const change = () => {
    let made: Entry;
    if (role == 'agent') {
      const answer = (!earlier && growing) || reply(around);
      if (!earlier) growing = undefined;
      answer._draw(message.text, false, sources);
      made = answer;
    } else made = plainEntry(role, message.text, uploads);
    note(made, time(at), state != 'complete' && t(state));
    if (role == 'agent') withMore((more) => more._judge(made._foot, message));
    place(made, seq);
    const next = entries.find((one) => one._seq > seq);
    // What is at its place stays: put in anew, all of it would be laid out again. Earlier messages stand before what is not
    // stored yet: a reply that grows, a message on its way.
    if (next || !made._element.isConnected) list.insertBefore(made._element, (next?._element || (earlier && list.children[entries.length])) as Node);
  };
  if (!earlier) {
    set(log, 'aria-busy');
    typing();
  }
  around(change);
};
const place = (made: Entry, seq: number) => {
  made._seq = seq;
  entries.push(made);
};
/** The visitor's message before it is stored. */
export const addPending = (words: string, uploads: Upload[]): Entry => {
  const made = plainEntry('visitor', words, uploads);
  note(made, t('sending'));
  suggest([]);
  list.append(made._element);
  toEnd();
  return made;
};
export const stored = (made: Entry, seq: number, at: string): void => {
  note(made, time(at));
  if (!made._seq) place(made, seq);
};
/** Number of the first message, 0 in an empty log. */
export const lowest = (): number => (entries.length ? Math.min(...entries.map((one) => one._seq)) : 0);
export const typing = (kind?: string): void => {
  more?._drawDots(dots, !growing && kind);
  if (atEnd) toEnd();
};

/** The reply so far. */
export const draft = (words: string): void => {
  if (!growing) {
    growing = reply(grow);
    list.append(growing._element);
    set(log, 'aria-busy', 'true');
    typing();
  }
  growing._draw(words, true);
};
/** The reply that did not come to its end, if there is one; it stays as it is. */
export const unfinished = (): Entry | undefined => {
  const left = growing;
  growing = undefined;
  set(log, 'aria-busy');
  typing();
  return left;
};

export const suggest = (items: string[] = []): void => {
  const inside = chips.matches(':focus-within');
  grow(() => fill(chips, ...items.slice(0, 6).map((item) => h('button', { dir: 'auto', click: () => void submit(item, []) }, item))));
  if (inside) focus();
};

/** Changes the beginning of the log and keeps what is in sight where it is. */
export const prepend = (change: () => void): void => {
  const below = log.scrollHeight - log.scrollTop;
  change();
  log.scrollTop = log.scrollHeight - below;
};
