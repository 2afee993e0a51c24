// People who reply in place of the AI.
import type { EventMap } from '../public';
import { announce, t } from './shared';

export const handedOff = ({ name }: EventMap['handoff']): void => announce(t('handoff', '', name || t('human')));
/** Nobody answers at once. */
export const queued = (): void => announce(t('queued'));
