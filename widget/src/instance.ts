// One mounted widget: from `init` to `destroy`.
import { begin, closeChat, configured, hide, label, openChat, resetChat, sendText, startChat, toggle, unreadCount } from './chat';
import { h } from './dom';
import { withMore } from './later';
import { refuse, TAG, VERSION } from './name';
import { check, type Options } from './options';
import type { Instance, SendResult } from './public';
import { refused } from './replies';
import { type Config, emit, EVENTS, on, S, sleep } from './state';
import { sync } from './sync';
import { closeFrame, frame, isOpen, isSmall } from './view/frame';
import { asFailure, ask, report } from './wire/call';
import { save, V } from './wire/visit';

declare const STYLE: string;
/** The style sheets by their text; later instances share them. */
const sheets: Record<string, CSSStyleSheet> = {};

/** The document is there and the page has had its turn. */
const loaded = () =>
  new Promise<void>((resolve) => {
    const late = () => void sleep(3000).then(resolve);
    // In a task of its own: the script's is long enough on a slow machine.
    if (document.readyState == 'complete') return void sleep(0).then(resolve);
    on(window, 'load', () => (window as Partial<Window>).requestIdleCallback?.(() => resolve(), { timeout: 1000 }) ?? resolve());
    document.readyState == 'loading' ? on(document, 'DOMContentLoaded', late) : late();
  });

const language = () => {
  // The browser is asked last only: V8 makes much of its object on first use.
  for (const tag of [() => S._options.locale, () => document.documentElement.lang, () => navigator.language])
    try {
      return Intl.getCanonicalLocales(tag() || '')[0];
    } catch {
      // No language tag; the next one may be.
    }
  return 'en';
};

/** `gone` is called once, by `destroy`. */
export const createInstance = (options: typeof S._options, origin: string, nonce: string | undefined, gone: () => void): Instance => {
  const control = new AbortController();
  const { signal } = control;
  const bound: Record<string, () => void> = {};
  let waiting: (() => void)[] | undefined = [];
  let ready = false;
  let observer: MutationObserver | undefined;
  /** The handlers among the options; each replaces the one of its name. */
  const bind = (given: Options) => {
    for (const [name, handler] of Object.entries({ ...given, ...given.on })) {
      if (typeof handler != 'function') continue;
      bound[name]?.();
      bound[name] = EVENTS.on(name.replace(/^on/, '').toLowerCase(), handler as never);
    }
  };

  Object.assign(S, {
    _options: options,
    _origin: origin,
    _config: {},
    _locale: 'en',
    _signal: signal,
    _status: h('div.x', { role: 'status', 'aria-atomic': 'false' }),
    _refused: '',
    _held: '',
  });
  bind(options);
  startChat();

  const host = document.createElement(TAG);

  const mount = () => {
    const root = host.attachShadow({ mode: 'open' });
    const dress = (text: string) => {
      try {
        if (!sheets[text]) {
          const made = new CSSStyleSheet();
          made.replaceSync(text);
          sheets[text] = made;
        }
        // Where the list cannot be added to, an element does it.
        root.adoptedStyleSheets.push(sheets[text]);
      } catch {
        const style = document.createElement('style');
        if (nonce) style.nonce = nonce;
        style.textContent = text;
        root.append(style);
      }
    };
    dress(STYLE);
    withMore((more) => dress(more._style));
    root.append(frame);
    const parent = (options.container as HTMLElement) || document.documentElement;
    let puts = 0;
    const put = () => {
      if (host.parentNode == parent) return;
      const isRare = puts++ < 5;
      if (isRare) parent.append(host);
      void sleep(1000).then(() => {
        puts--;
        if (!isRare) put();
      });
    };
    put();
    // Put back when the page removes it, at most five times a second.
    observer = new MutationObserver(put);
    observer.observe(parent, { childList: true });
  };
  const apply = () => {
    S._locale = S._config.locale || 'en';
    label();
    begin();
  };
  const configure = async (): Promise<boolean> => {
    for (;;)
      try {
        S._config = await ask<Partial<Config>>(`config?agentId=${options.agentId}&locale=${language()}`);
        return true;
      } catch (error) {
        const failure = asFailure(error);
        const final = refused(failure);
        report(failure, !final);
        if (final) return false;
        // The browser's console says why.
        await sleep(60000, 'online');
      }
  };
  const run = () => {
    const all = waiting || [];
    waiting = undefined;
    all.forEach((action) => action());
  };
  void (async () => {
    // In a task of its own: the first look at the language and the first request take their time.
    const settled = sleep(0).then(configure);
    await loaded();
    if (signal.aborted) return;
    if (S._refused) return run();
    mount();
    await Promise.race([settled, sleep(2000)]);
    apply();
    hide(false);
    if (options.open && (options.openOnMobile || !isSmall())) openChat(false);
    run();
    if (!(await settled)) return;
    apply();
    ready = true;
    emit('ready', { version: VERSION });
    configured();
  })();

  const later = (action: () => void) => (waiting ? waiting.push(action) : action());
  // What waits for the mount; `byVisitor` tells whether the call came while the visitor did something.
  const delayed: Record<string, (byVisitor: boolean) => void> = {
    open: openChat,
    close: closeChat,
    toggle,
    show: () => hide(false),
    hide: () => hide(true),
    reset: resetChat,
  };
  const methods: Record<string, (...args: never[]) => unknown> = {
    ...EVENTS,
    update: (given: Options) => {
      const changed = check(given, 'agentId chatbotId apiBase container mode nonce');
      Object.assign(options, changed);
      bind(changed);
      if (V.token || changed.consent === false) save();
      // With consent, what was stored before.
      else void sync();
      if (changed.open != null) later(() => (changed.open ? openChat(false) : closeChat()));
      if (changed.locale) void configure().then(apply);
      later(apply);
    },
    identify: (user?: Options['user']) => {
      options.user = check({ user }).user;
    },
    send: (text: string) =>
      new Promise<SendResult>((resolve) => {
        signal.addEventListener('abort', () => resolve({ ok: false, code: 'DESTROYED' }));
        later(() => void (S._refused ? resolve({ ok: false, code: S._refused }) : sendText(text).then(resolve)));
      }),
  };
  const instance = {
    destroy: () => {
      if (signal.aborted) return;
      if (isOpen() && host.isConnected) closeFrame();
      control.abort();
      observer?.disconnect();
      host.remove();
      emit('destroy', {});
      S._handlers = [];
      gone();
    },
    get state() {
      return { ready, open: isOpen(), unread: unreadCount(), conversation: V.conversation || null };
    },
  } as Record<string, unknown>;
  for (const name in delayed)
    methods[name] = () => {
      const byVisitor = !!navigator.userActivation?.isActive;
      later(() => delayed[name](byVisitor));
    };
  for (const [name, method] of Object.entries(methods))
    instance[name] = (...args: never[]) => (signal.aborted ? refuse(name, 'DESTROYED') : method(...args));
  return instance as unknown as Instance;
};
