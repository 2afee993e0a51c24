import type { InitOptions } from './embed';

export * from './embed';

/**
 * Starts the widget whose script is at `src`, and returns a function that ends it: the value of an effect or a mount hook.
 * Does nothing without a browser, and never throws. `name` is that of the global, if the operator has configured another
 * service name.
 */
export declare const startWidget: (src: string, options: InitOptions, name?: string) => () => void;
