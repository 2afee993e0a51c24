// The names that follow the service's. The service name stands once in the built file, as the argument of its outermost
// function, so that a server with another name replaces one text; see build.mjs and the crate.
declare const SERVICE_NAME: string;

const lower = SERVICE_NAME.toLowerCase();
/** The global, and the first part of its configuration object. */
export const GLOBAL = SERVICE_NAME + 'Widget';
/** The host element and the first part of the storage key. */
export const TAG = lower + '-widget';
export const LOADED_EVENT = lower + 'widget:ready';

declare const VERSION_TEXT: string;
export const VERSION = VERSION_TEXT;

export const warn = (...what: unknown[]): void => console.warn(`[${GLOBAL}]`, ...what);
/** What a method does without a widget. */
export const refuse = (name: string, code: string): unknown => {
  warn(`${name}() needs a mounted widget; call init() first`);
  return name == 'send' ? Promise.resolve({ ok: false, code }) : () => {};
};
export const complain = (...what: unknown[]): void => console.error(`[${GLOBAL}]`, ...what);
