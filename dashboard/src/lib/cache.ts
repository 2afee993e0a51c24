// One cache of what was read. An entry stays shown while it is read again; events and own changes mark entries stale.
import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError, call, url, type Call, type Pagination } from './api';

/** What is known of one URL. */
export interface Entry<T> {
  data: T | undefined;
  error: ApiError | null;
  loading: boolean;
  etag: string | null;
  pagination: Pagination | null;
}
interface Slot {
  path: string;
  query: Call['query'];
  entry: Signal<Entry<any>>;
  shown: number;
  stale: boolean;
  /** When it was last asked for. */
  askedAt: number;
  running: Promise<void> | null;
}
const slots = new Map<string, Slot>();
const LIMIT = 300;

const slotOf = (path: string, query: Call['query']): Slot => {
  const key = url(path, query);
  let slot = slots.get(key);
  if (!slot) {
    slot = { path, query, entry: signal({ data: undefined, error: null, loading: false, etag: null, pagination: null }), shown: 0, stale: true, askedAt: 0, running: null };
    // The oldest that nobody shows leave.
    if (slots.size >= LIMIT) for (const [old, one] of slots) if (!one.shown && slots.size >= LIMIT) slots.delete(old);
  } else slots.delete(key);
  slots.set(key, slot);
  return slot;
};
const fetchSlot = (slot: Slot): Promise<void> => {
  if (slot.running) return slot.running;
  slot.stale = false;
  slot.askedAt = performance.now();
  slot.entry.value = { ...slot.entry.peek(), loading: true };
  const run = call<any>('GET', slot.path, { query: slot.query }).then(
    (reply) => {
      slot.entry.value = { data: reply.data, error: null, loading: false, etag: reply.etag, pagination: reply.pagination };
    },
    (error: ApiError) => {
      slot.entry.value = { ...slot.entry.peek(), error, loading: false };
    },
  );
  slot.running = run.finally(() => {
    slot.running = null;
    // Something has changed in between.
    if (slot.stale && slot.shown) refresh();
  });
  return slot.running;
};

/** An entry, and how to read it again. */
export interface Query<T> extends Entry<T> {
  refetch: () => Promise<void>;
}
/** Reads a URL while a component shows it; `null` reads nothing. */
export const useQuery = <T>(path: string | null, query?: Call['query']): Query<T> => {
  const key = path === null ? '' : url(path, query);
  const slot = useMemo(() => (path === null ? null : slotOf(path, query)), [key]);
  useEffect(() => {
    if (!slot) return;
    slot.shown++;
    if (slot.stale || slot.entry.peek().error) void fetchSlot(slot);
    else void revalidate(slot);
    return () => void slot.shown--;
  }, [slot]);
  const entry: Entry<T> = slot ? slot.entry.value : { data: undefined, error: null, loading: false, etag: null, pagination: null };
  return { ...entry, refetch: () => (slot ? fetchSlot(slot) : Promise.resolve()) };
};
const revalidate = (slot: Slot) => (slot.entry.peek().loading ? undefined : fetchSlot(slot));

/** Reads ahead what will probably be shown. */
export const prefetch = (path: string, query?: Call['query']): void => {
  const slot = slotOf(path, query);
  if (slot.stale) void fetchSlot(slot);
};
let later = 0;
/** Marks what begins with a path as stale after an own change, and reads again what is shown. */
export const invalidate = (...prefixes: string[]): void => {
  for (const slot of slots.values()) if (prefixes.some((prefix) => slot.path.startsWith(prefix))) slot.stale = true;
  later ||= window.setTimeout(() => {
    later = 0;
    for (const slot of slots.values()) if (slot.stale && slot.shown) void fetchSlot(slot);
  }, 20);
};
/** How long after a request the same is not asked for again because of events: a burst of them costs one more request. */
const APART_MILLIS = 250;
let next = 0;
/** Reads again what is shown and stale, while somebody may look at it. */
const refresh = (): void => {
  if (document.hidden) return;
  let wait = Infinity;
  for (const slot of slots.values()) {
    if (!slot.stale || !slot.shown || slot.running) continue;
    const due = slot.askedAt + APART_MILLIS - performance.now();
    if (due <= 0) void fetchSlot(slot);
    else wait = Math.min(wait, due);
  }
  if (wait < Infinity)
    next ||= window.setTimeout(() => {
      next = 0;
      refresh();
    }, wait);
};
document.addEventListener('visibilitychange', refresh);
/** Marks paths as stale because of an event, and reads again what is shown. */
export const touch = (is: (path: string) => boolean): void => {
  for (const slot of slots.values()) if (is(slot.path)) slot.stale = true;
  refresh();
};
/** Changes what is shown before the server answers; returns how to take it back. */
export const optimistic = <T>(path: string, change: (data: T) => T, query?: Call['query']): (() => void) => {
  const before: [Slot, Entry<T>][] = [];
  for (const slot of slots.values())
    if (slot.path == path && (!query || url(slot.path, slot.query) == url(path, query)) && slot.entry.peek().data !== undefined) {
      before.push([slot, slot.entry.peek()]);
      slot.entry.value = { ...slot.entry.peek(), data: change(slot.entry.peek().data) };
    }
  return () => before.forEach(([slot, entry]) => (slot.entry.value = entry));
};
/** Forgets everything: at sign-out, and when another person signs in. */
export const forget = (): void => slots.clear();
