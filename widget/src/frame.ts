// The frame of the conversation: launcher, cards next to it, the panel's shell, and their position on the screen. The second
// script fills the panel.
import { readable, shade, textOn } from './color';
import { type Child, fill, h, icon, iconButton, set, show } from './dom';
import { CHAT, CROSS, DOWN, HELP } from './icons';
import { avatar } from './images';
import { load, more, withMore } from './later';
import { agentName, emit, on, pick, S, sleep, t } from './state';
import { isPageDark } from './theme';

const RTL = /^(ar|he|fa|ur|yi|ps|sd|ug|dv|ckb|syr)\b/;

let inline: boolean;
let small: MediaQueryList;
let dark: MediaQueryList;
let opened: boolean;
let toggle: (byVisitor: unknown) => void;
let send: (text: string) => void;
export let unread: number;
// Once a page view, also if the widget is mounted again.
let teased = false;
let before: HTMLElement | null;
let badge: HTMLElement;
let launcher: HTMLElement;
let card: HTMLElement | undefined;
/** Everything inside the shadow root. */
export let frame: HTMLElement;

// A visitor who is about to open the panel will need it.
const fetchMore = () => void load();
/** Creates the launcher. */
export const startFrame = (toggleChat: typeof toggle, sendText: typeof send): void => {
  toggle = toggleChat;
  send = sendText;
  opened = inline = S._options.mode == 'inline';
  unread = 0;
  card = S._panel = S._closeQuestion = undefined;
  small = matchMedia('(max-width:479.98px),(max-height:479.98px)');
  dark = matchMedia('(prefers-color-scheme:dark)');
  badge = h('div.badge');
  launcher = h('button.launcher', { 'aria-haspopup': 'dialog', click: toggle, pointerenter: fetchMore, focus: fetchMore });
  frame = h('div', null, !inline && launcher, S._status);
  show(frame, 0);
  on(dark, 'change', labelFrame);
  on(small, 'change', labelFrame);
};
/** Closes the panel on a small display; on a larger one the launcher does. */
export const shutButton = (text: string, click: typeof toggle): HTMLElement => {
  const button = iconButton(CROSS, text, click);
  button.className = 'i shut';
  return button;
};
/** Creates the panel's shell: a text field to write in at once, and lines that stand for what is to come. */
export const startPanel = (): HTMLElement => {
  if (S._panel) return S._panel;
  S._input = h('textarea', {
    rows: '1',
    dir: 'auto',
    enterkeyhint: 'send',
    keydown: (event: KeyboardEvent) => {
      if (event.key != 'Enter' || event.shiftKey || event.isComposing || event.keyCode == 229) return;
      event.preventDefault();
      withMore((more) => more._enter());
    },
  });
  S._input.placeholder = t('write');
  set(S._input, 'aria-label', t('write'));
  const panel = (S._panel = h(
    'div.panel',
    { role: inline ? 'region' : 'dialog', 'aria-label': agentName(), tabindex: '-1', keydown: onKey },
    h('div.head', null, h('div.face', { 'aria-hidden': 'true' }, [...agentName()][0]), h('b', { dir: 'auto' }, agentName()), !inline && shutButton(t('close'), toggle)),
    h('div.bones', { role: 'img', 'aria-label': t('loading') }, h('i'), h('i'), h('i')),
    !(S._config.prechat && S._options.prechat != 'off') && h('div.composer', null, h('div.write', null, S._input)),
  ));
  // Shortcuts of the page are not for what is typed here.
  for (const name of ['keydown', 'keypress', 'keyup', 'beforeinput', 'input', 'paste', 'cut', 'copy']) panel.addEventListener(name, (event) => event.stopPropagation());
  show(panel, opened);
  frame.prepend(panel);
  return panel;
};
const onKey = (event: KeyboardEvent) => {
  if (event.isComposing) return;
  if (event.key == 'Escape' && (S._closeQuestion || !inline)) {
    event.preventDefault();
    S._closeQuestion ? S._closeQuestion(() => more?._focus()) : toggle(1);
  }
  more?._keyDown(event);
};
/** The second script could not be loaded: the shell says so. */
export const frameFailed = (): void => {
  const body = S._panel?.querySelector('.bones');
  if (!body) return;
  const retry = () => {
    fill(body, h('i'), h('i'), h('i'));
    S._panel?.focus();
    void load(true);
  };
  set(body, 'role', 'alert');
  fill(body, h('p', null, t('failed')), h('button.go', { click: retry }, t('retry')));
};

