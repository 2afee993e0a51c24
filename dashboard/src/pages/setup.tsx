// Set-up: one page makes the account of a link, or gives an account another way to sign in: a passkey, or a password with
// one-time codes. The session of a recovery code, or of a password without codes, can do nothing else.
import { ApiError, base, begin, Button, create, errorTitle, Failure, get, hasPasskeys, leave, Loaded, moment, navigate, Notice, operator, post, ProviderButtons, put, session, signOut, start, t, TextField, useEffect, useForm, useQuery, useSignal, type AcceptedLink, type Ceremony, type Link, type NewRecoveryCodes, type OwnMethods, type TotpSeed } from '../kit';
import type { ComponentChildren } from 'preact';
import { RoleBadge } from './parts/roles';
import { RecoveryCodes, TotpFields } from './parts/second-step';

/** The part of a form that a password needs. */
interface Fields {
  values: { password: string; code: string };
  errors: Record<string, string>;
  set: (field: 'password' | 'code', value: string) => void;
}
/** Why there is no passkey, in words. */
const noPasskey = (cause: unknown) => ((cause as DOMException).name == 'NotAllowedError' ? t('No passkey was created. Try again, or use a password.') : t('The browser could not create a passkey: {reason}', { reason: (cause as Error).message }));
const cancelled = () => new ApiError(0, 'CANCELLED', '');

