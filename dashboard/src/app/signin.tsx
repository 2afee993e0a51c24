// Signing in: a passkey, or a password with a code. The same form is a page, a dialog over the page when a session has ended,
// and, for a step-up, a question who it is.
import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, get, hooks, post } from '../lib/api';
import { sentences, t } from '../lib/i18n';
import { hasAutofill, hasPasskeys, sign } from '../lib/webauthn';
import { Button, Notice, TextField } from '../ui/parts';
import { Dialog } from '../ui/dialog';
import { Failure } from '../ui/states';
import { here, leave, ProviderButtons } from './oidc';
import { begin, hostSignIn, operator, session, signOut } from './session';
import type { Ceremony, Identity, PasswordAccepted, SignedIn } from './types';

const quiet = { quiet: true };
/** What went wrong with a passkey, in words; null if the person gave up. */
const passkeyError = (error: unknown): ApiError | null => {
  if (error instanceof ApiError) return error;
  const name = (error as DOMException).name;
  if (name == 'NotAllowedError' || name == 'AbortError') return null;
  return new ApiError(0, 'PASSKEY', t('The browser could not use the passkey: {reason}', { reason: (error as Error).message }));
};

/** The form. `done` runs when the session has begun. */
export const SignInForm = ({ done, email: fixed }: { done: (samePerson: boolean) => void; email?: string }) => {
  const step = useSignal<'email' | 'password' | 'code' | 'recovery'>(fixed ? 'password' : 'email');
  const email = useSignal(fixed ?? '');
  const password = useSignal('');
  /** The one-time code, or the recovery code. */
  const code = useSignal('');
  const pending = useSignal('');
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const passkeys = hasPasskeys() && !!session.value?.methods.includes('passkey');
  const goTo = (next: typeof step.value) => {
    step.value = next;
    code.value = '';
    error.value = null;
  };
  /** `action` resolves to null where another step follows. */
  const attempt = async (action: () => Promise<SignedIn | null>) => {
    if (busy.value) return;
    busy.value = true;
    error.value = null;
    try {
      const answer = await action();
      if (answer) done(await begin(answer));
    } catch (cause) {
      error.value = passkeyError(cause);
      // The answer of the password is over: it is asked for again.
      if (step.value == 'code' && error.value?.code == 'SESSION_ENDED') step.value = 'password';
    } finally {
      busy.value = false;
    }
  };
  const withPasskey = (more: Parameters<typeof sign>[1] = {}) => async (): Promise<SignedIn> => {
    const { data } = await post<Ceremony>('/sign-in/passkey/options', undefined, quiet);
    const credential = await sign(data.publicKey ?? {}, more);
    return (await post<SignedIn>('/sign-in/passkey', { credential }, quiet)).data;
  };
  useEffect(() => {
    const controller = new AbortController();
    if (passkeys && !fixed)
      void hasAutofill().then((available) => {
        if (available && !controller.signal.aborted)
          withPasskey({ conditional: true, signal: controller.signal })().then((answer) => attempt(async () => answer), (cause) => (error.value ??= passkeyError(cause)));
      });
    return () => controller.abort();
  }, []);
  const form = useRef<HTMLFormElement>(null);
  // The field that had the focus is gone, or has a next one.
  useEffect(() => {
    if (step.value != 'email') [...form.current!.querySelectorAll('input')].pop()?.focus();
  }, [step.value]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (step.value == 'email') {
      if (email.value.trim()) step.value = 'password';
      return;
    }
    const address = email.value.trim();
    if (step.value == 'recovery') return void attempt(async () => (await post<SignedIn>('/sign-in/recover', { email: address, recoveryCode: code.value }, quiet)).data);
    if (step.value == 'code') return void attempt(async () => (await post<SignedIn>('/sign-in/code', { pending: pending.value, code: code.value }, quiet)).data);
    void attempt(async () => {
      const { data } = await post<PasswordAccepted>('/sign-in/password', { email: address, password: password.value }, quiet);
      if (data.pending) {
        pending.value = data.pending;
        goTo('code');
      }
      return data.signedIn;
    });
  };
  const refused = error.value?.status == 401;
  const wrong = !refused ? undefined : error.value!.code == 'SESSION_ENDED' ? t('Too many wrong codes, or too much time. Enter the password again.') : { email: '', password: t('E-mail or password is incorrect.'), code: t('This code is incorrect or was used before. Wait for the next one.'), recovery: t('E-mail or recovery code is incorrect, or the code was used before.') }[step.value];
  const atCode = step.value == 'code';
  return (
    <form class="stack" ref={form} onSubmit={submit} noValidate>
      {!atCode && <TextField large type="email" label={t('E-mail')} value={email.value} autocomplete="username webauthn" autofocus={!fixed} onInput={(value) => (email.value = value)} />}
      {step.value == 'password' && <TextField large key="password" type="password" label={t('Password')} value={password.value} autocomplete="current-password" autofocus error={wrong} onInput={(value) => (password.value = value)} />}
      {atCode && <TextField large key="code" label={t('Code from your authenticator app')} value={code.value} inputmode="numeric" autocomplete="one-time-code" mono autofocus error={wrong} hint={t('6 digits, for {email}.', { email: email.value.trim() })} onInput={(value) => (code.value = value)} />}
      {step.value == 'recovery' && <TextField large key="recovery" label={t('Recovery code')} value={code.value} autocomplete="off" mono autofocus error={wrong} hint={t('10 letters and digits. Each code works once; then you set up a new way to sign in.')} onInput={(value) => (code.value = value)} />}
      {error.value && !wrong && <Failure error={error.value} />}
      <Button type="submit" kind="main large" busy={busy.value}>{step.value == 'email' || step.value == 'recovery' ? t('Continue') : t('Sign in')}</Button>
      {step.value != 'email' && <div class="stack tight">
        {step.value != 'recovery' && <Button kind="quiet" onClick={() => goTo('recovery')}>{t('Use a recovery code')}</Button>}
        {step.value != 'password' && <Button kind="quiet" onClick={() => goTo('password')}>{t('Back to the password')}</Button>}
      </div>}
      {atCode || step.value == 'recovery' ? null : passkeys ? (
        <>
          <div class="or"><span>{t('or')}</span></div>
          <Button kind="large" icon="passkey" busy={busy.value} onClick={() => void attempt(withPasskey())}>{t('Sign in with a passkey')}</Button>
        </>
      ) : <p class="small muted">{t('Passkeys need a host name and HTTPS or localhost; here you sign in with a password and a code.')}</p>}
      {!atCode && step.value != 'recovery' && session.value!.providers.length > 0 && <>
        {!passkeys && <div class="or"><span>{t('or')}</span></div>}
        <ProviderButtons providers={session.value!.providers} go={({ id }) => leave('signIn', '/sign-in/oidc/start', { provider: id, returnTo: fixed ? here() : '/' })} />
      </>}
    </form>
  );
};