export const isOpen = (): boolean => opened;
export const isSmall = (): boolean => !inline && small.matches;

/** Renders everything that depends on configuration, options and language. */
export const labelFrame = (): void => {
  const { _options, _locale } = S;
  const theme = pick('theme');
  const isDark = theme == 'dark' || (theme != 'light' && isPageDark(dark.matches));
  const color = pick('color') || '#3b5bdb';
  const dir = /l/.test(_options.dir || '') ? (_options.dir as string) : RTL.test(_locale) ? 'rtl' : 'ltr';
  const position = pick('position') || (dir == 'rtl' ? 'bottom-left' : '');
  const font = _options.fontFamily;
  const vars = {
    a: color,
    o: textOn(color),
    k: shade(color),
    l: readable(color, isDark),
    z: _options.zIndex,
    ..._options.offset,
    r: _options.radius,
    f: font == 'inherit' ? getComputedStyle(document.body).fontFamily : font,
  };
  // The style sheet has the defaults. In V8, the first conversion of a number to text allocates a table of 64 KiB.
  for (const name in vars) if (vars[name as 'a'] != null) frame.style.setProperty('--' + name, vars[name as 'a']);
  frame.dir = dir;
  frame.lang = _locale;
  frame.className = 'w' + (inline ? ' inline' : '') + (isDark ? ' dark' : '') + (position == 'bottom-left' ? ' left' : '') + (isSmall() ? ' small' : '');
  more?._label();
  update();
};
/** Renders what depends on the panel being open and on unread messages. */
export const update = (): void => {
  const { launcher: look } = S._options;
  if (S._panel) show(S._panel, opened);
  show(launcher, !look?.hidden && !(opened && isSmall()));
  fill(launcher, opened ? icon(DOWN) : (look?.icon == 'avatar' && avatar(pick('avatar'))) || icon(look?.icon == 'help' ? HELP : CHAT), badge);
  set(launcher, 'aria-label', (opened ? t('close') : S._options.launcherLabel || t('open')) + (unread ? ', ' + t('unread', unread) : ''));
  set(launcher, 'aria-expanded', '' + opened);
  badge.textContent = (unread > 99 ? '99+' : unread || '') as string;
};
export const setUnread = (count: number): void => {
  if (count == unread) return;
  unread = count;
  if (!count) card?.remove();
  update();
  emit('unread', { count });
};

export const openFrame = (byVisitor: unknown): void => {
  before = document.activeElement as HTMLElement;
  opened = teased = true;
  card?.remove();
  // The page may have changed its theme.
  labelFrame();
  // The text field waits for the second script, unless a screen keyboard would jump up.
  if (byVisitor) (matchMedia('(pointer:coarse)').matches || !S._input.isConnected ? (S._panel as HTMLElement) : S._input).focus({ preventScroll: true });
};
export const closeFrame = (): void => {
  const inside = (S._panel as HTMLElement).matches(':focus-within');
  opened = false;
  S._closeQuestion?.();
  update();
  // Returns the focus to the element that had it before, or else to the launcher.
  if (inside) (before?.isConnected && before.tabIndex >= 0 ? before : launcher).focus({ preventScroll: true });
};
/** A card next to the launcher: the teaser, or an unread message. */
const showCard = (who: string, text: string, items: string[] = []) => {
  card?.remove();
  if (opened || isSmall() || inline) return;
  const part = (...children: Child[]) => h('button.say', { dir: 'auto', click: toggle }, ...children);
  card = h(
    'div.teaser',
    null,
    h('div.face', { 'aria-hidden': 'true' }, avatar(pick('avatar')) || [...(who || agentName())][0]),
    part(h('b', null, who), text),
    iconButton(CROSS, t('cancel'), () => {
      card?.remove();
      launcher.focus();
    }),
    items[0] &&
      h('div.chips', null, ...items.slice(0, 3).map((item) => h('button', { dir: 'auto', click: () => {
        toggle(1);
        send(item);
      } }, item))),
  );
  frame.prepend(card);
};
export const preview = (who: string, text: string): void => showCard(who, [...text].slice(0, 120).join(''));
/** Shows the teaser once. */
export const showTeaser = async (): Promise<void> => {
  const { text, delayMs = 4000 } = pick('teaser') || {};
  if (!text || teased || inline) return;
  teased = true;
  await sleep(delayMs);
  if (!unread) showCard('', text, pick('suggestions'));
};
