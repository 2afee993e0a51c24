// The contact schema: fields with their rules, as a table and as JSON, checked against the stored contacts before it is saved.
import {
  address, agent, ApiError, ask, Badge, Bar, Button, can, Cli, done, download, Empty, Failure, fieldLabel, href, invalidate, list, Loaded, moment, Notice, number, post, put, seg, sentences, setQuery, t, tn, useActions, useForm, useKeys, useQuery, useSignal,
  type Form, type Query, type SchemaChange, type SchemaCheck, type SchemaVersion,
} from '../kit';
import { FieldDialog, type Definition, type FieldOf } from './parts/schema-field';

const root = () => `/agents/${seg(agent.value!)}/contact-schema`;
interface Schema extends Definition {
  version: number;
  updatedAt: string;
}
type Draft = Form<{ text: string }>;
/** What a person edits of a schema, as text. */
const textOf = ({ fields, customFields, allowUndeclaredCustomFields }: Definition) => JSON.stringify({ fields, customFields, allowUndeclaredCustomFields }, null, 2);
const read = (text: string): Definition | null => {
  try {
    const value = JSON.parse(text) as Partial<Definition> | null;
    return value && Array.isArray(value.fields ?? []) && Array.isArray(value.customFields ?? []) ? { allowUndeclaredCustomFields: true, ...value, fields: value.fields ?? [], customFields: value.customFields ?? [] } : null;
  } catch {
    return null;
  }
};
/** The definition that a text is; what is no JSON is a fault of the text. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, 'VALIDATION_ERROR', t('This is no JSON: {reason}', { reason: (error as Error).message }), null, {}, [{ field: 'text', message: t('This is no JSON: {reason}', { reason: (error as Error).message }), type: 'type' }]);
  }
};
const CHANGES: Record<SchemaChange['change'], () => string> = { added: () => t('added'), changed: () => t('changed'), removed: () => t('removed') };
const Changes = ({ of: changes }: { of: readonly SchemaChange[] }) => (
  <ul class="plain stack tight">{changes.map((one) => <li><code>{one.field}</code> {CHANGES[one.change]()}{!!one.members.length && <span class="muted"> ({list([...one.members])})</span>}</li>)}</ul>
);
const lengthOf = (min: number, max: number | null): string[] =>
  min && max ? [tn(max, '{min}–{n} character', '{min}–{n} characters', { min: number(min) })] : max ? [tn(max, 'at most {n} character', 'at most {n} characters')] : min ? [tn(min, 'at least {n} character', 'at least {n} characters')] : [];
const rulesOf = (field: FieldOf): string[] => [
  ...lengthOf(field.minLength ?? 0, field.maxLength ?? null), ...(field.pattern ? [field.pattern] : []),
  ...(field.minimum !== null && field.minimum !== undefined ? [`≥ ${field.minimum}`] : []), ...(field.maximum !== null && field.maximum !== undefined ? [`≤ ${field.maximum}`] : []),
  ...(field.options ? [tn(field.options.length, '{n} option', '{n} options')] : []),
];
const Rows = ({ of: fields, title, edit, remove }: { of: FieldOf[]; title: string; edit: ((at: number) => void) | null; remove?: (at: number) => void }) => (
  <div class="tablewrap" tabIndex={0} role="region" aria-label={title}><table class="list">
    <thead><tr><th scope="col">{t('Field')}</th><th scope="col">{t('Type')}</th><th scope="col">{t('Rules')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
    <tbody>{fields.map((field, at) => (
      <tr key={field.name}>
        <td class="cut"><span class="strong" dir="auto">{fieldLabel(field)}</span> <code class="muted small">{field.name}</code></td>
        <td class="muted">{field.type}</td>
        <td><span class="row wrap">{field.required && <Badge tone="accent">{t('required')}</Badge>}{field.unique && <Badge>{t('unique')}</Badge>}{field.sensitive && <Badge tone="warn">{t('sensitive')}</Badge>}{field.readOnly && <Badge>{t('read-only')}</Badge>}<span class="small muted cut">{rulesOf(field).join(' · ')}</span></span></td>
        <td class="end">{edit && !field.readOnly && <Button kind="quiet" icon="edit" label={t('Edit {name}', { name: fieldLabel(field) })} onClick={() => edit(at)} />}{remove && <Button kind="quiet" icon="trash" label={t('Remove {name}', { name: fieldLabel(field) })} onClick={() => remove(at)} />}</td>
      </tr>
    ))}</tbody>
  </table></div>
);
const Fields = ({ draft, write }: { draft: Draft; write: boolean }) => {
  const open = useSignal<{ list: 'fields' | 'customFields'; at: number | null } | null>(null);
  const definition = read(draft.values.text);
  useActions(write && definition ? [{ id: 'add', label: t('Add field'), icon: 'plus', keys: 'n', run: () => (open.value = { list: 'customFields', at: null }) }] : []);
  if (!definition) return <Notice tone="warn"><span>{t('The JSON has an error, so there is no table. Fix it under JSON, or discard your changes.')}</span></Notice>;
  const set = (change: Partial<Definition>) => draft.set('text', textOf({ ...definition, ...change }));
  const edit = (list: 'fields' | 'customFields') => (write ? (at: number) => (open.value = { list, at }) : null);
  const shown = open.value;
  return (
    <>
      <section class="card">
        <header class="row between wrap"><h2>{t('Custom fields')}</h2>{write && <Button icon="plus" keys="n" onClick={() => (open.value = { list: 'customFields', at: null })}>{t('Add field')}</Button>}</header>
        {definition.customFields.length ? <Rows of={definition.customFields} title={t('Custom fields')} edit={edit('customFields')} remove={write ? (at) => set({ customFields: definition.customFields.filter((_, n) => n != at) }) : undefined} /> : <Empty icon="contacts" title={t('No custom fields')}>{t('Declare what you store of a contact beyond the standard fields, so that it is checked and has a label.')}</Empty>}
        <footer><label class="check"><input type="checkbox" disabled={!write} checked={definition.allowUndeclaredCustomFields} onChange={(event) => set({ allowUndeclaredCustomFields: event.currentTarget.checked })} /><span>{t('Accept custom fields that are not declared')}</span></label></footer>
      </section>
      <section class="card"><header><h2>{t('Standard fields')}</h2></header><Rows of={definition.fields} title={t('Standard fields')} edit={edit('fields')} /></section>
      {shown && <FieldDialog field={shown.at === null ? null : definition[shown.list][shown.at]!} taken={[...definition.fields, ...definition.customFields].map((one) => one.name)} isCustom={shown.list == 'customFields'} close={() => (open.value = null)}
        save={(field) => { set({ [shown.list]: shown.at === null ? [...definition.customFields, field] : definition[shown.list].map((one, n) => (n == shown.at ? field : one)) }); open.value = null; }} />}
    </>
  );
};
const Versions = () => {
  const versions = useQuery<readonly SchemaVersion[]>(root() + '/versions');
  return (
    <Loaded query={versions} rows={4}>{(all) => (
      <section class="card"><ol class="plain">{all.map((one) => <li class="setting"><div class="stack tight"><div><span class="strong">{t('Version {n}', { n: number(one.version) })}</span> <span class="muted small">{moment(one.at)}</span></div>{one.changes.length ? <Changes of={one.changes} /> : <span class="muted">{t('The built-in schema')}</span>}</div></li>)}</ol></section>
    )}</Loaded>
  );
};
const checkedInWords = (check: SchemaCheck) => (check.isComplete
  ? tn(check.contactsChecked, '{n} contact was checked.', 'All {n} contacts were checked.', { n: number(check.contactsChecked) })
  : tn(check.contactsChecked, 'The oldest contact was checked; there are more.', 'The oldest {n} contacts were checked; there are more.'));
const Checked = ({ of: check }: { of: SchemaCheck }) => (
  <section class="card" role="status" aria-label={t('Result of the check')}><div class="body stack">
    {check.changes.length ? <Changes of={check.changes} /> : <p>{t('This is the schema in force.')}</p>}
    {!!check.changes.length && <p>{check.contactsFailing ? <Badge tone="warn" dot>{tn(check.contactsFailing, '{n} contact would no longer pass', '{n} contacts would no longer pass', { n: number(check.contactsFailing) })}</Badge> : <Badge tone="ok" dot>{t('No contact would stop passing')}</Badge>} <span class="muted small">{checkedInWords(check)}</span></p>}
    {!!check.examples.length && <ul class="plain stack tight">{check.examples.map((one) => <li><a href={href(`/a/${seg(agent.value!)}/contacts/${seg(one.contact)}`)}><code>{one.contact}</code></a> <span class="muted small" dir="auto">{one.messages.join('; ')}</span></li>)}</ul>}
  </div></section>
);
const Faults = ({ draft }: { draft: Draft }) => {
  const faults = Object.entries(draft.errors).filter(([field, message]) => field != 'text' && message);
  const definition = read(draft.values.text);
  const nameOf = (path: string) => path.replace(/^(fields|customFields)\[(\d+)\]/, (all, list: 'fields' | 'customFields', at) => definition?.[list][Number(at)]?.name ?? all);
  // A version in between has a notice of its own.
  if (!faults.length) return draft.failure && draft.failure.status != 412 ? <Failure error={draft.failure} /> : null;
  return <div class="notice bad" role="alert"><div class="grow stack tight"><span class="strong">{t('The schema has errors; nothing is changed.')}</span><ul class="plain stack tight">{faults.map(([path, message]) => <li><code>{nameOf(path)}</code> {message}</li>)}</ul></div></div>;
};
const Editor = ({ stored, query }: { stored: Schema; query: Query<Schema> }) => {
  const view = address.value.query.get('view') ?? 'fields';
  const text = textOf(stored);
  const draft = useForm(`schema-${agent.value}`, { text });
  const version = useSignal(query.etag);
  const check = useSignal<SchemaCheck | null>(null);
  const write = can('schema.write');
  // A newer version that nobody here has touched is taken over.
  if (!draft.dirty && draft.base.text != text) draft.rebase({ text }, { text });
  if (!draft.dirty && version.value != query.etag) version.value = query.etag;
  const isOvertaken = draft.dirty && draft.base.text != text;
  const set: Draft = { ...draft, set: (field, value) => { check.value = null; draft.set(field, value); } };
  const checkWith = async (definition: unknown) => (check.value = (await post<SchemaCheck>(root() + '/check', { definition })).data);
  const store = async (definition: unknown) => {
    const before = text;
    const saved = await put<Schema>(root(), { definition }, version.value);
    version.value = saved.etag;
    check.value = null;
    const now = textOf(saved.data);
    draft.rebase({ text: now }, { text: now });
    invalidate(root());
    await query.refetch();
    done(t('The contact schema is saved'), async () => { version.value = (await put<Schema>(root(), { definition: JSON.parse(before) }, version.value)).etag; invalidate(root()); await query.refetch(); });
  };
  const save = () => void draft.submit(async (values) => {
    const definition = parsed(values.text);
    const found = await checkWith(definition);
    if (!found.contactsFailing) return store(definition).catch(overtaken);
    ask({
      title: t('Save this contact schema?'), button: t('Save schema'), cli: `contact-schema set --agent ${agent.value} --file contact-schema.json`,
      text: <><p>{sentences(tn(found.contactsFailing, '{n} contact would no longer pass.', '{n} contacts would no longer pass.'), checkedInWords(found))}</p><p>{t('Stored contacts stay as they are. The rules apply when somebody changes them.')}</p></>,
      run: () => store(definition).catch(overtaken),
    });
    throw new ApiError(0, 'CANCELLED', '');
  });
  const overtaken = async (error: unknown) => {
    if (error instanceof ApiError && error.status == 412) await query.refetch();
    throw error;
  };
  const verify = () => void draft.submit(async (values) => {
    await checkWith(parsed(values.text));
    // Nothing is saved, so the changes are still changes.
    throw new ApiError(0, 'CANCELLED', '');
  });
  useKeys([{ key: 'mod+s', label: t('Save'), run: () => void (write && draft.dirty && save()) }]);
  const tab = (name: string, label: string) => <button type="button" class="tab" aria-pressed={view == name} onClick={() => setQuery({ view: name == 'fields' ? null : name })}>{label}</button>;
  return (
    <>
      <div class="filter"><div class="tabs">{tab('fields', t('Fields'))}{tab('json', 'JSON')}{tab('versions', t('Versions'))}</div></div>
      <div class="scroll"><div class="page stack">
        {!write && <Notice tone="info"><span>{t('Your role can read the contact schema, not change it.')}</span></Notice>}
        {draft.restored && draft.dirty && !isOvertaken && <Notice tone="info"><span>{t('Your unsaved input from before is back.')}</span></Notice>}
        {isOvertaken && <Notice tone="warn"><div class="row between wrap"><span>{t('A colleague has saved version {n} since you began. Take it and lose your changes, or go on with yours, which then replace it.', { n: number(stored.version) })}</span><span class="row"><Button onClick={() => { draft.rebase({ text }, { text }); version.value = query.etag; }}>{t('Take theirs')}</Button><Button onClick={() => { draft.rebase({ text }, draft.values); version.value = query.etag; }}>{t('Go on with mine')}</Button></span></div></Notice>}
        <Faults draft={draft} />
        {check.value && <Checked of={check.value} />}
        {view == 'versions' ? <Versions /> : view == 'json' ? (
          <section class="stack">
            <label class="field"><span>{t('The schema as JSON')}</span><textarea class="input mono" rows={28} spellcheck={false} dir="ltr" readOnly={!write} aria-invalid={!!draft.errors['text'] || undefined} value={draft.values.text} onInput={(event) => set.set('text', event.currentTarget.value)} /></label>
            {draft.errors['text'] && <span class="wrong">{draft.errors['text']}</span>}
            <div class="row wrap"><Button icon="file" onClick={() => download('contact-schema.json', new Blob([draft.values.text + '\n'], { type: 'application/json' }))}>{t('Download')}</Button></div>
            <Cli line={`contact-schema set --agent ${agent.value} --file contact-schema.json`} />
          </section>
        ) : <Fields draft={set} write={write} />}
      </div></div>
      {write && draft.dirty && <div class="savebar"><Button kind="main" keys="mod+s" busy={draft.busy} off={isOvertaken} onClick={save}>{t('Save schema')}</Button><Button busy={draft.busy} onClick={verify}>{t('Check')}</Button><Button onClick={() => { check.value = null; draft.reset(); }}>{t('Discard')}</Button><span class="muted small">{t('Not saved yet')}</span></div>}
    </>
  );
};
export default () => {
  const schema = useQuery<Schema>(root());
  return (
    <>
      <Bar title={t('Contact schema')}>{schema.data && <span class="muted small">{t('Version {n}', { n: number(schema.data.version) })} · {moment(schema.data.updatedAt)}</span>}</Bar>
      {schema.data ? <Editor stored={schema.data} query={schema} /> : <div class="scroll"><div class="page"><Loaded query={schema} rows={8}>{() => null}</Loaded></div></div>}
    </>
  );
};
