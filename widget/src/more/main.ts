// The second script: formatted replies, forms, files, feedback, sound. The first script loads it when the panel opens.
import type { More, Shared } from '../shared';
import { createText, readOut } from './body';
import { solve } from './challenge';
import { takeDocument } from './document';
import { showDots } from './dots';
import { addFeedback } from './feedback';
import { createFiles, listFiles } from './files';
import { avatar } from './images';
import { wrapFocus } from './keys';
import { firstForm, leadForm } from './lead';
import { countDown } from './limits';
import { handedOff, queued } from './people';
import { confirmNew } from './question';
import { S, sleep, take } from './shared';
import { beep, soundButton } from './sound';
import { ENGLISH } from './strings';

declare const MORE_STYLE: string;

/** Renders again only what the first script could not show: a button may be pressed at this moment. */
const arrived = (label: () => void): void => {
  if (S._options.sound || (S._options.avatar ?? S._config.avatar)) label();
  // The first formatted time loads the language's data. That runs in a separate task, not with a message.
  void sleep(0).then(() => new Date().toLocaleTimeString(S._locale, { timeStyle: 'short' }));
};
const parts: More = {
  _arrived: arrived,
  _style: MORE_STYLE,
  _strings: ENGLISH,
  _avatar: avatar,
  _text: createText,
  _readOut: readOut,
  _addFeedback: addFeedback,
  _files: createFiles,
  _listFiles: listFiles,
  _confirmNew: confirmNew,
  _firstForm: firstForm,
  _leadForm: leadForm,
  _solve: solve,
  _showDots: showDots,
  _takeDocument: takeDocument,
  _wrapFocus: wrapFocus,
  _countDown: countDown,
  _handedOff: handedOff,
  _queued: queued,
  _beep: beep,
  _soundButton: soundButton,
};

export const start = (shared: Shared): More => {
  take(shared);
  return parts;
};
