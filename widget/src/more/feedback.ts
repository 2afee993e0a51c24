// The two feedback buttons below a reply.
import { iconButton, set } from '../dom';
import type { Message } from '../protocol';
import { UP } from './icons';
import { ask, emit, S, t, V } from './shared';

export const addFeedback = (foot: HTMLElement, { id, feedback: value }: Message): void => {
  if (!S._config.feedback || S._options.feedback === false) return;
  const buttons = [1, -1].map((mark) => {
    const button = iconButton(UP, t(mark > 0 ? 'up' : 'down'), async () => {
      const before = value;
      value = (value == mark ? 0 : mark) as 0;
      draw();
      try {
        const sent = value;
        await ask('feedback', { token: V.token, message: id, value, comment: null });
        emit('feedback', { message: id, value: sent });
      } catch {
        value = before;
        draw();
      }
    });
    if (mark < 0) button.className += ' down';
    return button;
  });
  const draw = () => buttons.forEach((button, i) => set(button, 'aria-pressed', '' + (value == 1 - 2 * i)));
  draw();
  foot.append(...buttons);
};
