// Loads the widget's script once and starts the widget. Nothing here throws, also without a browser or a connection.

const METHODS = 'init destroy open close toggle show hide send on once off update identify reset'.split(' ');

/** A stand-in that queues calls until the script has loaded. */
const queue = (name) => {
  const stub = (window[name] = window[name] || { q: [] });
  for (const method of METHODS) stub[method] = stub[method] || ((...args) => void stub.q.push([method, args]));
};
const load = (src, nonce) => {
  if ([...document.scripts].some((one) => one.src == src)) return;
  const script = document.createElement('script');
  script.src = src;
  script.async = true;
  if (nonce) script.nonce = nonce;
  // The next start tries again.
  script.onerror = () => script.remove();
  document.head.append(script);
};

/**
 * Starts the widget whose script is at `src`, and returns a function that ends it: the value of an effect or a mount hook.
 * `name` is that of the global, if the operator has configured another service name.
 */
export const startWidget = (src, options, name = 'ServiceWidget') => {
  if (typeof document == 'undefined') return () => {};
  queue(name);
  window[name].init(options);
  load(src, options.nonce);
  return () => window[name].destroy();
};
