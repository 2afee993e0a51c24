// People who reply in place of the AI.
import { announce, emit, t } from './shared';

export const handedOff = (name: string | null): void => {
  announce(t('handoff', '', name || t('human')));
  emit('handoff', { name });
};
/** Nobody answers at once. */
export const queued = (): void => announce(t('queued'));
