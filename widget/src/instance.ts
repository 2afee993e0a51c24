// One mounted widget: from `init` to `destroy`.
import { save, V } from './wire/visit';
import { ask, report } from './wire/call';
import { emit, EVENTS, on, S, sleep } from './state';
import { asFailure } from './wire/failure';
import { closeChat, configured, handleRejection, hide, openChat, resetChat, sendText, startChat, sync, toggle } from './chat';
import { h } from './dom';
import { closeFrame, frame, isOpen, isSmall, labelFrame, unread } from './frame';
import { refuse, TAG, VERSION } from './name';
import { check, type Options } from './options';
import { withMore } from './later';
import type { Config } from './protocol';
import type { Instance, SendResult } from './public';

declare const STYLE: string;
/** Style sheets by their text; later instances reuse them. */
const sheets: Record<string, CSSStyleSheet> = {};

/** Resolves when the document is loaded and the page is idle. */
const loaded = () =>
  new Promise<void>((resolve) => {
    const late = () => void sleep(3000).then(resolve);
    // In a separate task: the script's own is long enough on a slow machine.
    if (document.readyState == 'complete') return void sleep(0).then(resolve);
    on(window, 'load', () => (window as Partial<Window>).requestIdleCallback?.(() => resolve(), { timeout: 1000 }) ?? resolve());
    document.readyState == 'loading' ? on(document, 'DOMContentLoaded', late) : late();
  });

const language = () => {
  // `navigator` comes last: in V8, its first use is expensive.
  for (const tag of [() => S._options.locale, () => document.documentElement.lang, () => navigator.language])
    try {
      return Intl.getCanonicalLocales(tag() || '')[0];
    } catch {
      // Not a language tag; try the next one.
    }
  return 'en';
};

/** `destroy` calls `gone` once. */
export const createInstance = (options: typeof S._options, origin: string, nonce: string | undefined, gone: () => void): Instance => {
  const control = new AbortController();
  const { signal } = control;
  const bound: Record<string, () => void> = {};
  let waiting: (() => void)[] | undefined = [];
  let ready = false;
  let observer: MutationObserver | undefined;
  /** Subscribes the handlers in the options; each replaces the previous one of its name. */
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
    _rejected: '',
    _held: '',
  });
  bind(options);
  startChat();

  const host = document.createElement(TAG);

  const mount = () => {
    const root = host.attachShadow({ mode: 'open' });
    const addStyle = (text: string) => {
      try {
        if (!sheets[text]) {
          const made = new CSSStyleSheet();
          made.replaceSync(text);
          sheets[text] = made;
        }
        // Browsers that cannot extend the list get a style element.
        root.adoptedStyleSheets.push(sheets[text]);
      } catch {
        const style = document.createElement('style');
        if (nonce) style.nonce = nonce;
        style.textContent = text;
        root.append(style);
      }
    };
    addStyle(STYLE);
    withMore((more) => addStyle(more._style));
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
    // Inserts the host again when the page removes it, at most five times a second.
    observer = new MutationObserver(put);
    observer.observe(parent, { childList: true });
  };
  const apply = () => {
    S._locale = S._config.locale || 'en';
    labelFrame();
  };
  const configure = async (): Promise<boolean> => {
    for (;;)
      try {
        S._config = await ask<Partial<Config>>(`config?agentId=${options.agentId}&locale=${language()}`);
        return true;
      } catch (error) {
        const failure = asFailure(error);
        const final = handleRejection(failure);
        report(failure, !final);
        if (final) return false;
        // The browser logs the cause in its console.
        await sleep(60000, 'online');
      }
  };
  const run = () => {
    const all = waiting || [];
    waiting = undefined;
    all.forEach((action) => action());
  };
  void (async () => {
    // In a separate task: the first use of the language and the first request are slow.
    const settled = sleep(0).then(configure);
    await loaded();
    if (signal.aborted) return;
    if (S._rejected) return run();
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
  // Calls that wait for the mount; `byVisitor` says whether a user gesture caused the call.
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
      // Consent gives access to what was stored before.
      else sync();
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
        later(() => void (S._rejected ? resolve({ ok: false, code: S._rejected }) : sendText(text).then(resolve)));
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
      return { ready, open: isOpen(), unread: unread, conversation: V.conversation || null };
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
