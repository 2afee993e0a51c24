// The visitor's token and position in the conversation, and their storage.
import { TAG, warn } from '../name';
import type { Session } from '../protocol';
import { emit, S } from '../state';

/** The stored members. */
export const V = {} as {
  token?: string;
  conversation?: string;
  /** Numbers of the last message with events and of the last one read. */
  seq: number;
  read: number;
};

// Whether an entry existed: if it disappears, another page has forgotten the visitor.
let wasStored: boolean;
const key = () => `${TAG}:${S._options.agentId}`;
const storeKind = () => (S._options.consent === false ? 'memory' : S._options.persist || 'local');
/** Runs for each available store; one that throws acts as memory. */
const stores = (use: (store: Storage, isOurs: boolean) => void) =>
  (['local', 'session'] as const).forEach((kind) => {
    try {
      use(window[`${kind}Storage`], kind == storeKind());
    } catch {
      // Denied or full.
    }
  });

export const save = (): void =>
  stores((store, isOurs) => {
    if (V.token && isOurs) {
      store.setItem(key(), JSON.stringify({ v: 1, ...V }));
      wasStored = true;
    } else store.removeItem(key());
  });

const begin = () => {
  V.conversation = undefined;
  V.seq = V.read = 0;
  S._human = false;
};
/** Ends the conversation but not the visitor's session; the next turn starts another one. */
export const leave = (): void => {
  begin();
  save();
};
export const forget = (): void => {
  V.token = undefined;
  leave();
};

/** Adopts the session of a stream or response; true if it replaces one conversation with another. */
export const adopt = ({ conversation, token, mode, identity }: Session): boolean => {
  const before = V.conversation;
  const isNew = conversation != before;
  if (isNew) begin();
  V.token = token;
  V.conversation = conversation;
  S._human = mode == 'human';
  save();
  if (isNew) emit('conversation', { id: conversation, isNew });
  if (identity == 'rejected') warn('option "user": the hash is wrong or expired; compute it again');
  return !!before && isNew;
};

/** Loads the entry that this or another page has stored; true if that changes the conversation. */
export const restore = (): boolean => {
  const before = V.conversation;
  stores((store, isOurs) => {
    if (!isOurs) return;
    const { v, ...entry } = JSON.parse(store.getItem(key()) || '{"v":0}');
    if (v ? v == 1 && (entry.conversation != before || !V.token) : wasStored) {
      V.token = undefined;
      begin();
      Object.assign(V, entry);
      wasStored = !!v;
    }
  });
  return V.conversation != before;
};
export const startVisit = (): void => {
  V.token = undefined;
  wasStored = false;
  begin();
  restore();
};
