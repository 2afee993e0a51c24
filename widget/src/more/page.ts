// The description of the page that is sent with the first message.
import { S, V } from './shared';

// Cuts between code points: half a surrogate pair is not valid JSON.
const clip = (text: string, most: number) => [...text].slice(0, most).join('');

export const describePage = (): object | undefined => {
  const { page } = S._options;
  // A file or a form may have begun the conversation already.
  if (page == 'none' || V.seq) return;
  const { origin, pathname, href, search } = location;
  const utm: Record<string, string> = {};
  for (const name of ['source', 'medium', 'campaign', 'term', 'content']) {
    const value = new URLSearchParams(search).get('utm_' + name);
    if (value) utm[name] = clip(value, 128);
  }
  return {
    url: (page == 'full' ? href : origin + pathname).slice(0, 2000),
    title: clip(document.title, 200),
    referrer: document.referrer.split('/')[2] || null,
    utm,
  };
};

/** A random UUID, also without a secure context. */
export const uuid = (): string =>
  '10000000-1000-4000-8000-100000000000'.replace(/[018]/g, (digit) =>
    (+digit ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (+digit / 4)))).toString(16),
  );
