// The composer: text field, files, send and stop.
import type { Upload } from '../protocol';
import { fill, h, icon, label, set } from '../dom';
import { createFiles, type Files } from './files';
import { SEND, STOP } from './icons';
import { S, sleep, t } from './shared';
import { active, stopTurn } from './turn';
import { up } from './up';

/** How long after sending a press is still the one that sent. */
const BOUNCE_MS = 200;

let blocked: boolean;
let files: Files;
let alert: HTMLElement;
let input: HTMLTextAreaElement;
let sender: HTMLButtonElement;
let sentAt: number;
/** The visitor has sent a message whose files are still on their way. */
let isWaiting: boolean;
export let composer: HTMLElement;

export const startComposer = (panel: HTMLElement): void => {
  alert = h('p.err', { role: 'alert', id: 'alert' });
  input = S._input;
  set(input, 'aria-describedby', 'alert');
  input.addEventListener('input', () => {
    isWaiting = false;
    if (!S._waiting && !blocked) showAlert('');
    refresh();
  });
  sender = h('button.send', {
    click: ({ detail }: MouseEvent) => {
      if (!active) submitText();
      // The second press of a double click does not stop what the first one sent.
      else if (detail < 2 && performance.now() - sentAt > BOUNCE_MS) stopTurn(active);
    },
  });
  const write = h('div.write', null, input, sender);
  composer = h('div.composer', null, alert, write);
  sentAt = 0;
  files = createFiles(panel, input, () => {
    refresh();
    if (isWaiting && !files._isBusy()) submitText();
  });
  resetComposer(input.value);
};
export const resetComposer = (text = ''): void => {
  isWaiting = blocked = false;
  S._waiting = undefined;
  files._clear();
  input.value = text;
  showAlert('');
  labelComposer();
};
export const labelComposer = (): void => {
  input.placeholder = t('write');
  set(input, 'aria-label', t('write'));
  refresh();
};

export const focusComposer = (): void => input.focus({ preventScroll: true });
/** `isInfo` is for what is no error. */
export const showAlert = (text: string, isInfo?: boolean): void => {
  if (alert.textContent != text) alert.textContent = text;
  alert.classList.toggle('info', !!isInfo);
  set(input, 'aria-invalid', text && !active && !S._waiting && !blocked && !isWaiting && 'true');
};
/** A turn has started or ended. */
export const turned = (): void => {
  if (active) sentAt = performance.now();
  if (!S._waiting && !blocked) showAlert('');
  refresh();
};
const refresh = () => {
  input.style.height = '36px';
  // A closed panel has no layout to measure.
  input.style.height = (input.scrollHeight || 36) + 'px';
  const inside = sender.matches(':focus');
  const busy = active;
  label(sender, t(busy ? 'stop' : 'send'));
  fill(sender, icon(busy ? STOP : SEND));
  sender.classList.toggle('stop', !!busy);
  sender.disabled = !busy && !!(blocked || S._waiting || !(input.value.trim() || files._all()[0]));
  input.disabled = blocked;
  files._label(blocked);
  if (inside && sender.disabled) focusComposer();
};

const limit = () => S._config.limits?.messageChars || 4000;
/** The code of the reason why this text cannot be sent now; empty if it can. */
export const problem = (text: string): string =>
  blocked ? 'VISITOR_BLOCKED' : active ? 'TURN_IN_PROGRESS' : S._waiting ? 'RATE_LIMIT_EXCEEDED' : [...text].length > limit() ? 'VALIDATION_ERROR' : '';

export const submitText = (): void => {
  const text = input.value.normalize().trim();
  const uploads = files._all().flatMap((one) => one._upload || []);
  const wrong = problem(text);
  if (!(text || files._all()[0]) || S._waiting || blocked) return;
  if (active) showAlert(t('busy'));
  else if (wrong) showAlert(t('long', limit()));
  else if (files._isBusy()) {
    // It is sent by itself with the last file.
    isWaiting = true;
    showAlert(t('uploading'), true);
  } else {
    resetComposer();
    void up._submit(text, uploads);
  }
};

/** Restores a rejected message, unless the visitor has written something else. */
export const restoreText = (text: string, uploads: Upload[]): boolean => {
  if (input.value || files._all()[0]) return false;
  input.value = text;
  files._restore(uploads);
  refresh();
  return true;
};
/** Blocks sending for `seconds`, shows a countdown, and then sends the message if it is unchanged. */
export const countDown = async (seconds: number): Promise<void> => {
  const own = (S._waiting = {});
  const text = input.value;
  for (; seconds > 0 && S._waiting == own; seconds--) {
    showAlert(t('wait', seconds), true);
    refresh();
    // Screen readers announce the first number only.
    set(alert, 'aria-live', 'off');
    await sleep(1000);
  }
  set(alert, 'aria-live');
  if (S._waiting != own) return;
  S._waiting = undefined;
  showAlert('');
  refresh();
  if (text && text == input.value) submitText();
};
export const block = (): void => {
  blocked = true;
  showAlert(t('unavailable'));
  refresh();
};
