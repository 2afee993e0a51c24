// The import that runs: piece by piece, while the tab is open, whatever page is shown.
import { announce, ApiError, call, number, seg, signal, t, tn, type ImportPreview, type ImportProgress } from '../../kit';

/** The most bytes that the server takes. */
export const MAX_BYTES = 10 * 1024 * 1024;
/** A file, read once, and how the server is to read it. */
export interface Source {
  name: string;
  content: Blob;
  delimiter: string;
  encoding: string;
  sheet: string;
}
export const EFFECTS = ['created', 'updated', 'unchanged', 'refused'] as const;
export type Effect = (typeof EFFECTS)[number];
const OF_LETTER: Record<string, Effect> = { c: 'created', u: 'updated', '=': 'unchanged', r: 'refused' };
export interface Difference {
  /** The position in the file, from 1. */
  at: number;
  expected: Effect;
  found: Effect;
}
/** An import. */
export interface Job {
  agent: string;
  source: Source;
  mapping: string | null;
  preview: ImportPreview;
  state: 'running' | 'stopping' | 'stopped' | 'done';
  done: number;
  counts: Record<Effect, number>;
  effects: string;
  refusedHeader: string;
  refusedRows: string[];
  hasAllRefused: boolean;
  /** Whether lines were sent a second time, because an answer was lost. */
  isResent: boolean;
  error: ApiError | null;
}
export const job = signal<Job | null>(null);

const root = (agent: string) => `/agents/${seg(agent)}/contacts/imports`;
const query = ({ name, delimiter, encoding, sheet }: Source, mapping: string | null) => ({ fileName: name, mapping, delimiter, encoding, sheet });
/** How long a busy server is asked again. */
const RETRY_MILLIS = 120_000;
/** Waits as long as a busy server asks for, while somebody waits for the answer; anything else that fails is thrown. */
const patiently = async <T,>(run: () => Promise<T>, isWanted: () => boolean): Promise<T> => {
  for (const begun = performance.now(); ; ) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status != 429 || !isWanted() || performance.now() - begun > RETRY_MILLIS) throw error;
      await new Promise((resolve) => setTimeout(resolve, (error.retryAfter ?? 2) * 1000));
    }
  }
};
export const preview = async (agent: string, source: Source, mapping: string | null, isWanted: () => boolean) =>
  (await patiently(() => call<ImportPreview>('POST', root(agent), { body: source.content, query: query(source, mapping) }), isWanted)).data;

/** One import at a time; what an earlier one still answers changes nothing. */
let current = 0;
export const isBusy = (): boolean => job.value?.state == 'running' || job.value?.state == 'stopping';
/** Whatever page is shown: closing the tab would end the import. */
const hold = (event: BeforeUnloadEvent) => event.preventDefault();
const proceed = async () => {
  const own = ++current;
  const isOwn = () => own == current;
  const set = (change: Partial<Job>) => isOwn() && (job.value = { ...job.value!, ...change });
  set({ state: 'running', error: null });
  addEventListener('beforeunload', hold);
  try {
    for (;;) {
      const one = job.value!;
      const { data: did } = await patiently(() => call<ImportProgress>('POST', root(one.agent) + '/run', { body: one.source.content, query: { ...query(one.source, one.mapping), after: one.done } }), isOwn);
      if (!isOwn()) return;
      const counts = Object.fromEntries(EFFECTS.map((effect) => [effect, one.counts[effect] + did[effect]])) as Job['counts'];
      set({ done: did.done, counts, effects: one.effects + did.effects, refusedHeader: did.refusedHeader, refusedRows: [...one.refusedRows, did.refusedRows], hasAllRefused: one.hasAllRefused && did.hasAllRefused });
      if (did.isComplete) {
        set({ state: 'done' });
        announce(t('The import is done'));
        return;
      }
      announce(tn(did.lines, '{done} of {n} line is done', '{done} of {n} lines are done', { done: number(did.done) }));
      if (job.value!.state == 'stopping') return void set({ state: 'stopped' });
    }
  } catch (error) {
    set({ state: 'stopped', error: error instanceof ApiError ? error : new ApiError(0, 'INTERNAL_ERROR', String(error)) });
  } finally {
    if (isOwn()) removeEventListener('beforeunload', hold);
  }
};
/** Begins an import, unless one is running. */
export const begin = (agent: string, source: Source, mapping: string | null, preview: ImportPreview): void => {
  if (isBusy()) return;
  job.value = { agent, source, mapping, preview, state: 'running', done: 0, counts: { created: 0, updated: 0, unchanged: 0, refused: 0 }, effects: '', refusedHeader: '', refusedRows: [], hasAllRefused: true, isResent: false, error: null };
  void proceed();
};
/** Ends it after the piece that is under way. */
export const stop = () => job.value?.state == 'running' && (job.value = { ...job.value, state: 'stopping' });
/** Goes on. Where an answer was lost, its lines are sent again. */
export const resume = () => {
  if (job.value?.state != 'stopped') return;
  job.value = { ...job.value, isResent: job.value.isResent || !!job.value.error };
  void proceed();
};
/** Forgets an import that has ended. */
export const forget = () => {
  if (!isBusy()) job.value = null;
};
/** What came out otherwise than the preview said. */
export const differences = ({ preview, effects }: Job): Difference[] => {
  const found: Difference[] = [];
  for (let at = 0; at < effects.length; at++)
    if (effects[at] != preview.effects[at]) found.push({ at: at + 1, expected: OF_LETTER[preview.effects[at] ?? 'r']!, found: OF_LETTER[effects[at]!]! });
  return found;
};
