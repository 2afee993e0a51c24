// The frame around the conversation: launcher, teaser, panel, and where they are on the screen.
import { focus, renew, toggle } from '../chat';
import { readable, textOn } from '../color';
import { fill, h, icon, iconButton, set, show } from '../dom';
import { agentName, on, pick, S, sleep, t } from '../state';
import { safeUrl } from '../text/spans';
import { isImageAllowed, link } from './body';
import { composer } from './composer';
import { CHAT, CROSS, DOWN, FRESH, HELP, MUTE, SOUND } from './icons';
import { jump, log, lowest } from './log';

const RTL = /^(ar|he|fa|ur|yi|ps|sd|ug|dv|ckb|syr)\b/;

let inline: boolean;
let small: MediaQueryList;
let dark: MediaQueryList;
let opened: boolean;
let unread: number;
// Once in a page view, whatever is mounted.
let teased = false;
let loud: boolean;
/** The classes of the frame, but for the one of small displays. */
let look: string;
let before: HTMLElement | null;
let badge: HTMLElement;
let launcher: HTMLElement;
let teaser: HTMLElement | undefined;
let header: HTMLElement;
let asking: HTMLElement;
let hint: HTMLElement;
let panel: HTMLElement | undefined;
/** Everything inside the shadow root. */
export let frame: HTMLElement;

/** The launcher; the panel comes with `startPanel`. */
export const startFrame = (): void => {
  opened = inline = S._options.mode == 'inline';
  unread = 0;
  loud = true;
  panel = teaser = undefined;
  small = matchMedia('(max-width:479.98px),(max-height:479.98px)');
  dark = matchMedia('(prefers-color-scheme:dark)');
  badge = h('div.badge', { 'aria-hidden': 'true' });
  launcher = h('button.launcher', { 'aria-haspopup': 'dialog', click: toggle });
  frame = h('div', null, !inline && launcher, S._status);
  show(frame, 0);
  on(dark, 'change', labelFrame);
  on(small, 'change', place);
};
/** The panel around log and composer, which are there. */
export const startPanel = (): void => {
  header = h('header');
  asking = h('div.ask', { role: 'alertdialog', 'aria-labelledby': 'ask', hidden: true });
  hint = h('p.hint', { dir: 'auto' });
  panel = h(
    'div.panel',
    { role: inline ? 'region' : 'dialog', 'aria-labelledby': 'title', keydown: onKey },
    header,
    h('div.middle', null, log, jump),
    asking,
    composer,
    hint,
  );
  frame.prepend(panel);
  if (window.visualViewport) on(window.visualViewport, 'resize scroll', place);
};
const onKey = (event: KeyboardEvent) => {
  const { key } = event;
  if (event.isComposing) return;
  if (key == 'Escape' && !(inline && asking.hidden)) {
    event.preventDefault();
    asking.hidden ? toggle() : ask(0);
  }
  if (key == 'Tab' && isSmall()) {
    // The page behind is covered: the focus goes round.
    const all = Array.from((panel as HTMLElement).querySelectorAll<HTMLButtonElement>('*')).filter((one) => one.tabIndex >= 0 && !one.disabled && one.getClientRects()[0]);
    if (event.shiftKey) all.reverse();
    if (!(all[all.length - 1]).matches(':focus')) return;
    event.preventDefault();
    all[0].focus();
  }
};

export const isOpen = (): boolean => opened;
export const isLoud = (): boolean => loud && !!S._options.sound;
export const isSmall = (): boolean => !inline && small.matches;
const ask = (is: unknown) => {
  show(asking, is);
  is ? (asking.querySelector('.go') as HTMLElement).focus() : focus();
};

