// Calls of the wire protocol: simple requests, no header of our own, the token in the body.
import { emit, S, sleep } from '../state';

/** What a form was filled with. */
export interface Lead {
  fields: Record<string, unknown>;
  consent: { version: string; at: string } | null;
}
/** A call that was refused or, with status 0, got no answer. */
export interface Failure {
  _code: string;
  _message: string;
  _status: number;
  _details: Record<string, unknown>;
  /** Seconds the server asked to wait. */
  _after: number;
  /** What is wrong with which field. */
  _fields: { field: string; type: string; message: string }[];
}

export const CUT: Failure = { _code: 'NETWORK_ERROR', _message: 'no connection', _status: 0, _details: {}, _after: 0, _fields: [] };
/** What was thrown, as a failure; what is none of ours is a cut connection. */
export const asFailure = (error: unknown): Failure => ((error as Failure)._code ? (error as Failure) : CUT);
/** Worth another try by itself. */
export const isTransient = ({ _status }: Failure): boolean => !_status || _status > 499 || _status == 408;

/** Tells the page of a failure. */
export const report = ({ _code: code, _message: message }: Pick<Failure, '_code' | '_message'>, retryable: boolean): void =>
  emit('error', { code, message, retryable });

/** How long to wait before try `n`, in milliseconds. */
export const backOff = (n: number): number => Math.random() * Math.min(8000, 400 * 2 ** n);
export const TRIES = 5;

/** With a body the request is a POST. Throws a `Failure`. */
export const request = async (path: string, body?: object, signal = S._signal, whole?: boolean): Promise<Response> => {
  const answer = await fetch(`${S._options.apiBase}/widget/v1/${path}`, {
    method: body && 'POST',
    body: body instanceof FormData ? body : JSON.stringify(body),
    headers: whole ? { accept: 'application/json' } : {},
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    // A log-out often leaves the page.
    keepalive: path == 'close',
    signal,
  });
  if (answer.ok) return answer;
  // What is not an answer of the service has to do with its status.
  const { code, message, details = {}, validationErrors = [] } = await answer.json().catch(() => ({}));
  throw {
    _code: code || 'HTTP_' + answer.status,
    _message: message || '',
    _status: answer.status,
    _details: details,
    // A date instead of seconds counts as nothing.
    _after: +(details.retryAfterSeconds || answer.headers.get('retry-after')) || 0,
    _fields: validationErrors,
  };
};

/** The `data` of an answer, asked for again while the failure is transient. Does not end once the widget is destroyed. */
export const ask = async <T>(path: string, body?: object): Promise<T> => {
  const { _signal } = S;
  for (let n = 0; ; n++) {
    try {
      const answer = await request(path, body);
      return answer.status == 204 ? (undefined as T) : (await answer.json()).data;
    } catch (error) {
      const failure = asFailure(error);
      if (_signal.aborted) await new Promise(() => {});
      if (!isTransient(failure) || n >= TRIES) throw failure;
      await sleep(Math.max(backOff(n), failure._after * 1000), 'online');
    }
  }
};
