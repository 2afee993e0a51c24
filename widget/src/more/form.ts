// Forms: before the conversation, and for a lead in it.
import { h, icon, set } from '../dom';
import type { Failure, Field, FormDefinition, Lead } from '../protocol';
import { faultOf, labelOf, lookOf, rejectionOf } from './fields';
import { CHECK } from './icons';
import { t } from './shared';

type Choice = { value: string; label: string };
interface Row {
  _field: Field;
  _input: HTMLInputElement;
  _element: HTMLElement;
  _fail: (message?: string) => void;
}
let count = 0;

const createRow = (_field: Field): Row => {
  const { type, options, required, value } = _field;
  const id = 'f' + ++count;
  const error = h('p.err', { id: id + 'e' });
  const { _type, _complete, _example } = lookOf(_field);
  const props = { id, type: _type, autocomplete: _complete, placeholder: _example, 'aria-required': required && 'true' };
  const _input = (
    options
      ? h('select', { ...props, type: 0, placeholder: 0 }, h('option'), ...options.map((one) => h('option', { value: (one as Choice).value }, (one as Choice).label || (one as string))))
      : h('input', props)
  ) as HTMLInputElement;
  const isBox = type == 'boolean';
  // What the visitor has said already.
  if (isBox) _input.checked = !!value;
  else if (value) _input.value = `${value}`;
  const caption = h('label', { for: id, dir: 'auto' }, labelOf(_field), !required && !isBox && h('small', null, ` ${t('optional')}`));
  return {
    _field,
    _input,
    _element: h(isBox ? 'div.row box' : 'div.row', null, isBox ? _input : caption, isBox ? caption : _input, error),
    _fail: (message) => {
      set(_input, 'aria-invalid', message && 'true');
      set(_input, 'aria-describedby', message && error.id);
      error.textContent = message || '';
    },
  };
};

/** `submit` throws a `Failure` if the server rejects it; without `dismiss` the form cannot be closed. */
export const createForm = (
  { fields, consent }: FormDefinition,
  intro: string,
  submit: (lead: Lead, elapsedMs: number, honeypot: string) => Promise<void>,
  dismiss?: () => void,
): HTMLFormElement => {
  const began = performance.now();
  const rows = fields.map(createRow);
  if (consent) rows.push(createRow({ name: '', label: consent.text, type: 'boolean', required: consent.required, options: null }));
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
    for (const { _field, _input, _fail } of rows) {
      const { name, type } = _field;
      const value = type == 'boolean' ? _input.checked : _input.value.trim();
      const fault = faultOf(_field, value);
      _fail(fault);
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
      for (const { field, type } of _fields)
        for (const { _field, _input, _fail } of rows)
          if (field.replace(/^(lead\.)?(fields\.|consent.*)/, '') == _field.name) {
            _fail(rejectionOf(_field, type));
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
    h('p.intro', null, intro),
    ...rows.map((row) => row._element),
    honeypot,
    problem,
    h('div.acts', null, dismiss && h('button', { click: dismiss }, t('cancel')), go),
  );
};
/** What the visitor sees after the form: thanks by name, and what happens next. */
export const thanksFor = ({ fields }: Lead): [HTMLElement, string] => {
  const name = fields.firstName;
  const email = fields.primaryEmail;
  const thanks = name ? t('thanksName', '', name as string) : t('thanks');
  const next = email ? t('willWrite', '', email as string) : '';
  const card = h('div.note done', null, icon(CHECK), h('p', { dir: 'auto' }, h('b', null, thanks), next && h('br'), next));
  return [card, `${thanks} ${next}`.trim()];
};
