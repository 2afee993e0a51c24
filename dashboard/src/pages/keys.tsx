// Settings → API Permissions: the keys of an agent's Open API.
import {
  agent, ago, ask, Badge, Bar, Button, can, credentials, day, Dialog, done, Empty, errorTitle, Failure, holds, href, Icon, invalidate, list, Loaded, Menu, moment, navigate,
  Notice, number, patch, post, quoted, Search, seg, sentences, setQuery, t, tn, useActions, useForm, useQuery, useRef, useSignal, When, who, ApiError, address,
  Cli, Copy, type Item, type Key, type IssuedKey,
} from '../kit';
import { actionName, ACTIONS, KeyForm, ScopeName, sentence, SCOPES, toForm, toBody, type KeyValues } from './parts/key-form';
import { SecretPanel } from './parts/key-secret';

const root = () => `/agents/${seg(agent.value!)}/keys`;
const page = (rest = '') => `/a/${seg(agent.value!)}/settings/keys${rest}`;
const SOON = 14 * 86400000;
/** The state of a key in words: what ends soon says when. */
const State = ({ of: key }: { of: Key }) => {
  if (key.status == 'revoked') return <Badge tone="bad" dot>{t('revoked')}</Badge>;
  if (key.status == 'disabled') return <Badge dot open>{t('disabled')}</Badge>;
  if (key.expiresAt) {
    const left = new Date(key.expiresAt).valueOf() - Date.now();
    if (left <= 0) return <Badge tone="bad" dot>{t('expired')}</Badge>;
    if (left < SOON) return <Badge tone="warn" dot>{t('expires {when}', { when: ago(key.expiresAt) })}</Badge>;
  }
  return <Badge tone="ok" dot>{t('active')}</Badge>;
};
const short = (key: string) => `${key.slice(0, 9)}…${key.slice(-3)}`;
/** The actions of one scope as letters, with the words for screen readers. */
const Letters = ({ of: key, scope }: { of: Key; scope: (typeof SCOPES)[number] }) => {
  const allowed = scope.actions.filter((action) => key.permissions.includes(`${scope.name}:${action}`));
  const words = list(allowed.map(actionName)) || t('no access');
  return (
    <span class="letters" title={words}>
      <span class="sr">{words}</span>
      {scope.actions.map((action) => <span aria-hidden="true" class={allowed.includes(action) ? 'yes' : 'no'}>{allowed.includes(action) ? action[0]!.toUpperCase() : '–'}</span>)}
    </span>
  );
};
const changes = (key: Key): { disable: () => void; enable: () => void; revoke: () => void } => {
  const path = `${root()}/${seg(key.id)}`;
  const refresh = () => invalidate(root());
  return {
    disable: () => ask({
      title: t('Disable {name}?', { name: key.name }),
      text: t('Requests with this key are refused immediately. You can enable it again.'),
      button: t('Disable key'),
      cli: `keys disable ${key.apiKey}`,
      run: async () => {
        await post(`${path}/disable`);
        refresh();
        done(t('{name} is disabled', { name: key.name }), async () => { await post(`${path}/enable`); refresh(); });
      },
    }),
    enable: () => void post(`${path}/enable`).then(() => { refresh(); done(t('{name} is enabled', { name: key.name }), async () => { await post(`${path}/disable`); refresh(); }); }, (error: ApiError) => done(errorTitle(error))),
    revoke: () => ask({
      title: t('Revoke {name}?', { name: key.name }),
      text: sentences(t('Its clients are refused immediately and permanently. Create a new key for them first, or rotate the secret if only the secret has leaked.'), key.lastUsedAt && t('Last used {when}.', { when: ago(key.lastUsedAt) })),
      button: t('Revoke key'),
      bad: true,
      typed: key.name,
      cli: `keys revoke ${key.apiKey}`,
      run: async () => {
        await post(`${path}/revoke`, { confirm: key.name });
        refresh();
        done(t('{name} is revoked', { name: key.name }));
      },
    }),
  };
};
const itemsOf = (key: Key): Item[] => {
  const { disable, enable, revoke } = changes(key);
  const items: Item[] = [{ label: t('Open key'), icon: 'chevron', href: href(page('/' + seg(key.id))) }];
  if (can('keys.manage') && key.status != 'revoked')
    items.push(
      { label: t('Edit'), icon: 'edit', href: href(page(`/${seg(key.id)}/edit`)) },
      { label: t('Rotate secret'), icon: 'rotate', href: href(page(`/${seg(key.id)}/rotate`)) },
      key.status == 'active' ? { label: t('Disable'), icon: 'pause', run: disable } : { label: t('Enable'), icon: 'play', run: enable },
      null,
      { label: t('Revoke…'), icon: 'x', bad: true, run: revoke },
    );
  return items;
};

