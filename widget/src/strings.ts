// English texts of the first script; those of the second are in more/strings.ts. Other languages come with the
// configuration.
import type { StringKey } from './public';

export const ENGLISH: Partial<Record<StringKey, string>> = {
  open: 'Open chat',
  close: 'Close chat',
  title: 'Chat',
  write: 'Write a message…',
  cancel: 'Not now',
  loading: 'Loading…',
  retry: 'Try again',
  failed: 'That did not work.',
  'unread.one': '{n} unread message',
  'unread.other': '{n} unread messages',
};
