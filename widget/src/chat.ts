// The conversation: brings the wire protocol and the view together.
import { h, show } from './dom';
import { load, more, startLater, withMore } from './later';
import type { SendResult } from './public';
import { startReplies } from './replies';
import { emit, type FormDefinition, type Message, on, pick, S, say, t } from './state';
import { arrive, noEarlier, startSync, stopPolling, sync } from './sync';
import { composer, focusComposer, labelComposer, problem, resetComposer, startComposer, turned } from './view/composer';
import { closeFrame, frame, isCoarse, isOpen, labelFrame, openFrame, startFrame, startPanel, tease, update } from './view/frame';
import { addMessage, append, clearLog, labelLog, line, log, lowest, startLog, suggest, toEnd } from './view/log';
import { ask } from './wire/call';
import { activeTurn, dropTurn, pauseTurns, sendTurn, startTurns, type Turn, wakeTurns } from './wire/turns';
import { forget, leave, save, startVisit, V } from './wire/visit';

// Whether the panel is there: it is made when it is needed, so that a page nobody writes on pays for the launcher only.
let built: boolean;
let unread: number;
let hidden: boolean;
let form: HTMLElement | undefined;
// The form stands before the first message.
let first: boolean;

export const unreadCount = (): number => unread;
export const isReading = (): boolean => isOpen() && !hidden && !document.hidden;
export const setUnread = (count: number): void => {
  if (count == unread) return;
  unread = count;
  update();
  emit('unread', { count });
};
export const markRead = (): void => {
  if (!isReading()) return;
  V.read = V.seq;
  setUnread(0);
};
/** Tells of a stored message, once. */
export const notice = ({ id, seq, role, text, at, sources }: Message): void => {
  if (seq <= V.seq) return;
  V.seq = seq;
  emit('message', { id, seq, role, text, at });
  if (role != 'visitor') {
    emit('reply', { id, seq, role, text, sources });
    if (!isReading()) {
      setUnread(unread + 1);
      withMore((more) => more._beep());
    }
    if (isOpen() && role == 'agent' && more) more._readOut(text);
    else say(isOpen() ? text : t('unread', unread));
  }
  markRead();
  save();
};
export const build = (): void => {
  if (built) return;
  built = true;
  void load();
  startLog();
  startComposer();
  startPanel();
  label();
  begin();
};
export const add = (message: Message): void => {
  build();
  addMessage(message);
  notice(message);
};
/** Says something in the log and to a screen reader. */
export const announce = (words: string): void => {
  line('', words);
  say(words);
};
/** A line that something did not work, with a button where it can be tried again. */
export const trouble = (retry?: () => void): HTMLElement => {
  const click = () => {
    made.remove();
    retry?.();
  };
  const made = line('err', t('failed') + ' ', ...(retry ? [h('button', { click }, t('retry'))] : []));
  return made;
};

export const focus = (): void => {
  const field = form?.querySelector<HTMLElement>('input,select');
  !first ? focusComposer() : (field || log).focus();
};
/** Puts a form in place of the one before, if any; before the first message nothing else can be written. */
const setForm = (made?: HTMLElement, isFirst = false) => {
  form?.remove();
  form = made;
  first = isFirst;
  show(composer, !first);
  if (made) append(made);
};
export const dropForm = (): void => setForm();
/** What an empty conversation begins with. */
export const begin = (): void => {
  const { prechat } = S._config;
  if (!built || lowest() || V.conversation || activeTurn() || form || first) return;
  if (!prechat || S._options.prechat == 'off') return suggest(pick('suggestions'));
  setForm(undefined, true);
  withMore((more) => {
    if (!first) return;
    setForm(more._firstForm(prechat), true);
    // Who opened the panel before the form was there has waited in the log.
    if (log.matches(':focus') && !isCoarse()) focus();
  });
};
/** The second script did not come: who waits for its form is told so. */
export const missed = (): void => {
  if (!first || form) return;
  const again = () => {
    setForm(undefined, true);
    log.focus();
    void load(true);
  };
  setForm(trouble(again), true);
};
export const offer = (definition: FormDefinition): void => withMore((more) => setForm(more._leadForm(definition)));
/** Nothing of the conversation before stays but this turn. */
export const clear = (turn?: Turn): void => {
  noEarlier();
  setUnread(0);
  if (!built) return;
  if (!turn?._lead) dropForm();
  clearLog(turn?._entry);
};
export const restart = (): void => {
  dropTurn();
  clear();
  if (!built) return;
  turned();
  begin();
};

export const submit = async (words: string, uploads: Message['uploads']): Promise<SendResult> => {
  build();
  const code = problem(words) || (!words && !uploads[0] ? 'VALIDATION_ERROR' : first ? 'FORM_REQUIRED' : '');
  if (first) S._held = words;
  return code ? { ok: false, code } : sendTurn(words, uploads);
};
export const sendText = (words: unknown): Promise<SendResult> => submit(('' + words).normalize().trim(), []);

/** `byVisitor` is anything but empty where the visitor did it: a focus moves then. */
export const openChat = (byVisitor: unknown): void => {
  if (S._refused) return;
  if (isOpen()) return byVisitor ? focus() : undefined;
  build();
  openFrame(byVisitor);
  toEnd();
  emit('open', {});
  markRead();
  void arrive();
};
export const closeChat = (): void => {
  if (!isOpen() || S._options.mode == 'inline') return;
  closeFrame();
  emit('close', {});
};
export const hide = (is: boolean): void => {
  hidden = is || !!S._refused;
  show(frame, !hidden);
  markRead();
};
/** The log-out: the conversation is closed, the visitor forgotten. */
export const resetChat = (): void => {
  end();
  S._options.user = undefined;
  forget();
  if (built) resetComposer();
  restart();
};
export const toggle = (byVisitor: unknown): void => (isOpen() ? closeChat() : openChat(byVisitor));
/** Ends the conversation and begins another one. */
export const renew = (): void => {
  end();
  leave();
  restart();
};
const end = () => {
  if (V.token) ask('close', { token: V.token }).catch(() => {});
};
export const label = (): void => {
  if (built) {
    labelLog();
    labelComposer();
  }
  labelFrame();
};
/** There is a conversation already. */
export const resumed = (): void => {
  if (V.conversation) emit('conversation', { id: V.conversation, isNew: false });
};
/** The configuration has arrived. */
export const configured = (): void => {
  resumed();
  void (isOpen() ? arrive() : sync());
  void tease();
};

export const startChat = (): void => {
  unread = 0;
  hidden = first = built = false;
  form = undefined;
  startVisit();
  startLater();
  startSync();
  startReplies();
  startFrame();
  startTurns();
  withMore((more) => more._arrived(label));
  if (isOpen()) build();
  on(window, 'pagehide', () => {
    stopPolling();
    pauseTurns();
  });
  on(window, 'pageshow', (event: PageTransitionEvent) => {
    wakeTurns();
    if (event.persisted) void sync();
  });
  on(window, 'online', sync);
  on(document, 'visibilitychange', () => {
    if (document.hidden) return;
    markRead();
    void sync();
  });
  S._signal.addEventListener('abort', () => {
    dropTurn();
    startLater();
  });
};
