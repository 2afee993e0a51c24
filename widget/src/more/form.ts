// Forms: before the conversation, and for a lead in it.
import { h, set } from '../dom';
import type { Failure, Field, FormDefinition, Lead } from '../protocol';
import { t } from './shared';

const INPUTS: Record<string, string> = { email: 'email', phone: 'tel', url: 'url', number: 'number', date: 'date', boolean: 'checkbox' };
// Values of `autocomplete` by the end of the field's name.
const COMPLETE: [RegExp, string][] = [
  [/email$/i, 'email'],
  [/phone$/i, 'tel'],
  [/^first/, 'given-name'],
  [/^last/, 'family-name'],
  [/name$/i, 'name'],
];
type Choice = { value: string; label: string };
let count = 0;

/** `submit` throws a `Failure` if the server rejects it; without `dismiss` the form cannot be closed. */
export const createForm = (
  { fields, consent }: FormDefinition,
  submit: (lead: Lead, elapsedMs: number, honeypot: string) => Promise<void>,
  dismiss?: () => void,
): HTMLFormElement => {
  const began = performance.now();
  const rows: { _field: Field; _input: HTMLInputElement; _fail: (message?: string) => void }[] = [];
  const row = (_field: Field) => {
    const { name, label, type, options, required } = _field;
    const id = 'f' + ++count;
    const error = h('p.err', { id: id + 'e' });
    const props = { id, type: INPUTS[type] || 'text', autocomplete: COMPLETE.find(([names]) => names.test(name))?.[1] || 'off', 'aria-required': required && 'true' };
    const _input = (
      options
        ? h('select', { ...props, type: 0 }, h('option'), ...options.map((one) => h('option', { value: (one as Choice).value }, (one as Choice).label || (one as string))))
        : h('input', props)
    ) as HTMLInputElement;
    rows.push({
      _field,
      _input,
      _fail: (message) => {
        set(_input, 'aria-invalid', message && 'true');
        set(_input, 'aria-describedby', message && error.id);
        error.textContent = message || '';
      },
    });
    const isBox = type == 'boolean';
    const caption = h('label', { for: id }, label, !required && !isBox && ` (${t('optional')})`);
    return h(isBox ? 'div.row box' : 'div.row', null, isBox ? _input : caption, isBox ? caption : _input, error);
  };
  const problem = h('p.err', { role: 'alert' });
  const honeypot = h('input.x', { tabindex: '-1', autocomplete: 'off', 'aria-hidden': 'true' });
  const go = h('button.go', null, t('send'));
  go.type = 'submit';
  const handle = async (event: Event) => {
    event.preventDefault();
    if (go.disabled) return;
    const lead: Lead = { fields: {}, consent: null };
    let wrong: HTMLElement | undefined;
    problem.textContent = '';
    for (const { _field: { name, type, required }, _input, _fail } of rows) {
      const value = type == 'boolean' ? _input.checked : _input.value.trim();
      const fault = !value ? required && 'required' : type == 'email' && !/^[^@\s]+@[^@\s]+$/.test(value as string) && 'invalid';
      _fail(fault ? t(fault) : '');
      if (fault) wrong = wrong || _input;
      else if (!name) lead.consent = value && consent ? { version: consent.version, at: new Date().toISOString() } : null;
      else if (value) lead.fields[name] = type == 'number' ? +value : value;
    }
    if (wrong) return wrong.focus();
    go.disabled = true;
    try {
      await submit(lead, Math.round(performance.now() - began), honeypot.value);
    } catch (error) {
      const { _fields, _after } = error as Failure;
      for (const { field, message } of _fields)
        for (const { _field, _input, _fail } of rows)
          if (field.replace(/^(lead\.)?(fields\.|consent.*)/, '') == _field.name) {
            _fail(message);
            wrong = wrong || _input;
          }
      if (wrong) wrong.focus();
      else problem.textContent = _after ? t('wait', _after) : t('failed');
    }
    go.disabled = false;
  };
  return h(
    'form.form',
    { novalidate: true, 'aria-label': t('form'), submit: handle },
    ...fields.map(row),
    consent && row({ name: '', label: consent.text, type: 'boolean', required: consent.required, options: null }),
    honeypot,
    problem,
    h('div.acts', null, dismiss && h('button', { click: dismiss }, t('cancel')), go),
  );
};
