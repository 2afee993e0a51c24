// Dialogs on the browser's own <dialog>: it holds the focus, and gives it back.
import type { ComponentChildren } from 'preact';
import { signal, useSignal } from '@preact/signals';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { ApiError } from '../lib/api';
import { t } from '../lib/i18n';
import { useKeys } from '../lib/keys';
import { Button, Cli, TextField } from './parts';
import { Failure } from './states';

interface DialogProps {
  title: string;
  kind?: string;
  onClose: () => void;
  children: ComponentChildren;
  /** The buttons. */
  foot?: ComponentChildren;
  hideTitle?: boolean;
  /** Whether it is text to read, which the keyboard scrolls. */
  isText?: boolean;
}
/** A modal dialog. Escape and a click outside close it. */
export const Dialog = ({ title, kind = '', onClose, children, foot, hideTitle, isText }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useKeys([], true);
  // Before the next paint: until then keys would go to the page below.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => {
      element.current?.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} class={`dialog ${kind}`} aria-labelledby={id} onCancel={(event) => { event.preventDefault(); onClose(); }}
      onMouseDown={(event) => event.target == element.current && onClose()}>
      {hideTitle ? <h2 class="sr" id={id}>{title}</h2> : <div class="head"><h2 id={id}>{title}</h2><Button kind="quiet" icon="x" label={t('Close')} onClick={onClose} /></div>}
      {hideTitle ? children : <div class="inside" tabIndex={isText ? 0 : undefined}>{children}</div>}
      {foot && <div class="foot">{foot}</div>}
    </dialog>
  );
};

/** A question before a change. */
export interface Question {
  title: string;
  text: ComponentChildren;
  button: string;
  bad?: boolean;
  /** What must be typed, because the change cannot be undone. */
  typed?: string;
  cli?: string;
  run: () => Promise<unknown>;
}
const question = signal<Question | null>(null);
/** Asks, and runs the change if the person confirms it. */
export const ask = (one: Question): void => void (question.value = one);

const Asked = ({ one }: { one: Question }) => {
  const typed = useSignal('');
  const busy = useSignal(false);
  const failure = useSignal<ApiError | null>(null);
  const ready = !one.typed || typed.value.trim() == one.typed;
  const run = async () => {
    if (!ready || busy.value) return;
    busy.value = true;
    try {
      await one.run();
      question.value = null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code != 'CANCELLED') failure.value = error;
    } finally {
      busy.value = false;
    }
  };
  useKeys([{ key: 'mod+Enter', label: one.button, run: () => void run() }]);
  return (
    <Dialog title={one.title} onClose={() => (question.value = null)}
      foot={<>{one.cli && <Cli line={one.cli} />}<Button onClick={() => (question.value = null)}>{t('Cancel')}</Button>
        <Button kind={one.bad ? 'bad main' : 'main'} busy={busy.value} off={!ready} keys="mod+Enter" onClick={() => void run()}>{one.button}</Button></>}>
      <div>{one.text}</div>
      {one.typed && <TextField label={t('Type {text} to confirm', { text: one.typed })} value={typed.value} autocomplete="off" onInput={(value) => (typed.value = value)} />}
      {failure.value && <Failure error={failure.value} />}
    </Dialog>
  );
};
/** Where questions appear. */
export const Questions = () => (question.value ? <Asked one={question.value} /> : null);
