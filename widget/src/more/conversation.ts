// The conversation in the panel: messages, unread count, forms, and rejections that end it.
import { fill, h, set, show } from '../dom';
import type { FormDefinition, Message, PersonChange } from '../protocol';
import type { Turn } from '../state';
import { readOut } from './body';
import { composer, focusComposer, labelComposer, startComposer, turned } from './composer';
import { createHeader, labelHeader } from './header';
import { firstForm, leadForm } from './lead';
import { addMessage, append, clearLog, jump, labelLog, line, log, lowest, startLog, suggest } from './log';
import { showPeople, startPeople } from './people';
import { agentName, emit, isOpen, pick, preview, S, save, say, setUnread, startPanel, t, unread, V } from './shared';
import { beep } from './sound';
import { active, dropTurn } from './turn';

// Whether the panel exists: it is created on first use, so a page view without a message pays for the launcher only.
export let built: boolean;
let form: HTMLElement | undefined;
// The form before the first message is required.
export let first: boolean;

export const startConversation = (): void => {
  first = built = false;
  form = undefined;
  startPeople();
};
export const isReading = (): boolean => isOpen() && !S._hidden && !document.hidden;
export const markRead = (): void => {
  if (!isReading()) return;
  V.read = V.seq;
  setUnread(0);
};
/** Emits the events of a stored message, once. */
export const emitMessage = ({ id, seq, role, text, at, sources, name }: Message): void => {
  if (seq <= V.seq) return;
  V.seq = seq;
  const by = name && role == 'human' ? { name } : {};
  emit('message', { id, seq, role, text, at, ...by });
  if (role != 'visitor') {
    emit('reply', { id, seq, role, text, sources, ...by });
    if (!isReading()) {
      setUnread(unread() + 1);
      beep();
      preview(name || (role == 'human' ? t('human') : agentName()), text);
    }
    if (isOpen()) void readOut(text);
    else say(t('unread', unread()));
  }
  markRead();
  save();
};
export const build = (): void => {
  if (built) return;
  built = true;
  const panel = startPanel();
  const inside = panel.matches(':focus-within');
  startLog();
  startComposer(panel);
  const [header, strip, hint] = createHeader();
  const inField = S._input.matches(':focus');
  fill(panel, header, strip, h('div.middle', null, log, jump), composer, hint);
  set(panel, 'aria-label');
  set(panel, 'aria-labelledby', 'title');
  label();
  if (inside) inField ? focus() : log.focus();
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
  if (!built || lowest() || V.seq || active || form || first) return;
  if (!prechat || S._options.prechat == 'off') return suggest(pick('suggestions'));
  setForm(firstForm(prechat), true);
};
export const offerForm = (definition: FormDefinition): void => setForm(leadForm(definition));
/** Shows who has joined and left, and who answers. */
export const refreshPeople = (changes?: PersonChange[]): void => {
  if (built && showPeople(changes)) labelHeader(composer);
};
/** Clears the conversation except for this turn. */
export const clear = (turn?: Turn): void => {
  S._earlier = false;
  setUnread(0);
  if (!built) return;
  if (!turn?._lead) setForm();
  startPeople();
  clearLog(turn?._entry);
};
export const restart = (): void => {
  dropTurn();
  clear();
  if (!built) return;
  turned();
  begin();
};
export const label = (): void => {
  if (!built) return;
  labelLog();
  labelComposer();
  showPeople();
  labelHeader(composer);
  begin();
};
