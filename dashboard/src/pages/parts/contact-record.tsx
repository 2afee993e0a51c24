// A contact: its fields by schema, edited in place and merged when a colleague was faster; archive, erase.
import { agent, ApiError, ask, Badge, Bar, Button, can, changed as differences, Cli, Dialog, done, errorTitle, Failure, Field, fieldLabel, fullName, get, invalidate, list, Loaded, Menu, merge, moment, Notice, patch, post, quoted, seg, t, TextField, useForm, useKeys, useQuery, useSignal, type Conflict, type Contact, type Form, type SchemaField, type Values } from '../../kit';
import { Notes } from './contact-notes';

type Schema = { fields: SchemaField[]; customFields: SchemaField[] } | null;
const root = () => `/agents/${seg(agent.value!)}/contacts`;
/** The fields of an agent without a schema of its own. */
const BUILT_IN: [string, string][] = [
  ['firstName', 'string'], ['lastName', 'string'], ['primaryEmail', 'email'], ['primaryPhoneCode', 'phoneCode'],
  ['primaryPhone', 'phone'], ['fullAddress', 'text'], ['status', 'select'], ['tags', 'tags'], ['source', 'string'], ['externalReferenceId', 'string'],
];
/** The words of statuses, in the language of the page. */
const STATUSES = (): [string, string][] => [['active', t('Active')], ['inactive', t('Inactive')], ['blocked', t('Blocked')]];
const FIRST = BUILT_IN.map(([name]) => name);
const EMPTY: Values = { ...Object.fromEntries(FIRST.map((name) => [name, null])), status: 'active', tags: [] };
const fieldsOf = (schema: Schema): SchemaField[] => {
  const standard = schema?.fields ?? BUILT_IN.map(([name, type]) => ({ name, label: fieldLabel({ name }), type, required: name == 'primaryEmail', readOnly: false, custom: false, sensitive: false, options: null }));
  const rank = (field: SchemaField) => (FIRST.includes(field.name) ? FIRST.indexOf(field.name) : 99);
  return [...standard.filter((field) => !field.readOnly && field.name != 'customFields').map((field) => ({ ...field, label: fieldLabel(field) })).sort((a, b) => rank(a) - rank(b)), ...(schema?.customFields ?? []).map((field) => ({ ...field, custom: true }))];
};
const keyOf = (field: SchemaField) => (field.custom ? 'customFields.' : '') + field.name;
/** A record as flat values: custom fields under `customFields.name`. */
const flat = (contact: Contact, fields: SchemaField[]): Values => Object.fromEntries(fields.map((field) => [keyOf(field), (field.custom ? contact.customFields?.[field.name] : contact[field.name as keyof Contact]) ?? (field.type == 'tags' || field.type == 'multiselect' ? [] : null)]));
/** Flat values as the body of a request. */
const nested = (values: Values): Values => {
  const out: Values = {};
  const custom: Values = {};
  for (const [key, value] of Object.entries(values)) if (key.startsWith('customFields.')) custom[key.slice(13)] = value;
    else out[key] = value;
  return Object.keys(custom).length ? { ...out, customFields: custom } : out;
};
export const nameOf = (contact: Contact): string => fullName(contact.firstName, contact.lastName) || contact.primaryEmail || contact.externalReferenceId || contact.id;
const shown = (value: unknown): string => (value === null || value === undefined || value === '' ? '–' : Array.isArray(value) ? list(value.map(String)) || '–' : typeof value == 'object' ? JSON.stringify(value) : String(value));

