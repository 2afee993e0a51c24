// A list of any length: only the rows near the window are in the document, and pages are read as they come near.
import type { ComponentChildren } from 'preact';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, call, type Call } from '../lib/api';
import { t } from '../lib/i18n';
import { useKeys } from '../lib/keys';

/** The rows of a list that were read so far. */
export interface Pages<T> {
  rows: T[];
  total: number | null;
  error: ApiError | null;
  loading: boolean;
  more: () => void;
  reload: () => void;
  /** Replaces rows: after a change of one of them. */
  change: (edit: (rows: T[]) => T[]) => void;
}
/** Reads a list page by page along its cursor. */
export const usePages = <T,>(path: string | null, query: Call['query'], stamp = 0): Pages<T> => {
  const state = useSignal<{ key: string; rows: T[]; total: number | null; error: ApiError | null; loading: boolean; cursor: string | null; done: boolean }>({ key: '', rows: [], total: null, error: null, loading: path !== null, cursor: null, done: false });
  const key = JSON.stringify([path, query]);
  const abort = useRef<AbortController | null>(null);
  const read = async (fresh: boolean) => {
    if (path === null) return;
    const before = state.peek();
    if (!fresh && (before.loading || before.done)) return;
    abort.current?.abort();
    const mine = (abort.current = new AbortController());
    state.value = { ...before, key, loading: true, error: null };
    try {
      const reply = await call<readonly T[]>('GET', path, { query: { ...query, limit: 100, cursor: fresh ? null : before.cursor }, signal: mine.signal });
      if (mine.signal.aborted) return;
      const rows = fresh ? [...reply.data] : [...before.rows, ...reply.data];
      const cursor = reply.pagination?.nextCursor ?? null;
      state.value = { key, rows, total: reply.pagination?.totalItems ?? rows.length, error: null, loading: false, cursor, done: !cursor };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!mine.signal.aborted) state.value = { ...state.peek(), error, loading: false };
    }
  };
  useEffect(() => {
    void read(true);
    return () => abort.current?.abort();
  }, [key, stamp]);
  return {
    rows: state.value.rows,
    total: state.value.total,
    error: state.value.error,
    loading: state.value.loading,
    more: () => void read(false),
    reload: () => void read(true),
    change: (edit) => (state.value = { ...state.peek(), rows: edit(state.peek().rows) }),
  };
};

interface ListProps<T> {
  pages: Pages<T>;
  label: string;
  /** The widths of the columns, as grid-template-columns. */
  columns: string;
  head: ComponentChildren;
  row: (item: T) => ComponentChildren;
  id: (item: T) => string;
  open: (item: T) => void;
  selected?: string | null;
}
const AHEAD = 12;
/** A virtual table: `j` and `k` move, Enter opens. */
export const VirtualList = <T,>({ pages, label, columns, head, row, id, open, selected }: ListProps<T>) => {
  const root = useRef<HTMLDivElement>(null);
  const view = useSignal({ from: 0, to: 40, height: 40 });
  const cursor = useSignal<string | null>(null);
  const measure = () => {
    const element = root.current;
    const scroller = element?.closest<HTMLElement>('.scroll');
    if (!element || !scroller) return;
    const height = parseFloat(getComputedStyle(element).getPropertyValue('--row')) * parseFloat(getComputedStyle(document.documentElement).fontSize) || 40;
    const from = Math.max(0, Math.floor((scroller.scrollTop - element.offsetTop) / height) - AHEAD);
    const to = from + Math.ceil(scroller.clientHeight / height) + 2 * AHEAD;
    const old = view.peek();
    if (old.from != from || old.to != to || old.height != height) view.value = { from, to, height };
    if (to > pages.rows.length - 30) pages.more();
  };
  useEffect(() => {
    const scroller = root.current?.closest<HTMLElement>('.scroll');
    measure();
    scroller?.addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      scroller?.removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  });
  const at = pages.rows.findIndex((one) => id(one) == (cursor.value ?? selected));
  const move = (step: number) => {
    const next = pages.rows[Math.max(0, Math.min(pages.rows.length - 1, at < 0 ? 0 : at + step))];
    if (!next) return;
    cursor.value = id(next);
    const index = pages.rows.indexOf(next);
    const scroller = root.current?.closest<HTMLElement>('.scroll');
    if (scroller && root.current) {
      const top = root.current.offsetTop + index * view.value.height;
      if (top < scroller.scrollTop + 40) scroller.scrollTop = top - 40;
      else if (top + view.value.height > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + view.value.height - scroller.clientHeight;
    }
    if (selected) open(next);
    else requestAnimationFrame(() => root.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id(next))}"] a`)?.focus({ preventScroll: true }));
  };
  useKeys([
    { key: 'j', label: t('Next row'), run: () => move(1) },
    { key: 'k', label: t('Previous row'), run: () => move(-1) },
    { key: 'Enter', label: t('Open the row'), run: () => at >= 0 && open(pages.rows[at]!) },
  ]);
  const shown = pages.rows.slice(view.value.from, view.value.to);
  return (
    <div role="table" aria-label={label} aria-rowcount={(pages.total ?? pages.rows.length) + 1} aria-busy={pages.loading || undefined}>
      <div role="rowgroup"><div class="vhead" role="row" aria-rowindex={1} style={{ gridTemplateColumns: columns }}>{head}</div></div>
      <div ref={root} class="vlist" role="rowgroup" style={{ height: `${(pages.total ?? pages.rows.length) * view.value.height}px` }}>
        {shown.map((item, n) => (
          <div key={id(item)} class={`vrow${id(item) == (cursor.value ?? selected) ? ' at' : ''}`} role="row" data-id={id(item)} aria-rowindex={view.value.from + n + 2}
            style={{ gridTemplateColumns: columns, top: `${(view.value.from + n) * view.value.height}px` }}
            onClick={(event) => !event.defaultPrevented && !(event.target as Element).closest('a, button') && (cursor.value = id(item), open(item))}>{row(item)}</div>
        ))}
      </div>
    </div>
  );
};
