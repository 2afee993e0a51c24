// What failed, in the operator's language. The server's texts are English and more precise: in English they stand for
// themselves, in other languages they follow the translation.
import type { ApiError, FieldError } from './api';
import { locale, number, t, tn } from './i18n';

/** Failures that the page words better than the server. */
const TITLES: Record<string, () => string> = {
  OFFLINE: () => t('The server cannot be reached'),
  NOT_FOUND: () => t('This does not exist, or you have no access to it'),
  INSUFFICIENT_ROLE: () => t('Your role does not allow this'),
  PRECONDITION_FAILED: () => t('A colleague changed this in the meantime'),
  PRECONDITION_REQUIRED: () => t('A colleague may have changed this. Reload it first.'),
  RATE_LIMIT_EXCEEDED: () => t('Too many requests. Wait a moment.'),
  TOO_MANY_FAILED_ATTEMPTS: () => t('Too many attempts. Wait a few minutes.'),
  SERVICE_UNAVAILABLE: () => t('The server is not ready'),
  STORAGE_UNAVAILABLE: () => t('The store of files is not reachable or full'),
  INTERNAL_ERROR: () => t('Something went wrong on the server'),
  VALIDATION_ERROR: () => t('Some values are not valid'),
  LAST_OWNER: () => t('The last owner must stay'),
  CROSS_SITE_REQUEST: () => t('The browser sent this from another site. Open the console in a tab of its own.'),
  MISDIRECTED_REQUEST: () => t('The console has another address'),
  UNAUTHENTICATED: () => t('You are signed out'),
  SESSION_ENDED: () => t('Your session has ended'),
};
/** Failures whose server text says more, such as which value exists already. */
const GENERAL: Record<string, () => string> = {
  LINK_INVALID: () => t('This link is not valid any more'),
  CONFLICT: () => t('This conflicts with what is stored'),
  NOT_POSSIBLE: () => t('This is not possible in the present state'),
  CONVERSATION_MOVED: () => t('A colleague has replied in the meantime'),
  SECRET_NOT_REPEATABLE: () => t('A secret is shown only once'),
  BAD_REQUEST: () => t('The server does not understand this request'),
  INVALID_JSON: () => t('This is not valid JSON'),
  INSUFFICIENT_CREDITS: () => t('The credits are used up'),
  IP_NOT_ALLOWED: () => t('This address is not allowed'),
  STORAGE_QUOTA_EXCEEDED: () => t('The storage of this agent is full'),
  ENDPOINT_LIMIT_EXCEEDED: () => t('This agent has the most webhooks that it may have'),
  DUPLICATE_EXTERNAL_REFERENCE_ID: () => t('Another contact has this external ID'),
  DUPLICATE_VALUE: () => t('Another contact has this value'),
  CONTACT_ARCHIVED: () => t('The contact is archived'),
  TEMPLATE_INACTIVE: () => t('The form is not active'),
  JOB_FINISHED: () => t('This has already ended'),
  CONCURRENT_UPDATE: () => t('Something else changed this at the same time. Try again.'),
  IDEMPOTENCY_KEY_IN_USE: () => t('The same request is still running'),
  REQUEST_TIMEOUT: () => t('The request took too long'),
  PAYLOAD_TOO_LARGE: () => t('This is too large'),
  FILE_TOO_LARGE: () => t('The file is too large'),
  DOCUMENT_TOO_LARGE: () => t('The document is too large'),
  UNSUPPORTED_MEDIA_TYPE: () => t('Files of this type are not supported'),
  UNSUPPORTED_FILE_TYPE: () => t('Files of this type are not supported'),
  DOCUMENT_ENCRYPTED: () => t('The document is protected by a password'),
  DOCUMENT_UNREADABLE: () => t('The document cannot be read'),
  CONCURRENCY_LIMIT_EXCEEDED: () => t('Too much runs at the same time. Try again in a moment.'),
  QUEUE_FULL: () => t('Too much is waiting. Try again later.'),
  EXTRACTION_FAILED: () => t('The extraction failed'),
  EXTRACTION_UNAVAILABLE: () => t('Extraction is not available'),
  EXTRACTION_TIMEOUT: () => t('The extraction took too long'),
  EVENTS_UNAVAILABLE: () => t('Events are not available'),
};
/** What a value violates, by the rule's name, with its limit. */
const RULES: Record<string, (n: number) => string> = {
  minLength: (n) => tn(n, 'At least {n} character.', 'At least {n} characters.'),
  maxLength: (n) => tn(n, 'At most {n} character.', 'At most {n} characters.'),
  minimum: (n) => t('{n} or more.', { n: number(n) }),
  maximum: (n) => t('{n} or less.', { n: number(n) }),
  minItems: (n) => tn(n, 'At least {n} entry.', 'At least {n} entries.'),
  maxItems: (n) => tn(n, 'At most {n} entry.', 'At most {n} entries.'),
};
/** Rules without a limit. */
const PLAIN: Record<string, () => string> = {
  required: () => t('A value is needed.'),
  uniqueItems: () => t('Each entry may occur once.'),
  unique: () => t('This value exists already.'),
  duplicate: () => t('This value exists already.'),
  reserved: () => t('This name is reserved.'),
  invalidCharacters: () => t('Some characters are not allowed.'),
};

/** What failed, as the title of a message. */
export const errorTitle = (error: ApiError): string =>
  (TITLES[error.code] ?? (locale.value == 'en' ? undefined : GENERAL[error.code]))?.() ?? error.message;

/** A number as it stands in a text, not as a part of a word, a date or a path. */
const LITERAL = /(?<![\p{L}\p{N}_.,+[-])-?\d+(\.\d+)?(e[+-]?\d+)?(?![\p{L}\p{N}_-]|[.,]\d)/giu;
/** The limit that a text names, unless it has several numbers, or one that would not be shown exactly. */
const limitOf = (message: string): number | null => {
  const [found, ...more] = message.match(LITERAL) ?? [];
  const value = Number(found);
  return found && !more.length && Math.abs(value) <= Number.MAX_SAFE_INTEGER && Math.round(value * 1000) / 1000 == value ? value : null;
};
/** What is wrong with a value of a form. */
export const fieldText = ({ message, type }: FieldError): string => {
  if (locale.value == 'en') return message;
  const limit = limitOf(message);
  const text = PLAIN[type]?.() ?? (limit === null ? undefined : RULES[type]?.(limit));
  return text ?? t('This value is not valid: {reason}', { reason: message });
};
