// What a page shows while it loads, when there is nothing, and when something failed. No state is a dead end.
import type { ComponentChildren } from 'preact';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { offlineSince, type ApiError } from '../lib/api';
import { errorTitle } from '../lib/errors';
import { list, sentences, t, time, tn } from '../lib/i18n';
import type { Query } from '../lib/cache';
import { Icon, type IconName } from './icon';
import { Button, Cli, Copy } from './parts';

/** The details of a failure: the server's text, code and request id to copy. */
export const Details = ({ error }: { error: ApiError }) => (
  <div class="row wrap small muted">
    {errorTitle(error) != error.message && <span>{error.message}</span>}
    <code>{error.code}</code>
    {error.requestId && <span class="row"><span>{t('Request')} <code>{error.requestId}</code></span><Copy text={`${error.code} ${error.requestId}`} label={t('Copy code and request id')} /></span>}
  </div>
);
/** A failure of a part of the page. */
export const Failure = ({ error, again }: { error: ApiError; again?: () => void }) => (
  <div class="notice bad" role="alert">
    <Icon name={error.code == 'OFFLINE' ? 'offline' : 'warn'} />
    <div class="grow stack tight">
      <div class="row between wrap"><span class="strong">{errorTitle(error)}</span>{again && <Button onClick={again}>{t('Try again')}</Button>}</div>
      <Details error={error} />
    </div>
  </div>
);
const FailurePage = ({ error, again }: { error: ApiError; again: () => void }) => {
  const granters = (error.details['grantedBy'] as { name: string }[] | undefined)?.map((one) => one.name ?? String(one));
  const forbidden = error.code == 'INSUFFICIENT_ROLE';
  return (
    <div class="state" role="alert">
      <Icon big name={forbidden ? 'shield' : error.code == 'OFFLINE' ? 'offline' : 'warn'} />
      <h2>{errorTitle(error)}</h2>
      {forbidden && <p>{sentences(t('It needs the permission {name}.', { name: String(error.details['capability']) }), granters?.length && tn(granters.length, '{names} can grant it.', '{names} can grant it.', { names: list(granters) }))}</p>}
      {error.code == 'OFFLINE' && <p>{t('Check your connection. What you have typed is still here.')}</p>}
      <div class="row wrap">{!forbidden && error.status != 404 && <Button kind="main" icon="rotate" onClick={again}>{t('Try again')}</Button>}<Button href={document.location.pathname.split('/').slice(0, -1).join('/') || '/'}>{t('Go back')}</Button></div>
      <Details error={error} />
    </div>
  );
};
/** Nothing is here: one sentence, one button, the command line. */
export const Empty = ({ icon, title, children, action, cli }: { icon: IconName; title: string; children?: ComponentChildren; action?: ComponentChildren; cli?: string }) => (
  <div class="state">
    <Icon big name={icon} />
    <h2>{title}</h2>
    {children && <p>{children}</p>}
    {action && <div class="row wrap">{action}</div>}
    {cli && <Cli line={cli} />}
  </div>
);
/** Rows of the real height, after 200 ms. */
export const Bones = ({ rows = 8 }: { rows?: number }) => {
  const shown = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => (shown.value = true), 200);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="bones" role="status" aria-label={t('Loading')}>
      {shown.value && Array.from({ length: rows }, (_, n) => <div><span class="bone" style={{ width: `${9 + ((n * 5) % 7)}rem` }} /><span class="bone" style={{ width: `${12 + ((n * 3) % 5)}rem` }} /><span class="bone" style={{ width: '4rem' }} /></div>)}
    </div>
  );
};
/** Shows a query: bones, failure, or its data, which stays while it is read again. */
export const Loaded = <T,>({ query, rows, children }: { query: Query<T>; rows?: number; children: (data: T) => ComponentChildren }) => {
  if (query.data !== undefined)
    return (
      <>
        {query.error && <div class="strip bad" role="alert"><Icon name="warn" /><span class="grow">{t('Not up to date: {reason}', { reason: errorTitle(query.error) })}</span><Button onClick={() => void query.refetch()}>{t('Try again')}</Button></div>}
        {children(query.data)}
      </>
    );
  if (query.error) return <FailurePage error={query.error} again={() => void query.refetch()} />;
  return <Bones rows={rows} />;
};
/** The strip at the top when the server cannot be reached. */
export const Offline = () =>
  offlineSince.value === null ? null : (
    <div class="strip" role="status"><Icon name="offline" /><span>{t('No connection since {time}. You see what was loaded; changes are refused until the server is back.', { time: time(new Date(offlineSince.value).toISOString()) })}</span></div>
  );
/** The strip at the top while pages learn of changes by reading again. */
export const Interrupted = () =>
  offlineSince.value !== null ? null : (
    <div class="strip" role="status"><Icon name="info" /><span>{t('Live updates are interrupted. New messages appear within a few seconds.')}</span></div>
  );
