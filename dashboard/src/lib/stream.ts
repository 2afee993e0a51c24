// Reads server-sent events with fetch: EventSource can neither send the header of the page's secret nor say why it failed.
import { failed, offlineSince, proof, url, type Call } from './api';

/** An event as it was sent. */
export interface Sent {
  id: string;
  event: string;
  data: string;
}
const fieldsOf = (block: string): Sent => {
  const sent: Sent = { id: '', event: '', data: '' };
  for (const line of block.split('\n')) {
    const [, name, value] = /^(id|event|data): ?(.*)$/.exec(line) ?? [];
    if (name) sent[name as keyof Sent] = value!;
  }
  return sent;
};
/** Opens a stream and passes on what it sends, until it ends. A refusal is an `ApiError`. */
export const listen = async (path: string, query: Call['query'], after: string | null, signal: AbortSignal, take: (sent: Sent) => void): Promise<void> => {
  const headers: Record<string, string> = { Accept: 'text/event-stream', 'X-Console': proof() };
  if (after) headers['Last-Event-ID'] = after;
  let response: Response;
  try {
    response = await fetch(url(path, query), { headers, signal, credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
  } catch (error) {
    if (!signal.aborted) offlineSince.value ??= Date.now();
    throw error;
  }
  offlineSince.value = null;
  if (!response.ok || !response.body) throw await failed(response);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  for (let rest = ''; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) take(fieldsOf(block));
  }
};
