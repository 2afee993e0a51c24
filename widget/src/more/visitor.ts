// Calls that start a session if there is none: files and forms.
import type { Failure } from '../protocol';
import { challenged } from './challenge';
import { V } from './shared';

/** Calls with the visitor's token; if the server rejects it, calls again without a token. */
export const asVisitor = async <T>(call: (token?: string, solution?: object) => Promise<T>): Promise<T> => {
  const post = (token?: string) => challenged((solution) => call(token, solution));
  try {
    return await post(V.token);
  } catch (error) {
    if ((error as Failure)._code != 'TOKEN_INVALID') throw error;
    return post();
  }
};
