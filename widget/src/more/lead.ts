// What becomes of a form: before the first message it goes out with that, inside the conversation by itself.
import type { FormDefinition, Session } from '../state';
import type { Lead } from '../wire/call';
import { createForm } from './form';
import { adopt, announce, ask, asFailure, clear, describePage, dropForm, emit, focus, isReading, S, sendTurn, t } from './shared';
import { asVisitor } from './visitor';

const sent = ({ fields }: Lead) => {
  emit('lead', { fields: Object.keys(fields) });
  dropForm();
  if (isReading()) focus();
};
export const firstForm = (definition: FormDefinition): HTMLElement =>
  createForm(definition, async (lead, _, trap) => {
    S._refusal = undefined;
    const result = await sendTurn(S._held, [], lead, trap);
    // Without a refusal there was no answer.
    if (!result.ok) throw S._refusal || asFailure({});
    S._held = '';
    sent(lead);
  });
export const leadForm = (definition: FormDefinition): HTMLElement =>
  createForm(
    definition,
    async (lead, elapsedMs, hp) => {
      const { session } = await asVisitor((token, challenge) =>
        ask<{ session: Session }>('lead', { agentId: S._options.agentId, token, persist: S._options.persist, ...lead, page: describePage(), elapsedMs, challenge, hp }),
      );
      if (adopt(session)) clear();
      announce(t('thanks'));
      sent(lead);
    },
    () => {
      dropForm();
      focus();
    },
  );
