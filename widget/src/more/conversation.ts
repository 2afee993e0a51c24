// The conversation in the panel: messages, unread count, forms, and rejections that end it.
import { addMessage, append, clearLog, labelLog, line, log, lowest, startLog, suggest } from './view/log';
import { load, more, withMore } from './later';
import { emit, pick, S, say, t, type Turn } from './state';
import { active, dropTurn } from './wire/turn';
import type { Failure, FormDefinition, Message } from './protocol';
import { frame, isCoarse, isOpen, labelFrame, setUnread, startPanel, unread } from './view/frame';
import { h, show } from './dom';
import { logError } from './name';
import { save, V } from './wire/visit';
import { block, composer, focusComposer, labelComposer, startComposer, turned } from './view/composer';

// Whether the panel exists: it is created on first use, so a page view without a message pays for the launcher only.
export let built: boolean;
let hidden: boolean;
let form: HTMLElement | undefined;
// The form before the first message is required.
export let first: boolean;

export const startConversation = (): void => {
  hidden = first = built = false;
  form = undefined;
};
export const isReading = (): boolean => isOpen() && !hidden && !document.hidden;
export const markRead = (): void => {
  if (!isReading()) return;
  V.read = V.seq;
  setUnread(0);
};
/** Emits the events of a stored message, once. */
export const emitMessage = ({ id, seq, role, text, at, sources }: Message): void => {
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
  emitMessage(message);
};
/** Shows a line in the log and announces it to screen readers. */
export const announce = (text: string): void => {
  line('', text);
  say(text);
};
/** An error line, with a button if a retry is possible. */
export const showError = (retry?: () => void): HTMLElement => {
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
/** Replaces the previous form, if any; a form before the first message hides the composer. */
export const setForm = (made?: HTMLElement, isFirst = false): void => {
  form?.remove();
  form = made;
  first = isFirst;
  show(composer, !first);
  if (made) append(made);
};
/** Shows the form or the suggestions of an empty conversation. */
export const begin = (): void => {
  const { prechat } = S._config;
  if (!built || lowest() || V.conversation || active || form || first) return;
  if (!prechat || S._options.prechat == 'off') return suggest(pick('suggestions'));
  setForm(undefined, true);
  withMore((more) => {
    if (!first) return;
    setForm(more._firstForm(prechat), true);
    // If the panel opened before the form existed, the focus waited in the log.
    if (log.matches(':focus') && !isCoarse()) focus();
  });
};
/** Shows the error in place of the form that needs the second script. */
export const loadFailed = (): void => {
  if (!first || form) return;
  const again = () => {
    setForm(undefined, true);
    log.focus();
    void load(true);
  };
  setForm(showError(again), true);
};
export const offerForm = (definition: FormDefinition): void => withMore((more) => setForm(more._leadForm(definition)));
/** Clears the conversation except for this turn. */
export const clear = (turn?: Turn): void => {
  S._earlier = false;
  setUnread(0);
  if (!built) return;
  if (!turn?._lead) setForm();
  clearLog(turn?._entry);
};
export const restart = (): void => {
  dropTurn();
  clear();
  if (!built) return;
  turned();
  begin();
};
export const hide = (is: boolean): void => {
  hidden = is || !!S._rejected;
  show(frame, !hidden);
  markRead();
};
export const label = (): void => {
  if (built) {
    labelLog();
    labelComposer();
  }
  labelFrame();
};
/** Emits the event of a conversation that existed before. */
export const resumed = (): void => {
  if (V.conversation) emit('conversation', { id: V.conversation, isNew: false });
};
/** Handles failures that have the same meaning for every call; true if this was one. */
export const handleRejection = ({ _code, _message }: Failure): boolean => {
  const { agentId } = S._options;
  // ORIGIN_NOT_ALLOWED, AGENT_NOT_AVAILABLE
  if (/[NT]_NOT_A/.test(_code)) {
    S._rejected = _code;
    hide(true);
    logError(
      /^O/.test(_code) ? `origin ${location.origin} is not allowed for agent ${agentId}; add it to the agent's allowed origins` : `agent ${agentId}: ${_message}`,
    );
  } else if (_code == 'VISITOR_BLOCKED') {
    build();
    block();
  } else return false;
  return true;
};