/** “Found a key?”: a typo is found here, and only the public part is sent. */
const Found = ({ close }: { close: () => void }) => {
  const text = useSignal('');
  const keys = useQuery<readonly Key[]>(root());
  const seen = credentials(text.value);
  const publicKey = seen.find((one) => one.kind == 'key');
  const hasSecret = seen.some((one) => one.kind == 'secret');
  const match = publicKey?.valid ? keys.data?.find((one) => one.apiKey == publicKey.value) : undefined;
  return (
    <Dialog title={t('Found a key?')} onClose={close}>
      <p class="muted">{t('Paste what you found in a log, a repository or a message. It is checked in this browser; a secret is never sent.')}</p>
      <textarea class="input mono" rows={3} aria-label={t('Text to check')} autofocus spellcheck={false} autocomplete="off" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      <div aria-live="polite" class="stack">
        {text.value.trim() && !seen.length && <Notice tone="warn">{t('It contains no key of this service.')}</Notice>}
        {seen.map((one) => !one.valid && <Notice tone="warn">{one.kind == 'key' ? t('The key has a typo or is cut off: its check characters do not match.') : t('The secret has a typo or is cut off: its check characters do not match.')}</Notice>)}
        {publicKey?.valid && !match && keys.data && <Notice tone="info">{t('The key is well-formed but does not belong to this agent. It may belong to another one.')}</Notice>}
        {hasSecret && !publicKey && seen.some((one) => one.valid) && <Notice tone="warn">{t('This is a secret without its key. Rotate the secret of the key that it stood next to.')}</Notice>}
        {match && (
          <div class="card"><div class="body stack">
            <div class="row between"><span class="strong cut">{match.name}</span><State of={match} /></div>
            <code class="small">{match.apiKey}</code>
            {hasSecret && match.status == 'active' && <Notice tone="bad">{t('Its secret was exposed too. Rotate the secret with immediate effect, or revoke the key.')}</Notice>}
            <div class="row wrap">
              <Button href={href(page('/' + seg(match.id)))} onClick={close}>{t('Open key')}</Button>
              {can('keys.manage') && match.status != 'revoked' && <><Button href={href(page(`/${seg(match.id)}/rotate?grace=0`))}>{t('Rotate')}</Button><Button kind="bad" onClick={() => { close(); changes(match).revoke(); }}>{t('Revoke…')}</Button></>}
            </div>
          </div></div>
        )}
      </div>
    </Dialog>
  );
};

