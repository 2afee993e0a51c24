// Human agents who reply instead of the AI.
import type { EventMap } from '../public';
import { announce, t } from './shared';

export const handedOff = ({ name }: EventMap['handoff']): void => announce(t('handoff', '', name || t('human')));
/** No human agent is available yet. */
export const queued = (): void => announce(t('queued'));
