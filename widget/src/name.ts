// Names derived from the service name. The built file contains that once, as the argument of its outermost
// function, so a server with another name replaces one string; see build.mjs and the crate.
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
/** The result of a method without a mounted widget. */
export const refuse = (name: string, code: string): unknown => {
  warn(`${name}() needs a mounted widget; call init() first`);
  return name == 'send' ? Promise.resolve({ ok: false, code }) : () => {};
};
export const logError = (...what: unknown[]): void => console.error(`[${GLOBAL}]`, ...what);
