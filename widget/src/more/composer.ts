// The composer: text field, send and stop; the second script adds files.
import type { Upload } from '../protocol';
import { fill, h, icon, label, set } from '../dom';
import { S, t } from '../state';
import { SEND, STOP } from './icons';
import { more, withMore } from '../later';
import { active, stopTurn } from '../wire/turn';
import { type Files, shared } from '../shared';

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
      if (!S._waiting && !blocked) showAlert('');
      refresh();
    },
    keydown: (event: KeyboardEvent) => {
      if (event.key != 'Enter' || event.shiftKey || event.isComposing || event.keyCode == 229) return;
      event.preventDefault();
      submit();
    },
  });
  sender = h('button.send', { click: () => (active ? stopTurn(active) : submit()) });
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
  showAlert('');
  labelComposer();
};
export const labelComposer = (): void => {
  input.placeholder = t('write');
  set(input, 'aria-label', t('write'));
  refresh();
};

export const focusComposer = (): void => input.focus({ preventScroll: true });
export const showAlert = (text: string): void => {
  if (alert.textContent != text) alert.textContent = text;
  set(input, 'aria-invalid', text && !active && !S._waiting && !blocked && 'true');
};
/** A turn has started or ended. */
export const turned = (): void => {
  if (!S._waiting && !blocked) showAlert('');
  refresh();
};
const attached = () => files?._all() || [];
const refresh = () => {
  input.style.height = '36px';
  // A closed panel has no layout to measure.
  input.style.height = (input.scrollHeight || 36) + 'px';
  const inside = sender.matches(':focus');
  const busy = active;
  label(sender, t(busy ? 'stop' : 'send'));
  fill(sender, icon(busy ? STOP : SEND));
  sender.disabled = !busy && !!(blocked || S._waiting || !(input.value.trim() || attached()[0]));
  input.disabled = blocked;
  files?._label(blocked);
  if (inside && sender.disabled) focusComposer();
};

const limit = () => S._config.limits?.messageChars || 4000;
/** The code of the reason why this text cannot be sent now; empty if it can. */
export const problem = (text: string): string =>
  blocked ? 'VISITOR_BLOCKED' : active ? 'TURN_IN_PROGRESS' : S._waiting ? 'RATE_LIMIT_EXCEEDED' : [...text].length > limit() ? 'VALIDATION_ERROR' : '';

const submit = () => {
  const text = input.value.normalize().trim();
  const all = attached();
  const uploads = all.flatMap((one) => one._upload || []);
  const wrong = problem(text);
  // Waits for files that are still being uploaded.
  if (!(text || uploads[0]) || all.length > uploads.length) return;
  if (active) showAlert(t('busy'));
  else if (!wrong) {
    resetComposer();
    void shared._submit(text, uploads);
  } else if (!S._waiting && !blocked) showAlert(t('long', limit()));
};

/** Restores a rejected message, unless the visitor has written something else. */
export const restoreText = (text: string, uploads: Upload[]): boolean => {
  if (input.value || attached()[0]) return false;
  input.value = text;
  files?._restore(uploads);
  refresh();
  return true;
};
/** Blocks sending for `seconds`; without the second script, shows `text` instead of a countdown. */
export const pause = (seconds: number, text: string): void => (more ? void more._countDown(seconds, alert, refresh) : showAlert(text));
export const block = (): void => {
  blocked = true;
  showAlert(t('unavailable'));
  refresh();
};
