// The tone for unseen replies, and its switch in the header.
import { iconButton, set } from '../dom';
import { MUTE, SOUND } from './icons';
import { S, t } from './shared';

let loud = true;

export const beep = (): void => {
  if (!loud || !S._options.sound) return;
  try {
    const audio = new AudioContext();
    const tone = audio.createOscillator();
    tone.connect(audio.destination);
    tone.onended = () => audio.close();
    tone.start();
    tone.stop(audio.currentTime + 0.1);
  } catch {
    // Audio is not available.
  }
};
/** The switch, if the page enables sound; `changed` renders it again. */
export const soundButton = (changed: () => void): HTMLElement | undefined => {
  if (!S._options.sound) return;
  const button = iconButton(loud ? SOUND : MUTE, t('sound'), () => {
    loud = !loud;
    changed();
  });
  set(button, 'aria-pressed', '' + loud);
  return button;
};
