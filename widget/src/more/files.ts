// Files in the composer: selected, uploaded separately, and referenced by the message.
import { fill, h, iconButton, label, show } from '../dom';
import type { Session, Upload } from '../protocol';
import type { Attachment, Files } from '../shared';
import { CROSS } from '../view/icons';
import { asFailure } from '../wire/failure';
import { CLIP } from './icons';
import { adopt, clear, emit, focus, request, S, showAlert, t } from './shared';
import { asVisitor } from './visitor';

/** Lists the names of a message's files above its foot line. */
export const listFiles = (foot: HTMLElement, uploads: Upload[]): void =>
  foot.before(h('ul.files', null, ...uploads.map(({ name }) => h('li', { dir: 'auto' }, name))));

/** Adds the file controls around the text field; `changed` runs at each change. */
export const createFiles = (input: HTMLElement, changed: () => void): Files => {
  const list = h('ul.files');
  const picker = h('input', { type: 'file', multiple: true, hidden: true, change: () => pick() });
  const attach = iconButton(CLIP, '', () => picker.click());
  let attached: Attachment[] = [];

  const add = (name: string) => {
    const one: Attachment = {
      _element: h('li', { dir: 'auto' }, name, iconButton(CROSS, t('remove', '', name), () => {
        drop(one);
        focus();
      })),
      _control: new AbortController(),
    };
    attached.push(one);
    list.append(one._element);
    return one;
  };
  const drop = (one: Attachment) => {
    one._control.abort();
    attached = attached.filter((other) => other != one);
    one._element.remove();
    changed();
  };
  const pick = () => {
    showAlert('');
    for (const file of Array.from(picker.files || []).slice(0, 5 - attached.length))
      if (file.size > (S._config.limits?.uploadBytes || 1e7)) showAlert(t('large', '', file.name));
      else void send(file);
    picker.value = '';
  };
  const send = async (file: File) => {
    const one = add(file.name);
    const { signal } = one._control;
    one._element.className = 'wait';
    try {
      const response = await asVisitor((token, challenge) => {
        const body = new FormData();
        if (token) body.append('token', token);
        else {
          body.append('agentId', S._options.agentId);
          body.append('persist', S._options.persist || 'local');
        }
        if (challenge) body.append('challenge', JSON.stringify(challenge));
        body.append('file', file);
        return request('uploads', body, signal);
      });
      const { data } = await response.json();
      if (signal.aborted) return;
      one._upload = data as Upload;
      one._element.className = '';
      if (adopt((data as { session: Session }).session)) clear();
    } catch (error) {
      const { _code: code, _message: message } = asFailure(error);
      if (signal.aborted) return;
      const inside = one._element.matches(':focus-within');
      drop(one);
      if (inside) focus();
      showAlert(`${file.name}: ${message}`);
      emit('error', { code, message, retryable: false });
    }
    changed();
  };

  input.before(picker, attach);
  (input.parentNode as HTMLElement).before(list);
  S._signal.addEventListener('abort', () => attached.forEach((one) => one._control.abort()));
  return {
    _all: () => attached,
    _clear: () => {
      attached = [];
      fill(list);
    },
    _restore: (uploads) => {
      for (const upload of uploads) add(upload.name)._upload = upload;
    },
    _label: (blocked) => {
      const { uploads, limits } = S._config;
      label(attach, t('attach'));
      show(attach, uploads && S._options.uploads !== false);
      picker.accept = (limits?.uploadTypes || []).map((type) => '.' + type).join();
      attach.disabled = blocked;
    },
  };
};
