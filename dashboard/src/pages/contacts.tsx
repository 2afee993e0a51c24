// Contacts: a list of any length, and a record next to it.
import { address, agent, Badge, Bar, Button, can, Empty, Failure, href, Mark, navigate, number, Search, seg, setQuery, t, useActions, useEffect, usePages, useQuery, useSignal, VirtualList, When, type Contact, type SchemaField, type Tone } from '../kit';
import { nameOf, NewContact, Record } from './parts/contact-record';

const root = () => `/agents/${seg(agent.value!)}/contacts`;
const page = (rest = '') => `/a/${seg(agent.value!)}/contacts${rest}`;
const TONES: { [status: string]: Tone } = { active: 'ok', blocked: 'bad' };
const statusName = (status: string) => ({ active: t('Active'), inactive: t('Inactive'), blocked: t('Blocked') })[status] ?? status;
const COLUMNS = 'minmax(12rem, 1.4fr) minmax(10rem, 1.3fr) minmax(6rem, 1fr) 6rem 6.5rem';

const Head = ({ narrow }: { narrow: boolean }) => {
  const sort = address.value.query.get('sort') ?? '-updatedAt';
  const column = (field: string, label: string) => {
    const at = sort.replace('-', '') == field;
    const up = at && !sort.startsWith('-');
    return <span role="columnheader" aria-sort={at ? (up ? 'ascending' : 'descending') : 'none'}><button type="button" onClick={() => setQuery({ sort: at && up ? '-' + field : field })}>{label}{at && <span aria-hidden="true">{up ? '↑' : '↓'}</span>}</button></span>;
  };
  return <>{column('lastName', t('Full name'))}{column('primaryEmail', t('E-mail'))}{!narrow && <><span role="columnheader">{t('Tags')}</span><span role="columnheader">{t('Status')}</span>{column('updatedAt', t('Updated'))}</>}</>;
};
const Row = ({ of: contact, narrow }: { of: Contact; narrow: boolean }) => (
  <>
    <span role="cell" class="row"><Mark kind="round" name={nameOf(contact)} /><a class="plain strong cut" dir="auto" href={href(page('/' + seg(contact.id)) + location.search)}>{nameOf(contact)}</a>{contact.isArchived && <Badge>{t('archived')}</Badge>}</span>
    <span role="cell" class="cut muted" dir="auto">{contact.primaryEmail}</span>
    {!narrow && <>
      <span role="cell" class="tagrow">{contact.tags.slice(0, 3).map((tag) => <Badge>{tag}</Badge>)}{contact.tags.length > 3 && <span class="small muted">+{contact.tags.length - 3}</span>}</span>
      <span role="cell"><Badge tone={TONES[contact.status] ?? ''} dot open={contact.status == 'inactive'}>{statusName(contact.status)}</Badge></span>
      <span role="cell" class="muted cut"><When at={contact.updatedAt} /></span>
    </>}
  </>
);
/** Whether the list has room for two columns only. */
const useNarrow = (selected: boolean) => {
  const query = matchMedia(selected ? '(max-width: 1500px)' : '(max-width: 899px)');
  const narrow = useSignal(query.matches);
  useEffect(() => {
    narrow.value = query.matches;
    const change = () => (narrow.value = query.matches);
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, [selected]);
  return narrow.value;
};
export default ({ rest }: { rest: string[] }) => {
  const id = rest[0] ?? null;
  const query = address.value.query;
  const typed = useSignal(query.get('q') ?? '');
  useEffect(() => {
    const timer = setTimeout(() => (address.value.query.get('q') ?? '') != typed.value && setQuery({ q: typed.value }), 150);
    return () => clearTimeout(timer);
  }, [typed.value]);
  const stamp = useSignal(0);
  const status = query.get('status');
  const archived = query.get('archived');
  const sort = query.get('sort') ?? '-updatedAt';
  const list = usePages<Contact>(root(), { search: query.get('q'), status, includeArchived: archived ? true : null, sortBy: sort.replace('-', ''), sortOrder: sort.startsWith('-') ? 'desc' : 'asc' }, stamp.value);
  const schema = useQuery<{ fields: SchemaField[]; customFields: SchemaField[] }>(`/agents/${seg(agent.value!)}/contact-schema`);
  const narrow = useNarrow(!!id);
  const filtered = !!(query.get('q') || status || archived);
  const at = list.rows.findIndex((one) => one.id == id);
  const go = (step: number) => {
    const next = list.rows[at + step];
    if (next) navigate(page('/' + seg(next.id)) + location.search, true);
  };
  useActions([
    ...(can('contacts.write') ? [{ id: 'new', label: t('New contact'), icon: 'plus' as const, keys: 'n', run: () => navigate(page('/new')) }] : []),
    ...(id ? [
      { id: 'next', label: t('Next contact'), icon: 'chevron' as const, keys: ']', run: () => go(1) },
      { id: 'previous', label: t('Previous contact'), icon: 'back' as const, keys: '[', run: () => go(-1) },
      { id: 'close', label: t('Close the record'), icon: 'x' as const, keys: 'Escape', run: () => navigate(page() + location.search) },
    ] : []),
  ]);
  const changed = (contact: Contact | null, gone?: string) => list.change((rows) => (contact ? rows.map((one) => (one.id == contact.id ? contact : one)) : rows.filter((one) => one.id != gone)));
  return (
    <div class={`split${id ? ' open' : ''}`}>
      <div class="pane under">
        <Bar title={t('Contacts')}>
          {list.total !== null && <span class="muted small" aria-live="polite">{number(list.total)}</span>}
          {can('contacts.bulk') && <Button href={href(page('/import'))}>{t('Import')}</Button>}
          {can('contacts.write') && <Button kind="main" icon="plus" keys={id ? undefined : 'n'} href={href(page('/new'))}>{t('New contact')}</Button>}
        </Bar>
        <div class="filter">
          <Search label={t('Search contacts')} value={typed.value} onInput={(value) => (typed.value = value)} />
          <div class="tabs">{([[null, t('All')], ['active', t('Active')], ['inactive', t('Inactive')], ['blocked', t('Blocked')]] as const).map(([name, label]) => <button type="button" class="tab" aria-pressed={status == name} onClick={() => setQuery({ status: name })}>{label}</button>)}
            <button type="button" class="tab" aria-pressed={!!archived} onClick={() => setQuery({ archived: archived ? null : '1' })}>{t('with archived')}</button></div>
        </div>
        <div class="scroll">
          {list.error && <div class="page"><Failure error={list.error} again={list.reload} /></div>}
          {!list.rows.length && list.loading && list.total === null ? <VirtualBones /> : !list.rows.length && !list.error && !list.loading ? (
            filtered ? <Empty icon="search" title={t('No matching contacts')} action={<Button onClick={() => { typed.value = ''; setQuery({ q: null, status: null, archived: null }); }}>{t('Clear filter')}</Button>}>{query.get('q') ? t('Nothing matches “{text}”. Sensitive fields are not searched.', { text: query.get('q') }) : t('No contact has this status.')}</Empty>
              : <Empty icon="contacts" title={t('No contacts yet')} cli={`contacts create --agent ${agent.value} --set primaryEmail=ada@example.com`} action={can('contacts.write') && <><Button kind="main" icon="plus" href={href(page('/new'))}>{t('New contact')}</Button>{can('contacts.bulk') && <Button href={href(page('/import'))}>{t('Import')}</Button>}</>}>{t('Contacts come from the Open API, the widget’s lead form or an import. You can also add them yourself.')}</Empty>
          ) : !!list.rows.length && <VirtualList pages={list} label={t('Contacts')} columns={narrow ? 'minmax(0, 1fr) minmax(0, 1fr)' : COLUMNS} head={<Head narrow={narrow} />} id={(one) => one.id} selected={id} open={(one) => navigate(page('/' + seg(one.id)) + location.search, !!id)} row={(one) => <Row of={one} narrow={narrow} />} />}
        </div>
      </div>
      {id && <section class="pane record" aria-label={t('Contact')}>{id == 'new' ? <NewContact schema={schema.data ?? null} created={(one) => { stamp.value++; navigate(page('/' + seg(one.id)), true); }} close={() => navigate(page() + location.search)} /> : <Record key={id} id={id} schema={schema.data ?? null} changed={changed} close={() => navigate(page() + location.search)} />}</section>}
    </div>
  );
};
const VirtualBones = () => <div class="bones" role="status" aria-label={t('Loading')}>{Array.from({ length: 12 }, (_, n) => <div><span class="bone" style={{ width: '1.5rem', height: '1.5rem', borderRadius: '50%' }} /><span class="bone" style={{ width: `${8 + ((n * 5) % 6)}rem` }} /><span class="bone" style={{ width: `${11 + ((n * 3) % 5)}rem` }} /></div>)}</div>;
