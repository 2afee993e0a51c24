// The confirmation before a conversation ends and a new one starts.
import { h } from '../dom';
import { S, t } from './shared';
import { up } from './up';

/** Shows the question between log and composer; a choice or closing the panel removes it. */
export const confirmNew = (composer: HTMLElement): void => {
  if (S._closeQuestion) return;
  const go = h('button.go', {
    click: () =>
      S._closeQuestion?.(() => {
        up._focus();
        up._renew();
      }),
  }, t('newChat'));
  const question = h(
    'div.ask',
    { role: 'alertdialog', 'aria-labelledby': 'ask' },
    h('p', { id: 'ask' }, t('askNew')),
    h('div.acts', null, h('button', { click: () => S._closeQuestion?.(up._focus) }, t('cancel')), go),
  );
  S._closeQuestion = (then) => {
    S._closeQuestion = undefined;
    question.remove();
    then?.();
  };
  composer.before(question);
  go.focus();
};
