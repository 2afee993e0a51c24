// Calls of the wire protocol: simple CORS requests without custom headers; the body contains the token.
import type { Failure } from '../protocol';
import { emit, S, sleep } from '../state';
import { asFailure, backOff, isTransient, TRIES } from './failure';

/** Emits the `error` event of a failure. */
export const report = ({ _code: code, _message: message }: Pick<Failure, '_code' | '_message'>, retryable: boolean): void =>
  emit('error', { code, message, retryable });

/** A request with a body is a POST. Throws a `Failure`. */
export const request = async (path: string, body?: object, signal = S._signal, asDocument?: boolean): Promise<Response> => {
  const response = await fetch(`${S._options.apiBase}/widget/v1/${path}`, {
    method: body && 'POST',
    body: body instanceof FormData ? body : JSON.stringify(body),
    headers: asDocument ? { accept: 'application/json' } : {},
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    // A log-out often navigates away from the page.
    keepalive: path == 'close',
    signal,
  });
  if (response.ok) return response;
  // A response that is not from the service has a status only.
  const { code, message, details = {}, validationErrors = [] } = await response.json().catch(() => ({}));
  throw {
    _code: code || 'HTTP_' + response.status,
    _message: message || '',
    _status: response.status,
    _details: details,
    // A date instead of seconds is ignored.
    _after: +(details.retryAfterSeconds || response.headers.get('retry-after')) || 0,
    _fields: validationErrors,
  };
};

/** The `data` of a response; retries transient failures. Never settles once the widget is destroyed. */
export const ask = async <T>(path: string, body?: object): Promise<T> => {
  const { _signal } = S;
  for (let n = 0; ; n++) {
    try {
      const response = await request(path, body);
      return response.status == 204 ? (undefined as T) : (await response.json()).data;
    } catch (error) {
      const failure = asFailure(error);
      if (_signal.aborted) await new Promise(() => {});
      if (!isTransient(failure) || n >= TRIES) throw failure;
      await sleep(Math.max(backOff(n), failure._after * 1000), 'online');
    }
  }
};
