// Settings → Members: who may do what, invitations, recovery, the end of access.
import {
  address, ago, ApiError, ask, Badge, Bar, Button, can, Cli, Copy, Dialog, done, Empty, errorTitle, Failure, holds, invalidate, list, Loaded, Mark, Menu, moment, Notice, number, operator, post, put, quoted, remove,
  Search, seg, Select, sentences, setQuery, t, TextField, useActions, useEffect, useForm, useKeys, useQuery, useSignal, When, who, type Invitation, type Item, type MadeLink, type Member,
} from '../kit';
import { Grants, RolesField } from './parts/roles';

const ROOT = '/members';
const INVITATIONS = '/members/invitations';
const pathOf = (member: Member, rest = '') => `${ROOT}/${seg(member.id)}${rest}`;
const refresh = () => invalidate(ROOT);
const failed = (error: ApiError) => { if (error.code != 'CANCELLED') done(errorTitle(error)); };
const roleFlags = (grants: readonly string[]) => grants.map((grant) => ` --role ${grant}`).join('');
const METHODS: Record<string, () => string> = { passkey: () => t('Passkey'), password: () => t('Password'), oidc: () => t('Provider') };

/** A link, once: it is dropped when the dialog closes. */
const LinkDialog = ({ made, title, children, close }: { made: MadeLink; title: string; children: string; close: () => void }) => (
  <Dialog title={title} onClose={close} foot={<Button kind="main" onClick={close}>{t('Done')}</Button>}>
    <Notice tone="warn"><span class="strong">{t('Copy the link now. It is shown only once.')}</span><span>{children}</span></Notice>
    <div class="secret"><code data-secret>{made.link}</code><Copy kind="main" text={made.link}>{t('Copy link')}</Copy></div>
    <p class="muted small">{t('It works once, until {time}. Nothing is sent by e-mail.', { time: moment(made.expiresAt) })}</p>
  </Dialog>
);
const DAYS: [string, () => string][] = [['3600', () => t('1 hour')], ['86400', () => t('1 day')], ['604800', () => t('7 days')], ['2592000', () => t('30 days')]];
const Invite = ({ close }: { close: () => void }) => {
  const form = useForm('member-new', { email: '', name: '', grants: ['viewer'] as string[], valid: '604800' });
  const made = useSignal<MadeLink | null>(null);
  const text = (field: 'email' | 'name') => ({ value: form.values[field], onInput: (value: string) => form.set(field, value), error: form.errors[field] });
  const save = () => void form.submit(async ({ email, name, grants, valid }) => {
    const { data } = await post<MadeLink>(INVITATIONS, { email: email.trim(), grants, validForSeconds: Number(valid), ...(name.trim() ? { name: name.trim() } : {}) });
    refresh();
    made.value = data;
  });
  useKeys([{ key: 'mod+Enter', label: t('Create link'), run: save }]);
  if (made.value) return <LinkDialog made={made.value} title={t('The invitation of {email}', { email: form.values.email })} close={close}>{t('The person who opens it gets the account with these roles. Send it over a channel that you trust.')}</LinkDialog>;
  return (
    <Dialog title={t('Invite someone')} onClose={close} foot={<><Cli line={`operators invite ${quoted(form.values.email || '…')}${roleFlags(form.values.grants)}`} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} keys="mod+Enter" onClick={save}>{t('Create link')}</Button></>}>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        <TextField type="email" label={t('E-mail')} autofocus autocomplete="off" hint={t('Identifies the account. Nothing is sent to it: you pass the link on.')} {...text('email')} />
        <TextField label={t('Full name')} autocomplete="off" hint={t('The person can change it later.')} {...text('name')} />
        <RolesField value={form.values.grants} error={form.errors['grants']} onChange={(grants) => form.set('grants', grants)} />
        <Select label={t('The link expires after')} value={form.values.valid} error={form.errors['validForSeconds']} options={DAYS.map(([value, label]) => [value, label()])} onChange={(value) => form.set('valid', value)} />
        {form.failure && <Failure error={form.failure} />}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
};
const RolesForm = ({ of: member, etag, again, close }: { of: Member; etag: string | null; again: () => Promise<void>; close: () => void }) => {
  const form = useForm(`member-${member.id}`, { grants: [...member.grants] as string[] });
  const save = () => void form.submit(async ({ grants }) => {
    await put(pathOf(member, '/grants'), { grants }, etag);
    refresh();
    done(t('The roles of {name} are saved', { name: member.name }));
    close();
  });
  useKeys([{ key: 'mod+Enter', label: t('Save'), run: save }]);
  return (
    <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
      <p class="muted">{t('Changes apply from the next request on, in every browser where the person is signed in.')}</p>
      <RolesField value={form.values.grants} error={form.errors['grants']} onChange={(grants) => form.set('grants', grants)} />
      {form.restored && form.dirty && <p class="muted small row wrap">{t('Not saved yet.')} <Button kind="quiet" onClick={() => form.reset()}>{t('Discard')}</Button></p>}
      {form.failure && <Failure error={form.failure} again={form.failure.code == 'PRECONDITION_FAILED' ? () => void again() : undefined} />}
      <div class="row wrap"><Button type="submit" kind="main" keys="mod+Enter" busy={form.busy}>{t('Save')}</Button><Button onClick={close}>{t('Cancel')}</Button></div>
      <Cli line={`operators grant ${quoted(member.email)}${roleFlags(form.values.grants)}`} />
    </form>
  );
};
/** The roles of a member, on the version that is shown. */
const Roles = ({ of: member, close }: { of: Member; close: () => void }) => {
  const now = useQuery<Member>(pathOf(member));
  return <Dialog title={t('Roles of {name}', { name: member.name })} onClose={close}><Loaded query={now} rows={2}>{(one) => <RolesForm key={now.etag} of={one} etag={now.etag} again={now.refetch} close={close} />}</Loaded></Dialog>;
};
interface Shown {
  kind: 'roles' | 'link';
  member: Member;
  made?: MadeLink;
}
/** What outlives an account that cannot sign in any more. */
const stillWorks = () => t('API keys and service tokens that the person created still work: review them under API Permissions and Service tokens.');
const itemsOf = (member: Member, show: (shown: Shown) => void): Item[] => {
  const { name, email } = member;
  const isMe = member.id == operator.value?.id;
  const disable = () => ask({
    title: t('Disable {name}?', { name }), text: sentences(t('All sessions end immediately, and the person cannot sign in until you enable the account again.'), stillWorks()), button: t('Disable'), cli: `operators disable ${quoted(email)}`,
    run: async () => { await post(pathOf(member, '/disable')); refresh(); done(t('{name} is disabled', { name }), async () => { await post(pathOf(member, '/enable')); refresh(); }); },
  });
  const enable = () => void post(pathOf(member, '/enable')).then(() => { refresh(); done(t('{name} is enabled', { name })); }, failed);
  const recover = () => ask({
    title: t('Create a recovery link for {name}?', { name }), text: t('The link sets a new passkey or password and ends all sessions of the account. The person who opens it acts as {name}, so make sure that it reaches the right person.', { name }), button: t('Create link'), cli: `operators recover ${quoted(email)}`,
    run: async () => { const { data } = await post<MadeLink>(pathOf(member, '/recovery')); show({ kind: 'link', member, made: data }); },
  });
  const end = () => ask({
    title: t('Sign {name} out everywhere?', { name }), text: t('The person has to sign in again in every browser.'), button: t('End sessions'), cli: `operators sign-out ${quoted(email)}`,
    run: async () => { await remove(pathOf(member, '/sessions')); refresh(); done(t('{name} is signed out', { name })); },
  });
  const drop = () => ask({
    title: t('Remove {name}?', { name }), text: sentences(t('This permanently deletes the account with its sessions, passkeys and password. What the person did stays in the audit log, without the name.'), stillWorks()), button: t('Remove'), bad: true, typed: email, cli: `operators remove ${quoted(email)}`,
    run: async () => { await remove(pathOf(member)); refresh(); done(t('{name} is removed', { name })); },
  });
  return [
    { label: t('Change roles…'), icon: 'edit', run: () => show({ kind: 'roles', member }) },
    ...(member.isDisabled ? [] : [{ label: t('Recovery link…'), icon: 'link' as const, run: recover }]),
    ...(member.sessions ? [{ label: t('End sessions…'), icon: 'out' as const, run: end }] : []),
    ...(isMe ? [] : [member.isDisabled ? { label: t('Enable'), icon: 'play' as const, run: enable } : { label: t('Disable…'), icon: 'pause' as const, run: disable }, null, { label: t('Remove…'), icon: 'trash' as const, bad: true, run: drop }]),
  ];
};
/** How long a notice of a recovery stands: owners see it for a week. */
const isRecent = (at: string | null) => !!at && Date.now() - Date.parse(at) < 7 * 86400000;
const People = ({ all, show }: { all: readonly Member[]; show: (shown: Shown) => void }) => {
  const manages = can('members.manage', null);
  return (
    <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Members')}><table class="list">
      <thead><tr><th scope="col">{t('Full name')}</th><th scope="col">{t('Roles')}</th><th scope="col">{t('Signs in with')}</th><th scope="col">{t('Last seen')}</th><th scope="col">{t('State')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
      <tbody>{all.map((member) => (
        <tr key={member.id}>
          <td><span class="row"><Mark kind="round" name={member.name} /><span class="stack none"><span class="strong cut"><bdi>{member.name}</bdi>{member.id == operator.value?.id && <span class="muted"> · {t('you')}</span>}</span><span class="muted small cut" dir="auto">{member.email}</span></span></span></td>
          <td><Grants of={member.grants} /></td>
          <td class="muted">{list(member.methods.map((one) => METHODS[one]?.() ?? one)) || t('not set up')}</td>
          <td class="muted"><When at={member.lastSeenAt} /></td>
          <td><span class="row wrap">{isRecent(member.recoveredAt) && <Badge tone="warn" dot>{t('used a recovery code {when}', { when: ago(member.recoveredAt!) })}</Badge>}{member.isDisabled ? <Badge tone="bad" dot open>{t('account disabled')}</Badge> : <Badge tone={member.sessions ? 'ok' : ''} dot open={!member.sessions}>{member.sessions ? t('signed in') : t('signed out')}</Badge>}</span></td>
          <td class="end">{manages && <Menu label={t('Actions for {name}', { name: member.name })} items={itemsOf(member, show)} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions for {name}', { name: member.name })} expanded={expanded} onClick={open} />} />}</td>
        </tr>
      ))}</tbody>
    </table></div>
  );
};
const Waiting = ({ all }: { all: readonly Invitation[] }) => {
  const revoke = (one: Invitation) => ask({
    title: t('Revoke the invitation of {email}?', { email: one.email }), text: t('Its link stops working immediately.'), button: t('Revoke'), cli: `operators revoke-invitation ${quoted(one.email)}`,
    run: async () => { await remove(`${INVITATIONS}/${seg(one.id)}`); refresh(); done(t('The invitation of {email} is revoked', { email: one.email })); },
  });
  return (
    <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Invitations')}><table class="list">
      <thead><tr><th scope="col">{t('E-mail')}</th><th scope="col">{t('Roles')}</th><th scope="col">{t('Invited by')}</th><th scope="col">{t('Link')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
      <tbody>{all.map((one) => (
        <tr key={one.id}>
          <td><span class="stack none"><span class="strong cut" dir="auto">{one.email}</span>{one.name && <span class="muted small cut"><bdi>{one.name}</bdi></span>}</span></td>
          <td><Grants of={one.grants} /></td>
          <td class="muted"><span dir="auto">{who(one.invitedBy)}</span> · <When at={one.invitedAt} /></td>
          <td>{one.isVoid ? <Badge tone="bad" dot>{t('void: the inviter may no longer grant these roles')}</Badge> : <Badge tone="warn" dot>{t('expires {when}', { when: ago(one.expiresAt) })}</Badge>}</td>
          <td class="end">{can('members.manage', null) && <Button onClick={() => revoke(one)}>{t('Revoke')}<span class="sr"> {one.email}</span></Button>}</td>
        </tr>
      ))}</tbody>
    </table></div>
  );
};
export default () => {
  const members = useQuery<readonly Member[]>(ROOT);
  const invitations = useQuery<readonly Invitation[]>(INVITATIONS);
  const inviting = useSignal(false);
  const shown = useSignal<Shown | null>(null);
  const manages = can('members.manage', null);
  const search = address.value.query.get('q') ?? '';
  const view = address.value.query.get('view') ?? 'people';
  const invite = () => (inviting.value = true);
  const asked = address.value.query.has('invite');
  useEffect(() => {
    if (!asked) return;
    setQuery({ invite: null });
    if (manages) invite();
  }, [asked]);
  useActions(manages ? [{ id: 'new', label: t('Invite someone'), icon: 'plus', keys: 'n', run: invite }] : []);
  const fits = (text: string) => holds(text, search);
  const close = () => (shown.value = null);
  const nothing = <Empty icon="search" title={t('No matches')} action={<Button onClick={() => setQuery({ q: null })}>{t('Clear filter')}</Button>}>{t('Nothing matches “{text}”.', { text: search })}</Empty>;
  const asking = manages && <Button kind="main" icon="plus" onClick={invite}>{t('Invite')}</Button>;
  return (
    <>
      <Bar crumb={t('Settings')} title={t('Members')}>{manages && <Button kind="main" icon="plus" keys="n" onClick={invite}>{t('Invite')}</Button>}</Bar>
      <div class="filter">
        <Search label={t('Filter members')} value={search} onInput={(value) => setQuery({ q: value })} />
        <div class="tabs">{([['people', t('People'), members.data?.length], ['invitations', t('Invitations'), invitations.data?.length]] as const).map(([name, label, n]) => (
          <button type="button" class="tab" aria-pressed={view == name} onClick={() => setQuery({ view: name == 'people' ? null : name })}>{label} {n !== undefined && <span class="n">{number(n)}</span>}</button>
        ))}</div>
      </div>
      <div class="scroll">
        {view == 'people' ? (
          <Loaded query={members}>{(all) => {
            const found = all.filter((one) => fits(`${one.name} ${one.email} ${one.grants.join(' ')}`));
            return found.length ? <><People all={found} show={(one) => (shown.value = one)} />{all.length == 1 && <div class="page"><p class="muted">{t('You are the only member. Invite colleagues with the roles that they need. A second owner can help you if you lose your passkey.')}</p></div>}</> : nothing;
          }}</Loaded>
        ) : (
          <Loaded query={invitations}>{(all) => {
            if (!all.length) return <Empty icon="person" title={t('No pending invitations')} action={asking} cli="operators invite ada@example.com --role inbox@acme">{t('An invitation is a link that works once. Send it over a channel that you trust.')}</Empty>;
            const found = all.filter((one) => fits(`${one.name} ${one.email} ${one.grants.join(' ')}`));
            return found.length ? <Waiting all={found} /> : nothing;
          }}</Loaded>
        )}
      </div>
      {inviting.value && <Invite close={() => (inviting.value = false)} />}
      {shown.value?.kind == 'roles' && <Roles of={shown.value.member} close={close} />}
      {shown.value?.made && <LinkDialog made={shown.value.made} title={t('The recovery link of {name}', { name: shown.value.member.name })} close={close}>{t('The person who opens it gets into the account. Send it over a channel that you trust.')}</LinkDialog>}
    </>
  );
};
