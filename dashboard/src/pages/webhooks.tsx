// Settings → Webhooks: URLs that events of the agent are sent to, how they are, and what was delivered.
import {
  address, agent, Bar, Button, can, Cli, Copy, Empty, holds, href, Loaded, Menu, moment, navigate, Notice, number, Search, setQuery, t, useActions, useEvery, useQuery, useSignal,
  type Item, type WebhookEndpoint, type WebhookSecret,
} from '../kit';
import type { ComponentChildren } from 'preact';
import { Deliveries } from './parts/webhook-deliveries';
import { disable, drop, EnableDialog, ReplayDialog, reveal, RotateDialog, SecretDialog, TestDialog } from './parts/webhook-dialogs';
import { WebhookForm } from './parts/webhook-form';
import { Moment, operation, page, pageOf, root, shortUrl, State, trouble, typesInWords } from './parts/webhook-parts';

/** How often a page looks how its webhooks are: no event says so. */
const EVERY_MILLIS = 10_000;
type Shown = { kind: 'new' } | { kind: 'edit' | 'test' | 'rotate' | 'replay' | 'enable'; of: WebhookEndpoint; etag?: string | null } | { kind: 'secret'; title: string; secret: WebhookSecret; then?: () => void };

/** The dialog that is open, and how to open one. */
const useDialogs = () => {
  const shown = useSignal<Shown | null>(null);
  const open = (one: Shown) => void (shown.value = one);
  const close = () => void (shown.value = null);
  const showSecret = (title: string, then?: () => void) => (secret: WebhookSecret) => open({ kind: 'secret', title, secret, then });
  const current = shown.value;
  const kinds: Record<Shown['kind'], () => ComponentChildren> = {
    new: () => <WebhookForm close={close} issued={({ webhook, secret }) => showSecret(t('{name} is ready', { name: shortUrl(webhook.url) }), () => navigate(pageOf(webhook)))(secret)} />,
    edit: () => current && 'of' in current && <WebhookForm of={{ webhook: current.of, etag: current.etag ?? null }} close={close} />,
    test: () => current && 'of' in current && <TestDialog of={current.of} close={close} />,
    rotate: () => current && 'of' in current && <RotateDialog of={current.of} close={close} rotated={showSecret(t('The new secret of {name}', { name: shortUrl(current.of.url) }))} />,
    replay: () => current && 'of' in current && <ReplayDialog of={current.of} close={close} />,
    enable: () => current && 'of' in current && <EnableDialog of={current.of} close={close} />,
    secret: () => current?.kind == 'secret' && <SecretDialog title={current.title} of={current.secret} close={() => { close(); current.then?.(); }} />,
  };
  return { open, dialog: current && kinds[current.kind](), showSecret };
};
type Dialogs = ReturnType<typeof useDialogs>;
/** What can be done with an endpoint. Without its version, an edit is offered on its page alone. */
const itemsOf = (one: WebhookEndpoint, { open, showSecret }: Dialogs, etag?: string | null): Item[] => {
  const items: Item[] = etag === undefined ? [{ label: t('Open webhook'), icon: 'chevron', href: href(pageOf(one)) }] : [];
  if (!can('webhooks.manage')) return items;
  if (etag !== undefined) items.push({ label: t('Edit'), icon: 'edit', run: () => open({ kind: 'edit', of: one, etag }) });
  items.push(
    { label: t('Send test message'), icon: 'send', run: () => open({ kind: 'test', of: one }) },
    { label: t('Replay events…'), icon: 'clock', run: () => open({ kind: 'replay', of: one }) },
    null,
    { label: t('Show secret'), icon: 'key', run: () => void reveal(one, showSecret(t('The secret of {name}', { name: shortUrl(one.url) }))) },
    { label: t('Rotate secret…'), icon: 'rotate', run: () => open({ kind: 'rotate', of: one }) },
    null,
    one.status == 'enabled' ? { label: t('Disable'), icon: 'pause', run: () => disable(one) } : { label: t('Enable…'), icon: 'play', run: () => open({ kind: 'enable', of: one }) },
    { label: t('Remove…'), icon: 'trash', bad: true, run: () => drop(one, () => navigate(page())) },
  );
  return items;
};
const Actions = ({ of: one, items }: { of: WebhookEndpoint; items: Item[] }) => {
  const label = t('Actions for {name}', { name: shortUrl(one.url) });
  return <Menu label={label} items={items} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={label} expanded={expanded} onClick={open} />} />;
};
const List = () => {
  const webhooks = useQuery<readonly WebhookEndpoint[]>(root());
  const dialogs = useDialogs();
  const search = address.value.query.get('q') ?? '';
  useEvery(EVERY_MILLIS, () => void webhooks.refetch());
  const create = () => dialogs.open({ kind: 'new' });
  const manages = can('webhooks.manage');
  useActions(manages ? [{ id: 'new', label: t('New webhook'), icon: 'plus' as const, keys: 'n', run: create }] : []);
  const button = manages && <Button kind="main" icon="plus" keys="n" onClick={create}>{t('New webhook')}</Button>;
  return (
    <>
      <Bar crumb={t('Settings')} title={t('Webhooks')}>{button}</Bar>
      <div class="scroll">
        <Loaded query={webhooks}>{(all) => {
          if (!all.length)
            return <Empty icon="hook" title={t('No webhooks yet')} cli={`webhooks create https://www.example.com/webhooks --agent ${agent.value}`} action={manages && <Button kind="main" icon="plus" onClick={create}>{t('New webhook')}</Button>}>{t('A webhook sends what happens to this agent, such as a new contact or a visitor who asks for a person, to a URL of yours. Messages are signed, name ids and changed fields but no values, and are retried until your server accepts them.')}</Empty>;
          const shown = all.filter((one) => !search || holds(`${one.url} ${one.description ?? ''} ${one.types.join(' ')}`, search));
          return (
            <>
              <div class="filter"><Search label={t('Filter webhooks')} value={search} onInput={(value) => setQuery({ q: value })} /></div>
              {shown.length ? (
                <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Webhooks')}><table class="list">
                  <thead><tr><th scope="col">{t('URL')}</th><th scope="col">{t('State')}</th><th scope="col" class="wide-only">{t('Events')}</th><th scope="col">{t('Waiting')}</th><th scope="col">{t('Last success')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
                  <tbody>{shown.map((one) => (
                    <tr key={one.id} data-href={pageOf(one)} onClick={(event) => !event.defaultPrevented && !(event.target as Element).closest('a, button, .menuroot') && navigate(pageOf(one))}>
                      <td><a class="main cut address" href={href(pageOf(one))}>{shortUrl(one.url)}</a>{one.description && <div class="cut muted small"><bdi>{one.description}</bdi></div>}</td>
                      <td><State of={one} /></td>
                      <td class="muted wide-only cut" dir="auto">{typesInWords(one.types)}</td>
                      <td class="muted">{number(one.pending)}</td>
                      <td class="muted"><Moment at={one.lastSuccessAt} /></td>
                      <td class="end"><Actions of={one} items={itemsOf(one, dialogs)} /></td>
                    </tr>
                  ))}</tbody>
                </table></div>
              ) : <Empty icon="search" title={t('No matching webhooks')} action={<Button onClick={() => setQuery({ q: null })}>{t('Clear filter')}</Button>}>{t('Nothing matches “{text}”.', { text: search })}</Empty>}
            </>
          );
        }}</Loaded>
      </div>
      {dialogs.dialog}
    </>
  );
};
const Facts = ({ of: one }: { of: WebhookEndpoint }) => {
  const figures: [string, ComponentChildren][] = [[t('Waiting'), number(one.pending)], [t('To be retried'), number(one.openFailures)], [t('Last success'), <Moment at={one.lastSuccessAt} />], [t('Last failure'), <Moment at={one.lastFailureAt} />]];
  return (
    <>
      <dl class="numbers">{figures.map(([name, value]) => <div class="number"><dt class="muted small">{name}</dt><dd class="value">{value}</dd></div>)}</dl>
      <dl class="dl">
        <dt>{t('State')}</dt><dd class="row wrap"><State of={one} />{one.failingSince && one.status == 'enabled' && <span class="muted">{t('since {time}', { time: moment(one.failingSince) })}</span>}</dd>
        <dt>{t('URL')}</dt><dd class="row"><code class="address">{one.url}</code><Copy text={one.url} label={t('Copy the URL')} /></dd>
        {one.description && <><dt>{t('Description')}</dt><dd><bdi>{one.description}</bdi></dd></>}
        <dt>{t('Events')}</dt><dd class="row wrap">{one.types.includes('*') ? t('All events') : one.types.map((type) => <code class="chip">{type}</code>)}</dd>
        <dt>{t('Order')}</dt><dd>{one.mode == 'ordered' ? t('One at a time, in order') : t('As fast as possible')}</dd>
        {one.secretExpiresAt && <><dt>{t('Old secret')}</dt><dd>{t('signs too until {time}', { time: moment(one.secretExpiresAt) })}</dd></>}
        <dt>{t('Created')}</dt><dd>{moment(one.createdAt)}</dd>
      </dl>
    </>
  );
};
const Record = ({ id }: { id: string }) => {
  const webhook = useQuery<WebhookEndpoint>(root('/' + encodeURIComponent(id)));
  const dialogs = useDialogs();
  useEvery(EVERY_MILLIS, () => void webhook.refetch());
  const one = webhook.data;
  const manages = can('webhooks.manage');
  const act = (kind: 'edit' | 'test' | 'enable') => () => one && dialogs.open({ kind, of: one, etag: webhook.etag });
  useActions(one && manages ? [{ id: 'test', label: t('Send test message'), icon: 'send' as const, keys: 't', run: act('test') }, { id: 'edit', label: t('Edit'), icon: 'edit' as const, keys: 'e', run: act('edit') }] : []);
  const problem = one && trouble(one);
  return (
    <>
      <Bar crumb={t('Webhooks')} title={one ? shortUrl(one.url) : t('Webhook')} back={page()}>
        {one && manages && <Button icon="send" keys="t" onClick={act('test')}>{t('Send test message')}</Button>}
        {one && <Actions of={one} items={itemsOf(one, dialogs, webhook.etag)} />}
      </Bar>
      <div class="scroll"><Loaded query={webhook} rows={6}>{(data) => (
        <div class="page">
          {problem && <Notice tone={data.statusReason == 'operator' && data.status == 'disabled' ? 'warn' : 'bad'}><span class="strong">{problem[0]}</span><span>{problem[1]}</span>{manages && data.status == 'disabled' && <span class="row"><Button icon="play" onClick={act('enable')}>{t('Enable…')}</Button></span>}</Notice>}
          <Facts of={data} />
          <Deliveries key={operation(data)} of={data} manages={manages} stamp={`${data.lastSuccessAt} ${data.lastFailureAt} ${data.pending}`} />
          <Cli line={`webhooks attempts ${data.id} --agent ${agent.value}`} />
        </div>
      )}</Loaded></div>
      {dialogs.dialog}
    </>
  );
};
export default ({ rest }: { rest: string[] }) => (rest[0] ? <Record key={rest[0]} id={rest[0]} /> : <List />);