/** What waits for the person: a new session, or a step-up. */
const waiting = signal<{ kind: 'signIn' | 'stepUp'; methods: string[]; settle: (done: boolean) => void } | null>(null);
let running: Promise<boolean> | null = null;
const wait = (kind: 'signIn' | 'stepUp', methods: string[] = []) =>
  (running ??= new Promise<boolean>((resolve) => (waiting.value = { kind, methods, settle: resolve })).finally(() => {
    running = null;
    waiting.value = null;
  }));
hooks.signIn = () => (operator.value ? wait('signIn') : Promise.resolve(false));
hooks.stepUp = (methods) => wait('stepUp', methods);

const StepUp = ({ methods, settle }: { methods: string[]; settle: (done: boolean) => void }) => {
  const passkey = hasPasskeys() && methods.includes('passkey');
  const byPassword = methods.includes('password');
  const byProvider = methods.includes('oidc');
  const linked = useSignal<{ id: string; name: string }[]>([]);
  const password = useSignal('');
  const code = useSignal('');
  const showPassword = useSignal(!passkey && byPassword);
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const attempt = async (action: () => Promise<unknown>, settles = true) => {
    busy.value = true;
    error.value = null;
    try {
      await action();
      if (settles) settle(true);
    } catch (cause) {
      error.value = passkeyError(cause);
    } finally {
      busy.value = false;
    }
  };
  useEffect(() => {
    if (byProvider) void attempt(async () => {
      const { data } = await get<readonly Identity[]>('/me/identities');
      const all = data.flatMap((one) => (one.provider ? [{ id: one.provider, name: one.providerName ?? one.provider }] : []));
      linked.value = all.filter((one, n) => all.findIndex((other) => other.id == one.id) == n);
    }, false);
  }, []);
  const usePasskey = () => attempt(async () => {
    const { data } = await post<Ceremony>('/session/step-up/options', undefined, quiet);
    await post('/session/step-up', { credential: await sign(data.publicKey ?? {}) }, quiet);
  });
  return (
    <Dialog title={t('Confirm that it is you')} onClose={() => settle(false)}>
      <p class="muted">{t('This change needs a sign-in from the last 10 minutes. It continues right after.')}</p>
      {passkey && !showPassword.value && <Button kind="main large" icon="passkey" busy={busy.value} onClick={() => void usePasskey()}>{t('Use a passkey')}</Button>}
      {showPassword.value && (
        <form class="stack" onSubmit={(event) => { event.preventDefault(); void attempt(() => post('/session/step-up', { password: password.value, code: code.value }, quiet)); }}>
          <TextField type="password" label={t('Password')} autocomplete="current-password" autofocus value={password.value} onInput={(value) => (password.value = value)} />
          <TextField label={t('Code from your authenticator app')} inputmode="numeric" autocomplete="one-time-code" mono value={code.value} onInput={(value) => (code.value = value)} />
          <Button type="submit" kind="main large" busy={busy.value}>{t('Confirm')}</Button>
        </form>
      )}
      {!passkey && !byPassword && !byProvider && <><p>{t('Your password needs an authenticator app, which is not set up yet. Sign in again to set it up.')}</p><Button kind="main large" onClick={() => void signOut()}>{t('Sign in again')}</Button></>}
      {passkey && byPassword && !showPassword.value && <Button kind="quiet" onClick={() => (showPassword.value = true)}>{t('Use the password')}</Button>}
      {linked.value.length > 0 && <>
        <ProviderButtons providers={linked.value} go={({ id }) => leave('stepUp', '/session/step-up/oidc', { provider: id, returnTo: here() })} />
        <p class="muted small">{t('The provider asks you to sign in again and leads back to this page. What you have typed is restored.')}</p>
      </>}
      {error.value && (error.value.status == 401 ? <Notice tone="bad">{t('That was not correct. Try again.')}</Notice> : <Failure error={error.value} />)}
    </Dialog>
  );
};
/** Where the dialogs of a call appear. */
export const Waiting = () => {
  const one = waiting.value;
  if (!one) return null;
  const away = hostSignIn();
  if (away) return (
    <Dialog title={one.kind == 'stepUp' ? t('Confirm that it is you') : t('Your session has ended')} onClose={() => one.settle(false)} foot={<><Button onClick={() => one.settle(false)}>{t('Cancel')}</Button><Button kind="main" href={away}>{t('Sign in')}</Button></>}>
      <p class="muted">{sentences(one.kind == 'stepUp' ? t('This change needs a sign-in from the last 10 minutes.') : t('Sign in again to continue.'), t('The form is restored when you come back.'))}</p>
    </Dialog>
  );
  if (one.kind == 'stepUp') return <StepUp methods={one.methods} settle={one.settle} />;
  return (
    <Dialog title={t('Your session has ended')} onClose={() => one.settle(false)}>
      <p class="muted">{t('Sign in again to continue. What you have typed is still here.')}</p>
      <SignInForm email={operator.value?.email ?? undefined} done={one.settle} />
    </Dialog>
  );
};
