// The log: messages in groups, the growing reply, notes, suggestions, and what of it is in view.
import type { Message, Upload } from '../protocol';
import type { Entry } from '../state';
import { type Child, fill, h, icon, set, show } from '../dom';
import { createText, type Render } from './body';
import { showDots } from './dots';
import { agentFace, personFace } from './faces';
import { addFeedback } from './feedback';
import { listFiles } from './files';
import { DOWN } from '../icons';
import { NEXT } from './icons';
import { agentName, on, pick, sleep, t } from './shared';
import { timeNode, timeText } from './time';
import { up } from './up';

interface Reply extends Entry {
  _render: Render;
}
let greeting: { _element: HTMLElement; _render: Render };
let intro: HTMLElement;
let list: HTMLElement;
let dots: HTMLElement;
export let log: HTMLElement;
export let jump: HTMLElement;
let entries: Entry[];
let pending: Entry[];
let chips: HTMLElement;
let atEnd: boolean;
/** The question whose reply is being read: it stays in view, however long the reply. */
let anchor: HTMLElement | undefined;
let growing: Reply | undefined;
/** Notes that belong after the message with a number. */
let notes: { _after: number; _element: HTMLElement }[];

const body = (around: (change: () => void) => void, isAgent = true) => {
  const _element = h('div.b', { dir: 'auto' });
  return { _element, _render: createText(_element, around, isAgent) };
};

export const startLog = (): void => {
  greeting = body(still);
  intro = h('div.m hi');
  list = h('div.list');
  chips = h('div.chips');
  dots = h('div.dots', { hidden: true });
  log = h('div.log', { role: 'log', tabindex: '0', 'aria-live': 'off' }, list, dots, chips);
  jump = h(
    'button.jump',
    {
      click: () => {
        toEnd();
        log.focus();
      },
    },
    icon(DOWN),
    h('span'),
  );
  notes = [];
  clearLog();
  on(log, 'scroll', () => {
    atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 32;
    if (atEnd) show(jump, 0);
    // The visitor reads on, past the question.
    if (anchor && log.scrollTop > anchor.offsetTop) anchor = undefined;
    if (log.scrollTop < 64) void up._history();
  });
};
export const labelLog = (): void => {
  set(log, 'aria-label', t('log'));
  (jump.lastChild as HTMLElement).textContent = t('latest');
  const name = agentName();
  greeting._render(pick('greeting')?.trim() || t('hello'));
  fill(intro, agentFace(name, true), sender(name), greeting._element);
};
export const clearLog = (but?: Entry): void => {
  growing = anchor = undefined;
  entries = [];
  pending = but ? [but] : [];
  notes = [];
  atEnd = true;
  fill(list, intro, but?._element);
  typing();
  suggest([]);
  show(jump, 0);
  set(log, 'aria-busy');
};

