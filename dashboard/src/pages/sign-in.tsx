// Sign-in.
import { Cli, hostSignIn, LandedNotice, navigate, Notice, session, SignInForm, t } from '../kit';

export default () => {
  const hosted = !!hostSignIn();
  return (
  <div class="entry">
    <main class="entrybox stack loose">
      <header class="stack tight"><span class="mark large" aria-hidden="true">{session.value!.serviceName[0]}</span><h1 class="big">{t('Sign in')}</h1><p class="muted">{session.value!.serviceName}</p></header>
      {hosted ? <Notice tone="info">{t('Sign in to {name}, then open this page again.', { name: session.value!.serviceName })}</Notice> : !session.value!.isSetUp && <Notice tone="info"><span class="strong">{t('Nobody has an account yet')}</span><span>{t('The server printed a set-up link when it started. Open it, or create a new one:')}</span><Cli line="operators setup-link" /></Notice>}
      {!hosted && <LandedNotice />}
      {!hosted && <SignInForm done={() => navigate('/', true)} />}
    </main>
  </div>
  );
};
