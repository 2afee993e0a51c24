// Calls of the console API: envelope, errors, versions, idempotency keys, and what happens when a session or a step-up ends.
import { signal } from '@preact/signals';
import { base, stored } from './base';

/** One violated rule of a request. */
export interface FieldError {
  field: string;
  message: string;
  type: string;
  value?: unknown;
}
/** The envelope's description of a page of a list. */
export interface Pagination {
  totalItems: number;
  nextCursor: string | null;
  hasNextPage: boolean;
}
/** A response. */
export interface Reply<T> {
  data: T;
  status: number;
  etag: string | null;
  pagination: Pagination | null;
}
/** A failed call. `OFFLINE` has no response; `CANCELLED` was given up by the person. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null = null,
    readonly details: Record<string, unknown> = {},
    readonly fields: FieldError[] = [],
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}
/** A request. */
export interface Call {
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
  /** The version on which the change was made. */
  version?: string | null;
  signal?: AbortSignal;
  /** A call that never opens a dialog to sign in. */
  quiet?: boolean;
}

/** When the server was last unreachable, or null. */
export const offlineSince = signal<number | null>(null);
/** What the shell does for a call: sign in again, confirm who it is. Each resolves to whether the call is repeated. */
export const hooks = {
  signIn: (): Promise<boolean> => Promise.resolve(false),
  stepUp: (_methods: string[]): Promise<boolean> => Promise.resolve(false),
};

/** The URL of an operation. */
export const url = (path: string, query: Call['query'] = {}): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined && value !== '') search.set(name, String(value));
  const text = search.toString();
  return `${base}/console/v1${path}${text ? '?' + text : ''}`;
};
/** The header that only this page can set; on plain loopback it carries the session's second secret. */
export const proof = (): string => stored.read('local', 'proof') ?? '1';

const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

const parse = async (response: Response): Promise<Record<string, any>> => {
  try {
    return await response.json();
  } catch {
    return {};
  }
};
const failure = (response: Response, envelope: Record<string, any>) =>
  new ApiError(
    response.status,
    envelope['code'] ?? `HTTP_${response.status}`,
    envelope['message'] ?? response.statusText,
    envelope['requestId'] ?? response.headers.get('x-request-id'),
    envelope['details'] ?? {},
    envelope['validationErrors'] ?? [],
    Number(response.headers.get('retry-after')) || null,
  );

/** What a response that is no success says. */
export const failed = async (response: Response): Promise<ApiError> => failure(response, await parse(response));

/** Calls an operation. */
export const call = async <T>(method: string, path: string, request: Call = {}): Promise<Reply<T>> => {
  const headers: Record<string, string> = { Accept: 'application/json', 'X-Console': proof() };
  let body: BodyInit | undefined;
  if (request.body instanceof Blob) {
    body = request.body;
    headers['Content-Type'] = request.body.type || 'application/octet-stream';
  } else if (request.body !== undefined) {
    body = JSON.stringify(request.body);
    headers['Content-Type'] = 'application/json';
  }
  if (method == 'POST') headers['Idempotency-Key'] = random();
  if (request.version) headers['If-Match'] = request.version;
  for (let tries = 0; ; tries++) {
    let response: Response;
    try {
      response = await fetch(url(path, request.query), { method, headers, body, signal: request.signal, credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
    } catch (cause) {
      if (request.signal?.aborted) throw new ApiError(0, 'CANCELLED', 'The request was cancelled');
      offlineSince.value ??= Date.now();
      throw new ApiError(0, 'OFFLINE', String((cause as Error).message));
    }
    offlineSince.value = null;
    const envelope = response.status == 204 ? {} : await parse(response);
    if (response.ok)
      return {
        data: (envelope['data'] ?? envelope) as T,
        status: response.status,
        etag: response.headers.get('etag'),
        pagination: envelope['pagination'] ?? null,
      };
    const error = failure(response, envelope);
    if (request.quiet || tries > 1) throw error;
    if (error.status == 401) {
      if (!(await hooks.signIn())) throw error;
      headers['X-Console'] = proof();
    } else if (error.code == 'STEP_UP_REQUIRED') {
      if (!(await hooks.stepUp((error.details['methods'] as string[]) ?? []))) throw new ApiError(0, 'CANCELLED', 'The change was not confirmed');
    } else throw error;
  }
};
export const get = <T>(path: string, query?: Call['query']) => call<T>('GET', path, { query });
export const post = <T>(path: string, body?: unknown, more: Call = {}) => call<T>('POST', path, { ...more, body });
export const put = <T>(path: string, body: unknown, version?: string | null) => call<T>('PUT', path, { body, version });
export const patch = <T>(path: string, body: unknown, version?: string | null) => call<T>('PATCH', path, { body, version });
export const remove = <T>(path: string, version?: string | null, body?: unknown) => call<T>('DELETE', path, { version, body });
/** A path segment. */
export const seg = encodeURIComponent;
