// Settings → Sign-in: the providers that operators sign in with.
import {
  address, ago, ApiError, ask, Badge, Bar, Button, Check, Cli, Copy, Dialog, done, Empty, Failure, href, Icon, invalidate, leave, list, Loaded, Menu, Notice, post, put, quoted, redirectUri, remove, seg, setQuery,
  start, t, TextField, useActions, useForm, useKeys, useQuery, useSignal, type Item, type Provider, type ProviderStep, type ProviderTest,
} from '../kit';
import { GroupsField, groupsOf, linesOf, type GroupLine } from './parts/groups';

const ROOT = '/providers';
const pathOf = (id: string, rest = '') => `${ROOT}/${seg(id)}${rest}`;
/** The sign-in page and the profile show what is offered. */
const refresh = () => { invalidate(ROOT); void start(); };
const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);
const slug = (name: string) => name.normalize('NFKD').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 32);
const STEPS: Record<string, () => string> = { discovery: () => t('Discovery'), endpoints: () => t('Endpoints'), keys: () => t('Signing keys') };

const Redirect = () => (
  <div class="stack tight"><span class="label">{t('Redirect URL, to enter at the provider')}</span><div class="secret"><code>{redirectUri()}</code><Copy text={redirectUri()} label={t('Copy the redirect URL')} /></div></div>
);
const ProviderForm = ({ of: one, again, close }: { of: Provider | null; again: () => void; close: (saved?: string) => void }) => {
  const form = useForm(`provider-${one?.id ?? 'new'}`, {
    id: one?.id ?? '', name: one?.name ?? '', issuer: one?.issuer ?? '', clientId: one?.clientId ?? '', clientSecret: '', scopes: (one?.scopes ?? ['openid', 'email', 'profile']).join(' '), groupsClaim: one?.groupsClaim ?? 'groups',
    domains: (one?.domains ?? []).join(' '), groups: linesOf(one?.groups ?? {}) as GroupLine[], isEnabled: one?.isEnabled ?? false,
  }, ['clientSecret']);
  const { values, errors } = form;
  const id = one?.id ?? (values.id || slug(values.name));
  const text = (field: 'id' | 'name' | 'issuer' | 'clientId' | 'clientSecret' | 'scopes' | 'groupsClaim' | 'domains') => ({ value: values[field], onInput: (value: string) => form.set(field, value), error: errors[field] });
  const save = () => void form.submit(async (given) => {
    const body = {
      name: given.name, issuer: given.issuer.trim(), clientId: given.clientId.trim(), scopes: words(given.scopes), groupsClaim: given.groupsClaim.trim() || 'groups', domains: words(given.domains), groups: groupsOf(given.groups), isEnabled: given.isEnabled,
      ...(given.clientSecret ? { clientSecret: given.clientSecret } : {}),
    };
    await put(pathOf(id || '-'), body, one?.etag ?? '"0"');
    refresh();
    done(t('{name} is saved', { name: given.name }));
  }).then((saved) => saved && close(id));
  useKeys([{ key: 'mod+Enter', label: t('Save'), run: save }]);
  const flags = `${values.issuer ? ` --issuer ${quoted(values.issuer.trim())}` : ''}${values.clientId ? ` --client-id ${quoted(values.clientId.trim())}` : ''}`;
  return (
    <Dialog title={one ? t('Edit {name}', { name: one.name }) : t('Add a provider')} onClose={() => close()} foot={<><Button onClick={() => close()}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} keys="mod+Enter" onClick={save}>{t('Save')}</Button></>}>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        <Redirect />
        <div class="two">
          <TextField label={t('Name')} autofocus={!one} autocomplete="off" hint={t('Shown on the button: “Continue with …”.')} {...text('name')} />
          {!one && <TextField label={t('Id')} mono autocomplete="off" placeholder={slug(values.name)} hint={t('For commands. Cannot be changed later.')} {...text('id')} error={errors['id'] || errors['provider']} />}
        </div>
        <TextField type="url" label={t('Issuer')} mono autocomplete="off" placeholder="https://id.example.com" hint={t('The URL of the provider, exactly as its description names it.')} {...text('issuer')} />
        <div class="two">
          <TextField label={t('Client ID')} mono autocomplete="off" {...text('clientId')} />
          <TextField type="password" label={t('Client secret')} autocomplete="new-password" hint={one?.hasClientSecret ? t('Stored. Leave empty to keep it.') : t('Leave empty for a client without one.')} {...text('clientSecret')} />
        </div>
        <TextField label={t('Domains that get accounts')} mono autocomplete="off" placeholder="example.com" hint={t('People with a verified address in one of these domains get an account when one of their groups has a role. Leave empty if only invited members sign in here.')} {...text('domains')} />
        <GroupsField value={values.groups} error={errors['groups']} onChange={(groups) => form.set('groups', groups)} />
        <details><summary>{t('More options')}</summary><div class="two"><TextField label={t('Scopes')} mono autocomplete="off" {...text('scopes')} /><TextField label={t('Claim that has the groups')} mono autocomplete="off" {...text('groupsClaim')} /></div></details>
        <div class="stack tight"><Check label={t('Offer on the sign-in page')} checked={values.isEnabled} onChange={(on) => form.set('isEnabled', on)} />{errors['isEnabled'] ? <span class="wrong" role="alert"><Icon name="warn" />{errors['isEnabled']}</span> : <span class="hint">{t('Switching on checks the provider first.')}</span>}</div>
        {form.restored && form.dirty && <p class="muted small row wrap">{t('Not saved yet.')} <Button kind="quiet" onClick={() => form.reset()}>{t('Discard')}</Button></p>}
        {form.failure && <Failure error={form.failure} again={form.failure.code == 'PRECONDITION_FAILED' ? again : undefined} />}
        <Cli line={`sign-in set ${quoted(id || 'ID')}${flags}`} />
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
};
const Steps = ({ of: steps }: { of: readonly ProviderStep[] }) => (
  <ol class="checks">{steps.map((step) => (
    <li><Icon name={step.passed ? 'check' : step.passed === null ? 'clock' : 'warn'} /><div><span class="strong">{STEPS[step.name]?.() ?? step.name}</span> {step.passed === false && <Badge tone="bad" dot>{t('failed')}</Badge>}<br /><span class="muted small" dir="auto">{step.passed === null ? t('Not reached.') : step.detail}</span></div></li>
  ))}</ol>
);
/** A provider with its check and its trial. */
const Shown = ({ of: one, edit, close }: { of: Provider; edit: () => void; close: () => void }) => {
  const tested = useSignal<ProviderTest | null>(null);
  const busy = useSignal<'check' | 'try' | null>(null);
  const error = useSignal<ApiError | null>(null);
  const attempt = async (what: 'check' | 'try', action: () => Promise<unknown>) => {
    if (busy.value) return;
    busy.value = what;
    error.value = null;
    try {
      await action();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      if (cause.code != 'CANCELLED') error.value = cause;
    } finally {
      busy.value = null;
    }
  };
  const check = () => void attempt('check', async () => (tested.value = (await post<ProviderTest>(pathOf(one.id, '/test'))).data));
  const attemptTrial = () => void attempt('try', () => leave('try', pathOf(one.id, '/try'), { returnTo: `${ROOT}?open=${seg(one.id)}` }));
  return (
    <Dialog kind="panel" title={one.name} onClose={close}>
      <div class="row between wrap">{one.isEnabled ? <Badge tone="ok" dot>{t('offered')}</Badge> : <Badge dot open>{t('off')}</Badge>}<Button icon="edit" onClick={edit}>{t('Edit')}</Button></div>
      <dl class="dl">
        <dt>{t('Id')}</dt><dd><code>{one.id}</code></dd>
        <dt>{t('Issuer')}</dt><dd><code>{one.issuer}</code></dd>
        <dt>{t('Client ID')}</dt><dd><code>{one.clientId}</code></dd>
        <dt>{t('Client secret')}</dt><dd>{one.hasClientSecret ? t('stored') : t('none')}</dd>
        <dt>{t('Domains')}</dt><dd>{one.domains.length ? list(one.domains) : <span class="muted">{t('none: only invited members')}</span>}</dd>
      </dl>
      <Redirect />
      <section class="stack"><div class="row between wrap"><h3>{t('Check')}</h3><Button busy={busy.value == 'check'} onClick={check}>{t('Check now')}</Button></div>
        {tested.value ? <div role="status"><Steps of={tested.value.steps} /></div> : <p class="muted small">{t('Reads what the provider publishes: its description, its endpoints and its signing keys.')}</p>}
      </section>
      <section class="stack"><div class="row between wrap"><h3>{t('Trial sign-in')}</h3><Button busy={busy.value == 'try'} onClick={attemptTrial}>{t('Try now')}</Button></div>
        {one.trial ? <>
          <p class="muted small">{t('What the provider said about you {when}. It is stored for a day.', { when: ago(one.trial.at) })}</p>
          <dl class="dl">{one.trial.claims.map((claim) => <><dt><code>{claim.name}</code></dt><dd><code>{claim.value}</code></dd></>)}</dl>
        </> : <p class="muted small">{t('You sign in at the provider and see what it says about you. It shows whether the client and the groups are right, and changes nothing here.')}</p>}
      </section>
      {error.value && <Failure error={error.value} />}
      <Cli line={`sign-in test ${quoted(one.id)}`} />
    </Dialog>
  );
};
const itemsOf = (one: Provider, open: () => void, edit: () => void): Item[] => [
  { label: t('Check and try…'), icon: 'play', run: open },
  { label: t('Edit…'), icon: 'edit', run: edit },
  null,
  { label: t('Remove…'), icon: 'trash', bad: true, run: () => ask({
    title: t('Remove {name}?', { name: one.name }), text: t('Nobody can sign in with it any more, and roles that its groups gave are taken away. Members keep their other roles and ways to sign in. Members who have no other way need a recovery link.'), button: t('Remove'), bad: true, typed: one.id, cli: `sign-in remove ${quoted(one.id)}`,
    run: async () => { await remove(pathOf(one.id), one.etag); refresh(); done(t('{name} is removed', { name: one.name })); },
  }) },
];
export default () => {
  const providers = useQuery<readonly Provider[]>(ROOT);
  const editing = useSignal<string | null>(null);
  const open = address.value.query.get('open');
  const show = (id: string | null) => setQuery({ open: id });
  const add = () => (editing.value = '');
  useActions([{ id: 'new', label: t('Add a provider'), icon: 'plus', keys: 'n', run: add }]);
  const one = providers.data?.find((provider) => provider.id == open);
  const edited = editing.value ? (providers.data?.find((provider) => provider.id == editing.value) ?? null) : null;
  const close = (saved?: string) => {
    editing.value = null;
    if (saved) show(saved);
  };
  return (
    <>
      <Bar crumb={t('Settings')} title={t('Sign-in')}><Button kind="main" icon="plus" keys="n" onClick={add}>{t('Add provider')}</Button></Bar>
      <div class="scroll">
        <Loaded query={providers}>{(all) => (all.length ? (
          <>
            <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Sign-in providers')}><table class="list">
              <thead><tr><th scope="col">{t('Name')}</th><th scope="col">{t('Domains')}</th><th scope="col">{t('Groups')}</th><th scope="col">{t('State')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
              <tbody>{all.map((provider) => (
                <tr key={provider.id}>
                  <td><span class="stack none"><a class="plain strong cut" href={href(`${ROOT}?open=${seg(provider.id)}`)}><bdi>{provider.name}</bdi></a><span class="muted small cut">{provider.issuer}</span></span></td>
                  <td class="muted">{list(provider.domains) || t('none')}</td>
                  <td class="muted">{list(Object.keys(provider.groups)) || t('none')}</td>
                  <td>{provider.isEnabled ? <Badge tone="ok" dot>{t('offered')}</Badge> : <Badge dot open>{t('off')}</Badge>}</td>
                  <td class="end"><Menu label={t('Actions for {name}', { name: provider.name })} items={itemsOf(provider, () => show(provider.id), () => (editing.value = provider.id))} trigger={({ open: toggle, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions for {name}', { name: provider.name })} expanded={expanded} onClick={toggle} />} /></td>
                </tr>
              ))}</tbody>
            </table></div>
            <div class="page"><Notice>{t('Members can always sign in with a passkey, or with a password and a code. Keep one of these for an owner, in case a provider fails.')}</Notice></div>
          </>
        ) : <Empty icon="passkey" title={t('No providers yet')} action={<Button kind="main" icon="plus" onClick={add}>{t('Add provider')}</Button>} cli="sign-in set acme --issuer https://id.example.com --client-id console">{t('With OpenID Connect, members sign in with the account of your company, for example from Keycloak, Entra ID, Okta or Google.')}</Empty>)}</Loaded>
      </div>
      {editing.value !== null && (!editing.value || edited) && <ProviderForm key={editing.value + (edited?.etag ?? '')} of={edited} again={() => void providers.refetch()} close={close} />}
      {editing.value === null && one && <Shown of={one} edit={() => (editing.value = one.id)} close={() => show(null)} />}
    </>
  );
};
