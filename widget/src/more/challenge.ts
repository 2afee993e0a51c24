// Challenges: what a server that is pressed hard asks for before it answers. The solver is a script of its own.
import type { Failure } from '../wire/call';
import { S } from './shared';

declare const CHALLENGE_FILE: string;

/** The solution; throws where the solver cannot be loaded. */
export const solve = async ({ _details }: Failure): Promise<object> => {
  const { salt, bits } = _details.challenge as { salt: string; bits: number };
  const { solve } = await import(`${S._origin || S._options.apiBase}/${CHALLENGE_FILE}`);
  return { salt, nonce: await solve(salt, bits) };
};
/** A call, and the same one with a solution where the server asks for one. */
export const challenged = async <T>(call: (solution?: object) => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    const failure = error as Failure;
    if (failure._code != 'CHALLENGE_REQUIRED') throw error;
    const solution = await solve(failure).catch(() => {
      throw error;
    });
    return call(solution);
  }
};
