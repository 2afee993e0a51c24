// Small parts: buttons, badges, fields, copyable text.
import type { ComponentChildren } from 'preact';
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { Icon, type IconName } from './icon';
import { ago, moment, t } from '../lib/i18n';
import { strokes } from '../lib/keys';
import { announce } from '../lib/announce';

export type Tone = 'ok' | 'warn' | 'bad' | 'accent' | '';
/** The strokes of a key. */
export const Keys = ({ of }: { of: string }) => (
  <span class="keys" aria-hidden="true">
    {strokes(of).map((stroke) => <kbd>{stroke}</kbd>)}
  </span>
);
interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** The key that does the same. */
  keys?: string;
  kind?: string;
  busy?: boolean;
  /** Whether something is missing before it can act. */
  off?: boolean;
  /** The name of a button that shows an icon only. */
  label?: string;
  onClick?: (event: MouseEvent) => void;
  href?: string;
  type?: 'submit' | 'button';
  pressed?: boolean;
  id?: string;
  expanded?: boolean;
}
/** A button, or a link that looks like one. While `busy` it ignores clicks, and keeps its width and the focus. */
export const Button = ({ children, icon, keys, kind = '', busy, off, label, onClick, href, type = 'button', pressed, id, expanded }: ButtonProps) => {
  const name = `button ${kind}${children ? '' : ' only'}`;
  const inside = <>{icon && <Icon name={icon} />}{children}{keys && <Keys of={keys} />}</>;
  if (href) return <a class={name} href={href} id={id} aria-label={label} title={label}>{inside}</a>;
  return (
    <button class={name} id={id} type={type} aria-label={label} title={label} aria-disabled={busy || off || undefined} aria-busy={busy || undefined} aria-pressed={pressed} aria-expanded={expanded}
      aria-haspopup={expanded === undefined ? undefined : 'menu'} onClick={(event) => (busy || off ? event.preventDefault() : onClick?.(event))}>{inside}</button>
  );
};
/** A state: never by colour alone, so it has a text. */
export const Badge = ({ tone = '', children, dot, open }: { tone?: Tone; children: ComponentChildren; dot?: boolean; open?: boolean }) => (
  <span class={`badge ${tone}`}>{dot && <span class={`dot${open ? ' open' : ''}`} />}<span class="cut">{children}</span></span>
);
const COLORS = 6;
/** The initials of a name. */
export const Mark = ({ name, kind = '' }: { name: string; kind?: string }) => {
  const words = name.trim().split(/\s+/);
  const letters = (words[0]?.match(/\p{L}|\p{N}/u)?.[0] ?? '?') + (words.length > 1 ? (words[words.length - 1]!.match(/\p{L}|\p{N}/u)?.[0] ?? '') : '');
  return <span class={`mark ${kind}`} data-hue={[...name].reduce((sum, char) => sum + char.charCodeAt(0), 0) % COLORS} aria-hidden="true">{letters.toLocaleUpperCase()}</span>;
};
/** A text with components in its slots, such as `Added {when}`. */
export const filled = (text: string, values: Record<string, ComponentChildren>): ComponentChildren => text.split(/\{(\w+)\}/).map((part, n) => (n % 2 ? values[part] : part));
/** A time: how long ago, and in full on hover and for screen readers. */
export const When = ({ at, never = '–' }: { at: string | null | undefined; never?: string }) =>
  at ? <time dateTime={at} title={moment(at)}>{ago(at)}</time> : <span>{never}</span>;

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string;
  children: (props: { id: string; 'aria-invalid': boolean | undefined; 'aria-describedby': string | undefined }) => ComponentChildren;
}
/** A labelled control with its hint and its error. */
export const Field = ({ label, hint, error, children }: FieldProps) => {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-invalid': error ? true : undefined, 'aria-describedby': error ? id + 'e' : hint ? id + 'h' : undefined })}
      {error ? <span class="wrong" id={id + 'e'}><Icon name="warn" />{error}</span> : hint && <span class="hint" id={id + 'h'}>{hint}</span>}
    </div>
  );
};
interface TextProps extends Omit<FieldProps, 'children'> {
  value: string;
  onInput: (value: string) => void;
  type?: string;
  autocomplete?: string;
  placeholder?: string;
  rows?: number;
  large?: boolean;
  autofocus?: boolean;
  required?: boolean;
  mono?: boolean;
  min?: number;
  max?: number;
  inputmode?: 'numeric' | 'email' | 'url';
}
/** A field for text. */
export const TextField = ({ label, hint, error, value, onInput, rows, large, mono, autofocus, ...rest }: TextProps) => (
  <Field label={label} hint={hint} error={error}>
    {(props) =>
      rows ? (
        <textarea class={`input${mono ? ' mono' : ''}`} rows={rows} value={value} dir="auto" onInput={(event) => onInput(event.currentTarget.value)} {...(rest as object)} {...props} />
      ) : (
        <input class={`input${large ? ' large' : ''}${mono ? ' mono' : ''}`} value={value} dir={/^(email|url)$/.test(rest.type ?? '') ? 'ltr' : rest.type && rest.type != 'text' ? undefined : 'auto'} autofocus={autofocus}
          onInput={(event) => onInput(event.currentTarget.value)} {...(rest as object)} {...props} />
      )}
  </Field>
);
/** A field with options. */
export const Select = ({ label, hint, error, value, options, onChange }: Omit<FieldProps, 'children'> & { value: string; options: [string, string][]; onChange: (value: string) => void }) => (
  <Field label={label} hint={hint} error={error}>
    {(props) => (
      <select class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)} {...props}>
        {options.map(([key, text]) => <option value={key} selected={key == value}>{text}</option>)}
      </select>
    )}
  </Field>
);
/** A box to tick. */
export const Check = ({ label, checked, onChange, type = 'checkbox', name }: { label: ComponentChildren; checked: boolean; onChange: (checked: boolean) => void; type?: 'checkbox' | 'radio'; name?: string }) => (
  <label class="check"><input type={type} name={name} checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} /><span>{label}</span></label>
);
/** The field above a list. `/` focuses it. */
export const Search = ({ value, label, onInput }: { value: string; label: string; onInput: (value: string) => void }) => (
  <div class="search" role="search">
    <Icon name="search" />
    <input class="input" type="search" id="filter" aria-label={label} placeholder={label} value={value} dir="auto" spellcheck={false} autocomplete="off" onInput={(event) => onInput(event.currentTarget.value)} />
  </div>
);
/** Copies a text, and says so. */
export const Copy = ({ text, label, kind = 'quiet', children }: { text: string; label?: string; kind?: string; children?: ComponentChildren }) => {
  const done = useSignal(false);
  return (
    <Button kind={kind} icon={done.value ? 'check' : 'copy'} label={children ? undefined : (label ?? t('Copy'))}
      onClick={async () => {
        try {
          await navigator.clipboard.writeText(text);
          done.value = true;
          announce(t('Copied'));
          setTimeout(() => (done.value = false), 1600);
        } catch {
          announce(t('The browser did not allow copying. Select the text instead.'));
        }
      }}>{children && (done.value ? t('Copied') : children)}</Button>
  );
};
/** The argument of a shell: nothing in it is obeyed. */
export const quoted = (text: string) => (/^[\w@.,:+=/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
/** The command line that does the same. */
export const Cli = ({ line }: { line: string }) => (
  <div class="cli"><code title={t('The same on the command line')} tabIndex={0}>openapi-server {line}</code><Copy text={'openapi-server ' + line} label={t('Copy the command')} /></div>
);
/** A notice inside of a page. */
export const Notice = ({ tone = 'info', children }: { tone?: 'info' | 'ok' | 'warn' | 'bad'; children: ComponentChildren }) => (
  <div class={`notice ${tone}`} role={tone == 'bad' ? 'alert' : undefined}><Icon name={tone == 'ok' ? 'check' : tone == 'info' ? 'info' : 'warn'} /><div class="grow stack tight">{children}</div></div>
);
/** Text in several languages, one shown. */
export const Code = ({ tabs, name }: { tabs: [string, string][]; name: string }) => {
  const at = useSignal(0);
  const id = useId();
  const shown = tabs[at.value] ?? tabs[0]!;
  const move = (event: KeyboardEvent) => {
    const step = event.key == 'ArrowRight' ? 1 : event.key == 'ArrowLeft' ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    at.value = (at.value + step + tabs.length) % tabs.length;
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')[at.value]?.focus();
  };
  return (
    <div class="code">
      <header>
        <div class="tabs" role="tablist" aria-label={name} onKeyDown={move}>
          {tabs.map(([title], n) => <button type="button" class="tab" role="tab" id={`${id}${n}`} aria-controls={id} aria-selected={n == at.value} tabIndex={n == at.value ? 0 : -1} onClick={() => (at.value = n)}>{title}</button>)}
        </div>
        <span class="end"><Copy text={shown[1]} /></span>
      </header>
      <pre id={id} role="tabpanel" aria-labelledby={`${id}${at.value}`} tabIndex={0}><code>{shown[1]}</code></pre>
    </div>
  );
};
/** A share of a limit. */
export const Meter = ({ value, max, label }: { value: number; max: number; label: string }) => {
  const share = max ? Math.min(1, value / max) : 0;
  return <span class={`meter ${share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : ''}`} role="meter" aria-valuenow={value} aria-valuemin={0} aria-valuemax={max} aria-label={label}><span style={{ width: `${share * 100}%` }} /></span>;
};
