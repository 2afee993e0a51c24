// Where the visitor writes: text, send and stop; files come with the second script.
import { submit as send } from '../chat';
import { fill, h, icon, label, set } from '../dom';
import { more, withMore } from '../later';
import { S, t, type Upload } from '../state';
import { activeTurn, stopTurn } from '../wire/turns';
import { SEND, STOP } from './icons';

/** A file beside the text; without `_upload` it is on its way. */
export interface Attachment {
  _element: HTMLElement;
  _upload?: Upload;
  _control: AbortController;
}
export interface Files {
  _all: () => Attachment[];
  _clear: () => void;
  _restore: (uploads: Upload[]) => void;
  _label: (blocked: boolean) => void;
}
let blocked: boolean;
let files: Files | undefined;
let alert: HTMLElement;
let input: HTMLTextAreaElement;
let sender: HTMLButtonElement;
export let composer: HTMLElement;

export const startComposer = (): void => {
  alert = h('p.err', { role: 'alert', id: 'alert' });
  input = h('textarea', {
    rows: '1',
    dir: 'auto',
    enterkeyhint: 'send',
    'aria-describedby': 'alert',
    input: () => {
      if (!S._waiting && !blocked) tell('');
      refresh();
    },
    keydown: (event: KeyboardEvent) => {
      if (event.key != 'Enter' || event.shiftKey || event.isComposing || event.keyCode == 229) return;
      event.preventDefault();
      submit();
    },
  });
  sender = h('button.send', { click: () => (activeTurn() ? stopTurn() : submit()) });
  composer = h('div.composer', null, alert, h('div.write', null, input, sender));
  files = undefined;
  resetComposer();
  withMore((more) => {
    files = more._files(input, refresh);
    refresh();
  });
};
export const resetComposer = (): void => {
  blocked = false;
  S._waiting = undefined;
  files?._clear();
  input.value = '';
  tell('');
  labelComposer();
};
export const labelComposer = (): void => {
  input.placeholder = t('write');
  set(input, 'aria-label', t('write'));
  refresh();
};

export const focusComposer = (): void => input.focus({ preventScroll: true });
export const tell = (words: string): void => {
  if (alert.textContent != words) alert.textContent = words;
  set(input, 'aria-invalid', words && !activeTurn() && !S._waiting && !blocked && 'true');
};
/** A turn has begun or ended. */
export const turned = (): void => {
  if (!S._waiting && !blocked) tell('');
  refresh();
};
const attached = () => files?._all() || [];
const refresh = () => {
  input.style.height = '36px';
  // Nothing can be measured while the panel is closed.
  input.style.height = (input.scrollHeight || 36) + 'px';
  const inside = sender.matches(':focus');
  const busy = activeTurn();
  label(sender, t(busy ? 'stop' : 'send'));
  fill(sender, icon(busy ? STOP : SEND));
  sender.disabled = !busy && !!(blocked || S._waiting || !(input.value.trim() || attached()[0]));
  input.disabled = blocked;
  files?._label(blocked);
  if (inside && sender.disabled) focusComposer();
};

const limit = () => S._config.limits?.messageChars || 4000;
/** Why this text cannot go out now, as a code; empty when it can. */
export const problem = (words: string): string =>
  blocked ? 'VISITOR_BLOCKED' : activeTurn() ? 'TURN_IN_PROGRESS' : S._waiting ? 'RATE_LIMIT_EXCEEDED' : [...words].length > limit() ? 'VALIDATION_ERROR' : '';

const submit = () => {
  const words = input.value.normalize().trim();
  const all = attached();
  const uploads = all.flatMap((one) => one._upload || []);
  const wrong = problem(words);
  // A file that is still on its way goes along.
  if (!(words || uploads[0]) || all.length > uploads.length) return;
  if (activeTurn()) tell(t('busy'));
  else if (!wrong) {
    resetComposer();
    void send(words, uploads);
  } else if (!S._waiting && !blocked) tell(t('long', limit()));
};

/** Puts a refused message back, unless something else was written since. */
export const restoreText = (words: string, uploads: Upload[]): boolean => {
  if (input.value || attached()[0]) return false;
  input.value = words;
  files?._restore(uploads);
  refresh();
  return true;
};
/** No sending for some seconds; `words` say so where they cannot be counted down. */
export const pause = (seconds: number, words: string): void => (more ? void more._countDown(seconds, alert, refresh) : tell(words));
export const block = (): void => {
  blocked = true;
  tell(t('unavailable'));
  refresh();
};
