// What a visitor is told who has written too much.
import { set } from '../dom';
import { S, sleep, t, tell } from './shared';

/** No sending for some seconds, counted down in sight; `changed` draws the composer anew. */
export const countDown = async (seconds: number, alert: HTMLElement, changed: () => void): Promise<void> => {
  const own = (S._waiting = {});
  for (; seconds > 0 && S._waiting == own; seconds--) {
    tell(t('wait', seconds));
    changed();
    // Announced once; the numbers that follow are for the eye.
    set(alert, 'aria-live', 'off');
    await sleep(1000);
  }
  set(alert, 'aria-live');
  if (S._waiting != own) return;
  S._waiting = undefined;
  tell('');
  changed();
};
