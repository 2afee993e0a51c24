// Calls that start a session if there is none: files and forms.
import type { Failure } from '../protocol';
import { challenged } from './challenge';
import { V } from './shared';

/** The call that begins a session; others wait for it, so that a visitor never begins two. */
let first: Promise<unknown> | undefined;

/** Calls with the visitor's token; if the server rejects it, calls again without a token. */
export const asVisitor = async <T>(call: (token?: string, solution?: object) => Promise<T>): Promise<T> => {
  const post = (token?: string) => challenged((solution) => call(token, solution));
  while (!V.token && first) await first.catch(() => {});
  try {
    if (V.token) return await post(V.token);
    const own = post();
    first = own;
    // The caller adopts the session in the same microtask as it gets the response.
    void own.catch(() => {}).then(() => setTimeout(() => first == own && (first = undefined)));
    return await own;
  } catch (error) {
    if ((error as Failure)._code != 'TOKEN_INVALID') throw error;
    return post();
  }
};
