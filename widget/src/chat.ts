// The conversation: brings the wire protocol and the view together.
import { h, show } from './dom';
import { complain } from './name';
import type { SendResult } from './public';
import { agentName, emit, type FormDefinition, type Message, on, pick, S, say, type Session, sleep, t } from './state';
import { spoken } from './view/body';
import { block, composer, countDown, dropUploads, focusComposer, labelComposer, problem, resetComposer, restoreText, setBusy, startComposer, tell } from './view/composer';
import { createForm } from './view/form';
import { closeFrame, frame, isLoud, isOpen, labelFrame, openFrame, showUnread, startFrame, startPanel, tease } from './view/frame';
import { addMessage, addPending, append, clearLog, labelLog, line, lowest, prepend, startLog, stored, suggest, toEnd, typing, unfinished } from './view/log';
import { ask, challenged, CUT, type Failure } from './wire/call';
import { describePage } from './wire/page';
import { activeTurn, dropTurn, followTurn, type Lead, pauseTurns, sendTurn, startTurns, type Turn, wakeTurns } from './wire/turns';
import { adopt, forget, leave, restore, save, V } from './wire/visit';

interface State {
  messages: Message[];
  more: boolean;
  unread: number;
  running: string | null;
  nextPollMs: number | null;
  session: Session;
}

// Whether the panel is there: it is made when it is needed, so that a page nobody writes on pays for the launcher only.
let built: boolean;
let unread: number;
let hidden: boolean;
let syncing: boolean;
let loading: boolean;
// Whether messages before those in the log may exist.
let earlier: boolean;
let offline: boolean;
let poll: object | undefined;
let refusal: Failure | undefined;
let form: HTMLElement | undefined;
// The form stands before the first message, and this text waits for it.
let first: boolean;
let held: string;

export const unreadCount = (): number => unread;
const isReading = () => isOpen() && !hidden && !document.hidden;
const setUnread = (count: number) => {
  if (count == unread) return;
  unread = count;
  showUnread(count);
  emit('unread', { count });
};
const markRead = () => {
  if (!isReading()) return;
  V._read = V._seq;
  setUnread(0);
};
const beep = () => {
  try {
    const audio = new AudioContext();
    const tone = audio.createOscillator();
    tone.connect(audio.destination);
    tone.onended = () => audio.close();
    tone.start();
    tone.stop(audio.currentTime + 0.1);
  } catch {
    // No sound here.
  }
};
/** Tells of a stored message, once. */
const notice = ({ id, seq, role, text, at, sources }: Message) => {
  if (seq <= V._seq) return;
  V._seq = seq;
  emit('message', { id, seq, role, text, at });
  if (role != 'visitor') {
    emit('reply', { id, seq, role, text, sources });
    if (!isReading()) {
      setUnread(unread + 1);
      if (isLoud()) beep();
    }
    say(isOpen() ? (role == 'agent' ? spoken(text) : text) : t('unread', unread));
  }
  markRead();
  save();
};
const build = () => {
  if (built) return;
  built = true;
  startLog();
  startComposer();
  startPanel();
  label();
  begin();
};
export const add = (message: Message) => {
  build();
  addMessage(message);
  notice(message);
};
/** Says something in the log and to a screen reader. */
const announce = (words: string) => {
  line('', words);
  say(words);
};

export const focus = (): void => {
  const field = first && form?.querySelector('input');
  field ? field.focus() : focusComposer();
};
const dropForm = () => {
  form?.remove();
  form = undefined;
  first = false;
  show(composer, 1);
};
const putForm = (...made: Parameters<typeof createForm>) => {
  dropForm();
  form = createForm(...made);
  append(form);
};
const sent = ({ fields }: Lead) => {
  emit('lead', { fields: Object.keys(fields) });
  dropForm();
  if (isReading()) focusComposer();
};
/** What an empty conversation begins with. */
const begin = () => {
  const { prechat } = S._config;
  if (lowest() || V._conversation || activeTurn() || form) return;
  if (!prechat || S._options.prechat == 'off') return suggest(pick('suggestions'));
  putForm(prechat, async (lead, _, trap) => {
    refusal = undefined;
    const result = await sendTurn(held, [], lead, trap);
    if (!result.ok) throw refusal || CUT;
    held = '';
    sent(lead);
  });
  first = true;
  show(composer, 0);
};
export const offer = (definition: FormDefinition) =>
  putForm(
    definition,
    async (lead, elapsedMs, hp) => {
      const post = () =>
        challenged((challenge) => ask<{ session: Session }>('lead', { agentId: S._options.agentId, token: V._token, ...lead, page: describePage(), elapsedMs, challenge, hp }));
      const { session } = await post().catch((error: Failure) => {
        if (error._code != 'TOKEN_INVALID') throw error;
        forget();
        return post();
      });
      adopt(session);
      announce(t('thanks'));
      sent(lead);
    },
    () => {
      dropForm();
      focusComposer();
    },
  );
/** Nothing of the conversation before stays but this turn. */
export const clear = (turn?: Turn) => {
  earlier = false;
  setUnread(0);
  if (!built) return;
  if (!turn?._lead) dropForm();
  clearLog(turn?._entry);
};
const restart = () => {
  dropTurn();
  clear();
  if (!built) return;
  setBusy(false);
  begin();
};

export const feedback = async (message: string, value: -1 | 0 | 1): Promise<void> => {
  await ask('feedback', { token: V._token, message, value, comment: null });
  emit('feedback', { message, value });
};
export const submit = async (words: string, uploads: Message['uploads']): Promise<SendResult> => {
  build();
  const code = problem(words) || (!words && !uploads[0] ? 'VALIDATION_ERROR' : first ? 'FORM_REQUIRED' : '');
  if (first) held = words;
  return code ? { ok: false, code } : sendTurn(words, uploads);
};
export const sendText = (words: unknown): Promise<SendResult> => submit(('' + words).normalize().trim(), []);

