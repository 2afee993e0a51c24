// English texts of the first script; those of the second are in more/strings.ts. Other languages come with the
// configuration.
import type { StringKey } from './public';

export const ENGLISH: Partial<Record<StringKey, string>> = {
  open: 'Open chat',
  close: 'Close chat',
  title: 'Chat',
  write: 'Write a message…',
  send: 'Send',
  stop: 'Stop',
  newChat: 'New conversation',
  cancel: 'Not now',
  you: 'You',
  human: 'Team',
  log: 'Messages',
  latest: 'New messages',
  typing: '{name} is typing',
  disclosure: 'Answers come from an AI and may be wrong.',
  privacy: 'Privacy',
  retry: 'Try again',
  failed: 'That did not work.',
  sending: 'Sending…',
  offline: 'You are offline. Your message is sent when the connection is back.',
  busy: 'An answer is still being written.',
  unavailable: 'This chat is not available.',
  long: 'At most {n} characters.',
  'unread.one': '{n} unread message',
  'unread.other': '{n} unread messages',
};
