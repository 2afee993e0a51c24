// The text of the one polite live region.
import { signal } from '@preact/signals';

export const spoken = signal('');
/** Says a text to screen readers. */
export const announce = (text: string): void => {
  spoken.value = '';
  setTimeout(() => (spoken.value = text), 50);
};
