// The page's script: creates the global, runs queued commands, and starts by itself if the page configures it.
import { GLOBAL, LOADED_EVENT, logError, refuse, VERSION, warn } from './name';
import { EVENTS } from './state';
import { createInstance } from './instance';
import { fromAttributes, start } from './options';
import type { InitOptions, Instance, Widget } from './public';

type Command = [keyof Widget, Iterable<unknown>];

const page = window as unknown as Record<string, (Partial<Widget> & { q?: Command[] }) | undefined>;
const METHODS = 'open close toggle show hide send update identify reset'.split(' ') as (keyof Instance)[];

const script =
  (document.currentScript as HTMLScriptElement | null) || document.querySelector<HTMLScriptElement>('script[type="module"][data-agent-id]');
const [origin = ''] = /^https?:\/\/[^/]+/.exec(script?.src || '') || [];

let instance: Instance | null = null;

const init = (options: InitOptions): Instance => {
  if (instance) {
    warn('init() does nothing: a widget is mounted; call destroy() first');
    return instance;
  }
  const checked = start(options, origin);
  if (!('replaceChildren' in document)) {
    logError('this browser is too old');
    return undefined as unknown as Instance;
  }
  return (instance = createInstance(checked, origin, checked.nonce || script?.nonce, () => (instance = null)));
};

const forward = (name: keyof Instance) => (...args: unknown[]) =>
  instance ? (instance[name] as (...args: unknown[]) => unknown)(...args) : refuse(name, 'NOT_MOUNTED');

const attempt = (action: () => void) => {
  try {
    action();
  } catch (error) {
    logError(error);
  }
};

const before = page[GLOBAL];
if (!before?.version) {
  const widget: Record<string, unknown> = {
    init,
    destroy: () => instance?.destroy(),
    get instance() {
      return instance;
    },
    get state() {
      return instance?.state || null;
    },
    version: VERSION,
    ...EVENTS,
  };
  for (const name of METHODS) widget[name] = forward(name);
  page[GLOBAL] = Object.freeze(widget) as Partial<Widget>;

  const queue = Array.isArray(before?.q) ? before.q : [];
  const queued = queue.some(([name]) => name == 'init');
  for (const [name, args] of queue) attempt(() => (widget[name] as (...args: unknown[]) => void)(...args));
  const config = page[GLOBAL + 'Config'] as object | undefined;
  const attributes = script ? fromAttributes(script.dataset) : {};
  if (!queued && !instance && (config || attributes.agentId)) attempt(() => init({ ...attributes, ...config } as unknown as InitOptions));
  // Tag managers drop attributes, and a `const` is not a property of the window.
  else if (!queued && !instance)
    setTimeout(() => instance || warn(`nothing has started; set data-agent-id or window.${GLOBAL}Config, or call init()`), 5000);
  dispatchEvent(new CustomEvent(LOADED_EVENT, { detail: { version: VERSION } }));
}
