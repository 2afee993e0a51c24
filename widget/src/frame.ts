// The frame of the conversation: launcher, teaser, panel, and their position on the screen.
import { readable, textOn } from '../color';
import { composer } from './composer';
import { fill, h, icon, iconButton, set, show } from '../dom';
import { jump, log, lowest } from './log';
import { CHAT, CROSS, DOWN, FRESH, HELP } from './icons';
import { agentName, emit, on, pick, S, sleep, t } from '../state';
import { shared } from '../shared';
import { load, more, withMore } from '../later';

const RTL = /^(ar|he|fa|ur|yi|ps|sd|ug|dv|ckb|syr)\b/;

let inline: boolean;
let small: MediaQueryList;
let dark: MediaQueryList;
let opened: boolean;
export let unread: number;
// Once a page view, also if the widget is mounted again.
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

// A visitor who is about to open the panel will need it.
const fetchMore = () => void load();
/** Creates the launcher; `startPanel` creates the panel. */
export const startFrame = (): void => {
  opened = inline = S._options.mode == 'inline';
  unread = 0;
  panel = teaser = S._closeQuestion = undefined;
  small = matchMedia('(max-width:479.98px),(max-height:479.98px)');
  dark = matchMedia('(prefers-color-scheme:dark)');
  badge = h('div.badge');
  launcher = h('button.launcher', { 'aria-haspopup': 'dialog', click: shared._toggle, pointerenter: fetchMore, focus: fetchMore });
  frame = h('div', null, !inline && launcher, S._status);
  show(frame, 0);
  on(dark, 'change', labelFrame);
  on(small, 'change', fitPanel);
};
/** Creates the panel around log and composer, which exist by then. */
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
  if (window.visualViewport) on(window.visualViewport, 'resize scroll', fitPanel);
};
const onKey = (event: KeyboardEvent) => {
  const { key } = event;
  if (event.isComposing) return;
  if (key == 'Escape' && (S._closeQuestion || !inline)) {
    event.preventDefault();
    (S._closeQuestion || shared._toggle)(shared._focus);
  }
  if (key == 'Tab' && isSmall()) more?._wrapFocus(panel as HTMLElement, event);
};

export const isOpen = (): boolean => opened;
export const isSmall = (): boolean => !inline && small.matches;
export const isCoarse = (): boolean => matchMedia('(pointer:coarse)').matches;

const fitPanel = () => {
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

/** Renders everything that depends on configuration, options and language. */
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
  // The style sheet has the defaults. In V8, the first conversion of a number to text allocates a table of 64 KiB.
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
      iconButton(FRESH, t('newChat'), () => (lowest() ? withMore((more) => more._confirmNew(composer)) : shared._focus())),
      !inline && iconButton(DOWN, t('close'), shared._toggle),
    );
    // The focused control was replaced.
    (header.children[at] as HTMLElement | undefined)?.focus();
    fill(hint, `${_config.disclosure?.trim() || t('disclosure')} ${_config.footer || ''} `, /^https?:/.test(_config.privacyUrl || '') && h('a', { href: _config.privacyUrl, target: '_blank', rel: 'noopener noreferrer' }, t('privacy')));
    fitPanel();
  }
  update();
};
/** Renders what depends on the panel being open and on unread messages. */
export const update = (): void => {
  if (panel) show(panel, opened);
  show(launcher, !S._options.launcher?.hidden && !(opened && isSmall()));
  fill(launcher, icon(opened ? DOWN : S._options.launcher?.icon == 'help' ? HELP : CHAT), badge);
  set(launcher, 'aria-label', (opened ? t('close') : S._options.launcherLabel || t('open')) + (unread ? ', ' + t('unread', unread) : ''));
  set(launcher, 'aria-expanded', '' + opened);
  badge.textContent = (unread > 99 ? '99+' : unread || '') as string;
};
export const setUnread = (count: number): void => {
  if (count == unread) return;
  unread = count;
  update();
  emit('unread', { count });
};

export const openFrame = (byVisitor: unknown): void => {
  before = document.activeElement as HTMLElement;
  opened = teased = true;
  teaser?.remove();
  fitPanel();
  update();
  if (!byVisitor) return;
  // The focus stays out of the text field, so no on-screen keyboard appears.
  if (isCoarse()) log.focus({ preventScroll: true });
  else shared._focus();
};
export const closeFrame = (): void => {
  const inside = (panel as HTMLElement).matches(':focus-within');
  opened = false;
  S._closeQuestion?.();
  update();
  // Returns the focus to the element that had it before, or else to the launcher.
  if (inside) (before?.isConnected && before.tabIndex >= 0 ? before : launcher).focus({ preventScroll: true });
};
/** Shows the message next to the launcher. */
export const showTeaser = async (): Promise<void> => {
  const { text, delayMs = 4000 } = pick('teaser') || {};
  if (!text || teased || inline) return;
  teased = true;
  await sleep(delayMs);
  if (opened || isSmall()) return;
  teaser = h('div.teaser', null, h('button', { dir: 'auto', click: shared._toggle }, text), iconButton(CROSS, t('cancel'), () => {
    teaser?.remove();
    launcher.focus();
  }));
  frame.prepend(teaser);
};
