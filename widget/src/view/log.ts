// The conversation: messages, the reply that grows, and what lies between them.
import { feedback as sendFeedback, focus, history, submit } from '../chat';
import { type Child, fill, h, iconButton, set, show } from '../dom';
import { agentName, type Message, on, pick, S, t, type Upload } from '../state';
import { type Body, createBody } from './body';
import { UP } from './icons';

/** A message in the log; without number it is not stored yet. */
export interface Entry {
  _element: HTMLElement;
  _seq: number;
  /** Replaces what stands below the text: time, state, buttons. */
  _note: (...nodes: Child[]) => void;
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
let growing: (Entry & { _body: Body }) | undefined;

export const startLog = (): void => {
  greeting = createBody();
  intro = h('div.m');
  list = h('div.list');
  chips = h('div.chips');
  dots = h('div.dots', null, h('i'), h('span'));
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
export const append = (node: HTMLElement): void => grow(() => list.append(node));
/** A line of the widget's own. */
export const line = (style: '' | 'err', ...nodes: (Node | string)[]): HTMLElement => {
  const made = h(`div.note ${style}`, { role: style && 'alert' }, ...nodes);
  append(made);
  return made;
};

const time = (at: string) =>
  h('time', { datetime: at }, new Date(at).toLocaleTimeString(S._locale, { hour: 'numeric', minute: '2-digit' }));
/** Whose message it is, for those who do not see it. */
const sender = (who: string) => h('span.x', null, who + ': ');
const entry = (style: string, who: string, ...content: Child[]): Entry => {
  const foot = h('div.f');
  const _element = h(`div.m ${style}`, null, sender(who), ...content, foot);
  return { _element, _seq: 0, _note: (...nodes) => fill(foot, ...nodes) };
};
const plainEntry = (role: 'visitor' | 'human', words: string, uploads: Upload[]) =>
  entry(
    role[0],
    t(role == 'human' ? role : 'you'),
    words && h('div.b', { dir: 'auto' }, words),
    h('ul.files', null, ...uploads.map(({ name }) => h('li', { dir: 'auto' }, name))),
  );
const reply = (earlier?: boolean) => {
  const _body = createBody(earlier ? undefined : grow);
  return { ...entry('', agentName(), _body._element), _body };
};

const feedback = ({ id, feedback: value }: Message) => {
  const buttons = [1, -1].map((mark) => {
    const button = iconButton(UP, t(mark > 0 ? 'up' : 'down'), () => {
      const before = value;
      value = (value == mark ? 0 : mark) as 0;
      draw();
      sendFeedback(id, value).catch(() => {
        value = before;
        draw();
      });
    });
    if (mark < 0) button.className += ' down';
    return button;
  });
  const draw = () => buttons.forEach((button, i) => set(button, 'aria-pressed', '' + (value == 1 - 2 * i)));
  draw();
  return buttons;
};

/** A stored message takes its place; the reply that grew becomes the message that ends it. */
export const addMessage = (message: Message, earlier?: boolean): void => {
  const { role, seq, state, sources, uploads, at } = message;
  if (entries.some((one) => one._seq == seq)) return;
  const change = () => {
    let made: Entry;
    if (role == 'agent') {
      const { _body, ...rest } = (made = !earlier && growing ? growing : reply(earlier)) as Entry & { _body: Body };
      if (!earlier) growing = undefined;
      made = rest;
      _body._draw(message.text);
      if (sources[0]) _body._cite(sources);
    } else made = plainEntry(role, message.text, uploads);
    made._note(
      time(at),
      state != 'complete' && t(state),
      ...(role == 'agent' && S._config.feedback && S._options.feedback !== false ? feedback(message) : []),
    );
    place(made, seq);
    const next = entries.find((one) => one._seq > seq);
    // What is at its place stays: put in anew, all of it would be laid out again.
    if (next || !made._element.isConnected) list.insertBefore(made._element, next ? next._element : null);
  };
  if (earlier) change();
  else {
    set(log, 'aria-busy');
    typing();
    grow(change);
  }
};
const place = (made: Entry, seq: number) => {
  made._seq = seq;
  entries.push(made);
};
/** The visitor's message before it is stored. */
export const addPending = (words: string, uploads: Upload[]): Entry => {
  const made = plainEntry('visitor', words, uploads);
  made._note(t('sending'));
  suggest([]);
  list.append(made._element);
  toEnd();
  return made;
};
export const stored = (made: Entry, seq: number, at: string): void => {
  made._note(time(at));
  if (!made._seq) place(made, seq);
};
/** Number of the first message, 0 in an empty log. */
export const lowest = (): number => (entries.length ? Math.min(...entries.map((one) => one._seq)) : 0);
export const typing = (kind?: string): void => {
  (dots.lastChild as HTMLElement).textContent = kind == 'searching' ? t(kind) : '';
  show(dots, kind && !growing);
  if (atEnd) toEnd();
};

/** The reply so far. */
export const draft = (words: string): void => {
  if (!growing) {
    growing = reply();
    list.append(growing._element);
    set(log, 'aria-busy', 'true');
    typing();
  }
  growing._body._draw(words, true);
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