const Input = ({ field, form, masked, theirs }: { field: SchemaField; form: Form<Values>; masked: boolean; theirs: boolean }) => {
  const key = keyOf(field);
  const value = form.values[key];
  const set = (next: unknown) => form.set(key, next === '' ? null : next);
  const error = form.errors[key];
  const label = field.label + (field.required ? ' *' : '');
  const hint = masked ? t('Sensitive: hidden for your role') : theirs ? t('Changed by a colleague just now') : undefined;
  if (masked) return <TextField label={label} hint={hint} value="••••••" onInput={() => undefined} />;
  const options = field.options ?? (field.name == 'status' ? STATUSES().map(([value, label]) => ({ value, label })) : null);
  if (options && field.type != 'multiselect')
    return <Field label={label} hint={hint} error={error}>{(props) => <select class="input" value={String(value ?? '')} onChange={(event) => set(event.currentTarget.value)} {...props}>{!field.required && field.name != 'status' && <option value="">–</option>}{options.map((one) => <option value={one.value} selected={one.value == value}>{field.name == 'status' ? (STATUSES().find(([name]) => name == one.value)?.[1] ?? one.label) : one.label}</option>)}</select>}</Field>;
  if (field.type == 'boolean') return <label class="check"><input type="checkbox" checked={value === true} onChange={(event) => set(event.currentTarget.checked)} /><span>{label}</span></label>;
  if (field.type == 'tags' || field.type == 'multiselect') return <TextField label={label} hint={hint ?? t('Separated by commas')} error={error} value={Array.isArray(value) ? value.join(', ') : ''} onInput={(text) => form.set(key, text.split(',').map((one) => one.trimStart()).filter((one, n, all) => one || n == all.length - 1 && all.length > 1))} />;
  if (field.type == 'integer' || field.type == 'number') return <TextField label={label} hint={hint} error={error} inputmode="numeric" value={shownInput(value)} onInput={(text) => set(text === '' ? null : Number.isFinite(Number(text)) ? Number(text) : text)} />;
  if (field.type == 'object') return <Field label={label}>{(props) => <code class="input" {...{ id: props.id }}>{JSON.stringify(value)}</code>}</Field>;
  return <TextField label={label} hint={hint} error={error} rows={field.type == 'text' ? 2 : undefined} type={field.type == 'email' ? 'email' : field.type == 'date' ? 'date' : 'text'} value={shownInput(value)} onInput={set} />;
};
const shownInput = (value: unknown) => (value === null || value === undefined ? '' : String(value));
const clean = (values: Values): Values => Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Array.isArray(value) ? value.map((one) => String(one).trim()).filter(Boolean) : value]));

/** Both sides of what two people changed, and a choice for each field. */
const Merge = ({ conflicts, yours, others, labels, settle, close }: { conflicts: Conflict[]; yours: string[]; others: string[]; labels: Record<string, string>; settle: (choice: Record<string, 'mine' | 'theirs'>) => void; close: () => void }) => {
  const choice = useSignal<Record<string, 'mine' | 'theirs'>>(Object.fromEntries(conflicts.map((one) => [one.field, 'mine' as const])));
  const names = (fields: string[]) => list(fields.map((one) => labels[one] ?? one));
  useKeys([{ key: 'mod+s', label: t('Save'), run: () => settle(choice.value) }]);
  return (
    <Dialog title={t('A colleague changed this at the same time')} kind="wide" onClose={close} foot={<><Button onClick={close}>{t('Back to editing')}</Button><Button kind="main" keys="mod+s" onClick={() => settle(choice.value)}>{t('Save')}</Button></>}>
      {(yours.length > 0 || others.length > 0) && <Notice tone="info">{yours.length > 0 && <span>{t('Changed only by you, saved as typed: {names}', { names: names(yours) })}</span>}{others.length > 0 && <span>{t('Changed only by them, unchanged: {names}', { names: names(others) })}</span>}</Notice>}
      <div class="tablewrap"><table class="mergetable">
        <thead><tr><th scope="col">{t('Field')}</th><th scope="col">{t('Before')}</th><th scope="col">{t('Theirs')}</th><th scope="col">{t('Yours')}</th></tr></thead>
        <tbody>{conflicts.map((one) => (
          <tr><th scope="row" class="strong">{labels[one.field] ?? one.field}</th><td class="muted" dir="auto">{shown(one.base)}</td>
            {(['theirs', 'mine'] as const).map((side) => <td><label><input type="radio" name={one.field} checked={choice.value[one.field] == side} onChange={() => (choice.value = { ...choice.value, [one.field]: side })} /><span dir="auto">{shown(one[side])}</span></label></td>)}
          </tr>
        ))}</tbody>
      </table></div>
    </Dialog>
  );
};

