// The audit log: who did what, from where, the newest first.
import { address, agent, ApiError, Bar, Bones, Button, call, Copy, Empty, Failure, moment, Search, seg, setQuery, t, useEffect, useSignal, When, who, Dialog, type AuditEntry, type AuditPage } from '../kit';

/** What an action is, in words: `key.create` → “key · create”. */
const words = (action: string) => action.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase().split('.').join(' · ');
const Entry = ({ of: entry, close }: { of: AuditEntry; close: () => void }) => (
  <Dialog title={words(entry.action)} kind="panel" onClose={close}>
    <dl class="dl">
      <dt>{t('Time')}</dt><dd>{moment(entry.at)}</dd>
      <dt>{t('Who')}</dt><dd><span dir="auto">{who(entry.actor)}</span> <span class="muted">({entry.actor.name ? entry.actor.id : entry.actor.type})</span></dd>
      {entry.resource && <><dt>{t('Subject')}</dt><dd class="row"><code>{entry.resource}</code><Copy text={entry.resource} /></dd></>}
      {entry.address && <><dt>{t('Address')}</dt><dd><code>{entry.address}</code></dd></>}
      {entry.requestId && <><dt>{t('Request')}</dt><dd class="row"><code>{entry.requestId}</code><Copy text={entry.requestId} /></dd></>}
    </dl>
    {Object.keys(entry.details).length > 0 && <div class="code"><pre tabIndex={0}><code>{JSON.stringify(entry.details, null, 2)}</code></pre></div>}
    <p class="small muted">{t('Entries name what changed and never hold values or secrets.')}</p>
  </Dialog>
);
export default () => {
  const state = useSignal<{ entries: AuditEntry[]; next: AuditPage['next']; loading: boolean; error: ApiError | null }>({ entries: [], next: null, loading: true, error: null });
  const open = useSignal<AuditEntry | null>(null);
  const read = async (next: AuditPage['next']) => {
    state.value = { ...state.peek(), loading: true, error: null };
    try {
      const { data } = await call<AuditPage>('GET', `/agents/${seg(agent.value!)}/audit`, { query: { limit: 100, ...next } });
      state.value = { entries: [...(next ? state.peek().entries : []), ...data.entries], next: data.next, loading: false, error: null };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      state.value = { ...state.peek(), loading: false, error };
    }
  };
  useEffect(() => void read(null), []);
  const search = address.value.query.get('q') ?? '';
  const { entries, next, loading, error } = state.value;
  const shown = entries.filter((entry) => !search || `${entry.actor.id} ${who(entry.actor)} ${entry.action} ${words(entry.action)} ${entry.resource} ${entry.address} ${entry.requestId}`.toLowerCase().includes(search.toLowerCase()));
  return (
    <>
      <Bar crumb={t('Settings')} title={t('Audit log')}><Button icon="rotate" onClick={() => void read(null)}>{t('Reload')}</Button></Bar>
      <div class="filter"><Search label={t('Filter the entries shown')} value={search} onInput={(value) => setQuery({ q: value })} /><span class="muted small">{t('Names of changed fields, never values.')}</span></div>
      <div class="scroll">
        {error && (entries.length ? <div class="page"><Failure error={error} again={() => void read(next)} /></div> : <div class="page"><Failure error={error} again={() => void read(null)} /></div>)}
        {!entries.length && loading && <Bones />}
        {!entries.length && !loading && !error && <Empty icon="audit" title={t('No entries yet')} cli="audit tail">{t('Every change, every failed authentication and every bulk read leaves an entry.')}</Empty>}
        {!!entries.length && !shown.length && <Empty icon="search" title={t('No entry fits')} action={<Button onClick={() => setQuery({ q: null })}>{t('Clear the filter')}</Button>}>{t('Among the {n} entries that were read. Read older ones below.', { n: entries.length })}</Empty>}
        {!!shown.length && (
          <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Audit log')}><table class="list">
            <thead><tr><th scope="col">{t('When')}</th><th scope="col">{t('Who')}</th><th scope="col">{t('What')}</th><th scope="col">{t('Subject')}</th><th scope="col" class="wide-only">{t('Address')}</th></tr></thead>
            <tbody>{shown.map((entry) => (
              <tr key={entry.id} data-href="" onClick={() => (open.value = entry)}>
                <td class="muted"><When at={entry.at} /></td><td class="cut strong" dir="auto">{who(entry.actor)}</td>
                <td><button type="button" class="linkish" onClick={(event) => { event.stopPropagation(); open.value = entry; }}>{words(entry.action)}</button></td>
                <td class="cut muted">{entry.resource && <code>{entry.resource}</code>}</td><td class="muted wide-only">{entry.address && <code>{entry.address}</code>}</td>
              </tr>
            ))}</tbody>
          </table></div>
        )}
        {next && <div class="page"><div class="row"><Button busy={loading} onClick={() => void read(next)}>{t('Read older entries')}</Button></div></div>}
      </div>
      {open.value && <Entry of={open.value} close={() => (open.value = null)} />}
    </>
  );
};
