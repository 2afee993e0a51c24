// Times as the visitor writes them: in the widget's language, with the hour cycle of the browser.
import { h } from '../dom';
import { S, t } from './shared';

/** The visitor's own variant of the widget's language: `en-GB` on a page in `en`. */
const variant = (): string => {
  const base = (tag: string) => tag.split('-')[0];
  return navigator.languages.find((tag) => base(tag) == base(S._locale)) || S._locale;
};
const isToday = (date: Date) => date.toDateString() == new Date().toDateString();

/** The time of a message, with the day if that is not today; words for one of this minute. */
export const timeText = (at: string): string => {
  const date = new Date(at);
  if (Math.abs(Date.now() - +date) < 60000) return t('now');
  return date.toLocaleString(variant(), isToday(date) ? { timeStyle: 'short' } : { day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' });
};
export const timeNode = (at: string): HTMLElement => {
  const node = h('time', { datetime: at }, timeText(at));
  node.title = new Date(at).toLocaleString(variant(), { dateStyle: 'long', timeStyle: 'short' });
  return node;
};
