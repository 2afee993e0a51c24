// The audit log: who did what, from where, the newest first.
import { address, agent, Bar, Bones, Button, Copy, Empty, Failure, holds, moment, Search, seg, setQuery, t, tn, useEntries, useSignal, When, who, Dialog, type AuditEntry, type AuditPage } from '../kit';
import { actionWords } from './parts/audit-words';

const Entry = ({ of: entry, close }: { of: AuditEntry; close: () => void }) => (
  <Dialog title={actionWords(entry.action)} kind="panel" onClose={close}>
    <dl class="dl">
      <dt>{t('Time')}</dt><dd>{moment(entry.at)}</dd>
      <dt>{t('Actor')}</dt><dd><span dir="auto">{who(entry.actor)}</span> <span class="muted">({who(entry.actor) == entry.actor.id ? entry.actor.type : entry.actor.id})</span></dd>
      {entry.resource && <><dt>{t('Subject')}</dt><dd class="row"><code>{entry.resource}</code><Copy text={entry.resource} /></dd></>}
      {entry.address && <><dt>{t('Address')}</dt><dd><code>{entry.address}</code></dd></>}
      {entry.requestId && <><dt>{t('Request')}</dt><dd class="row"><code>{entry.requestId}</code><Copy text={entry.requestId} /></dd></>}
    </dl>
    {Object.keys(entry.details).length > 0 && <div class="code"><pre tabIndex={0}><code>{JSON.stringify(entry.details, null, 2)}</code></pre></div>}
    <p class="small muted">{t('Entries name what changed. They never contain values or secrets.')}</p>
  </Dialog>
);
export default () => {
  const open = useSignal<AuditEntry | null>(null);
  const { entries, hasMore, loading, error, ...log } = useEntries<AuditPage, AuditEntry>(`/agents/${seg(agent.value!)}/audit`, { limit: 100 }, (page) => page);
  const search = address.value.query.get('q') ?? '';
  const shown = entries.filter((entry) => !search || holds(`${entry.actor.id} ${who(entry.actor)} ${entry.action} ${actionWords(entry.action)} ${entry.resource} ${entry.address} ${entry.requestId}`, search));
  return (
    <>
      <Bar crumb={t('Settings')} title={t('Audit log')}><Button icon="rotate" onClick={log.reload}>{t('Reload')}</Button></Bar>
      <div class="filter"><Search label={t('Filter loaded entries')} value={search} onInput={(value) => setQuery({ q: value })} /><span class="muted small">{t('Entries name the fields that changed, never their values.')}</span></div>
      <div class="scroll">
        {error && <div class="page"><Failure error={error} again={log.again} /></div>}
        {!entries.length && loading && <Bones />}
        {!entries.length && !loading && !error && <Empty icon="audit" title={t('No entries yet')} cli="audit tail">{t('Every change, failed authentication and bulk read is recorded here.')}</Empty>}
        {!!entries.length && !shown.length && <Empty icon="search" title={t('No matching entries')} action={<Button onClick={() => setQuery({ q: null })}>{t('Clear filter')}</Button>}>{tn(entries.length, 'The only entry loaded so far does not match. Load older ones below.', 'None of the {n} entries loaded so far match. Load older ones below.')}</Empty>}
        {!!shown.length && (
          <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Audit log')}><table class="list">
            <thead><tr><th scope="col">{t('Time')}</th><th scope="col">{t('Actor')}</th><th scope="col">{t('Action')}</th><th scope="col">{t('Subject')}</th><th scope="col" class="wide-only">{t('Address')}</th></tr></thead>
            <tbody>{shown.map((entry) => (
              <tr key={entry.id} data-href="" onClick={() => (open.value = entry)}>
                <td class="muted"><When at={entry.at} /></td><td class="cut strong" dir="auto">{who(entry.actor)}</td>
                <td><button type="button" class="linkish" onClick={(event) => { event.stopPropagation(); open.value = entry; }}>{actionWords(entry.action)}</button></td>
                <td class="cut muted">{entry.resource && <code>{entry.resource}</code>}</td><td class="muted wide-only">{entry.address && <code>{entry.address}</code>}</td>
              </tr>
            ))}</tbody>
          </table></div>
        )}
        {hasMore && <div class="page"><div class="row"><Button busy={loading} onClick={log.more}>{t('Load older entries')}</Button></div></div>}
      </div>
      {open.value && <Entry of={open.value} close={() => (open.value = null)} />}
    </>
  );
};
