// The fields of forms: labels in the visitor's language, examples, and errors.
import type { Field } from '../protocol';
import { t } from './shared';

/** Kind of input, value of `autocomplete`, and an example, by the name or the type of a field. */
interface Look {
  _type: string;
  _complete: string;
  _example?: string;
}
const TYPES: Record<string, string> = { email: 'email', phone: 'tel', url: 'url', number: 'number', date: 'date', boolean: 'checkbox' };
const NAMES: [RegExp, string, string?][] = [
  [/email$/i, 'email', 'name@example.com'],
  [/phone$/i, 'tel'],
  [/^first/, 'given-name'],
  [/^last/, 'family-name'],
  [/^company/, 'organization'],
  [/name$/i, 'name'],
];
export const lookOf = ({ name, type }: Field): Look => {
  const [, _complete = 'off', _example] = NAMES.find(([names]) => names.test(name)) || [];
  return { _type: TYPES[type] || 'text', _complete, _example };
};
/** The owner's words, those of the visitor's language, or what the agent's contact schema says. */
export const labelOf = ({ name, label }: Field): string => {
  const key = 'field.' + name;
  const text = t(key);
  return text == key ? label : text;
};
/** What is wrong with a value; empty if nothing is. */
export const faultOf = ({ name, type, required }: Field, value: string | boolean): string => {
  if (!value) return required ? t(name ? 'required' : 'consent') : '';
  if (type == 'email' && !/^[^@\s]+@[^@\s]+$/.test(value as string)) return t('invalidEmail');
  return '';
};
/** The words for an error of the server, which speaks English. */
export const rejectionOf = ({ name, type }: Field, code: string): string => {
  if (!name) return t(code == 'required' ? 'consent' : 'invalid');
  if (code == 'required') return t('required');
  return t(type == 'email' || /email$/i.test(name) ? 'invalidEmail' : type == 'phone' || /phone$/i.test(name) ? 'invalidPhone' : 'invalid');
};