const place = () => {
  const view = window.visualViewport;
  if (!panel) return;
  frame.className = look + (isSmall() ? ' small' : '');
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
  const { offset, radius } = _options;
  const px = (value: number | undefined, usual: string) => (value == null ? usual : value) + 'px';
  const vars = {
    a: color,
    o: textOn(color),
    l: readable(color, isDark ? '#30353b' : '#e9ecef'),
    z: _options.zIndex ?? '2147483000',
    // As texts: the first number that becomes one costs a table of 64 KiB in V8.
    x: px(offset?.x, '20'),
    y: px(offset?.y, '20'),
    r: px(radius, '16'),
    f: _options.fontFamily || 'system-ui,sans-serif',
  };
  for (const name in vars) frame.style.setProperty('--' + name, vars[name as 'a']);
  frame.dir = dir;
  frame.lang = _locale;
  frame.className = look = 'w' + (inline ? ' inline' : '') + (isDark ? ' dark' : '') + (position == 'bottom-left' ? ' left' : '');
  if (panel) {
    const name = agentName();
    const avatar = pick('avatar') as string;
    const sound = iconButton(loud ? SOUND : MUTE, t('sound'), () => {
      loud = !loud;
      labelFrame();
    });
    set(sound, 'aria-pressed', '' + loud);
    const at = Array.from(header.children).findIndex((one) => one.matches(':focus'));
    fill(header, 
      h('div.face', { 'aria-hidden': 'true' }, isImageAllowed(avatar) ? h('img', { src: avatar, referrerpolicy: 'no-referrer' }) : [...name][0]),
      h('div.names', null, h('h2', { id: 'title', dir: 'auto' }, name), h('p', { dir: 'auto' }, pick('subtitle'))),
      _options.sound && sound,
      iconButton(FRESH, t('newChat'), () => (!lowest() ? focus() : ask(1))),
      !inline && iconButton(DOWN, t('close'), toggle),
    );
    // What had the focus is another element now.
    (header.children[at] as HTMLElement | undefined)?.focus();
    fill(asking, 
      h('p', { id: 'ask' }, t('askNew')),
      h('div.acts', null, h('button', { click: () => ask(0) }, t('cancel')), h('button.go', { click: () => {
        ask(0);
        renew();
      } }, t('newChat'))),
    );
    const privacy = safeUrl(_config.privacyUrl);
    fill(hint, `${_config.disclosure?.trim() || t('disclosure')} ${_config.footer || ''} `, privacy && link(privacy, t('privacy')));
    place();
  }
  update();
};
/** What opening, closing and unread messages change. */
const update = () => {
  if (panel) show(panel, opened);
  show(launcher, !S._options.launcher?.hidden && !(opened && isSmall()));
  fill(launcher, icon(opened ? DOWN : S._options.launcher?.icon == 'help' ? HELP : CHAT), badge);
  set(launcher, 'aria-label', (opened ? t('close') : S._options.launcherLabel || t('open')) + (unread ? ', ' + t('unread', unread) : ''));
  set(launcher, 'aria-expanded', '' + opened);
  badge.textContent = unread > 99 ? '99+' : unread ? '' + unread : '';
};

export const showUnread = (count: number): void => {
  unread = count;
  update();
};
export const openFrame = (byVisitor: boolean): void => {
  before = document.activeElement as HTMLElement;
  opened = teased = true;
  teaser?.remove();
  place();
  update();
  if (!byVisitor) return;
  // No screen keyboard jumps up by itself.
  if (matchMedia('(pointer:coarse)').matches) log.focus({ preventScroll: true });
  else focus();
};
export const closeFrame = (): void => {
  const inside = (panel as HTMLElement).matches(':focus-within');
  opened = false;
  show(asking, 0);
  update();
  // Back to where it was; from nowhere to the launcher.
  if (inside) (before && before.isConnected && before.tabIndex >= 0 ? before : launcher).focus({ preventScroll: true });
};
/** The message beside the launcher. */
export const tease = async (): Promise<void> => {
  const own = S._options.teaser;
  const { text, delayMs = 4000 } = (own !== false && (own || S._config.teaser)) || {};
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
