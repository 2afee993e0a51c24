// Calls that begin a session where there is none: files and forms.
import type { Failure } from '../wire/call';
import { challenged } from './challenge';
import { V } from './shared';

/** With the visitor's token; where that is refused, once more as a visitor who has none. */
export const asVisitor = async <T>(call: (token?: string, solution?: object) => Promise<T>): Promise<T> => {
  const post = (token?: string) => challenged((solution) => call(token, solution));
  try {
    return await post(V.token);
  } catch (error) {
    if ((error as Failure)._code != 'TOKEN_INVALID') throw error;
    return post();
  }
};
