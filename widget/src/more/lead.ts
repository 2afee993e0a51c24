// Submits forms: one before the first message together with it, one in the conversation by itself.
import type { FormDefinition, Lead, Session } from '../protocol';
import { CUT } from '../wire/failure';
import { createForm, thanksFor } from './form';
import { append } from './log';
import { describePage } from './page';
import { adopt, ask, emit, S, say, t } from './shared';
import { up } from './up';
import { asVisitor } from './visitor';

const sent = ({ fields }: Lead) => {
  emit('lead', { fields: Object.keys(fields) });
  up._dropForm();
  if (up._isReading()) up._focus();
};
export const firstForm = (definition: FormDefinition): HTMLElement =>
  createForm(definition, t('prechatIntro'), async (lead, _, honeypot) => {
    S._rejection = undefined;
    const result = await up._sendTurn(S._held, [], lead, honeypot);
    // Without a rejection there was no response.
    if (!result.ok) throw S._rejection || CUT;
    S._held = '';
    sent(lead);
  });
export const leadForm = (definition: FormDefinition): HTMLElement =>
  createForm(
    definition,
    t('formIntro'),
    async (lead, elapsedMs, hp) => {
      const { session } = await asVisitor((token, challenge) =>
        ask<{ session: Session }>('lead', { agentId: S._options.agentId, token, persist: S._options.persist, ...lead, page: describePage(), elapsedMs, challenge, hp }),
      );
      if (adopt(session)) up._clear();
      const [card, text] = thanksFor(lead);
      append(card);
      say(text);
      sent(lead);
    },
    () => {
      up._dropForm();
      up._focus();
    },
  );
