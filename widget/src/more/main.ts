// The second script: formatted replies, forms, files, feedback, sound. The first one loads it when the panel opens.
import type { Shared } from '../shared';
import { createText, readOut } from './body';
import { solve } from './challenge';
import { takeWhole } from './document';
import { drawDots } from './dots';
import { judge } from './feedback';
import { createFiles, listFiles } from './files';
import { avatar } from './images';
import { goRound } from './keys';
import { firstForm, leadForm } from './lead';
import { countDown } from './limits';
import { handedOff, queued } from './people';
import { askNew } from './question';
import { pick, S, sleep, take } from './shared';
import { beep, soundButton } from './sound';
import { ENGLISH } from './strings';

declare const MORE_STYLE: string;

/** What the first script has drawn without us is drawn anew, and nothing else: a button may just be pressed. */
const arrived = (label: () => void): void => {
  if (S._options.sound || pick('avatar')) label();
  // What the first time of day costs, most of it data of the language, in a task of its own and not with a message.
  void sleep(0).then(() => new Date().toLocaleTimeString(S._locale, { timeStyle: 'short' }));
};
const parts = {
  _arrived: arrived,
  _style: MORE_STYLE,
  _strings: ENGLISH,
  _avatar: avatar,
  _text: createText,
  _readOut: readOut,
  _judge: judge,
  _files: createFiles,
  _listFiles: listFiles,
  _askNew: askNew,
  _firstForm: firstForm,
  _leadForm: leadForm,
  _solve: solve,
  _drawDots: drawDots,
  _takeWhole: takeWhole,
  _goRound: goRound,
  _countDown: countDown,
  _handedOff: handedOff,
  _queued: queued,
  _beep: beep,
  _soundButton: soundButton,
};
export type More = typeof parts;

export const start = (shared: Shared): More => {
  take(shared);
  return parts;
};
