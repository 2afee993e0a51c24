// The countdown of the rate limit.
import { set } from '../dom';
import { S, showAlert, sleep, t } from './shared';

/** Blocks sending for `seconds` and shows a countdown; `changed` updates the composer. */
export const countDown = async (seconds: number, alert: HTMLElement, changed: () => void): Promise<void> => {
  const own = (S._waiting = {});
  for (; seconds > 0 && S._waiting == own; seconds--) {
    showAlert(t('wait', seconds));
    changed();
    // Screen readers announce the first number only.
    set(alert, 'aria-live', 'off');
    await sleep(1000);
  }
  set(alert, 'aria-live');
  if (S._waiting != own) return;
  S._waiting = undefined;
  showAlert('');
  changed();
};
