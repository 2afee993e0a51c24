// Profile: name, language, look, keys, and how the operator signs in.
import { ApiError, ask, Badge, Bar, Button, Check, create, Dialog, done, errorTitle, Failure, filled, hasPasskeys, invalidate, languages, letters, Loaded, number, operator, patch, post, put, remove, seg, Select, session, setDensity, setLocale, setTheme, stored, t, TextField, useEffect, useForm, useQuery, useSignal, When, type Ceremony, type NewRecoveryCodes, type OwnMethods, type OwnSession, type Passkey, type TotpSeed } from '../kit';
import { Identities } from './parts/identities';
import { RecoveryCodes, TotpFields } from './parts/second-step';

const refreshMethods = () => { invalidate('/me/methods'); invalidate('/me/sessions'); };
const failed = (error: unknown) => {
  if (!(error instanceof ApiError)) done((error as Error).message);
  else if (error.code != 'CANCELLED') done(errorTitle(error));
};
const You = () => {
  const me = operator.value!;
  const form = useForm('profile', { name: me.name, displayName: me.displayName ?? '' });
  const save = () => void form.submit(async (values) => {
    await patch('/me', { name: values.name, displayName: values.displayName || null });
    session.value = { ...session.value!, operator: { ...me, ...values, displayName: values.displayName || null } };
    done(t('Your profile is saved'));
  });
  return (
    <section class="card"><header><h2>{t('You')}</h2></header>
      <form class="body stack" onSubmit={(event) => { event.preventDefault(); save(); }}>
        <div class="two"><TextField label={t('Full name')} autocomplete="name" value={form.values.name} error={form.errors['name']} onInput={(value) => form.set('name', value)} />
          <TextField label={t('Name shown to visitors')} hint={t('Shown on your replies. Leave empty to use your name.')} value={form.values.displayName} error={form.errors['displayName']} onInput={(value) => form.set('displayName', value)} /></div>
        {form.failure && <Failure error={form.failure} />}
        {form.dirty && <div class="row"><Button type="submit" kind="main" busy={form.busy}>{t('Save')}</Button><Button onClick={() => form.reset()}>{t('Discard')}</Button></div>}
      </form>
    </section>
  );
};
const Look = () => {
  const me = operator.value!;
  const state = useSignal({ theme: stored.read('local', 'theme') ?? 'auto', density: stored.read('local', 'density') ?? 'comfortable', locale: me.locale ?? stored.read('local', 'locale') ?? '' });
  const set = (change: Partial<typeof state.value>) => (state.value = { ...state.value, ...change });
  const chooseLocale = (locale: string) => {
    set({ locale });
    void setLocale(locale || null);
    stored.write('local', 'locale', locale || null);
    if (session.value!.hasAccounts) void patch('/me', { locale: locale || null }).catch(failed);
  };
  return (
    <section class="card"><header><h2>{t('Appearance and shortcuts')}</h2></header><div class="body stack">
      <div class="two">
        <Select label={t('Theme')} value={state.value.theme} options={[['auto', t('Same as system')], ['light', t('Light')], ['dark', t('Dark')]]} onChange={(theme) => { set({ theme }); setTheme(theme); }} />
        <Select label={t('Density')} value={state.value.density} options={[['comfortable', t('Comfortable')], ['compact', t('Compact')]]} onChange={(density) => { set({ density }); setDensity(density); }} />
        <Select label={t('Language')} value={state.value.locale} options={[['', t('Same as browser')], ...languages()]} onChange={chooseLocale} />
      </div>
      <Check label={t('Single-letter shortcuts, such as j and k')} checked={letters.value} onChange={(on) => { letters.value = on; stored.write('local', 'letters', on ? null : 'off'); }} />
      <p class="small muted">{t('Theme, density and shortcuts apply to this browser only.')}</p>
    </div></section>
  );
};
const Passkeys = () => {
  const list = useQuery<readonly Passkey[]>('/me/passkeys');
  const busy = useSignal(false);
  const refresh = () => { invalidate('/me/passkeys'); invalidate('/me/methods'); };
  const add = async () => {
    busy.value = true;
    try {
      const { data } = await post<Ceremony>('/me/passkeys/options');
      const credential = await create(data.publicKey ?? {});
      await post('/me/passkeys', { credential, name: navigator.platform || t('Passkey') });
      refresh();
      done(t('The passkey is added'));
    } catch (error) {
      if ((error as DOMException).name == 'InvalidStateError') done(t('This device has a passkey of yours already.'));
      else if ((error as DOMException).name != 'NotAllowedError') failed(error);
    } finally {
      busy.value = false;
    }
  };
  return (
    <section class="card"><header><h2>{t('Passkeys')}</h2><span class="end">{hasPasskeys() && <Button icon="plus" busy={busy.value} onClick={() => void add()}>{t('Add passkey')}</Button>}</span></header>
      <Loaded query={list} rows={2}>{(rows) => rows.length ? <ul>{rows.map((one) => (
        <li class="setting"><div><span class="strong" dir="auto">{one.name}</span><br /><span class="muted small">{one.isSuspect && <><Badge tone="warn" dot>{t('may be copied')}</Badge> </>}{filled(t('Added {when}'), { when: <When at={one.createdAt} /> })} · {one.lastUsedAt ? filled(t('last used {when}'), { when: <When at={one.lastUsedAt} /> }) : t('not used yet')}</span></div>
          <div class="row"><Button kind="quiet" icon="trash" label={t('Remove {name}', { name: one.name })} onClick={() => ask({ title: t('Remove {name}?', { name: one.name }), text: t('You can no longer sign in with it. The passkey stays on the device until you delete it there.'), button: t('Remove passkey'), bad: true, run: async () => { await remove(`/me/passkeys/${seg(one.id)}`); refresh(); done(t('The passkey is removed')); } })} /></div></li>
      ))}</ul> : <div class="body"><p class="muted">{hasPasskeys() ? t('No passkeys yet. A passkey cannot be phished, and there is nothing to remember.') : t('Passkeys need a host name and HTTPS or localhost.')}</p></div>}</Loaded>
    </section>
  );
};
/** A password with the codes of an authenticator app: set up together, or either again. */
const SetUp = ({ hasPassword, close }: { hasPassword: boolean; close: () => void }) => {
  const seed = useSignal<TotpSeed | null>(null);
  const form = useForm('totp', { password: '', code: '' }, ['password', 'code']);
  useEffect(() => void post<TotpSeed>('/me/totp').then(({ data }) => (seed.value = data), (error) => { failed(error); close(); }), []);
  const save = () => void form.submit(({ password, code }) => put('/me/totp', { code, enrolment: seed.value?.enrolment ?? '', ...(hasPassword ? {} : { password }) })).then((saved) => {
    if (!saved) return;
    refreshMethods();
    done(t('The authenticator app is set up. All other sessions have ended.'));
    close();
  });
  // Until there is a seed, the question who it is may be open.
  if (!seed.value) return null;
  return (
    <Dialog title={hasPassword ? t('Replace the authenticator app') : t('Set up a password')} onClose={close} foot={<><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} onClick={save}>{t('Set up')}</Button></>}>
      <form class="stack loose" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        {!hasPassword && <TextField type="password" label={t('New password')} hint={t('12 characters or more.')} autocomplete="new-password" autofocus value={form.values.password} error={form.errors['password']} onInput={(value) => form.set('password', value)} />}
        <TotpFields seed={seed.value} code={form.values.code} error={form.errors['code'] || form.errors['enrolment']} onCode={(value) => form.set('code', value)} />
        {form.failure && <Failure error={form.failure} />}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
};
const Change = ({ close }: { close: () => void }) => {
  const form = useForm('password', { password: '' }, ['password']);
  const save = () => void form.submit(({ password }) => put('/me/password', { password })).then((saved) => {
    if (!saved) return;
    refreshMethods();
    done(t('The password is changed. All other sessions have ended.'));
    close();
  });
  return (
    <Dialog title={t('Change password')} onClose={close} foot={<><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} onClick={save}>{t('Change password')}</Button></>}>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        <TextField type="password" label={t('New password')} hint={t('12 characters or more.')} autocomplete="new-password" autofocus value={form.values.password} error={form.errors['password']} onInput={(value) => form.set('password', value)} />
        {form.failure && <Failure error={form.failure} />}
      </form>
    </Dialog>
  );
};
const Methods = () => {
  const known = useQuery<OwnMethods>('/me/methods');
  const open = useSignal<'setUp' | 'change' | null>(null);
  const codes = useSignal<readonly string[] | null>(null);
  const close = () => (open.value = null);
  const make = async () => {
    codes.value = (await post<NewRecoveryCodes>('/me/recovery-codes')).data.recoveryCodes;
    refreshMethods();
  };
  const drop = () => ask({ title: t('Remove the password?'), text: t('Password and authenticator app stop working. You then sign in with your passkeys only.'), button: t('Remove password'), bad: true, run: async () => { await remove('/me/totp'); refreshMethods(); done(t('The password is removed')); } });
  return (
    <section class="card"><header><h2>{t('Password and recovery')}</h2></header>
      <Loaded query={known} rows={2}>{(one) => {
        const left = one.recoveryCodesLeft;
        const isReady = !!one.passwordChangedAt && !!one.totpConfirmedAt;
        return <ul>
          <li class="setting many"><div><span class="strong">{t('Password and authenticator app')}</span><br /><span class="muted small">{isReady ? <>{filled(t('Password changed {when}'), { when: <When at={one.passwordChangedAt} /> })} · {filled(t('app set up {when}'), { when: <When at={one.totpConfirmedAt} /> })}</> : t('For browsers without your passkeys. A password works together with a code from an app.')}</span></div>
            <div class="row wrap">{isReady ? <><Button onClick={() => (open.value = 'change')}>{t('Change password')}</Button><Button onClick={() => (open.value = 'setUp')}>{t('Replace app')}</Button>{one.passkeys > 0 && <Button kind="quiet" icon="trash" label={t('Remove the password')} onClick={drop} />}</> : <Button onClick={() => (open.value = 'setUp')}>{t('Set up')}</Button>}</div></li>
          <li class="setting"><div><span class="strong">{t('Recovery codes')}</span> {left !== null && left < 4 && <Badge tone="warn" dot>{t('few left')}</Badge>}<br /><span class="muted small">{left === null ? t('None yet. They let you back in if you lose everything else.') : <>{t('{left} of 10 left', { left: number(left) })} · {filled(t('created {when}'), { when: <When at={one.recoveryCodesMadeAt} /> })}</>}</span></div>
            <Button onClick={() => (left === null ? void make().catch(failed) : ask({ title: t('Create new recovery codes?'), text: t('The codes that you have stop working.'), button: t('Create codes'), run: make }))}>{t('Create codes')}</Button></li>
        </ul>;
      }}</Loaded>
      {open.value == 'setUp' && <SetUp hasPassword={!!known.data?.passwordChangedAt} close={close} />}
      {open.value == 'change' && <Change close={close} />}
      {codes.value && <Dialog title={t('Your recovery codes')} onClose={() => (codes.value = null)}><RecoveryCodes codes={codes.value} close={() => (codes.value = null)} /></Dialog>}
    </section>
  );
};
/** A browser and its system, as a person calls them; the order matters, for many say to be Chrome or Safari too. */
const BROWSERS: [RegExp, string][] = [[/Edg(?:e|A|iOS)?\//, 'Edge'], [/OPR\/|Opera/, 'Opera'], [/Firefox\/|FxiOS/, 'Firefox'], [/Chrom(?:e|ium)\/|CriOS/, 'Chrome'], [/Safari\//, 'Safari']];
const SYSTEMS: [RegExp, string][] = [[/iPhone/, 'iPhone'], [/iPad/, 'iPad'], [/Android/, 'Android'], [/Windows/, 'Windows'], [/Mac OS X|Macintosh/, 'macOS'], [/CrOS/, 'ChromeOS'], [/Linux/, 'Linux']];
const browserName = (agent: string | null): string => {
  const [browser, system] = [BROWSERS, SYSTEMS].map((names) => names.find(([mark]) => mark.test(agent ?? ''))?.[1]);
  if (browser && system) return t('{browser} on {system}', { browser, system });
  return browser ?? system ?? (agent?.slice(0, 40) || t('Unknown browser'));
};
const Sessions = () => {
  const list = useQuery<readonly OwnSession[]>('/me/sessions');
  const end = (path: string, text: string) => void remove(path).then(() => { invalidate('/me/sessions'); done(text); }, failed);
  return (
    <section class="card"><header><h2>{t('Sessions')}</h2><span class="end">{(list.data?.length ?? 0) > 1 && <Button onClick={() => end('/me/sessions', t('All other sessions have ended'))}>{t('End all others')}</Button>}</span></header>
      <Loaded query={list} rows={2}>{(rows) => <ul>{rows.map((one) => (
        <li class="setting"><div><span class="strong" title={one.browser ?? ''}>{browserName(one.browser)}</span> {one.isCurrent && <Badge tone="ok" dot>{t('this one')}</Badge>}<br /><span class="muted small"><When at={one.lastSeenAt} />{one.address && <> · <code>{one.address}</code></>}</span></div>{!one.isCurrent && <Button onClick={() => end(`/me/sessions/${seg(one.id)}`, t('The session has ended'))}>{t('End')}</Button>}</li>
      ))}</ul>}</Loaded>
    </section>
  );
};
export default () => (
  <>
    <Bar title={t('Profile')} />
    <div class="scroll"><div class="page narrow">
      <You /><Look />
      {session.value!.hasAccounts && <><Passkeys /><Methods /><Identities /><Sessions /></>}
      <p class="muted small">{session.value!.serviceName} {session.value!.build}</p>
    </div></div>
  </>
);
