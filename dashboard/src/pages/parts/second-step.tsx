// What a password needs besides itself: one-time codes of an authenticator app, and recovery codes for the day the app is lost.
import { Button, Check, Copy, download, Notice, session, t, TextField, useLayoutEffect, useSignal, type TotpSeed } from '../../kit';

/** The image that an app scans; black on white in every theme, because cameras expect it. */
const Qr = ({ seed }: { seed: TotpSeed }) =>
  seed.qrPath ? (
    <svg class="qr" viewBox={`-4 -4 ${seed.qrSize + 8} ${seed.qrSize + 8}`} role="img" aria-label={t('QR code for the authenticator app')} shape-rendering="crispEdges"><path d={seed.qrPath} /></svg>
  ) : null;
/** A seed to scan or to type, and the field for its first code. */
export const TotpFields = ({ seed, code, onCode, error, large }: { seed: TotpSeed; code: string; onCode: (code: string) => void; error?: string; large?: boolean }) => (
  <div class="stack">
    <div class="stack tight"><span class="strong">{t('Authenticator app')}</span><span class="muted small">{t('Scan the QR code with an app such as Google Authenticator, 1Password or Aegis. On this device, type the key instead.')}</span></div>
    <div class="totp">
      <Qr seed={seed} />
      <div class="stack tight"><span class="muted small">{t('Key')}</span><code class="groups" data-secret>{seed.secret.match(/.{1,4}/g)?.map((group) => <span>{group}</span>)}</code><span class="row wrap"><Copy text={seed.secret} kind="">{t('Copy key')}</Copy><a class="small" href={seed.url}>{t('Open in an app')}</a></span></div>
    </div>
    <TextField large={large} label={t('Code from the app')} inputmode="numeric" autocomplete="one-time-code" mono value={code} error={error} hint={t('6 digits. A new code appears every 30 seconds.')} onInput={onCode} />
  </div>
);
/** Offers the codes as a text file. */
const save = (codes: readonly string[]) =>
  download('recovery-codes.txt', new Blob([`${t('Recovery codes of {name}', { name: session.value!.serviceName })}\n${location.origin}\n\n${codes.join('\n')}\n`], { type: 'text/plain' }));
/** Recovery codes, once. */
export const RecoveryCodes = ({ codes, close }: { codes: readonly string[]; close: () => void }) => {
  const stored = useSignal(false);
  // The form that had the focus is gone.
  useLayoutEffect(() => document.querySelector<HTMLElement>('.codes + .row .button')?.focus(), []);
  return (
    <div class="stack loose">
      <Notice tone="warn"><span class="strong">{t('Store these codes now. They are shown only once.')}</span><span>{t('Each lets you back in once if you lose your passkeys or your authenticator app. Put them into a password manager, or print them.')}</span></Notice>
      <ol class="codes" aria-label={t('Recovery codes')}>{codes.map((code) => <li><code data-secret>{code}</code></li>)}</ol>
      <div class="row wrap"><Copy kind="" text={codes.join('\n')}>{t('Copy codes')}</Copy><Button icon="file" onClick={() => save(codes)}>{t('Download')}</Button></div>
      <Check label={t('I have stored the codes')} checked={stored.value} onChange={(on) => (stored.value = on)} />
      <Button kind="main large" off={!stored.value} onClick={close}>{t('Continue')}</Button>
    </div>
  );
};
