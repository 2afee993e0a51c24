// Persons who reply instead of the AI: who is there, when they came and left, and whether one is awaited.
import type { PersonChange } from '../protocol';
import { h } from '../dom';
import { setNotes } from './log';
import { emit, isOpen, S, say, t } from './shared';

let changes: PersonChange[];
let shown: string;
let isKnown: boolean;

export const startPeople = (): void => {
  changes = [];
  shown = '';
  isKnown = false;
};
/** The name of the person who answers; undefined while the agent does or nobody has come yet. */
export const person = (): string | undefined => {
  const last = changes[changes.length - 1];
  return S._human && last?.change == 'joined' ? last.name || t('human') : undefined;
};
const textOf = ({ change, name }: PersonChange) =>
  change == 'closed' ? t('ended') : t(change == 'joined' ? 'handoff' : 'left', '', name || t('human'));
const divider = (text: string, style = '') => h(`div.part ${style}`, null, h('span', { dir: 'auto' }, text));

/** Shows who came and went, and that a person is awaited; true if that has changed. */
export const showPeople = (given: PersonChange[] = changes): boolean => {
  const isAwaited = S._human && given[given.length - 1]?.change != 'joined';
  const key = JSON.stringify([given, S._human, S._locale]);
  if (key == shown) return false;
  const fresh = given.slice(changes.length);
  changes = given;
  shown = key;
  const awaited = isAwaited ? [{ _after: 1 / 0, _element: divider(t('queued'), 'wait') }] : [];
  setNotes([...given.map((one) => ({ _after: one.after, _element: divider(textOf(one)) })), ...awaited]);
  // What was there when the page was loaded is no news.
  if (isKnown)
    for (const one of fresh) {
      if (isOpen()) say(textOf(one));
      if (one.change == 'joined') emit('handoff', { name: one.name });
    }
  if (isAwaited && isOpen()) say(t('queued'));
  return true;
};
/** From now on changes are news. */
export const peopleKnown = (): void => {
  isKnown = true;
};