const List = () => {
  const keys = useQuery<readonly Key[]>(root());
  const finding = useSignal(false);
  const search = address.value.query.get('q') ?? '';
  const view = address.value.query.get('state') ?? 'working';
  useActions([
    ...(can('keys.manage') ? [{ id: 'new', label: t('New key'), icon: 'plus' as const, keys: 'n', run: () => navigate(page('/new')) }] : []),
    { id: 'found', label: t('Found a key?'), icon: 'search', run: () => (finding.value = true) },
  ]);
  const works = (key: Key) => key.status != 'revoked' && !(key.expiresAt && new Date(key.expiresAt).valueOf() < Date.now());
  return (
    <>
      <Bar crumb={t('Settings')} title={t('API Permissions')}>
        <Button kind="quiet" icon="search" onClick={() => (finding.value = true)}>{t('Found a key?')}</Button>
        {can('keys.manage') && <Button kind="main" icon="plus" keys="n" href={href(page('/new'))}>{t('New key')}</Button>}
      </Bar>
      <div class="scroll">
        <Loaded query={keys}>
          {(all) => {
            if (!all.length)
              return <Empty icon="key" title={t('No keys yet')} cli={`keys create --agent ${agent.value} --name "CRM sync" --allow contacts:all`}
                action={can('keys.manage') && <Button kind="main" icon="plus" href={href(page('/new'))}>{t('New key')}</Button>}>{t('A key lets a program call this agent’s Open API with the permissions that you select.')}</Empty>;
            const shown = all.filter((key) => (view == 'all' || works(key) == (view == 'working')) && (!search || holds(`${key.name} ${key.apiKey} ${key.description ?? ''}`, search)));
            const count = all.filter(works).length;
            return (
              <>
                <div class="filter">
                  <Search label={t('Filter keys')} value={search} onInput={(value) => setQuery({ q: value })} />
                  <div class="tabs">
                    {([['working', t('Current'), count], ['ended', t('Past'), all.length - count], ['all', t('All'), all.length]] as const).map(([name, label, n]) => (
                      <button type="button" class="tab" aria-pressed={view == name} onClick={() => setQuery({ state: name == 'working' ? null : name })}>{label} <span class="n">{number(n)}</span></button>
                    ))}
                  </div>
                </div>
                {shown.length ? (
                  <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Keys')}>
                    <table class="list keytable">
                      <thead><tr><th scope="col">{t('Name')}</th><th scope="col">{t('Key')}</th>{SCOPES.filter((scope) => !scope.later).map((scope) => <th scope="col" title={scope.title()}>{scope.short()}</th>)}<th scope="col">{t('Rate limit')}</th><th scope="col">{t('Last use')}</th><th scope="col">{t('State')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
                      <tbody>
                        {shown.map((key) => (
                          <tr key={key.id} data-href={page('/' + seg(key.id))} onClick={(event) => !event.defaultPrevented && !(event.target as Element).closest('a, button, .menuroot') && navigate(page('/' + seg(key.id)))}>
                            <td><a class="main cut" dir="auto" href={href(page('/' + seg(key.id)))}>{key.name}</a></td>
                            <td><span class="row tightrow"><code class="muted">{short(key.apiKey)}</code><Copy text={key.apiKey} label={t('Copy the key')} /></span></td>
                            {SCOPES.filter((scope) => !scope.later).map((scope) => <td><Letters of={key} scope={scope} /></td>)}
                            <td class="muted">{t('{n} a minute', { n: number(key.perMinute) })}</td>
                            <td class="muted"><span class="cut"><When at={key.lastUsedAt} never={t('not used yet')} />{key.lastUsedAddress && <> · <code>{key.lastUsedAddress}</code></>}</span></td>
                            <td><State of={key} /></td>
                            <td class="end"><Menu label={t('Actions for {name}', { name: key.name })} items={itemsOf(key)} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions for {name}', { name: key.name })} expanded={expanded} onClick={open} />} /></td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                ) : <Empty icon="search" title={t('No matching keys')} action={<Button onClick={() => setQuery({ q: null, state: 'all' })}>{t('Clear filter')}</Button>}>{search ? t('Nothing matches “{text}”.', { text: search }) : t('No key has this state.')}</Empty>}
              </>
            );
          }}
        </Loaded>
      </div>
      {finding.value && <Found close={() => (finding.value = false)} />}
    </>
  );
};

const line = (values: KeyValues, verb: string) =>
  `${verb} --name ${quoted(values.name || '…')}${values.permissions.map((one) => ` --allow ${one}`).join('')}${values.perMinute == '60' ? '' : ` --per-minute ${values.perMinute}`}${values.perHour == '1000' ? '' : ` --per-hour ${values.perHour}`}${values.addresses ? values.addresses.split(/[\s,]+/).filter(Boolean).map((one) => ` --ip ${quoted(one)}`).join('') : ''}`;
/** New key: one page, and then the secret, once. */
const New = () => {
  const form = useForm<KeyValues>(`key-new-${agent.value}`, toForm(null));
  const issued = useSignal<IssuedKey | null>(null);
  if (issued.value) return <SecretPanel issued={issued.value} isNew close={() => { const id = issued.value!.key.id; issued.value = null; navigate(page('/' + seg(id))); }} />;
  const save = () => void form.submit(async (values) => {
    const { data } = await post<IssuedKey>(root(), toBody(values));
    invalidate(root());
    issued.value = data;
  });
  return (
    <>
      <Bar crumb={t('API Permissions')} title={t('New key')} back={page()} />
      <div class="scroll"><div class="page narrow">
        <KeyForm form={form} save={save} button={t('Create key')} cancel={href(page())} cli={line(form.values, `keys create --agent ${agent.value}`)} />
      </div></div>
    </>
  );
};
const Edit = ({ of: key, etag }: { of: Key; etag: string | null }) => {
  const form = useForm<KeyValues>(`key-${key.id}`, toForm(key));
  // What the changes are made on: a newer state is taken over as long as nothing is changed.
  const on = useRef({ key, etag });
  if (!form.dirty && on.current.etag != etag) {
    on.current = { key, etag };
    form.rebase(toForm(key), toForm(key));
  }
  const save = () => void form.submit(async (values) => {
    await patch(`${root()}/${seg(key.id)}`, toBody(values, on.current.key), on.current.etag);
    invalidate(root());
    done(t('{name} is saved', { name: values.name }));
    navigate(page('/' + seg(key.id)));
  });
  return (
    <>
      <Bar crumb={t('API Permissions')} title={t('Edit {name}', { name: key.name })} back={page('/' + seg(key.id))} />
      <div class="scroll"><div class="page narrow">
        <KeyForm form={form} save={save} button={t('Save')} cancel={href(page('/' + seg(key.id)))} cli={line(form.values, `keys edit ${key.apiKey}`)} />
      </div></div>
    </>
  );
};
const GRACES: [string, () => string][] = [['0', () => t('Immediately')], ['3600', () => t('After 1 hour')], ['86400', () => t('After 1 day')], ['604800', () => t('After 7 days')]];
const Rotate = ({ of: key }: { of: Key }) => {
  const wanted = address.value.query.get('grace');
  const form = useForm(`key-rotate-${key.id}`, { grace: wanted == '0' ? '0' : '86400' });
  const issued = useSignal<IssuedKey | null>(null);
  if (issued.value) return <SecretPanel issued={issued.value} close={() => { issued.value = null; navigate(page('/' + seg(key.id))); }} />;
  return (
    <>
      <Bar crumb={t('API Permissions')} title={t('Rotate the secret of {name}', { name: key.name })} back={page('/' + seg(key.id))} />
      <div class="scroll"><div class="page narrow">
        <p>{t('The key gets a new secret. The old one can stay valid for a while, so that clients switch without interruption.')}</p>
        <fieldset class="stack">
          <legend>{t('The old secret expires')}</legend>
          <div class="seg">{GRACES.map(([seconds, label]) => <label class={`choice${form.values.grace == seconds ? ' at' : ''}`}><input type="radio" name="grace" checked={form.values.grace == seconds} onChange={() => form.set('grace', seconds)} /><span>{label()}</span></label>)}</div>
        </fieldset>
        {form.values.grace == '0' && <Notice tone="warn">{t('Clients that still use the old secret are refused immediately.')}</Notice>}
        {form.failure && <Failure error={form.failure} />}
        <div class="row wrap"><Button kind="main" icon="rotate" busy={form.busy} onClick={() => void form.submit(async ({ grace }) => {
          const { data } = await post<IssuedKey>(`${root()}/${seg(key.id)}/rotate`, { graceSeconds: Number(grace) });
          invalidate(root());
          issued.value = data;
        })}>{t('Rotate secret')}</Button><Button href={href(page('/' + seg(key.id)))}>{t('Cancel')}</Button></div>
        <Cli line={`keys rotate ${key.apiKey} --grace ${form.values.grace}s`} />
      </div></div>
    </>
  );
};
const Show = ({ of: key }: { of: Key }) => {
  const { disable, enable, revoke } = changes(key);
  const manage = can('keys.manage') && key.status != 'revoked';
  useActions(manage ? [
    { id: 'edit', label: t('Edit'), icon: 'edit', keys: 'e', run: () => navigate(page(`/${seg(key.id)}/edit`)) },
    { id: 'rotate', label: t('Rotate secret'), icon: 'rotate', run: () => navigate(page(`/${seg(key.id)}/rotate`)) },
    { id: 'toggle', label: key.status == 'active' ? t('Disable') : t('Enable'), icon: 'pause', run: key.status == 'active' ? disable : enable },
    { id: 'revoke', label: t('Revoke…'), icon: 'x', run: revoke },
  ] : []);
  return (
    <>
      <Bar crumb={t('API Permissions')} title={key.name} back={page()}>
        <State of={key} />
        {manage && <><Button icon="rotate" href={href(page(`/${seg(key.id)}/rotate`))}>{t('Rotate')}</Button><Button icon="edit" keys="e" href={href(page(`/${seg(key.id)}/edit`))}>{t('Edit')}</Button>
          <Menu label={t('Actions for {name}', { name: key.name })} items={itemsOf(key).slice(3)} trigger={({ open, expanded }) => <Button icon="dots" label={t('More')} expanded={expanded} onClick={open} />} /></>}
      </Bar>
      <div class="scroll"><div class="page narrow">
        {key.status == 'disabled' && <Notice tone="warn"><div class="row between wrap"><span>{t('Requests with this key are refused with API_KEY_REVOKED.')}</span>{manage && <Button icon="play" onClick={enable}>{t('Enable')}</Button>}</div></Notice>}
        <section class="card"><header><h2>{t('Permissions')}</h2></header><div class="body stack">
          <p>{sentence(key.permissions)}</p>
          <div class="tablewrap"><table class="grid"><thead><tr><th scope="col"><span class="sr">{t('Scope')}</span></th>{ACTIONS.map((action) => <th scope="col">{actionName(action)}</th>)}</tr></thead>
            <tbody>{SCOPES.map((scope) => <tr><th scope="row"><ScopeName of={scope} /></th>{ACTIONS.map((action) => <td>{!scope.actions.includes(action) ? null : key.permissions.includes(`${scope.name}:${action}`) ? <span class="yes"><Icon name="check" /><span class="sr">{t('allowed')}</span></span> : <span class="muted">–<span class="sr">{t('not allowed')}</span></span>}</td>)}</tr>)}</tbody></table></div>
        </div></section>
        <section class="card"><header><h2>{t('Usage')}</h2></header><div class="body">
          <dl class="dl">
            <dt>{t('Rate limits')}</dt><dd>{list([tn(key.perMinute, '{n} request a minute', '{n} requests a minute'), tn(key.perHour, '{n} request an hour', '{n} requests an hour')])}</dd>
            <dt>{t('Last use')}</dt><dd><When at={key.lastUsedAt} never={t('not used yet')} /> {key.lastUsedAddress && <>· <code>{key.lastUsedAddress}</code></>}</dd>
            <dt>{t('Addresses')}</dt><dd>{key.allowedAddresses.length ? <code>{key.allowedAddresses.join(', ')}</code> : t('any')}</dd>
            <dt>{t('Expires')}</dt><dd>{key.expiresAt ? moment(key.expiresAt) : t('never')}</dd>
          </dl>
        </div></section>
        <section class="card"><header><h2>{t('About')}</h2></header><div class="body">
          <dl class="dl">
            <dt>{t('Key')}</dt><dd class="row"><code>{key.apiKey}</code><Copy text={key.apiKey} label={t('Copy the key')} /></dd>
            {key.description && <><dt>{t('Description')}</dt><dd dir="auto">{key.description}</dd></>}
            <dt>{t('Created')}</dt><dd>{day(key.createdAt)}<span class="muted"> · {who(key.createdBy)}</span></dd>
          </dl>
        </div></section>
        <Cli line={`keys show ${key.apiKey}`} />
      </div></div>
    </>
  );
};
const One = ({ id, mode }: { id: string; mode: string | undefined }) => {
  const key = useQuery<Key>(`${root()}/${seg(id)}`);
  if (!key.data) return <><Bar crumb={t('API Permissions')} title={t('Key')} back={page()} /><div class="scroll"><Loaded query={key} rows={5}>{() => null}</Loaded></div></>;
  if (mode == 'edit') return <Edit key={id} of={key.data} etag={key.etag} />;
  if (mode == 'rotate') return <Rotate key={id} of={key.data} />;
  return <Show of={key.data} />;
};
export default ({ rest }: { rest: string[] }) => (!rest[0] ? <List /> : rest[0] == 'new' ? <New /> : <One id={rest[0]} mode={rest[1]} />);
