// Submits forms: one before the first message together with it, one in the conversation by itself.
import type { FormDefinition, Lead, Session } from '../protocol';
import { CUT } from '../wire/failure';
import { createForm } from './form';
import { adopt, announce, ask, clear, describePage, dropForm, emit, focus, isReading, S, sendTurn, t } from './shared';
import { asVisitor } from './visitor';

const sent = ({ fields }: Lead) => {
  emit('lead', { fields: Object.keys(fields) });
  dropForm();
  if (isReading()) focus();
};
export const firstForm = (definition: FormDefinition): HTMLElement =>
  createForm(definition, async (lead, _, honeypot) => {
    S._rejection = undefined;
    const result = await sendTurn(S._held, [], lead, honeypot);
    // Without a rejection there was no response.
    if (!result.ok) throw S._rejection || CUT;
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