/** The choice between a passkey and a password, with the fields of the latter. */
const Methods = ({ form, method, choose, passkeys, seed, label = t('Choose a password'), hint }: { form: Fields; method: string; choose: (method: string) => void; passkeys: boolean; seed: TotpSeed | null; label?: string; hint: string }) => (
  <fieldset class="stack">
    <legend class="sr">{t('How you sign in')}</legend>
    {passkeys && (
      <label class={`choice${method == 'passkey' ? ' at' : ''}`}>
        <input type="radio" name="method" checked={method == 'passkey'} onChange={() => choose('passkey')} />
        <span><span class="strong">{t('Passkey')}</span><br /><span class="muted small">{t('Uses your device or security key. Cannot be phished, and there is nothing to remember.')}</span></span>
      </label>
    )}
    <label class={`choice${method == 'password' ? ' at' : ''}`}>
      <input type="radio" name="method" checked={method == 'password'} onChange={() => choose('password')} />
      <span><span class="strong">{t('Password')}</span><br /><span class="muted small">{passkeys ? t('With a code from an authenticator app. For browsers without passkeys.') : t('With a code from an authenticator app. Passkeys need a host name and HTTPS or localhost.')}</span></span>
    </label>
    {method == 'password' && <>
      <TextField large type="password" label={label} autocomplete="new-password" hint={hint} value={form.values.password} error={form.errors['password']} onInput={(value) => form.set('password', value)} />
      {seed ? <TotpFields large seed={seed} code={form.values.code} error={form.errors['code'] || form.errors['enrolment']} onCode={(value) => form.set('code', value)} /> : <p class="muted" role="status">{t('Preparing the QR code…')}</p>}
    </>}
  </fieldset>
);
const Head = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <header class="stack tight"><span class="mark large" aria-hidden="true">{session.value!.serviceName[0]}</span><h1 class="big">{title}</h1>{children}</header>
);
const Account = ({ link, token, accepted }: { link: Link; token: string; accepted: (answer: AcceptedLink) => void }) => {
  const options = link.publicKey as { user?: Record<string, unknown> } | null;
  const recovers = link.kind == 'recover';
  const invited = link.kind == 'invite';
  const passkeys = hasPasskeys() && !!options;
  const method = useSignal(passkeys ? 'passkey' : 'password');
  const form = useForm(invited ? 'join' : 'setup', { name: link.name ?? '', email: link.email ?? '', password: '', code: '' }, ['password', 'code']);
  const text = (field: 'name' | 'email') => ({ value: form.values[field], onInput: (value: string) => form.set(field, value), error: form.errors[field] });
  const problem = useSignal<string | null>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    problem.value = null;
    void form.submit(async ({ name, email, password, code }) => {
      const body: Record<string, unknown> = recovers ? { token } : invited ? { token, name } : { token, name, email };
      if (method.value == 'passkey') {
        // The passkey carries the name that the person has just typed.
        const made = recovers ? options! : { ...options!, user: { ...options!.user, name: email, displayName: name } };
        try {
          body['credential'] = await create(made);
        } catch (cause) {
          problem.value = noPasskey(cause);
          throw cancelled();
        }
      } else Object.assign(body, { password, code, enrolment: link.totp.enrolment });
      accepted((await post<AcceptedLink>('/links/accept', body, { quiet: true })).data);
    });
  };
  return (
    <form class="stack loose" onSubmit={submit} noValidate>
      <Head title={recovers ? t('Recover your account') : invited ? t('Join {name}', { name: link.serviceName }) : t('Set up {name}', { name: link.serviceName })}>
        {invited && <p>{link.inviter ? t('{name} invites you to work here as {email}.', { name: link.inviter, email: link.email ?? '' }) : t('You are invited to work here as {email}.', { email: link.email ?? '' })}</p>}
        {invited && <ul class="roles" aria-label={t('Your roles')}>{link.roles.map((one) => <li><RoleBadge role={one.role} agent={one.agentName ?? one.agentId} /></li>)}</ul>}
        <p class="muted">{invited ? t('This link expires {time}.', { time: moment(link.expiresAt) }) : recovers ? t('Choose a new way to sign in as {email}. All other sessions end. This link expires {time}.', { email: link.email ?? '', time: moment(link.expiresAt) }) : t('You become the owner, because nobody has an account yet. This link expires {time}.', { time: moment(link.expiresAt) })}</p>
      </Head>
      {!recovers && <div class="stack">
        <TextField large label={t('Your name')} autocomplete="name" autofocus {...text('name')} />
        {!invited && <TextField large type="email" label={t('E-mail')} autocomplete="username" hint={t('Identifies your account. Nothing is sent to it.')} {...text('email')} />}
      </div>}
      <Methods form={form} method={method.value} choose={(value) => (method.value = value)} passkeys={passkeys} seed={link.totp} hint={t('12 characters or more.')} />
      {problem.value && <Notice tone="bad">{problem.value}</Notice>}
      {form.failure && <Failure error={form.failure} />}
      <Button type="submit" kind="main large" busy={form.busy}>{method.value == 'passkey' ? t('Create passkey and continue') : recovers ? t('Set password and continue') : t('Create account')}</Button>
      {invited && session.value!.providers.length > 0 && <>
        <div class="or"><span>{t('or')}</span></div>
        <ProviderButtons providers={session.value!.providers} go={({ id }) => leave('signIn', '/sign-in/oidc/start', { provider: id, token, ...(form.values.name.trim() ? { name: form.values.name.trim() } : {}) })} />
      </>}
    </form>
  );
};
/** The form of a session that can only set up a way to sign in. */
const Secure = ({ known, finished }: { known: OwnMethods; finished: (codes: readonly string[] | null) => void }) => {
  const passkeys = hasPasskeys() && session.value!.methods.includes('passkey');
  const hasPassword = !!known.passwordChangedAt;
  const method = useSignal(hasPassword || !passkeys ? 'password' : 'passkey');
  const seed = useSignal<TotpSeed | null>(null);
  const problem = useSignal<string | null>(null);
  const form = useForm('secure', { password: '', code: '' }, ['password', 'code']);
  const prepare = () => void post<TotpSeed>('/me/totp').then(({ data }) => (seed.value = data), (cause: Error) => (problem.value = cause.message));
  useEffect(prepare, []);
  const submit = (event: Event) => {
    event.preventDefault();
    problem.value = null;
    void form.submit(async ({ password, code }) => {
      if (method.value == 'passkey') {
        const { data } = await post<Ceremony>('/me/passkeys/options');
        let credential;
        try {
          credential = await create(data.publicKey ?? {});
        } catch (cause) {
          problem.value = noPasskey(cause);
          throw cancelled();
        }
        await post('/me/passkeys', { credential, name: navigator.platform || t('Passkey') });
      } else await put('/me/totp', { code, enrolment: seed.value?.enrolment ?? '', ...(password || !hasPassword ? { password } : {}) });
      const { data } = await get<OwnMethods>('/me/methods');
      // Accounts from before recovery codes existed have none.
      finished(data.recoveryCodesLeft == null ? (await post<NewRecoveryCodes>('/me/recovery-codes')).data.recoveryCodes : null);
    });
  };
  return (
    <form class="stack loose" onSubmit={submit} noValidate>
      <Head title={t('Set up how you sign in')}>
        <p class="muted">{known.totpConfirmedAt || !hasPassword ? t('You are in with a recovery code. Add a passkey, or set up your password and authenticator app again. You have 10 minutes, and all other sessions end.') : t('Your password now needs a code from an authenticator app. Set the app up, or add a passkey. You have 10 minutes, and all other sessions end.')}</p>
      </Head>
      <Methods form={form} method={method.value} choose={(value) => (method.value = value)} passkeys={passkeys} seed={seed.value} label={hasPassword ? t('New password') : undefined} hint={hasPassword ? t('12 characters or more. Leave empty to keep your password.') : t('12 characters or more.')} />
      {problem.value && <Notice tone="bad">{problem.value}</Notice>}
      {form.failure && <Failure error={form.failure} />}
      <div class="stack"><Button type="submit" kind="main large" busy={form.busy}>{method.value == 'passkey' ? t('Create passkey and continue') : t('Continue')}</Button><Button kind="quiet" onClick={() => void signOut()}>{t('Sign out')}</Button></div>
    </form>
  );
};
const Codes = ({ codes, close }: { codes: readonly string[]; close: () => void }) => <div class="stack loose"><Head title={t('Your recovery codes')}><p class="muted">{operator.value?.email}</p></Head><RecoveryCodes codes={codes} close={close} /></div>;
/** For a session that needs a way to sign in. */
const Own = () => {
  const known = useQuery<OwnMethods>('/me/methods');
  const codes = useSignal<readonly string[] | null>(null);
  const leave = () => void start().then(() => navigate('/', true));
  if (codes.value) return <Codes codes={codes.value} close={leave} />;
  return <Loaded query={known} rows={3}>{(data) => <Secure known={data} finished={(made) => { codes.value = made; if (!made) leave(); }} />}</Loaded>;
};
const Linked = ({ page }: { page: string }) => {
  const link = useSignal<Link | null>(null);
  const error = useSignal<ApiError | null>(null);
  const token = useSignal('');
  const codes = useSignal<readonly string[] | null>(null);
  const accepted = async (answer: AcceptedLink) => {
    await begin(answer);
    codes.value = answer.recoveryCodes;
  };
  useEffect(() => {
    token.value = location.hash.slice(1);
    // The token leaves the address bar and the history.
    history.replaceState(null, '', `${base}/${page}`);
    const run = async () => {
      try {
        link.value = (await post<Link>('/links/inspect', { token: token.value }, { quiet: true })).data;
      } catch (cause) {
        if (!(cause instanceof ApiError)) throw cause;
        error.value = cause;
      }
    };
    void run();
  }, []);
  if (codes.value) return <Codes codes={codes.value} close={() => navigate('/', true)} />;
  if (error.value) return (
    <div class="stack loose">
      <h1 class="big">{error.value.code == 'LINK_INVALID' ? t('This link does not work') : errorTitle(error.value)}</h1>
      {error.value.code == 'LINK_INVALID' ? <p class="muted">{page == 'join' ? t('It was used or revoked, or it has expired. Ask the person who invited you for a new one.') : t('It was used or revoked, or it has expired. Create a new one on the server with “openapi-server operators setup-link”.')}</p> : <Failure error={error.value} />}
      <Button kind="main large" onClick={() => navigate('/sign-in', true)}>{t('Go to sign-in')}</Button>
    </div>
  );
  return link.value ? <Account link={link.value} token={token.value} accepted={(answer) => void accepted(answer)} /> : <p class="muted" role="status">{t('Reading the link…')}</p>;
};
export default ({ rest }: { rest: string[] }) => <div class="entry"><main class="entrybox">{rest[0] ? <Linked page={rest[0]} /> : <Own />}</main></div>;
