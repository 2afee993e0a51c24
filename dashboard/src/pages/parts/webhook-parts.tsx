// What the pages of webhooks share: addresses, states in words, and the types of events.
import { agent, Badge, number, seg, t, tn, When, type Tone, type WebhookEndpoint, type WebhookEventType } from '../../kit';

/** The operations of the agent's webhooks. */
export const root = (rest = '') => `/agents/${seg(agent.value!)}/webhooks${rest}`;
export const operation = (one: WebhookEndpoint, rest = '') => root(`/${seg(one.id)}${rest}`);
/** The address of the page. */
export const page = (rest = '') => `/a/${seg(agent.value!)}/settings/webhooks${rest}`;
export const pageOf = (one: { id: string }) => page('/' + seg(one.id));
/** A URL as people write it. */
export const shortUrl = (url: string) => url.replace(/^https?:\/\//, '').replace(/\/$/, '');
export const hostOf = (url: string) => shortUrl(url).replace(/[/?:].*$/, '');

/** How an endpoint is, in a word or two. */
const stateOf = (one: WebhookEndpoint): [Tone, string] => {
  if (one.status == 'disabled') {
    const reasons: Record<string, string> = { gone: t('disabled: gone'), failing: t('disabled: failing'), secretLost: t('disabled: no secret') };
    return one.statusReason && reasons[one.statusReason] ? ['bad', reasons[one.statusReason]!] : ['', t('disabled: by hand')];
  }
  if (one.failingSince) return ['bad', t('failing')];
  if (one.openFailures) return ['warn', tn(one.openFailures, 'retrying {n}', 'retrying {n}')];
  return one.lastSuccessAt ? ['ok', t('healthy')] : ['', t('waiting for events')];
};
export const State = ({ of: one }: { of: WebhookEndpoint }) => {
  const [tone, text] = stateOf(one);
  return <Badge tone={tone} dot open={!tone}>{text}</Badge>;
};
/** Why it is disabled or fails, and what to do: a title and a sentence. */
export const trouble = (one: WebhookEndpoint): [string, string] | null => {
  if (one.status == 'disabled')
    return {
      gone: [t('The receiver answered 410 Gone'), t('It asked for no more events. Correct the URL if the receiver has moved, and enable the webhook again.')],
      failing: [t('Every attempt failed for too long'), t('Look at the failed deliveries below, repair the receiver, and enable the webhook again. Events that the log still has are sent then.')],
      secretLost: [t('Its signing secret is gone'), t('The server key that the secret was made from no longer exists. Rotate the secret, give the new one to the receiver, and enable the webhook.')],
      operator: [t('This webhook is disabled'), t('Nothing is sent. When you enable it, you choose whether it gets what it has missed.')],
    }[one.statusReason ?? 'operator']! as [string, string];
  if (!one.failingSince) return null;
  return [t('Every attempt fails'), one.mode == 'ordered' ? t('An event is tried ten times over three days. Then the webhook is disabled, because no later event may come before it.') : t('Each event is tried ten times over three days. If nothing succeeds for five days, the webhook is disabled.')];
};
/** The types that an endpoint subscribes to, in a few words. */
export const typesInWords = (types: readonly string[]) => (types.includes('*') ? t('All events') : types.slice(0, 2).join(', ') + (types.length > 2 ? ` + ${number(types.length - 2)}` : ''));
/** The catalogue by group. */
export const groupsOf = (catalogue: readonly WebhookEventType[]): [string, WebhookEventType[]][] => {
  const groups = new Map<string, WebhookEventType[]>();
  for (const one of catalogue) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  return [...groups];
};
/** The names of the types that a list of types stands for. */
export const namesOf = (types: readonly string[], catalogue: readonly WebhookEventType[]): string[] =>
  catalogue.filter((one) => types.includes('*') || types.includes(one.type) || types.includes(one.group + '.*')).map((one) => one.type);
/** The shortest list of types that stands for these names. */
export const typesOf = (names: readonly string[], catalogue: readonly WebhookEventType[]): string[] =>
  groupsOf(catalogue).flatMap(([group, members]) => {
    const chosen = members.map((one) => one.type).filter((type) => names.includes(type));
    return chosen.length == members.length && chosen.length > 1 ? [group + '.*'] : chosen;
  });
/** What an error without a response means. */
export const errorInWords = (error: string): string =>
  ({
    refused: t('The network policy of this server refuses the address.'),
    dns: t('The name of the host was not found.'),
    connect: t('No connection was established.'),
    tls: t('The TLS handshake failed. Check the certificate.'),
    timeout: t('The receiver did not answer within 15 seconds.'),
    response: t('The receiver broke the connection off.'),
    redirects: t('The receiver redirects. Use the final URL.'),
    request: t('The request cannot be sent as it is.'),
    unavailable: t('This server sends no requests to other services.'),
  })[error] ?? error;
/** A time with its word, or a dash. */
export const Moment = ({ at }: { at: string | null }) => <When at={at} never={t('not yet')} />;
