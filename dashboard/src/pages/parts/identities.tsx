// The operator's own accounts at providers: link and unlink.
import { ago, ApiError, ask, Badge, Button, done, errorTitle, here, invalidate, leave, Loaded, remove, seg, session, t, useQuery, useSignal, type Identity } from '../../kit';

const PATH = '/me/identities';
export const Identities = () => {
  const list = useQuery<readonly Identity[]>(PATH);
  const busy = useSignal<string | null>(null);
  const offered = session.value!.providers;
  // Nothing to say where no provider is offered and none was.
  if (!offered.length && !list.data?.length) return null;
  const link = async (provider: string) => {
    busy.value = provider;
    try {
      await leave('link', PATH, { provider, returnTo: here() });
    } catch (error) {
      if (error instanceof ApiError && error.code != 'CANCELLED') done(errorTitle(error));
    } finally {
      busy.value = null;
    }
  };
  const nameOf = (one: Identity) => one.providerName ?? one.issuer;
  const unlink = (one: Identity) => ask({
    title: t('Unlink {name}?', { name: nameOf(one) }), text: t('You can no longer sign in with this account. Roles that its groups gave you are taken away. Your other roles and ways to sign in stay.'), button: t('Unlink'), bad: true,
    run: async () => { await remove(`${PATH}/${seg(one.id)}`); invalidate(PATH); done(t('The account is unlinked')); },
  });
  return (
    <section class="card"><header><h2>{t('Sign-in providers')}</h2><span class="end row wrap">{offered.map((one) => <Button icon="plus" busy={busy.value == one.id} onClick={() => void link(one.id)}><bdi class="cut">{t('Link {name}', { name: one.name })}</bdi></Button>)}</span></header>
      <Loaded query={list} rows={1}>{(rows) => rows.length ? <ul>{rows.map((one) => (
        <li class="setting"><div><span class="strong" dir="auto">{nameOf(one)}</span> {!one.provider && <Badge tone="warn" dot>{t('not offered any more')}</Badge>}<br /><span class="muted small">{one.email && <><bdi>{one.email}</bdi> · </>}{t('Linked {when}', { when: ago(one.linkedAt) })} · {one.lastUsedAt ? t('last used {when}', { when: ago(one.lastUsedAt) }) : t('never used')}</span></div>
          <Button kind="quiet" icon="trash" label={t('Unlink {name}', { name: nameOf(one) })} onClick={() => unlink(one)} /></li>
      ))}</ul> : <div class="body"><p class="muted">{t('No account is linked yet. Link one to sign in with it instead of a passkey or a password.')}</p></div>}</Loaded>
    </section>
  );
};
