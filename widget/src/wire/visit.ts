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
  stores((store, isOurs) =>
    V.token && isOurs
      ? store.setItem(key(), JSON.stringify({ v: 1, ...V }))
      : store.removeItem(key()),
  );

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
  if (identity == 'rejected') warn('option "user": the hash is wrong or expired; let your server compute it anew');
  return !!before && isNew;
};

export const restore = (): void => {
  V.token = undefined;
  begin();
  stores((store, isOurs) => {
    const entry = JSON.parse((isOurs && store.getItem(key())) || '{}');
    if (entry.v != 1) return;
    const { token, conversation, seq, read } = entry;
    Object.assign(V, { token, conversation, seq, read });
  });
};
