// Challenges: an overloaded server requires proof of work. The solver is a separate script.
import type { Failure } from '../protocol';
import { S } from './shared';

declare const CHALLENGE_FILE: string;

/** The solution; throws if the solver cannot be loaded. */
const solve = async ({ _details }: Failure): Promise<object> => {
  const { salt, bits } = _details.challenge as { salt: string; bits: number };
  const { solve } = await import(`${S._origin || S._options.apiBase}/${CHALLENGE_FILE}`);
  return { salt, nonce: await solve(salt, bits) };
};
/** The solution of a challenge, if a failure asks for one; undefined if the solver cannot be loaded. */
export const solution = async (failure: Failure): Promise<object | undefined> =>
  failure._code == 'CHALLENGE_REQUIRED' ? solve(failure).catch(() => undefined) : undefined;
/** Makes a call, and repeats it with a solution if the server sends a challenge. */
export const challenged = async <T>(call: (solution?: object) => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    const found = await solution(error as Failure);
    if (!found) throw error;
    return call(found);
  }
};
