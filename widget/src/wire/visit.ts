// The visitor's token and place in the conversation, and where they are kept.
import { TAG, warn } from '../name';
import { emit, S, type Session } from '../state';

/** As it is stored. */
export const V = {} as {
  token?: string;
  conversation?: string;
  /** The last message that was told of, the last one that was read. */
  seq: number;
  read: number;
};

// Whether there was an entry: where it is gone, another page has forgotten the visitor.
let kept: boolean;
const key = () => `${TAG}:${S._options.agentId}`;
const place = () => (S._options.consent === false ? 'memory' : S._options.persist || 'local');
/** Runs with each store that is there; one that throws acts as memory. */
const stores = (use: (store: Storage, isOurs: boolean) => void) =>
  (['local', 'session'] as const).forEach((kind) => {
    try {
      use(window[`${kind}Storage`], kind == place());
    } catch {
      // Denied or full.
    }
  });

export const save = (): void =>
  stores((store, isOurs) => {
    if (V.token && isOurs) {
      store.setItem(key(), JSON.stringify({ v: 1, ...V }));
      kept = true;
    } else store.removeItem(key());
  });

const begin = () => {
  V.conversation = undefined;
  V.seq = V.read = 0;
  S._human = false;
};
/** The conversation ends; the visitor stays, and the next turn begins another one. */
export const leave = (): void => {
  begin();
  save();
};
export const forget = (): void => {
  V.token = undefined;
  leave();
};

/** Takes what a stream or an answer says; true when another conversation begins in place of one. */
export const adopt = ({ conversation, token, mode, identity }: Session): boolean => {
  const before = V.conversation;
  const isNew = conversation != before;
  if (isNew) begin();
  V.token = token;
  V.conversation = conversation;
  S._human = mode == 'human';
  save();
  if (isNew) emit('conversation', { id: conversation, isNew });
  if (identity == 'rejected') warn('option "user": the hash is wrong or expired; compute it anew');
  return !!before && isNew;
};

/** Takes what is stored, by this page or another one; true when that is not the conversation of before. */
export const restore = (): boolean => {
  const before = V.conversation;
  stores((store, isOurs) => {
    if (!isOurs) return;
    const { v, ...entry } = JSON.parse(store.getItem(key()) || '{"v":0}');
    if (v ? v == 1 && (entry.conversation != before || !V.token) : kept) {
      V.token = undefined;
      begin();
      Object.assign(V, entry);
      kept = !!v;
    }
  });
  return V.conversation != before;
};
export const startVisit = (): void => {
  V.token = undefined;
  kept = false;
  begin();
  restore();
};
