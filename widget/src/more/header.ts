// The panel's header, the strip below it, and the line at the bottom.
import { fill, h, iconButton, set, show } from '../dom';
import { FRESH } from './icons';
import { agentFace, personFace } from './faces';
import { lowest } from './log';
import { person } from './people';
import { confirmNew } from './question';
import { agentName, pick, S, shutButton, t, toggle } from './shared';
import { soundButton } from './sound';
import { up } from './up';

let header: HTMLElement;
let hint: HTMLElement;
let strip: HTMLElement;

export const createHeader = (): [HTMLElement, HTMLElement, HTMLElement] => {
  header = h('div.head');
  strip = h('p.strip', { hidden: true });
  hint = h('p.hint', { dir: 'auto' });
  return [header, strip, hint];
};
/** A short state of the connection; empty for none. */
export const showStrip = (text: string): void => {
  strip.textContent = text;
  show(strip, text);
};
/** Shows who answers: the agent, or the person who does at the moment. */
export const labelHeader = (composer: HTMLElement): void => {
  const { _config, _options } = S;
  const agent = agentName();
  const human = person();
  const name = human || agent;
  const at = [...header.children].findIndex((one) => one.matches(':focus'));
  const line = human ? agent : pick('subtitle') || t('assistant');
  fill(
    header,
    human ? personFace(human) : agentFace(agent),
    h('div.names', null, h('h2', { id: 'title', dir: 'auto' }, name), h('p', { dir: 'auto' }, h('i.dot'), line)),
    soundButton(() => labelHeader(composer)),
    iconButton(FRESH, t('newChat'), () => (lowest() ? confirmNew(composer) : up._focus())),
    _options.mode != 'inline' && shutButton(t('close'), toggle),
  );
  // The focused control was replaced.
  (header.children[at] as HTMLElement | undefined)?.focus();
  const url = _config.privacyUrl || '';
  fill(
    hint,
    human ? '' : `${_config.disclosure?.trim() || t('disclosure')} `,
    `${_config.footer || ''} `,
    /^https?:/.test(url) && h('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, t('privacy')),
  );
  set(header, 'data-human', human && 'true');
};
