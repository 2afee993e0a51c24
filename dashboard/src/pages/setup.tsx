// Set-up: one page makes the account of a link, with a passkey or with a password.
import { ApiError, base, begin, Button, create, errorTitle, Failure, hasPasskeys, moment, navigate, Notice, post, session, t, TextField, useEffect, useForm, useSignal, type Link, type SignedIn } from '../kit';
import { RoleBadge } from './parts/roles';

const Account = ({ link, token, accepted }: { link: Link; token: string; accepted: (answer: SignedIn) => void }) => {
  const options = link.publicKey as { user?: Record<string, unknown> } | null;
  const recovers = link.kind == 'recover';
  const invited = link.kind == 'invite';
  const passkeys = hasPasskeys() && !!options;
  const method = useSignal(passkeys ? 'passkey' : 'password');
  const form = useForm(invited ? 'join' : 'setup', { name: link.name ?? '', email: link.email ?? '', password: '' }, ['password']);
  const text = (field: 'name' | 'email' | 'password') => ({ value: form.values[field], onInput: (value: string) => form.set(field, value), error: form.errors[field] });
  const problem = useSignal<string | null>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    problem.value = null;
    void form.submit(async ({ name, email, password }) => {
      const body: Record<string, unknown> = recovers ? { token } : invited ? { token, name } : { token, name, email };
      if (method.value == 'passkey') {
        // The passkey carries the name that the person has just typed.
        const made = recovers ? options! : { ...options!, user: { ...options!.user, name: email, displayName: name } };
        try {
          body['credential'] = await create(made);
        } catch (cause) {
          problem.value = (cause as DOMException).name == 'NotAllowedError' ? t('No passkey was created. Try again, or use a password.') : t('The browser could not create a passkey: {reason}', { reason: (cause as Error).message });
          throw new ApiError(0, 'CANCELLED', '');
        }
      } else body['password'] = password;
      accepted((await post<SignedIn>('/links/accept', body, { quiet: true })).data);
    });
  };
  return (
    <form class="stack loose" onSubmit={submit} noValidate>
      <header class="stack tight">
        <span class="mark large" aria-hidden="true">{session.value!.serviceName[0]}</span>
        <h1 class="big">{recovers ? t('Recover your account') : invited ? t('Join {name}', { name: link.serviceName }) : t('Set up {name}', { name: link.serviceName })}</h1>
        {invited && <p>{link.inviter ? t('{name} invites you to work here as {email}.', { name: link.inviter, email: link.email ?? '' }) : t('You are invited to work here as {email}.', { email: link.email ?? '' })}</p>}
        {invited && <ul class="roles" aria-label={t('Your roles')}>{link.roles.map((one) => <li><RoleBadge role={one.role} agent={one.agentName ?? one.agentId} /></li>)}</ul>}
        <p class="muted">{invited ? t('This link expires {time}.', { time: moment(link.expiresAt) }) : recovers ? t('Choose a new way to sign in as {email}. All other sessions end. This link expires {time}.', { email: link.email ?? '', time: moment(link.expiresAt) }) : t('You become the owner, because nobody has an account yet. This link expires {time}.', { time: moment(link.expiresAt) })}</p>
      </header>
      {!recovers && <div class="stack">
        <TextField large label={t('Your name')} autocomplete="name" autofocus {...text('name')} />
        {!invited && <TextField large type="email" label={t('E-mail')} autocomplete="username" hint={t('Identifies your account. Nothing is sent to it.')} {...text('email')} />}
      </div>}
      <fieldset class="stack">
        <legend class="sr">{t('How you sign in')}</legend>
        {passkeys && (
          <label class={`choice${method.value == 'passkey' ? ' at' : ''}`}>
            <input type="radio" name="method" checked={method.value == 'passkey'} onChange={() => (method.value = 'passkey')} />
            <span><span class="strong">{t('Passkey')}</span><br /><span class="muted small">{t('Uses your device or security key. Cannot be phished, and there is nothing to remember.')}</span></span>
          </label>
        )}
        <label class={`choice${method.value == 'password' ? ' at' : ''}`}>
          <input type="radio" name="method" checked={method.value == 'password'} onChange={() => (method.value = 'password')} />
          <span><span class="strong">{t('Password')}</span><br /><span class="muted small">{passkeys ? t('For browsers without passkeys.') : t('Passkeys need a host name and HTTPS or localhost.')}</span></span>
        </label>
        {method.value == 'password' && <TextField large type="password" label={t('Choose a password')} autocomplete="new-password" hint={t('12 characters or more.')} {...text('password')} />}
      </fieldset>
      {problem.value && <Notice tone="bad">{problem.value}</Notice>}
      {form.failure && <Failure error={form.failure} />}
      <Button type="submit" kind="main large" busy={form.busy}>{method.value == 'passkey' ? t('Create passkey and continue') : recovers ? t('Set password and continue') : t('Create account')}</Button>
    </form>
  );
};
export default ({ rest }: { rest: string[] }) => {
  const link = useSignal<Link | null>(null);
  const error = useSignal<ApiError | null>(null);
  const token = useSignal('');
  const accepted = async (answer: SignedIn) => {
    await begin(answer);
    navigate('/', true);
  };
  useEffect(() => {
    token.value = location.hash.slice(1);
    // The token leaves the address bar and the history.
    history.replaceState(null, '', `${base}/${rest[0]}`);
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
  return (
    <div class="entry">
      <main class="entrybox">
        {error.value ? (
            <div class="stack loose">
              <h1 class="big">{error.value.code == 'LINK_INVALID' ? t('This link does not work') : errorTitle(error.value)}</h1>
              {error.value.code == 'LINK_INVALID' ? <p class="muted">{rest[0] == 'join' ? t('It was used or revoked, or it has expired. Ask the person who invited you for a new one.') : t('It was used or revoked, or it has expired. Create a new one on the server with “openapi-server operators setup-link”.')}</p> : <Failure error={error.value} />}
              <Button kind="main large" onClick={() => navigate('/sign-in', true)}>{t('Go to sign-in')}</Button>
            </div>
          ) : link.value ? <Account link={link.value} token={token.value} accepted={(answer) => void accepted(answer)} /> : <p class="muted" role="status">{t('Reading the link…')}</p>}
      </main>
    </div>
  );
};
