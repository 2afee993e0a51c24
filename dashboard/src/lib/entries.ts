// Entries of a log, the newest first, read page by page.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, get, url, type Call } from './api';

/** A page: its entries, and the query of the next one. */
export interface Page<T> {
  entries: readonly T[];
  next: Call['query'] | null;
}
/** The entries that were read, and how to read more. */
export interface Entries<T> {
  entries: readonly T[];
  hasMore: boolean;
  loading: boolean;
  error: ApiError | null;
  /** Begins with the newest again. */
  reload: () => void;
  /** Reads the next page. */
  more: () => void;
  /** Repeats what has failed. */
  again: () => void;
}
interface State<T> extends Page<T> {
  loading: boolean;
  error: ApiError | null;
}
/** Reads the entries of a path while a component shows them; `pageOf` finds them in an answer. */
export const useEntries = <Data, T>(path: string, query: Call['query'], pageOf: (data: Data) => Page<T>): Entries<T> => {
  const state = useSignal<State<T>>({ entries: [], next: null, loading: true, error: null });
  const asked = useRef<{ next: Call['query'] | null }>({ next: null });
  const read = async (next: Call['query'] | null) => {
    const own = (asked.current = { next });
    state.value = { ...state.peek(), loading: true, error: null };
    try {
      const page = pageOf((await get<Data>(path, { ...query, ...next })).data);
      if (own == asked.current) state.value = { entries: [...(next ? state.peek().entries : []), ...page.entries], next: page.next, loading: false, error: null };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (own == asked.current) state.value = { ...state.peek(), loading: false, error };
    }
  };
  useEffect(() => void read(null), [url(path, query)]);
  const { entries, next, loading, error } = state.value;
  return { entries, hasMore: !!next, loading, error, reload: () => void read(null), more: () => void read(next), again: () => void read(asked.current.next) };
};