const Loadable = ({ contact: stored, etag, schema, changed, close, refetch }: { contact: Contact; etag: string | null; schema: Schema; changed: (contact: Contact | null, gone?: string) => void; close: () => void; refetch: () => Promise<void> }) => {
  const shownValues = useSignal<Contact | null>(null);
  // Revealed values hold for the version that they were read with.
  const contact = shownValues.value && shownValues.value.updatedAt == stored.updatedAt ? shownValues.value : stored;
  const fields = fieldsOf(schema);
  const now = flat(contact, fields);
  const form = useForm<Values>(`contact-${contact.id}`, now);
  const version = useSignal(etag);
  const conflict = useSignal<{ conflicts: Conflict[]; yours: string[]; others: string[]; theirs: Values; etag: string | null; current: Contact } | null>(null);
  const path = `${root()}/${seg(contact.id)}`;
  const write = can('contacts.write') && !contact.isArchived;
  const labels = Object.fromEntries(fields.map((field) => [keyOf(field), field.label]));
  // A newer state that nobody here has touched is taken over; touched fields stay.
  if (!form.dirty && JSON.stringify(form.base) != JSON.stringify(now)) form.rebase(now, now);
  if (!form.dirty && version.value != etag) version.value = etag;
  const accept = (reply: { data: Contact; etag: string | null }) => {
    version.value = reply.etag;
    changed(reply.data);
    const next = flat(reply.data, fields);
    form.rebase(next, next);
    invalidate(path);
    return reply.data;
  };
  const send = async (base: Values, values: Values, on: string | null) => accept(await patch<Contact>(path, nested(differences(base, values)), on));
  const save = () => void form.submit(async (raw) => {
    const values = clean(raw);
    const base = form.base;
    try {
      const saved = await send(base, values, version.value);
      done(t('{name} is saved', { name: nameOf(saved) }), async () => { changed((await patch<Contact>(path, nested(Object.fromEntries(Object.keys(differences(base, values)).map((key) => [key, base[key] ?? null]))), version.value)).data); await refetch(); });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status != 412) throw error;
      const reply = await get<Contact>(path);
      const theirs = flat(reply.data, fields);
      const result = merge(base, values, theirs);
      if (!result.conflicts.length) {
        await send(theirs, result.merged, reply.etag);
        done(t('Saved. A colleague had also changed {names}; the record has both changes.', { names: list(result.others.map((one) => labels[one] ?? one)) || t('the record') }));
        return;
      }
      conflict.value = { ...result, theirs, etag: reply.etag, current: reply.data };
      throw new ApiError(0, 'CANCELLED', '');
    }
  });
  const settle = (choice: Record<string, 'mine' | 'theirs'>) => {
    const one = conflict.value!;
    const merged = clean(merge(form.base, clean(form.values), one.theirs).merged);
    for (const field of one.conflicts) merged[field.field] = choice[field.field] == 'mine' ? field.mine : field.theirs;
    conflict.value = null;
    form.rebase(one.theirs, merged);
    void form.submit(() => send(one.theirs, merged, one.etag)).then((saved) => saved && done(t('{name} is saved', { name: nameOf(contact) })));
  };
  const toggle = async (on: boolean) => {
    try {
      const reply = await post<Contact>(`${path}/${on ? 'archive' : 'unarchive'}`);
      changed(reply.data);
      await refetch();
      done(on ? t('{name} is archived', { name: nameOf(contact) }) : t('{name} is unarchived', { name: nameOf(contact) }), async () => { changed((await post<Contact>(`${path}/${on ? 'unarchive' : 'archive'}`)).data); await refetch(); });
    } catch (error) {
      if (error instanceof ApiError && error.code != 'CANCELLED') done(errorTitle(error));
    }
  };
  const reveal = async () => {
    try {
      shownValues.value = (await post<Contact>(`${path}/reveal`)).data;
    } catch (error) {
      if (error instanceof ApiError && error.code != 'CANCELLED') done(errorTitle(error));
    }
  };
  const erase = () => {
    const typed = contact.externalReferenceId ?? contact.primaryEmail ?? contact.id;
    ask({
      title: t('Erase {name}?', { name: nameOf(contact) }), bad: true, button: t('Erase contact'), typed, cli: `contacts erase ${contact.id} --agent ${agent.value}`,
      text: t('This erases the contact with its files, submissions and conversations, also from the event log. It cannot be undone.'),
      run: async () => {
        await post(`${path}/erase`, { confirm: typed });
        changed(null, contact.id);
        done(t('{name} is erased', { name: nameOf(contact) }));
        close();
      },
    });
  };
  useKeys([
    { key: 'mod+s', label: t('Save'), run: save },
    { key: 'e', label: t('Edit'), run: () => document.querySelector<HTMLElement>('.record .fields input, .record .fields textarea')?.focus() },
  ]);
  return (
    <>
      <Bar title={nameOf(contact)}>
        {contact.isArchived && <Badge>{t('archived')}</Badge>}
        <Menu label={t('Actions')} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions')} expanded={expanded} onClick={open} />} items={[
          { label: t('Copy the id'), icon: 'copy', run: () => void navigator.clipboard.writeText(contact.id) },
          ...(can('contacts.write') ? [{ label: contact.isArchived ? t('Unarchive') : t('Archive'), icon: 'archive' as const, run: () => void toggle(!contact.isArchived) }] : []),
          ...(can('contacts.erase') ? [null, { label: t('Erase…'), icon: 'trash' as const, bad: true, run: erase }] : []),
        ]} />
        <Button kind="quiet" icon="x" label={t('Close the record')} onClick={close} />
      </Bar>
      <div class="scroll"><div class="body">
        {contact.isArchived && <Notice tone="info"><div class="row between wrap"><span>{t('This contact is archived and cannot be edited.')}</span>{can('contacts.write') && <Button onClick={() => void toggle(false)}>{t('Unarchive')}</Button>}</div></Notice>}
        {!!contact.masked?.length && can('sensitive.read') && <Notice tone="info"><div class="row between wrap"><span>{t('Sensitive values are hidden. Revealing them is recorded in the audit log.')}</span><Button onClick={() => void reveal()}>{t('Reveal')}</Button></div></Notice>}
        {form.restored && form.dirty && <Notice tone="info"><div class="row between wrap"><span>{t('Your unsaved input from before is back.')}</span><Button onClick={() => form.reset()}>{t('Discard')}</Button></div></Notice>}
        {form.failure && <Failure error={form.failure} />}
        {write ? (
          <form class="fields" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
            {fields.map((field) => { const key = keyOf(field); return <Input key={key} field={field} form={form} masked={!!contact.masked?.includes(key)} theirs={form.dirty && JSON.stringify(form.base[key]) != JSON.stringify(now[key])} />; })}
            <button type="submit" hidden />
          </form>
        ) : <dl class="dl">{fields.map((field) => <><dt>{field.label}</dt><dd dir="auto">{contact.masked?.includes(keyOf(field)) ? t('hidden for your role') : shown(now[keyOf(field)])}</dd></>)}</dl>}
        <dl class="dl small"><dt>{t('Created')}</dt><dd>{moment(contact.createdAt)}</dd><dt>{t('Updated')}</dt><dd>{moment(contact.updatedAt)}</dd><dt>{t('ID')}</dt><dd><code>{contact.id}</code></dd></dl>
        {can('sensitive.read') && <Notes of={contact} />}
      </div></div>
      {write && form.dirty && <div class="savebar"><Button kind="main" keys="mod+s" busy={form.busy} onClick={save}>{t('Save')}</Button><Button onClick={() => form.reset()}>{t('Discard')}</Button><span class="muted small">{t('Not saved yet')}</span></div>}
      {conflict.value && <Merge {...conflict.value} labels={labels} settle={settle} close={() => (conflict.value = null)} />}
    </>
  );
};
export const Record = ({ id, ...rest }: { id: string; schema: Schema; changed: (contact: Contact | null, gone?: string) => void; close: () => void }) => {
  const contact = useQuery<Contact>(`${root()}/${seg(id)}`);
  if (!contact.data) return <><Bar title={t('Contact')}><Button kind="quiet" icon="x" label={t('Close the record')} onClick={rest.close} /></Bar><div class="scroll"><Loaded query={contact} rows={6}>{() => null}</Loaded></div></>;
  return <Loadable contact={contact.data} etag={contact.etag} refetch={contact.refetch} {...rest} />;
};
/** The flags of the command that creates a contact with these values. */
const sets = (values: Values) => {
  const given = Object.entries({ ...values, primaryEmail: values['primaryEmail'] || 'ada@example.com' }).map(([name, value]): [string, string] => [name, Array.isArray(value) ? value.join(';') : typeof value == 'object' && value ? JSON.stringify(value) : String(value ?? '')]);
  return given.filter(([, value]) => value.trim()).map(([name, value]) => ` --set ${quoted(`${name}=${value}`)}`).join('');
};
export const NewContact = ({ schema, created, close }: { schema: Schema; created: (contact: Contact) => void; close: () => void }) => {
  const fields = fieldsOf(schema);
  const form = useForm<Values>(`contact-new-${agent.value}`, EMPTY);
  const save = () => void form.submit(async (values) => {
    const { data } = await post<Contact>(root(), nested(Object.fromEntries(Object.entries(clean(values)).filter(([, value]) => value !== null && value !== '' && !(Array.isArray(value) && !value.length)))));
    form.reset(EMPTY);
    done(t('{name} is created', { name: nameOf(data) }));
    created(data);
  });
  useKeys([{ key: 'mod+s', label: t('Create contact'), run: save }]);
  return (
    <>
      <Bar title={t('New contact')}><Button kind="quiet" icon="x" label={t('Close the record')} onClick={close} /></Bar>
      <div class="scroll"><div class="body">
        {form.failure && <Failure error={form.failure} />}
        <form class="fields" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>{fields.map((field) => <Input key={keyOf(field)} field={field} form={form} masked={false} theirs={false} />)}<button type="submit" hidden /></form>
        <Cli line={`contacts create --agent ${agent.value}${sets(clean(form.values))}`} />
      </div></div>
      <div class="savebar"><Button kind="main" keys="mod+s" busy={form.busy} onClick={save}>{t('Create contact')}</Button><Button onClick={close}>{t('Cancel')}</Button></div>
    </>
  );
};
