// Files in the composer: selected, dropped or pasted, uploaded separately, and referenced by the message.
import { fill, h, icon, iconButton, label, show } from '../dom';
import type { Session, Upload } from '../protocol';
import { CROSS } from '../icons';
import { asFailure } from '../wire/failure';
import { CLIP, FILE } from './icons';
import { adopt, emit, request, S, t } from './shared';
import { up } from './up';
import { asVisitor } from './visitor';

/** A file of the message in the composer; `_upload` is absent until the upload is complete. */
export interface Attachment {
  _element: HTMLElement;
  _upload?: Upload;
  _control: AbortController;
}
export interface Files {
  _all: () => Attachment[];
  _isBusy: () => boolean;
  _clear: () => void;
  _restore: (uploads: Upload[]) => void;
  _label: (blocked: boolean) => void;
}
const MAX_FILES = 5;

/** Lists the names of a message's files above its foot line. */
export const listFiles = (foot: HTMLElement, uploads: Upload[]): void =>
  foot.before(h('ul.files', null, ...uploads.map(({ name }) => h('li', null, icon(FILE), h('span', { dir: 'auto' }, name)))));

/** A small view of an image file. It is drawn, because the page's policy may allow no images. */
const drawThumbnail = async (file: File, into: HTMLElement) => {
  if (!/^image\/(png|jpe?g|webp|gif)$/.test(file.type)) return;
  try {
    const bitmap = await createImageBitmap(file, { resizeHeight: 64 });
    const canvas = h('canvas', { width: '64', height: '64', 'aria-hidden': 'true' });
    canvas.getContext('2d')?.drawImage(bitmap, (64 - bitmap.width) / 2, 0);
    into.querySelector('svg')?.replaceWith(canvas);
  } catch {
    // Not an image.
  }
};
const megabytes = (bytes: number) => (bytes / 1048576).toLocaleString(S._locale, { maximumFractionDigits: 1 });

/** Adds the file controls around the text field; `changed` runs at each change. */
export const createFiles = (panel: HTMLElement, input: HTMLElement, changed: () => void): Files => {
  const list = h('ul.files');
  const picker = h('input', { type: 'file', multiple: true, hidden: true, change: () => {
    take(picker.files);
    picker.value = '';
  } });
  const attach = iconButton(CLIP, '', () => picker.click());
  let attached: Attachment[] = [];
  const isAllowed = () => !!S._config.uploads && S._options.uploads !== false && !attach.disabled;
  const types = () => S._config.limits?.uploadTypes || [];

  const add = (name: string) => {
    const one: Attachment = {
      _element: h('li', null, icon(FILE), h('span', { dir: 'auto' }, name), iconButton(CROSS, t('remove', '', name), () => {
        drop(one);
        up._focus();
      })),
      _control: new AbortController(),
    };
    attached.push(one);
    list.append(one._element);
    changed();
    return one;
  };
  const drop = (one: Attachment) => {
    one._control.abort();
    attached = attached.filter((other) => other != one);
    one._element.remove();
    changed();
  };
  const take = (files?: FileList | null) => {
    up._showAlert('');
    const most = S._config.limits?.uploadBytes || 1e7;
    for (const file of Array.from(files || []).slice(0, MAX_FILES - attached.length))
      if (file.size > most) up._showAlert(t('large', megabytes(most), file.name));
      else void send(file);
  };
  const send = async (file: File) => {
    const one = add(file.name);
    const { signal } = one._control;
    one._element.className = 'wait';
    void drawThumbnail(file, one._element);
    try {
      const response = await asVisitor((token, challenge) => {
        if (signal.aborted) throw signal;
        const body = new FormData();
        if (token) body.append('token', token);
        else {
          body.append('agentId', S._options.agentId);
          body.append('persist', S._options.persist || 'local');
        }
        if (challenge) body.append('challenge', JSON.stringify(challenge));
        body.append('file', file);
        return request('uploads', body, signal).then((response) => response.json());
      });
      const { data } = response;
      if (signal.aborted) return;
      one._upload = data as Upload;
      one._element.className = '';
      if (adopt((data as { session: Session }).session)) up._clear();
    } catch (error) {
      if (signal.aborted) return;
      const { _code: code, _message: message, _status } = asFailure(error);
      const inside = one._element.matches(':focus-within');
      drop(one);
      if (inside) up._focus();
      up._showAlert(_status == 415 && types()[0] ? t('types', types().join(', '), file.name) : `${file.name}: ${message || t('failed')}`);
      emit('error', { code, message, retryable: false });
    }
    changed();
  };

  input.before(picker, attach);
  (input.parentNode as HTMLElement).before(list);
  const accept = (event: Event, data: DataTransfer | null) => {
    if (!isAllowed() || !data?.files[0]) return;
    event.preventDefault();
    take(data.files);
  };
  input.addEventListener('paste', (event) => accept(event, event.clipboardData));
  panel.addEventListener('dragover', (event) => isAllowed() && event.preventDefault());
  panel.addEventListener('drop', (event) => accept(event, event.dataTransfer));
  S._signal.addEventListener('abort', () => attached.forEach((one) => one._control.abort()));
  return {
    _all: () => attached,
    _isBusy: () => attached.some((one) => !one._upload),
    _clear: () => {
      attached = [];
      fill(list);
    },
    _restore: (uploads) => {
      for (const upload of uploads) add(upload.name)._upload = upload;
    },
    _label: (blocked) => {
      label(attach, t('attach'));
      attach.disabled = blocked;
      show(attach, S._config.uploads && S._options.uploads !== false);
      picker.accept = types().map((type) => '.' + type).join();
    },
  };
};
