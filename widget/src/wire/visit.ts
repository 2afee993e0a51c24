// The visitor's token and place in the conversation, and where they are kept.
import { TAG, warn } from '../name';
import { emit, S, type Session } from '../state';

export const V = {} as {
  _token?: string;
  _conversation?: string;
  /** The last message that was told of, the last one that was read. */
  _seq: number;
  _read: number;
  _human: boolean;
};

const key = () => `${TAG}:${S._options.agentId}`;
const place = () => (S._options.consent === false ? 'memory' : S._options.persist || 'local');
/** Runs with each store that is there; one that throws acts as memory. */
const stores = (use: (store: Storage, isOurs: boolean) => void) =>
  ['local', 'session'].forEach((kind) => {
    try {
      use(kind == 'local' ? localStorage : sessionStorage, kind == place());
    } catch {
      // Denied or full.
    }
  });

export const save = (): void =>
  stores((store, isOurs) =>
    V._token && isOurs
      ? store.setItem(key(), JSON.stringify({ v: 1, token: V._token, conversation: V._conversation, seq: V._seq, read: V._read }))
      : store.removeItem(key()),
  );

/** The conversation ends; the visitor stays, and the next turn begins another one. */
export const leave = (): void => {
  V._conversation = undefined;
  V._seq = V._read = 0;
  V._human = false;
  save();
};
export const forget = (): void => {
  V._token = undefined;
  leave();
};

/** Takes what a stream or an answer says; true when another conversation begins in place of one. */
export const adopt = ({ conversation, token, mode, identity }: Session): boolean => {
  const before = V._conversation;
  if (conversation != before) V._seq = V._read = 0;
  V._token = token;
  V._conversation = conversation;
  V._human = mode == 'human';
  save();
  if (conversation != before) emit('conversation', { id: conversation, isNew: true });
  if (identity == 'rejected') warn('option "user": the hash is wrong or expired; let your server compute it anew');
  return !!before && conversation != before;
};

export const restore = (): void => {
  V._token = V._conversation = undefined;
  V._seq = V._read = 0;
  V._human = false;
  stores((store, isOurs) => {
    const entry = JSON.parse((isOurs && store.getItem(key())) || '{}');
    if (entry.v != 1) return;
    V._token = entry.token;
    V._conversation = entry.conversation;
    V._seq = entry.seq;
    V._read = entry.read;
  });
};
