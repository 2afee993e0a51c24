// English texts that only the second script uses.
import type { StringKey } from '../public';

export const ENGLISH: Partial<Record<StringKey, string>> = {
  attach: 'Attach files',
  remove: 'Remove {name}',
  askNew: 'End this conversation and start a new one?',
  sound: 'Sound',
  searching: 'Searching…',
  sources: 'Sources',
  page: 'page {n}',
  up: 'Helpful',
  down: 'Not helpful',
  copy: 'Copy',
  copied: 'Copied',
  incomplete: 'Incomplete',
  stopped: 'Stopped',
  form: 'Your details',
  thanks: 'Thank you!',
  optional: 'optional',
  required: 'Please fill this in.',
  invalid: 'Please check this.',
  large: '{name} is too large.',
  handoff: '{name} is here to help.',
  queued: 'A person will answer.',
  'wait.one': 'Too many messages. You can write again in {n} second.',
  'wait.other': 'Too many messages. You can write again in {n} seconds.',
};
