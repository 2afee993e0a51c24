// Short notices of what was done, with undo; and the one polite live region.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ApiError } from '../lib/api';
import { announce, spoken } from '../lib/announce';
import { t } from '../lib/i18n';
import { useKeys } from '../lib/keys';
import { Button } from './parts';
import { errorTitle } from '../lib/errors';

interface Toast {
  id: number;
  text: string;
  undo: (() => Promise<unknown>) | null;
}
const toasts = signal<Toast[]>([]);
let ids = 0;
const drop = (id: number) => (toasts.value = toasts.value.filter((one) => one.id != id));
/** Shows what was done, and offers to undo it. */
export const done = (text: string, undo: (() => Promise<unknown>) | null = null): void => {
  const id = ++ids;
  toasts.value = [...toasts.value.slice(-2), { id, text, undo }];
  announce(text);
};
const run = async (toast: Toast) => {
  drop(toast.id);
  try {
    await toast.undo?.();
    done(t('Undone'));
  } catch (error) {
    if (error instanceof ApiError && error.code != 'CANCELLED') done(errorTitle(error));
  }
};
/** One notice: it stays 6 s, or 10 s with undo, and while the pointer or the focus is on it. */
const Shown = ({ toast }: { toast: Toast }) => {
  let timer = 0;
  const start = () => (timer = window.setTimeout(() => drop(toast.id), toast.undo ? 10000 : 6000));
  const hold = () => clearTimeout(timer);
  useEffect(() => {
    start();
    return hold;
  }, []);
  return (
    <div class="toast" onMouseEnter={hold} onMouseLeave={start} onFocusIn={hold} onFocusOut={start}>
      <span class="grow" dir="auto">{toast.text}</span>
      {toast.undo && <Button keys="mod+z" onClick={() => void run(toast)}>{t('Undo')}</Button>}
      <Button kind="quiet" icon="x" label={t('Dismiss')} onClick={() => drop(toast.id)} />
    </div>
  );
};
export const Toasts = () => {
  useKeys([{ key: 'mod+z', label: t('Undo the last change'), run: () => {
    const last = [...toasts.value].reverse().find((one) => one.undo);
    if (last) void run(last);
  } }]);
  return (
    <>
      <div class="toasts" role="region" aria-label={t('Notices')}>{toasts.value.map((toast) => <Shown key={toast.id} toast={toast} />)}</div>
      <div class="sr" role="status" aria-live="polite">{spoken.value}</div>
    </>
  );
};
