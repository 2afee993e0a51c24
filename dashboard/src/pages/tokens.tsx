// Settings → Service tokens: what scripts and commands elsewhere call the console with.
import {
  address, ago, ask, Badge, Bar, Button, can, Check, Cli, Code, Copy, day, done, Empty, Failure, holds, href, invalidate, list, Loaded, moment, navigate, Notice, number, post, quoted, remove,
  Search, seg, Select, sentences, setQuery, t, TextField, useActions, useForm, useKeys, useLayoutEffect, useQuery, useSignal, When, who, type Form, type IssuedServiceToken, type ServiceToken,
} from '../kit';
import { Grants, RolesField } from './parts/roles';
import { DANGEROUS, dangerousName } from './parts/dangerous';

const ROOT = '/tokens';
const SOON = 14 * 86400000;
const DAYS: [string, () => string][] = [['604800', () => t('7 days')], ['2592000', () => t('30 days')], ['7776000', () => t('90 days')], ['15552000', () => t('180 days')], ['31622400', () => t('366 days')]];
interface Values extends Record<string, unknown> {
  name: string;
  grants: string[];
  valid: string;
  addresses: string;
  dangerous: string[];
}
const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);
/** The state of a token in words: what ends soon says when. */
const State = ({ of: token }: { of: ServiceToken }) => {
  if (token.state == 'revoked') return <Badge tone="bad" dot>{t('revoked')}</Badge>;
  const left = Date.parse(token.expiresAt) - Date.now();
  if (token.state == 'expired' || left <= 0) return <Badge tone="bad" dot>{t('expired')}</Badge>;
  if (left < SOON) return <Badge tone="warn" dot>{t('expires {when}', { when: ago(token.expiresAt) })}</Badge>;
  return <Badge tone="ok" dot>{t('active')}</Badge>;
};
const revoke = (token: ServiceToken) => ask({
  title: t('Revoke {name}?', { name: token.name }),
  text: sentences(t('Its requests are refused immediately and permanently, and its live streams end. Create a new token first if the script is to go on.'), token.lastUsedAt && t('Last used {when}.', { when: ago(token.lastUsedAt) })),
  button: t('Revoke token'),
  bad: true,
  typed: token.name,
  cli: `tokens revoke ${token.id}`,
  run: async () => {
    await remove(`${ROOT}/${seg(token.id)}`, null, { confirm: token.name });
    invalidate(ROOT);
    done(t('{name} is revoked', { name: token.name }));
  },
});
const Rows = ({ all }: { all: readonly ServiceToken[] }) => (
  <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Service tokens')}><table class="list stacked">
    <thead><tr><th scope="col">{t('Name')}</th><th scope="col">{t('Roles')}</th><th scope="col">{t('Last use')}</th><th scope="col">{t('Ends')}</th><th scope="col">{t('State')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
    <tbody>{all.map((token) => (
      <tr key={token.id}>
        <td><span class="stack none"><span class="strong cut"><bdi>{token.name}</bdi></span><span class="muted small cut"><code>{token.start}…</code></span><span class="muted small cut">{t('Created by {name} on {day}', { name: who(token.createdBy), day: day(token.createdAt) })}</span></span></td>
        <td><span class="stack tight"><Grants of={token.grants} />{!!token.dangerous.length && <span class="muted small wraps">{t('Also: {things}', { things: list(token.dangerous.map(dangerousName)) })}</span>}{!!token.addresses.length && <span class="muted small wraps">{t('Only from {addresses}', { addresses: list(token.addresses) })}</span>}</span></td>
        <td class="muted" data-label={t('Last use')}><span class="cut"><When at={token.lastUsedAt} never={t('never')} />{token.lastUsedAddress && <> · <code>{token.lastUsedAddress}</code></>}</span></td>
        <td class="muted" data-label={t('Ends')}><span title={moment(token.revokedAt ?? token.expiresAt)}>{day(token.revokedAt ?? token.expiresAt)}</span></td>
        <td><State of={token} /></td>
        <td class="end">{token.state == 'active' && can('tokens.manage', null) && <Button onClick={() => revoke(token)}>{t('Revoke…')}<span class="sr"> {token.name}</span></Button>}</td>
      </tr>
    ))}</tbody>
  </table></div>
);
const List = () => {
  const tokens = useQuery<readonly ServiceToken[]>(ROOT);
  const search = address.value.query.get('q') ?? '';
  const view = address.value.query.get('state') ?? 'working';
  useActions([{ id: 'new', label: t('New service token'), icon: 'plus', keys: 'n', run: () => navigate('/tokens/new') }]);
  const works = (token: ServiceToken) => token.state == 'active' && Date.parse(token.expiresAt) > Date.now();
  const create = <Button kind="main" icon="plus" href={href('/tokens/new')}>{t('New token')}</Button>;
  return (
    <>
      <Bar crumb={t('Settings')} title={t('Service tokens')}><Button kind="main" icon="plus" keys="n" href={href('/tokens/new')}>{t('New token')}</Button></Bar>
      <div class="scroll">
        <Loaded query={tokens}>
          {(all) => {
            if (!all.length) return <Empty icon="shield" title={t('No service tokens yet')} cli={'tokens create "Nightly sync" --role inbox@acme'} action={create}>{t('A token lets a script or the command line on another machine do in the console what its roles allow. The Open API takes API keys instead.')}</Empty>;
            const shown = all.filter((token) => (view == 'all' || works(token) == (view == 'working')) && holds(`${token.name} ${token.start} ${token.grants.join(' ')}`, search));
            const count = all.filter(works).length;
            return (
              <>
                <div class="filter">
                  <Search label={t('Filter service tokens')} value={search} onInput={(value) => setQuery({ q: value })} />
                  <div class="tabs">
                    {([['working', t('Current'), count], ['ended', t('Past'), all.length - count], ['all', t('All'), all.length]] as const).map(([name, label, n]) => (
                      <button type="button" class="tab" aria-pressed={view == name} onClick={() => setQuery({ state: name == 'working' ? null : name })}>{label} <span class="n">{number(n)}</span></button>
                    ))}
                  </div>
                </div>
                {shown.length ? <Rows all={shown} /> : <Empty icon="search" title={t('No matching service tokens')} action={<Button onClick={() => setQuery({ q: null, state: 'all' })}>{t('Clear filter')}</Button>}>{search ? t('Nothing matches “{text}”.', { text: search }) : t('No service token has this state.')}</Empty>}
              </>
            );
          }}
        </Loaded>
      </div>
    </>
  );
};
/** The use of a token: stored, on the command line, by a request. */
const snippets = (secret: string): [string, string][] => {
  const url = location.origin;
  return [
    ['.env', `OPENAPI_TOKEN=${secret}\n`],
    [t('Command line'), `export OPENAPI_TOKEN=${secret}\nopenapi-server agents list --server ${url}\n`],
    ['curl', `curl ${url}/console/v1/agents \\\n  -H "Authorization: Bearer ${secret}"\n`],
  ];
};
/** The token, once. It is dropped when the panel closes. */
const Secret = ({ issued, close }: { issued: IssuedServiceToken; close: () => void }) => {
  const stored = useSignal(false);
  const { token, secret } = issued;
  // The form that had the focus is gone.
  useLayoutEffect(() => document.querySelector<HTMLElement>('.secret .button.main')?.focus(), []);
  const leave = () => (stored.value ? close() : ask({ title: t('Leave without the token?'), text: t('It cannot be shown again. If you have not stored it, revoke it and create another one.'), button: t('Leave'), run: async () => close() }));
  return (
    <>
      <Bar crumb={t('Service tokens')} title={t('{name} is ready', { name: token.name })} />
      <div class="scroll"><div class="page narrow">
        <Notice tone="warn"><span class="strong">{t('Copy the token now. It is shown only once.')}</span><span>{t('The server keeps only a hash of it.')}</span></Notice>
        <div class="secret"><code data-secret>{secret}</code><Copy kind="main" text={secret}>{t('Copy token')}</Copy></div>
        <Code name={t('Use it')} tabs={snippets(secret)} />
        <p class="muted small">{t('It works until {time}. Anyone who has it acts with its roles, so give each script a token of its own.', { time: moment(token.expiresAt) })}</p>
        <div class="row wide wrap"><Check label={t('I have stored the token')} checked={stored.value} onChange={(checked) => (stored.value = checked)} /><Button kind={stored.value ? 'main' : ''} onClick={leave}>{t('Done')}</Button></div>
      </div></div>
    </>
  );
};
const Dangerous = ({ form }: { form: Form<Values> }) => (
  <fieldset class="stack tight">
    <legend>{t('Sensitive operations')}</legend>
    <p class="muted small">{t('People confirm their identity for these. A token may call those that you select, if its roles include them.')}</p>
    <div class="checks">{Object.keys(DANGEROUS).map((name) => <Check label={<>{dangerousName(name)} <code class="muted small">{name}</code></>} checked={form.values.dangerous.includes(name)} onChange={(on) => form.set('dangerous', Object.keys(DANGEROUS).filter((one) => (one == name ? on : form.values.dangerous.includes(one))))} />)}</div>
    {form.errors['dangerous'] && <span class="wrong" role="alert">{form.errors['dangerous']}</span>}
  </fieldset>
);
const line = ({ name, grants, valid, addresses, dangerous }: Values) =>
  `tokens create ${quoted(name || '…')}${grants.map((one) => ` --role ${one}`).join('')} --expires ${Number(valid) / 86400}d${dangerous.map((one) => ` --dangerous ${one}`).join('')}${words(addresses).map((one) => ` --address ${quoted(one)}`).join('')}`;
const New = () => {
  const form = useForm<Values>('token-new', { name: '', grants: ['viewer'], valid: '7776000', addresses: '', dangerous: [] });
  const issued = useSignal<IssuedServiceToken | null>(null);
  const text = (field: 'name' | 'addresses') => ({ value: form.values[field], onInput: (value: string) => form.set(field, value), error: form.errors[field] });
  const save = () => void form.submit(async ({ name, grants, valid, addresses, dangerous }) => {
    const { data } = await post<IssuedServiceToken>(ROOT, { name: name.trim(), grants, validForSeconds: Number(valid), addresses: words(addresses), dangerous });
    invalidate(ROOT);
    issued.value = data;
  });
  useKeys([{ key: 'mod+s', label: t('Create token'), run: save }, { key: 'mod+Enter', label: t('Create token'), run: save, hidden: true }]);
  if (issued.value) return <Secret issued={issued.value} close={() => { issued.value = null; navigate(ROOT); }} />;
  const opened = !!form.values.addresses || !!form.values.dangerous.length || !!form.errors['addresses'] || !!form.errors['dangerous'];
  return (
    <>
      <Bar crumb={t('Service tokens')} title={t('New service token')} back={ROOT} />
      <div class="scroll"><div class="page narrow">
        <form class="stack loose" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
          <TextField label={t('Name')} autofocus autocomplete="off" hint={t('What uses it, such as “Nightly sync”. The audit log shows it.')} {...text('name')} />
          <RolesField value={form.values.grants} error={form.errors['grants']} withoutOwner onChange={(grants) => form.set('grants', grants)} />
          <p class="muted small">{t('A token manages neither members nor tokens nor sign-in, whatever its roles.')}</p>
          <Select label={t('Expires after')} value={form.values.valid} error={form.errors['validForSeconds']} options={DAYS.map(([value, label]) => [value, label()])} onChange={(value) => form.set('valid', value)} />
          <details open={opened || undefined}>
            <summary>{t('Addresses and sensitive operations')}</summary>
            <div class="stack inset">
              <TextField label={t('Allowed addresses')} mono placeholder="192.0.2.7, 2001:db8::/32" hint={t('IP addresses and CIDR blocks, separated by commas. Leave empty to allow any.')} {...text('addresses')} />
              <Dangerous form={form} />
            </div>
          </details>
          {form.restored && form.dirty && <p class="muted small row wrap">{t('Restored from before the reload.')} <Button kind="quiet" onClick={() => form.reset()}>{t('Discard')}</Button></p>}
          {form.failure && <Failure error={form.failure} />}
          <div class="row wrap"><Button type="submit" kind="main" keys="mod+s" busy={form.busy}>{t('Create token')}</Button><Button href={href(ROOT)}>{t('Cancel')}</Button></div>
          <Cli line={line(form.values)} />
        </form>
      </div></div>
    </>
  );
};
export default ({ rest }: { rest: string[] }) => (rest[0] == 'new' ? <New /> : <List />);
