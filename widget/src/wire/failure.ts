// Failures: classification and retry delays. The functions are stateless, so both scripts may contain them.
import type { Failure } from '../protocol';

export const CUT: Failure = { _code: 'NETWORK_ERROR', _message: 'no connection', _status: 0, _details: {}, _after: 0, _fields: [] };
/** Converts an error to a failure; a foreign error means a cut connection. */
export const asFailure = (error: unknown): Failure => ((error as Failure)._code ? (error as Failure) : CUT);
/** Whether the widget retries by itself. */
export const isTransient = ({ _status }: Failure): boolean => !_status || _status > 499 || _status == 408;

/** The delay before retry `n`, in milliseconds. */
export const backOff = (n: number): number => Math.random() * Math.min(8000, 400 * 2 ** n);
export const TRIES = 5;
