// Where the visitor writes: text, files, send and stop.
import { submit as send } from '../chat';
import { fill, h, icon, iconButton, label, set, show } from '../dom';
import { emit, S, type Session, sleep, t, type Upload } from '../state';
import { asFailure, challenged, request } from '../wire/call';
import { stopTurn } from '../wire/turns';
import { adopt, V } from '../wire/visit';
import { CLIP, CROSS, SEND, STOP } from './icons';

interface Attachment {
  _element: HTMLElement;
  _upload?: Upload;
  _control: AbortController;
}
let busy: boolean;
let blocked: boolean;
let waiting: object | undefined;
let attached: Attachment[] = [];
let alert: HTMLElement;
let files: HTMLElement;
let input: HTMLTextAreaElement;
let picker: HTMLInputElement;
let attach: HTMLButtonElement;
let sender: HTMLButtonElement;
export let composer: HTMLElement;

export const startComposer = (): void => {
  alert = h('p.err', { role: 'alert', id: 'alert' });
  files = h('ul.files');
  input = h('textarea', {
    rows: '1',
    dir: 'auto',
    enterkeyhint: 'send',
    'aria-describedby': 'alert',
    input: () => {
      if (!waiting && !blocked) tell('');
      refresh();
    },
    keydown: (event: KeyboardEvent) => {
      if (event.key != 'Enter' || event.shiftKey || event.isComposing || event.keyCode == 229) return;
      event.preventDefault();
      submit();
    },
  });
  picker = h('input', { type: 'file', multiple: true, hidden: true, change: pickFiles });
  attach = iconButton(CLIP, '', () => picker.click());
  sender = h('button.send', { click: () => (busy ? stopTurn() : submit()) });
  composer = h('div.composer', null, alert, files, h('div.write', null, picker, attach, input, sender));
  resetComposer();
};
export const resetComposer = (): void => {
  busy = blocked = false;
  waiting = undefined;
  attached = [];
  fill(files);
  input.value = '';
  tell('');
  labelComposer();
};
export const labelComposer = (): void => {
  const { uploads, limits } = S._config;
  input.placeholder = t('write');
  set(input, 'aria-label', t('write'));
  label(attach, t('attach'));
  show(attach, uploads && S._options.uploads !== false);
  picker.accept = (limits?.uploadTypes || []).map((type) => '.' + type).join();
  refresh();
};

export const focusComposer = (): void => input.focus({ preventScroll: true });
export const tell = (words: string): void => {
  if (alert.textContent != words) alert.textContent = words;
  set(input, 'aria-invalid', words && !busy && !waiting && !blocked && 'true');
};
export const setBusy = (is: boolean): void => {
  busy = is;
  if (!waiting && !blocked) tell('');
  refresh();
};
const refresh = () => {
  input.style.height = '36px';
  // Nothing can be measured while the panel is closed.
  input.style.height = Math.max(36, input.scrollHeight) + 'px';
  const inside = sender.matches(':focus');
  label(sender, t(busy ? 'stop' : 'send'));
  fill(sender, icon(busy ? STOP : SEND));
  sender.disabled = !busy && !!(blocked || waiting || !(input.value.trim() || attached.length));
  input.disabled = attach.disabled = blocked;
  if (inside && sender.disabled) focusComposer();
};

const limit = () => S._config.limits?.messageChars || 4000;
/** Why this text cannot go out now, as a code; empty when it can. */
export const problem = (words: string): string =>
  blocked ? 'VISITOR_BLOCKED' : busy ? 'TURN_IN_PROGRESS' : waiting ? 'RATE_LIMIT_EXCEEDED' : [...words].length > limit() ? 'VALIDATION_ERROR' : '';

const submit = () => {
  const words = input.value.normalize().trim();
  const uploads = attached.flatMap((one) => one._upload || []);
  const wrong = problem(words);
  // A file that is still on its way goes along.
  if (!(words || uploads[0]) || attached.length > uploads.length) return;
  if (busy) tell(t('busy'));
  else if (!wrong) {
    resetComposer();
    void send(words, uploads);
  } else if (!waiting && !blocked) tell(t('long', limit()));
};

const line = (name: string) => {
  const one: Attachment = {
    _element: h('li', { dir: 'auto' }, name, iconButton(CROSS, t('remove', '', name), () => {
      drop(one);
      focusComposer();
    })),
    _control: new AbortController(),
  };
  attached.push(one);
  files.append(one._element);
  return one;
};
const drop = (one: Attachment) => {
  one._control.abort();
  attached = attached.filter((other) => other != one);
  one._element.remove();
  refresh();
};
const pickFiles = () => {
  tell('');
  for (const file of Array.from(picker.files || []).slice(0, 5 - attached.length))
    if (file.size > (S._config.limits?.uploadBytes || 1e7)) tell(t('large', '', file.name));
    else void upload(file);
  picker.value = '';
};
const upload = async (file: File) => {
  const one = line(file.name);
  const { signal } = one._control;
  one._element.className = 'wait';
  try {
    const answer = await challenged((challenge) => {
      const body = new FormData();
      V._token ? body.append('token', V._token) : body.append('agentId', S._options.agentId);
      if (challenge) body.append('challenge', JSON.stringify(challenge));
      body.append('file', file);
      return request('uploads', body, signal);
    });
    const { data } = await answer.json();
    if (signal.aborted) return;
    one._upload = data as Upload;
    one._element.className = '';
    adopt((data as { session: Session }).session);
  } catch (error) {
    const { _code, _message } = asFailure(error);
    if (signal.aborted) return;
    drop(one);
    tell(`${file.name}: ${_message}`);
    emit('error', { code: _code, message: _message, retryable: false });
  }
  refresh();
};
export const dropUploads = (): void => attached.forEach((one) => one._control.abort());

/** Puts a refused message back, unless something else was written since. */
export const restoreText = (words: string, uploads: Upload[]): boolean => {
  if (input.value || attached.length) return false;
  input.value = words;
  for (const upload of uploads) line(upload.name)._upload = upload;
  refresh();
  return true;
};
/** No sending for some seconds, counted down in sight. */
export const countDown = async (seconds: number): Promise<void> => {
  const own = (waiting = {});
  for (; seconds > 0 && waiting == own; seconds--) {
    tell(t('wait', seconds));
    refresh();
    // Announced once; the numbers that follow are for the eye.
    set(alert, 'aria-live', 'off');
    await sleep(1000);
  }
  set(alert, 'aria-live');
  if (waiting != own) return;
  waiting = undefined;
  tell('');
  refresh();
};
export const block = (): void => {
  blocked = true;
  tell(t('unavailable'));
  refresh();
};
