// Install: the tag for web pages, what a page needs beyond it, and the secret that signs who a visitor is.
import { agent, ApiError, ask, Button, can, Cli, Code, Copy, done, errorTitle, Loaded, Notice, post, seg, t, useQuery, useSignal, type IdentitySecrets, type WidgetInstallation } from '../../kit';

const path = (rest: string) => `/agents/${seg(agent.value!)}/${rest}`;
/** What a server signs, in four languages; `SECRET` stands for the identity secret. */
const SIGNING: [string, string][] = [
  ['Node', `const { createHmac } = require('node:crypto');

const exp = Math.floor(Date.now() / 1000) + 3600;
const lines = ['v1', 'AGENT', exp, user.id, user.email ?? ''];
const hash = exp + '.' + createHmac('sha256', process.env.IDENTITY_SECRET).update(lines.join('\\n')).digest('hex');`],
  ['Python', `import hashlib, hmac, os, time

exp = int(time.time()) + 3600
lines = ["v1", "AGENT", str(exp), user.id, user.email or ""]
mac = hmac.new(os.environ["IDENTITY_SECRET"].encode(), "\\n".join(lines).encode(), hashlib.sha256)
hash = f"{exp}.{mac.hexdigest()}"`],
  ['PHP', `$exp = time() + 3600;
$lines = ['v1', 'AGENT', $exp, $user->id, $user->email ?? ''];
$hash = $exp . '.' . hash_hmac('sha256', implode("\\n", $lines), getenv('IDENTITY_SECRET'));`],
  ['Ruby', `exp = Time.now.to_i + 3600
lines = ['v1', 'AGENT', exp, user.id, user.email.to_s]
hash = "#{exp}." + OpenSSL::HMAC.hexdigest('SHA256', ENV['IDENTITY_SECRET'], lines.join("\\n"))`],
];
const Identity = ({ global }: { global: string }) => {
  const secrets = useSignal<IdentitySecrets | null>(null);
  const run = async (rest: string) => {
    try {
      secrets.value = (await post<IdentitySecrets>(path('identity-secret/' + rest))).data;
    } catch (error) {
      if (error instanceof ApiError && error.code != 'CANCELLED') done(errorTitle(error));
    }
  };
  const rotate = () => ask({
    title: t('Create a new identity secret?'), button: t('Create secret'), cli: `agents identity-secret ${agent.value} --rotate`,
    text: t('Sign with the new one from now on. What was signed with the present one is accepted for another day.'),
    run: async () => { secrets.value = (await post<IdentitySecrets>(path('identity-secret/rotate'))).data; done(t('The new secret is valid')); },
  });
  const code = SIGNING.map(([name, text]): [string, string] => [name, text.replace('AGENT', agent.value!)]);
  return (
    <section class="card"><header><h2>{t('Signed-in visitors')}</h2></header><div class="body stack">
      <p class="muted">{t('Your server signs who a visitor is, and the page passes that to the widget. The conversation then belongs to the contact, on every device.')}</p>
      {secrets.value?.secret ? <div class="secret"><span class="label">{t('Secret')}</span><code data-secret>{secrets.value.secret}</code><Copy text={secrets.value.secret} label={t('Copy the secret')} /></div> : secrets.value && <p>{t('There is no secret yet.')}</p>}
      {secrets.value?.previous && <div class="secret"><span class="label">{t('Before')}</span><code>{secrets.value.previous}</code></div>}
      {can('studio.secret') ? <div class="row wrap">{!secrets.value && <Button icon="key" onClick={() => void run('show')}>{t('Show secret')}</Button>}<Button icon="rotate" onClick={rotate}>{t('Create new secret')}</Button></div> : <p class="muted small">{t('Your role does not show the secret.')}</p>}
      <Code name={t('Programming language of your server')} tabs={code} />
      <Code name={t('On the page')} tabs={[[t('On the page'), `${global}.identify({ externalReferenceId: user.id, email: user.email, hash });`]]} />
    </div></section>
  );
};
const Tag = ({ of: one }: { of: WidgetInstallation }) => (
  <section class="card"><header><h2>{t('Tag')}</h2></header><div class="body stack">
    <p class="muted">{t('Put it anywhere in the page. It loads after the page and changes nothing of it.')}</p>
    <Code name={t('Tag')} tabs={[[t('Follows the server'), one.tag], [t('This build only'), one.pinnedTag], [t('Content-Security-Policy'), one.policy]]} />
    {/^http:/.test(one.origin) && <Notice tone="warn"><span>{t('The widget is served at {origin}. Pages that are served by HTTPS need an HTTPS address: set widget_public_url.', { origin: one.origin })}</span></Notice>}
    <Cli line={`agents show ${agent.value}`} />
  </div></section>
);
export const Install = () => {
  const install = useQuery<WidgetInstallation>(path('install'));
  // A host application serves the widget itself.
  if (install.error?.code == 'NOT_POSSIBLE') return <><Notice><span>{t('The application that shows this console serves the widget. Its developers have the tag for web pages.')}</span></Notice><Identity global="ServiceWidget" /></>;
  return <Loaded query={install} rows={4}>{(one) => <><Tag of={one} /><Identity global={one.global} /></>}</Loaded>;
};