const fail = (turn: Turn, retry?: () => void) => {
  const partial = unfinished();
  partial?._note(t('incomplete'));
  if (!turn._entry?._seq) turn._entry?._note();
  const again = () => {
    made.remove();
    partial?._element.remove();
    focusComposer();
    retry?.();
  };
  const made = line('err', t('failed') + ' ', ...(retry ? [h('button', { click: again }, t('retry'))] : []));
};
export const failed = (turn: Turn, retry?: () => void, failure?: Failure): void => {
  refusal = failure;
  if (!failure) return fail(turn, retry);
  if (turn._lead) return;
  const { _details, _after, _status, _code, _fields, _message } = failure;
  if (restoreText(turn._text, turn._uploads)) turn._entry?._element.remove();
  else fail(turn, retry);
  queueMicrotask(() => {
    if (_status == 429) void countDown(Math.ceil(_after) || 5);
    else tell(_code == 'TURN_IN_PROGRESS' ? t('busy') : _fields[0]?.message || _message || t('failed'));
    if (_details.turn) followTurn(_details.turn as string);
  });
};
export const started = (turn: Turn): void => {
  build();
  setBusy(true);
  if (turn._entry) turn._entry._note(t('sending'));
  else if (turn._text || turn._uploads[0]) turn._entry = addPending(turn._text, turn._uploads);
  if (turn._foreign) typing('thinking');
};
export const acked = (turn: Turn, message: Message): void => {
  if (turn._entry) stored(turn._entry, message.seq, message.at);
  if (!turn._foreign) notice({ ...message, role: 'visitor', text: turn._text });
  typing('thinking');
  if (isOpen()) say(t('typing', '', agentName()));
};
export const handedOff = (name: string | null): void => {
  announce(t('handoff', '', name || t('human')));
  emit('handoff', { name });
};
export const setOffline = (is: boolean): void => {
  if (is != offline) tell(is ? t('offline') : '');
  offline = is;
};
export const idle = (outcome?: string): void => {
  unfinished();
  setBusy(false);
  if (outcome == 'queued') announce(t(outcome));
  if (V._human || outcome == 'queued') void sync();
};
/** Failures that mean the same for every call. */
export const refused = ({ _code, _message }: Failure): boolean => {
  const { agentId } = S._options;
  if (/^(ORIGIN_NOT|AGENT_NOT)/.test(_code)) {
    S._refused = _code;
    hide(true);
    complain(
      /^O/.test(_code) ? `origin ${location.origin} is not allowed for agent ${agentId}; add it to the agent's allowed origins` : `agent ${agentId}: ${_message}`,
    );
  } else if (_code == 'VISITOR_BLOCKED') {
    build();
    block();
  } else return false;
  return true;
};
const lost = (failure: Failure) => {
  if (failure._code == 'TOKEN_INVALID') {
    forget();
    restart();
  } else refused(failure);
};

export const sync = async (): Promise<void> => {
  const { _token } = V;
  poll = undefined;
  if (!V._conversation || syncing || activeTurn()) return;
  syncing = true;
  try {
    const { session, messages, unread, running, more, nextPollMs } = await ask<State>('sync', { token: _token, after: V._seq, read: V._read, open: isReading() });
    // Forgotten or begun anew in the meantime?
    if (V._token == _token && !activeTurn()) {
      if (adopt(session)) clear();
      messages.forEach(add);
      if (!isReading()) setUnread(unread);
      if (running) followTurn(running);
      if (more || nextPollMs) void wait(more ? 0 : (nextPollMs as number));
    }
  } catch (error) {
    lost(error as Failure);
  }
  syncing = false;
};
const wait = async (ms: number) => {
  const own = (poll = {});
  await sleep(ms);
  if (poll == own && !document.hidden) void sync();
};
export const history = async (): Promise<void> => {
  const { _token } = V;
  if (!earlier || loading) return;
  loading = true;
  try {
    const before = lowest();
    const { messages, more } = await ask<State>('history', { token: _token, before: before || undefined, limit: 50 });
    if (V._token == _token) {
      earlier = more;
      prepend(() => messages.forEach((message) => addMessage(message, true)));
      for (const { seq } of messages) V._seq = Math.max(V._seq, seq);
      if (!before) toEnd();
      markRead();
    }
  } catch (error) {
    lost(error as Failure);
  }
  loading = false;
};
const arrive = async () => {
  await sync();
  if (!lowest() || lowest() > 1) await history();
};

export const openChat = (byVisitor: boolean): void => {
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
export const toggle = (): void => (isOpen() ? closeChat() : openChat(true));
/** Ends the conversation and begins another one. */
export const renew = (): void => {
  end();
  leave();
  restart();
};
const end = () => {
  if (V._token) ask('close', { token: V._token }).catch(() => {});
};
export const label = (): void => {
  if (built) {
    labelLog();
    labelComposer();
  }
  labelFrame();
};
/** The configuration has arrived. */
export const configured = (): void => {
  if (V._conversation) {
    emit('conversation', { id: V._conversation, isNew: false });
    void (isOpen() ? arrive() : sync());
  }
  if (built) begin();
  void tease();
};

export const startChat = (): void => {
  unread = 0;
  hidden = syncing = loading = offline = first = built = false;
  form = poll = undefined;
  held = '';
  restore();
  earlier = !!V._conversation;
  startFrame();
  startTurns();
  if (isOpen()) build();
  on(window, 'pagehide', () => {
    poll = undefined;
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
    dropUploads();
  });
};
