// Texts in the operator's language. The English text is the key. The file `texts` has the keys of all languages once, and
// the file of a language their translations in the same order.
import { signal } from '@preact/signals';
import { load, stored, translated } from './base';

type Entry = string | Record<string, string>;
const texts = signal<Record<string, Entry>>({});
/** The language of the interface, a BCP 47 tag. */
export const locale = signal('en');
const RTL = /^(ar|he)\b/;
/** The languages, by their own names. */
const LANGUAGES: Record<string, string> = {
  en: 'English', ar: 'العربية', de: 'Deutsch', es: 'Español', fr: 'Français', he: 'עברית', it: 'Italiano', ja: '日本語',
  nl: 'Nederlands', pl: 'Polski', 'pt-BR': 'Português (Brasil)', tr: 'Türkçe', 'zh-Hans': '简体中文',
};

/** The languages that can be chosen: tag and name. */
export const languages = (): [string, string][] => Object.entries(LANGUAGES).filter(([tag]) => tag == 'en' || translated.includes(tag));

const fill = (text: string, values?: Record<string, unknown>) =>
  values ? text.replace(/\{(\w+)\}/g, (all, name: string) => (name in values ? String(values[name]) : all)) : text;

/** A text, with `{name}` replaced by values. */
export const t = (text: string, values?: Record<string, unknown>): string => {
  const found = texts.value[text];
  return fill(typeof found == 'string' ? found : text, values);
};
let plurals = new Intl.PluralRules('en');
/** A text that depends on a number, which is `{n}`. The English plural is the key. */
export const tn = (n: number, one: string, other: string, values?: Record<string, unknown>): string => {
  const found = texts.value[other];
  const rule = plurals.select(n);
  const text = typeof found == 'object' ? (found[rule] ?? found['other'] ?? other) : typeof found == 'string' ? found : n == 1 ? one : other;
  return fill(text, { n: number(n), ...values });
};

const translations = async (tag: string): Promise<Record<string, Entry>> => {
  const [keys, values] = await Promise.all([load<{ default: string[] }>('texts'), load<{ default: Entry[] }>('locale-' + tag)]);
  return Object.fromEntries(keys.default.map((key, n) => [key, values.default[n]!]));
};

/** Chooses the language; without one, the browser's first that is translated. */
export const setLocale = async (wanted: string | null): Promise<void> => {
  const known = ['en', ...translated];
  const fit = (tag: string) => known.find((one) => one == tag) ?? known.find((one) => one.split('-')[0] == tag.split('-')[0]);
  const chosen = (wanted && fit(wanted)) || (wanted ? undefined : navigator.languages.map(fit).find(Boolean)) || 'en';
  try {
    texts.value = chosen == 'en' ? {} : await translations(chosen);
    locale.value = chosen;
  } catch {
    texts.value = {};
    locale.value = 'en';
  }
  plurals = new Intl.PluralRules(locale.value);
  formats.clear();
  document.documentElement.lang = locale.value;
  document.documentElement.dir = RTL.test(locale.value) ? 'rtl' : 'ltr';
  if (wanted) stored.write('local', 'locale', locale.value);
};

const formats = new Map<string, { format(value: number | Date): string }>();
const cached = (key: string, make: () => { format(value: number | Date): string }) => {
  let found = formats.get(key);
  if (!found) formats.set(key, (found = make()));
  return found;
};

/** A number with the separators of the language. */
export const number = (value: number): string => cached('n', () => new Intl.NumberFormat(locale.value) as never).format(value);
/** A share as a percentage. */
export const percent = (value: number): string =>
  cached('%', () => new Intl.NumberFormat(locale.value, { style: 'percent', maximumFractionDigits: 0 }) as never).format(value);
/** A number of bytes in the largest fitting unit. */
export const bytes = (value: number): string => {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
  const at = Math.min(3, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return cached('b' + at, () => new Intl.NumberFormat(locale.value, { style: 'unit', unit: units[at], unitDisplay: 'short', maximumFractionDigits: 1 }) as never).format(value / 1000 ** at);
};
/** A day, in short. */
export const day = (at: string): string => date(at, { dateStyle: 'medium' });
/** A time of day. */
export const time = (at: string): string => date(at, { timeStyle: 'short' });
/** A day and a time in full. */
export const moment = (at: string): string => date(at, { dateStyle: 'medium', timeStyle: 'short' });
const date = (at: string, style: Intl.DateTimeFormatOptions) => {
  const value = new Date(at);
  if (Number.isNaN(value.valueOf())) return at;
  return cached(JSON.stringify(style), () => new Intl.DateTimeFormat(locale.value, style) as never).format(value);
};
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]];
/** How long ago, or how far ahead, in short: `2 min. ago`; beyond 30 days the date. */
export const ago = (at: string, now = Date.now()): string => {
  const seconds = Math.round((new Date(at).valueOf() - now) / 1000);
  if (Math.abs(seconds) < 5) return t('now');
  if (Math.abs(seconds) > 30 * 86400) return day(at);
  const [unit, size] = STEPS.find(([, each]) => Math.abs(seconds) >= each) ?? STEPS[3]!;
  // The narrow form is a bare `-3 h` in French, and has the unit of length `2 m` in German.
  return new Intl.RelativeTimeFormat(locale.value, { style: locale.value == 'en' ? 'narrow' : 'short', numeric: 'auto' }).format(Math.trunc(seconds / size), unit);
};
/** How long something lasts since a time, in short: `2 min`. */
export const since = (at: string, now = Date.now()): string => {
  const seconds = Math.max(0, Math.round((now - new Date(at).valueOf()) / 1000));
  const [unit, size] = STEPS.find(([, each]) => seconds >= each) ?? STEPS[3]!;
  return cached('s' + unit, () => new Intl.NumberFormat(locale.value, { style: 'unit', unit, unitDisplay: 'short' }) as never).format(Math.trunc(seconds / size));
};
/** Names joined as the language does. */
export const list = (names: readonly string[]): string => new Intl.ListFormat(locale.value, { type: 'conjunction' }).format(names);
const IDEOGRAPHIC = /^(ja|zh)\b/;
/** Sentences one after the other: Japanese and Chinese put no space between them. */
export const sentences = (...all: (string | false | 0 | null | undefined)[]): string => all.filter(Boolean).join(IDEOGRAPHIC.test(locale.value) ? '' : ' ');
/** Characters of languages that write words without spaces. */
const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
/** A person's name in the order of the language. A name in Latin letters keeps its own. */
export const fullName = (first: string | null | undefined, last: string | null | undefined): string => {
  const isFamilyFirst = IDEOGRAPHIC.test(locale.value) && SPACELESS.test(last ?? '');
  return (isFamilyFirst ? [last, first] : [first, last]).filter(Boolean).join(isFamilyFirst && locale.value.startsWith('zh') ? '' : ' ');
};
/** A text as searches compare it. A Turkish i matches with and without its dot, because names of keys are English too. */
export const folded = (text: string): string => text.toLocaleLowerCase(locale.value).replaceAll('ı', 'i');
/** Whether a text has what is searched for, in any case. */
export const holds = (text: string, search: string): boolean => folded(text).includes(folded(search));
/** How well a label fits: every word of the search begins a word of it, or stands anywhere in a word without spaces. */
export const fits = (label: string, search: string): boolean => {
  const words = folded(label).split(/[\s·:,-]+/);
  return folded(search).split(/\s+/).every((part) => words.some((word) => word.startsWith(part) || (SPACELESS.test(word) && word.includes(part))));
};