export const toEnd = (): void => {
  anchor = undefined;
  // A conversation that has not begun shows its beginning.
  if (lowest() || list.children[1]) follow();
  else log.scrollTop = 0;
};
/** Scrolls to the end, but not past the question that is being answered. */
const follow = () => {
  const end = log.scrollHeight - log.clientHeight;
  const top = anchor ? anchor.offsetTop - 12 : end;
  log.scrollTop = Math.min(end, top);
  atEnd = end - top < 32;
  show(jump, !atEnd);
};
// Changes the end of the log and scrolls to it only if it was visible.
const grow = (change: () => void) => {
  change();
  if (atEnd) follow();
  else show(jump, log.scrollHeight - log.scrollTop - log.clientHeight > 32);
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

/** The state of a message in its foot line. */
export const note = (made: Entry, text = ''): void => {
  made._note = text;
  made._element.classList.toggle('noted', !!text);
  fill(made._foot, made._at && timeNode(made._at), text && h('span', null, text), ...made._foot.querySelectorAll('.i'));
};
/** The sender of a message, for screen readers. */
const sender = (who: string) => h('span.x', null, who + ': ');
const entry = (_role: Entry['_role'], _name: string, ...content: Child[]): Entry => {
  const _foot = h('div.f');
  const _element = h(`div.m ${_role[0]}`, null, sender(_name), ...content, _foot);
  return { _element, _foot, _seq: 0, _role, _name, _at: '', _note: '' };
};
const plainEntry = (text: string, uploads: Upload[]) => {
  const made = entry('visitor', t('you'), text && h('div.b', { dir: 'auto' }, text));
  if (uploads[0]) listFiles(made._foot, uploads);
  return made;
};
const reply = (around: typeof grow, name?: string): Reply => {
  const { _element, _render } = body(around, name == null);
  return { ...entry(name == null ? 'agent' : 'human', name ?? agentName(), _element), _render };
};
const GROUP_MS = 300000;
/** Marks the first and the last message of each group, and gives the first its sender's image and name. */
const regroup = () => {
  const all = [...entries].sort((a, b) => a._seq - b._seq).concat(growing || [], pending);
  const isSame = (a?: Entry, b?: Entry) =>
    a && b && a._role == b._role && a._name == b._name && !(+new Date(b._at) - +new Date(a._at) > GROUP_MS) && !(b._element.previousElementSibling as Element).matches('.part');
  all.forEach((one, i) => {
    const { _element, _role, _name } = one;
    const isFirst = !isSame(all[i - 1], one);
    _element.classList.toggle('first', isFirst);
    _element.classList.toggle('last', !isSame(one, all[i + 1]));
    _element.classList.toggle('latest', !all[i + 1]);
    const isShown = isFirst && _role != 'visitor';
    const face = _element.querySelector(':scope > .face');
    if (!isShown) _element.querySelectorAll(':scope > .face, :scope > .who').forEach((part) => part.remove());
    else if (!face) {
      _element.prepend(_role == 'human' ? personFace(_name) : agentFace(_name));
      if (_role == 'human') (_element.querySelector('.b') as Element).before(h('div.who', { 'aria-hidden': 'true', dir: 'auto' }, _name));
    }
  });
};

/** Inserts a stored message by its number; the stored reply replaces the growing one. */
export const addMessage = (message: Message, earlier?: boolean): void => {
  const { role, seq, state, sources, uploads, at, text } = message;
  if (entries.some((one) => one._seq == seq)) return;
  const around = earlier ? still : grow;
  const change = () => {
    let made: Entry;
    if (role == 'visitor') made = plainEntry(text, uploads);
    else {
      const shown = (!earlier && role == 'agent' && growing) || reply(around, role == 'human' ? message.name || t('human') : undefined);
      if (!earlier && role == 'agent') growing = undefined;
      shown._render(text, false, sources);
      made = shown;
    }
    // A form without a message, and a reply that was stopped before its first word, are no bubbles.
    made._element.classList.toggle('bare', !text && !uploads[0]);
    made._at = at;
    insertEntry(made, seq);
    note(made, state != 'complete' ? t(state) : '');
    // The acknowledgement of a form or a file answers nothing.
    if (role == 'agent' && text && (sources[0] || entries.find((one) => one._seq == seq - 1)?._element.querySelector('.b')?.textContent)) addFeedback(made._foot, message);
    const next = entries.find((one) => one._seq > seq);
    // An element in the right position is not moved, to avoid another layout of all of it. Earlier messages come before those
    // that are not stored yet: a growing reply, a message being sent.
    if (next || !made._element.isConnected) list.insertBefore(made._element, (next?._element || (earlier && list.children[entries.length])) as Node);
    insertNotes();
    regroup();
  };
  if (!earlier) {
    set(log, 'aria-busy');
    typing();
    ageTimes();
  }
  around(change);
};
const insertEntry = (made: Entry, seq: number) => {
  pending = pending.filter((one) => one != made);
  made._seq = seq;
  entries.push(made);
  entries.sort((a, b) => a._seq - b._seq);
};
/** The visitor's message before it is stored. */
export const addPending = (text: string, uploads: Upload[]): Entry => {
  const made = plainEntry(text, uploads);
  pending.push(made);
  note(made, t('sending'));
  suggest([]);
  list.append(made._element);
  regroup();
  toEnd();
  anchor = made._element;
  return made;
};
export const dropPending = (made: Entry): void => {
  made._element.remove();
  pending = pending.filter((one) => one != made);
};
export const stored = (made: Entry, seq: number, at: string): void => {
  made._at = at;
  if (!made._seq) insertEntry(made, seq);
  note(made);
  regroup();
  ageTimes();
};
/** A minute later, "just now" becomes a time. */
const ageTimes = () => void sleep(61000).then(() => log.querySelectorAll('time').forEach((node) => (node.textContent = timeText(node.getAttribute('datetime') as string))));
/** Number of the first message, 0 in an empty log. */
export const lowest = (): number => entries[0]?._seq || 0;
export const typing = (kind?: string): void => {
  showDots(dots, !growing && kind);
  if (atEnd) follow();
};

/** The reply so far. */
export const draft = (text: string): void => {
  if (!growing) {
    growing = reply(grow);
    list.append(growing._element);
    regroup();
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

/** Questions to tap: a list below the greeting, later in a row below the last reply. */
export const suggest = (items: string[] = []): void => {
  const inside = chips.matches(':focus-within');
  const change = () => {
    chips.className = lowest() || pending[0] ? 'chips' : 'chips rows';
    fill(chips, ...items.slice(0, 6).map((item) => h('button', { dir: 'auto', click: () => void up._submit(item, []) }, h('span', null, item), icon(NEXT))));
  };
  // The greeting stays in view.
  if (lowest() || pending[0]) grow(change);
  else {
    change();
    log.scrollTop = 0;
  }
  if (inside) up._focus();
};

/** Inserts notes after the messages that they follow; those before the first message of the log are left out. */
const insertNotes = () =>
  notes.forEach(({ _after, _element }) => {
    if (_after + 1 < lowest()) return _element.remove();
    const next = entries.find((one) => one._seq > _after)?._element || null;
    const node = next || pending[0]?._element || null;
    if (_element.nextElementSibling != node || !_element.isConnected) list.insertBefore(_element, node);
  });
/** Replaces the notes. */
export const setNotes = (all: typeof notes): void =>
  grow(() => {
    notes.forEach(({ _element }) => _element.remove());
    notes = all;
    insertNotes();
    regroup();
  });

/** Changes the beginning of the log and preserves the position of its visible part. */
export const prepend = (change: () => void): void => {
  const below = log.scrollHeight - log.scrollTop;
  change();
  log.scrollTop = log.scrollHeight - below;
};
