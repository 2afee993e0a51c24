// Calls of the wire protocol: simple requests, no header of our own, the token in the body.
import { S, sleep } from '../state';

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

/** How long to wait before try `n`, in milliseconds. */
export const backOff = (n: number): number => Math.random() * Math.min(8000, 400 * 2 ** n);
export const TRIES = 5;

declare const CHALLENGE_FILE: string;

/** With a body the request is a POST. Throws a `Failure`. */
export const request = async (path: string, body?: object, signal = S._signal, accept?: string): Promise<Response> => {
  const answer = await fetch(`${S._options.apiBase}/widget/v1/${path}`, {
    method: body ? 'POST' : 'GET',
    body: body instanceof FormData ? body : JSON.stringify(body),
    headers: accept ? { accept } : {},
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

/** The solution, where a failure asks for one. The solver is loaded only then; where it is not to be had, the failure stands. */
export const solve = async ({ _code, _details }: Failure): Promise<object | undefined> => {
  if (_code != 'CHALLENGE_REQUIRED') return;
  try {
    const { salt, bits } = _details.challenge as { salt: string; bits: number };
    const { solve } = await import(`${S._origin || S._options.apiBase}/${CHALLENGE_FILE}`);
    return { salt, nonce: await solve(salt, bits) };
  } catch {
    return;
  }
};
/** A call, and the same one with a solution where the server asks for one. */
export const challenged = async <T>(call: (solution?: object) => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    const solution = await solve(asFailure(error));
    if (!solution) throw error;
    return call(solution);
  }
};
