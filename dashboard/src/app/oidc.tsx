// Signing in at a provider: there and back. How it went stands in the fragment of the page that the browser comes back to.
import { signal, useSignal } from '@preact/signals';
import { post, type ApiError } from '../lib/api';
import { base, stored } from '../lib/base';
import { t } from '../lib/i18n';
import { address } from '../lib/router';
import { Dialog } from '../ui/dialog';
import { Button, Notice } from '../ui/parts';
import { Failure } from '../ui/states';
import { done } from '../ui/toast';
import { session } from './session';
import type { Leaving, OfferedProvider } from './types';

/** What the browser left for. */
export type Errand = 'signIn' | 'stepUp' | 'link' | 'try';
interface Landed {
  /** `done`, `refused`, `busy`, or the provider's word. */
  word: string;
  errand: string | null;
  request: string | null;
}
/** How it went, until the person has seen it. */
export const landed = signal<Landed | null>(null);

/** Reads how it went, and takes it out of the address. */
export const readLanding = (): void => {
  const [, word, rest] = /^#oidc=([a-z_]+)(?:\.([\w-]+))?$/.exec(location.hash) ?? [];
  const errand = stored.read('session', 'errand');
  // Who comes back in another way has given up: a link of later is none of the errand.
  stored.write('session', 'errand', null);
  if (!word) return;
  history.replaceState(null, '', location.pathname + location.search);
  // The secret of the new session's pages. A link from elsewhere replaces none.
  if (word == 'done' && rest && errand) stored.write('local', 'proof', rest);
  landed.value = { word, errand, request: word == 'done' ? null : (rest ?? null) };
};
/** Says what was done, once there are pages to say it on. */
export const greet = (): void => {
  const at = landed.value;
  if (at?.word != 'done') return;
  landed.value = null;
  if (at.errand == 'stepUp') done(t('Confirmed. Continue where you left off.'));
  if (at.errand == 'link') done(t('The account is linked'));
  if (at.errand == 'try') done(t('The trial sign-in worked'));
};
/** The path of the page that is open. */
export const here = (): string => address.value.path + (address.value.query.size ? '?' + address.value.query : '');
/** Goes to a provider. It resolves only if the browser stays. */
export const leave = async (errand: Errand, path: string, body: Record<string, unknown>): Promise<void> => {
  const { data } = await post<Leaving>(path, body, errand == 'signIn' || errand == 'stepUp' ? { quiet: true } : {});
  if (!/^https?:\/\//.test(data.url)) return;
  stored.write('session', 'errand', errand);
  location.assign(data.url);
  await new Promise(() => undefined);
};

const REASONS: Record<string, () => string> = {
  busy: () => t('There were too many failed attempts from your network. Wait a minute, then try again.'),
  access_denied: () => t('You cancelled at the provider, or the provider does not let you use this application.'),
  login_required: () => t('The provider did not sign you in. Try again.'),
  interaction_required: () => t('The provider did not sign you in. Try again.'),
  consent_required: () => t('The provider needs your consent. Try again and accept.'),
  temporarily_unavailable: () => t('The provider is not available at the moment. Try again later.'),
  server_error: () => t('The provider had an internal problem. Try again later.'),
  other: () => t('The provider reported a problem with this application. Ask an owner to check its settings.'),
};
/** Why nothing came of it. */
const Reason = ({ of: at }: { of: Landed }) => (
  <Notice tone={at.word == 'access_denied' ? 'warn' : 'bad'}>
    <span class="strong">{t('You were not signed in at the provider')}</span>
    <span>{REASONS[at.word]?.() ?? t('The sign-in took longer than 10 minutes, began in another browser, or belongs to no account here. Try again, or use another way.')}</span>
    {at.request && <span class="small muted">{t('Request')} <code>{at.request}</code></span>}
  </Notice>
);
/** On the sign-in page. */
export const LandedNotice = () => (landed.value && landed.value.word != 'done' ? <Reason of={landed.value} /> : null);
/** Over a page of somebody who is signed in. */
export const LandedDialog = () => {
  const at = landed.value;
  if (!at || at.word == 'done' || !session.value?.operator) return null;
  const close = () => (landed.value = null);
  return <Dialog title={at.errand == 'link' ? t('The account was not linked') : at.errand == 'try' ? t('The trial did not work') : t('Your identity was not confirmed')} onClose={close} foot={<Button kind="main" onClick={close}>{t('Close')}</Button>}><Reason of={at} /></Dialog>;
};
/** A button for each provider. */
export const ProviderButtons = ({ providers, go }: { providers: readonly OfferedProvider[]; go: (provider: OfferedProvider) => Promise<void> }) => {
  const busy = useSignal<string | null>(null);
  const error = useSignal<ApiError | null>(null);
  const start = async (provider: OfferedProvider) => {
    if (busy.value) return;
    busy.value = provider.id;
    error.value = null;
    try {
      await go(provider);
    } catch (cause) {
      error.value = cause as ApiError;
    } finally {
      busy.value = null;
    }
  };
  return (
    <div class="stack">
      {providers.map((one) => <Button kind="large" icon="globe" busy={busy.value == one.id} onClick={() => void start(one)}><bdi class="cut">{t('Continue with {name}', { name: one.name })}</bdi></Button>)}
      {error.value && <Failure error={error.value} />}
    </div>
  );
};
/** The URL that a provider leads back to. */
export const redirectUri = (): string => `${location.origin}${base}/console/v1/sign-in/oidc/callback`;
