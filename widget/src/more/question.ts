// The question before a conversation is ended for a new one.
import { h } from '../dom';
import { focus, renew, S, t } from './shared';

/** Asks below the log, in front of the composer; the answer, or closing the panel, takes it away. */
export const askNew = (composer: HTMLElement): void => {
  if (S._answer) return;
  const go = h('button.go', {
    click: () =>
      S._answer?.(() => {
        focus();
        renew();
      }),
  }, t('newChat'));
  const question = h(
    'div.ask',
    { role: 'alertdialog', 'aria-labelledby': 'ask' },
    h('p', { id: 'ask' }, t('askNew')),
    h('div.acts', null, h('button', { click: () => S._answer?.(focus) }, t('cancel')), go),
  );
  S._answer = (then) => {
    S._answer = undefined;
    question.remove();
    then?.();
  };
  composer.before(question);
  go.focus();
};
