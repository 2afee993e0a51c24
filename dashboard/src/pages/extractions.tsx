// Extractions that run in the background: a list of any length, and what one has found next to it.
import { address, agent, Badge, Bar, bytes, Empty, Failure, href, navigate, number, seg, setQuery, t, useActions, useEvery, usePages, VirtualList, When, Button, type ExtractionJob } from '../kit';
import { Extraction, STATUSES } from './parts/extraction-record';

const root = () => `/agents/${seg(agent.value!)}/extractions`;
const page = (rest = '') => `/a/${seg(agent.value!)}/extractions${rest}`;
const COLUMNS = 'minmax(12rem, 1.6fr) 8.5rem minmax(6rem, 1fr) 5rem 6rem';
/** How often the list is read again while something in it has not ended. */
const EVERY_MILLIS = 3000;

const Row = ({ of: one, narrow }: { of: ExtractionJob; narrow: boolean }) => (
  <>
    <span role="cell"><a class="plain strong cut" dir="auto" href={href(page('/' + seg(one.id)) + location.search)}>{one.document.fileName}</a></span>
    <span role="cell"><Badge tone={STATUSES[one.status].tone} dot open={one.status == 'queued'}>{STATUSES[one.status].name()}</Badge></span>
    {!narrow && <>
      <span role="cell" class="cut muted">{one.batchId ?? '–'}</span>
      <span role="cell" class="muted">{bytes(one.document.fileSize)}</span>
      <span role="cell" class="muted cut"><When at={one.createdAt} /></span>
    </>}
  </>
);
export default ({ rest }: { rest: string[] }) => {
  const id = rest[0] ?? null;
  const query = address.value.query;
  const status = query.get('status');
  const batch = query.get('batch');
  const list = usePages<ExtractionJob>(root(), { status, batchId: batch });
  const narrow = !!id || matchMedia('(max-width: 899px)').matches;
  const at = list.rows.findIndex((one) => one.id == id);
  const go = (step: number) => {
    const next = list.rows[at + step];
    if (next) navigate(page('/' + seg(next.id)) + location.search, true);
  };
  // No event says that an extraction goes on. A list that was read further is not shortened to its first part.
  useEvery(EVERY_MILLIS, () => list.rows.length <= 100 && list.rows.some((one) => one.status == 'queued' || one.status == 'running') && list.reload());
  useActions(id ? [
    { id: 'next', label: t('Next extraction'), icon: 'chevron', keys: ']', run: () => go(1) },
    { id: 'previous', label: t('Previous extraction'), icon: 'back', keys: '[', run: () => go(-1) },
    { id: 'close', label: t('Close the record'), icon: 'x', keys: 'Escape', run: () => navigate(page() + location.search) },
  ] : []);
  const filtered = !!(status || batch);
  return (
    <div class={`split${id ? ' open' : ''}`}>
      <div class="pane under">
        <Bar title={t('Extractions')}>{list.total !== null && <span class="muted small" aria-live="polite">{number(list.total)}</span>}</Bar>
        <div class="filter">
          <div class="tabs">{([[null, t('All')], ...Object.entries(STATUSES).map(([name, { name: title }]) => [name, title()] as const)] as const).map(([name, label]) => <button type="button" class="tab" aria-pressed={status == name} onClick={() => setQuery({ status: name })}>{label}</button>)}</div>
          {batch && <Button icon="x" label={t('Show all batches')} onClick={() => setQuery({ batch: null })}>{t('Batch {id}', { id: batch })}</Button>}
        </div>
        <div class="scroll">
          {list.error && <div class="page"><Failure error={list.error} again={list.reload} /></div>}
          {!list.rows.length && list.loading && list.total === null ? <ExtractionBones /> : !list.rows.length && !list.error && !list.loading ? (
            filtered ? <Empty icon="search" title={t('No matching extractions')} action={<Button onClick={() => setQuery({ status: null, batch: null })}>{t('Clear filter')}</Button>}>{t('No extraction has this status and this batch. Extractions are removed some days after their end.')}</Empty>
              : <Empty icon="file" title={t('No extractions yet')} cli={`extractions list --agent ${agent.value}`}>{t('Documents that are queued by POST /v1/open/document-extraction/jobs are listed here until their results expire.')}</Empty>
          ) : !!list.rows.length && <VirtualList pages={list} label={t('Extractions')} columns={narrow ? 'minmax(0, 1fr) 8.5rem' : COLUMNS} id={(one) => one.id} selected={id} open={(one) => navigate(page('/' + seg(one.id)) + location.search, !!id)}
            head={<><span role="columnheader">{t('Document')}</span><span role="columnheader">{t('Status')}</span>{!narrow && <><span role="columnheader">{t('Batch')}</span><span role="columnheader">{t('Size')}</span><span role="columnheader">{t('Sent')}</span></>}</>} row={(one) => <Row of={one} narrow={narrow} />} />}
        </div>
      </div>
      {id && <section class="pane record" aria-label={t('Extraction')}><Extraction key={id} id={id} changed={(job) => list.change((rows) => rows.map((one) => (one.id == job.id ? job : one)))} close={() => navigate(page() + location.search)} /></section>}
    </div>
  );
};
const ExtractionBones = () => <div class="bones" role="status" aria-label={t('Loading')}>{Array.from({ length: 10 }, (_, n) => <div><span class="bone" style={{ width: `${10 + ((n * 5) % 6)}rem` }} /><span class="bone" style={{ width: '5rem' }} /></div>)}</div>;
