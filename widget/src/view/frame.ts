// The frame around the conversation: launcher, teaser, panel, and where they are on the screen.
import { focus, toggle, unreadCount } from '../chat';
import { readable, textOn } from '../color';
import { fill, h, icon, iconButton, set, show } from '../dom';
import { load, more, withMore } from '../later';
import { agentName, on, pick, S, sleep, t } from '../state';
import { composer } from './composer';
import { CHAT, CROSS, DOWN, FRESH, HELP } from './icons';
import { jump, log, lowest } from './log';

const RTL = /^(ar|he|fa|ur|yi|ps|sd|ug|dv|ckb|syr)\b/;

let inline: boolean;
let small: MediaQueryList;
let dark: MediaQueryList;
let opened: boolean;
// Once in a page view, whatever is mounted.
let teased = false;
let before: HTMLElement | null;
let badge: HTMLElement;
let launcher: HTMLElement;
let teaser: HTMLElement | undefined;
let header: HTMLElement;
let hint: HTMLElement;
let panel: HTMLElement | undefined;
/** Everything inside the shadow root. */
export let frame: HTMLElement;

// Who is about to open the panel will need it.
const fetchMore = () => void load();
/** The launcher; the panel comes with `startPanel`. */
export const startFrame = (): void => {
  opened = inline = S._options.mode == 'inline';
  panel = teaser = S._answer = undefined;
  small = matchMedia('(max-width:479.98px),(max-height:479.98px)');
  dark = matchMedia('(prefers-color-scheme:dark)');
  badge = h('div.badge');
  launcher = h('button.launcher', { 'aria-haspopup': 'dialog', click: toggle, pointerenter: fetchMore, focus: fetchMore });
  frame = h('div', null, !inline && launcher, S._status);
  show(frame, 0);
  on(dark, 'change', labelFrame);
  on(small, 'change', place);
};
/** The panel around log and composer, which are there. */
export const startPanel = (): void => {
  header = h('header');
  hint = h('p.hint', { dir: 'auto' });
  panel = h(
    'div.panel',
    { role: inline ? 'region' : 'dialog', 'aria-labelledby': 'title', keydown: onKey },
    header,
    h('div.middle', null, log, jump),
    composer,
    hint,
  );
  frame.prepend(panel);
  if (window.visualViewport) on(window.visualViewport, 'resize scroll', place);
};
const onKey = (event: KeyboardEvent) => {
  const { key } = event;
  if (event.isComposing) return;
  if (key == 'Escape' && (S._answer || !inline)) {
    event.preventDefault();
    (S._answer || toggle)(focus);
  }
  if (key == 'Tab' && isSmall()) more?._goRound(panel as HTMLElement, event);
};

export const isOpen = (): boolean => opened;
export const isSmall = (): boolean => !inline && small.matches;
export const isCoarse = (): boolean => matchMedia('(pointer:coarse)').matches;

const place = () => {
  const view = window.visualViewport;
  if (!panel) return;
  frame.classList.toggle('small', isSmall());
  set(panel, 'aria-modal', isSmall() && 'true');
  panel.style.cssText = '';
  if (view && isSmall()) {
    for (const [name, value] of [['top', view.offsetTop], ['left', view.offsetLeft], ['width', view.width], ['height', view.height]] as const)
      panel.style[name] = value + 'px';
  }
};

/** Draws everything that follows from configuration, options and state. */
export const labelFrame = (): void => {
  const { _config, _options, _locale } = S;
  const theme = pick('theme');
  const isDark = theme == 'dark' || (theme != 'light' && dark.matches);
  const color = pick('color') || '#3b5bdb';
  const dir = /l/.test(_options.dir || '') ? (_options.dir as string) : RTL.test(_locale) ? 'rtl' : 'ltr';
  const position = pick('position') || (dir == 'rtl' ? 'bottom-left' : '');
  const vars = {
    a: color,
    o: textOn(color),
    l: readable(color, isDark),
    z: _options.zIndex,
    ..._options.offset,
    r: _options.radius,
    f: _options.fontFamily,
  };
  // The style sheet has the defaults. No number becomes a text without need: the first one costs a table of 64 KiB in V8.
  for (const name in vars) if (vars[name as 'a'] != null) frame.style.setProperty('--' + name, vars[name as 'a']);
  frame.dir = dir;
  frame.lang = _locale;
  frame.className = 'w' + (inline ? ' inline' : '') + (isDark ? ' dark' : '') + (position == 'bottom-left' ? ' left' : '');
  if (panel) {
    const name = agentName();
    const at = [...header.children].findIndex((one) => one.matches(':focus'));
    fill(header, 
      h('div.face', { 'aria-hidden': 'true' }, more?._avatar(pick('avatar')) || [...name][0]),
      h('div.names', null, h('h2', { id: 'title', dir: 'auto' }, name), h('p', { dir: 'auto' }, pick('subtitle'))),
      more?._soundButton(labelFrame),
      iconButton(FRESH, t('newChat'), () => (lowest() ? withMore((more) => more._askNew(composer)) : focus())),
      !inline && iconButton(DOWN, t('close'), toggle),
    );
    // What had the focus is another element now.
    (header.children[at] as HTMLElement | undefined)?.focus();
    fill(hint, `${_config.disclosure?.trim() || t('disclosure')} ${_config.footer || ''} `, /^https?:/.test(_config.privacyUrl || '') && h('a', { href: _config.privacyUrl, target: '_blank', rel: 'noopener noreferrer' }, t('privacy')));
    place();
  }
  update();
};
/** What opening, closing and unread messages change. */
export const update = (): void => {
  const unread = unreadCount();
  if (panel) show(panel, opened);
  show(launcher, !S._options.launcher?.hidden && !(opened && isSmall()));
  fill(launcher, icon(opened ? DOWN : S._options.launcher?.icon == 'help' ? HELP : CHAT), badge);
  set(launcher, 'aria-label', (opened ? t('close') : S._options.launcherLabel || t('open')) + (unread ? ', ' + t('unread', unread) : ''));
  set(launcher, 'aria-expanded', '' + opened);
  badge.textContent = (unread > 99 ? '99+' : unread || '') as string;
};

export const openFrame = (byVisitor: unknown): void => {
  before = document.activeElement as HTMLElement;
  opened = teased = true;
  teaser?.remove();
  place();
  update();
  if (!byVisitor) return;
  // No screen keyboard jumps up by itself.
  if (isCoarse()) log.focus({ preventScroll: true });
  else focus();
};
export const closeFrame = (): void => {
  const inside = (panel as HTMLElement).matches(':focus-within');
  opened = false;
  S._answer?.();
  update();
  // Back to where it was; from nowhere to the launcher.
  if (inside) (before?.isConnected && before.tabIndex >= 0 ? before : launcher).focus({ preventScroll: true });
};
/** The message beside the launcher. */
export const tease = async (): Promise<void> => {
  const { text, delayMs = 4000 } = pick('teaser') || {};
  if (!text || teased || inline) return;
  teased = true;
  await sleep(delayMs);
  if (opened || isSmall()) return;
  teaser = h('div.teaser', null, h('button', { dir: 'auto', click: toggle }, text), iconButton(CROSS, t('cancel'), () => {
    teaser?.remove();
    launcher.focus();
  }));
  frame.prepend(teaser);
};
