// An extraction: its state, its values with their evidence and confidence, and what the document really says, noted field by
// field as a case for evaluations.
import {
  agent, ApiError, ask, Badge, Bar, bytes, Button, can, changed as differences, Cli, done, download, errorTitle, Failure, Field, href, invalidate, list, Loaded, locale, Menu, moment, Notice, number, percent, post, put, quoted, remove, seg, setQuery, t, tn, useEvery, useForm, useKeys, useQuery,
  type ExtractionJob, type ExtractionReport, type ExtractionState, type Tone,
} from '../../kit';

export const STATUSES: Record<ExtractionJob['status'], { name: () => string; tone: Tone }> = {
  queued: { name: () => t('queued'), tone: '' }, running: { name: () => t('running'), tone: 'accent' }, succeeded: { name: () => t('succeeded'), tone: 'ok' }, failed: { name: () => t('failed'), tone: 'bad' }, cancelled: { name: () => t('cancelled'), tone: '' },
};
/** Below this, a value should be checked (contract 12.3). */
const SURE = 0.8;
const DOUBTFUL = 0.6;
const EVERY_MILLIS = 2000;

type Values = Record<string, unknown>;
type Texts = Record<string, string>;
/** A value as a person edits it: JSON where it is more than one value. */
const textOf = (value: unknown): string => (value === null || value === undefined ? '' : typeof value == 'object' ? JSON.stringify(value, null, 2) : String(value));
/** The type of a field, as the schema says it. */
const typeOf = (schema: Values, name: string, value: unknown): string => {
  const field = schema[name];
  const type = typeof field == 'string' ? field : (field as { type?: unknown } | null)?.type;
  return typeof type == 'string' ? type : typeof value;
};
/** The value that a text stands for. What is no value of the type is sent as text, and the server says what is wrong. */
const valueOf = (text: string, type: string, before: unknown): unknown => {
  const trimmed = text.trim();
  if (!trimmed) return null;
  if (/^(number|integer|currency)$/.test(type) && Number.isFinite(Number(trimmed))) return Number(trimmed);
  if (type == 'boolean' && /^(true|false)$/.test(trimmed)) return trimmed == 'true';
  if (/^(array|list|object|group)$/.test(type) || (typeof before == 'object' && before)) {
    try {
      return JSON.parse(trimmed);
    } catch {
      return text;
    }
  }
  return trimmed;
};
const Sureness = ({ of: value }: { of: number | undefined }) =>
  value === undefined ? null : <Badge tone={value >= SURE ? 'ok' : value >= DOUBTFUL ? 'warn' : 'bad'}>{value >= SURE ? t('sure') : value >= DOUBTFUL ? t('check') : t('doubtful')} {percent(value)}</Badge>;
const Shown = ({ value }: { value: unknown }) => (value === null || value === undefined ? <span class="muted">–</span> : typeof value == 'object' ? <pre class="small" tabIndex={0}>{JSON.stringify(value, null, 2)}</pre> : <span dir="auto">{String(value)}</span>);

const languageOf = (tag: string) => {
  try {
    return new Intl.DisplayNames([locale.value], { type: 'language' }).of(tag) ?? tag;
  } catch {
    // An engine may name a language that is none.
    return tag;
  }
};
const Facts = ({ report }: { report: ExtractionReport }) => {
  const { extraction: job, by } = report;
  const { document: file } = job;
  const metadata = job.result?.metadata;
  const rows: [string, preact.ComponentChildren][] = [
    [t('Document'), [file.contentType, bytes(file.fileSize), file.pageCount !== null && tn(file.pageCount, '{n} page', '{n} pages'), file.language && languageOf(file.language), file.ocrApplied && t('text recognised')].filter(Boolean).join(' · ')],
    ...(job.contactId ? [[t('Contact'), <a href={href(`/a/${seg(agent.value!)}/contacts/${seg(job.contactId)}`)}><code>{job.contactId}</code></a>] as [string, preact.ComponentChildren]] : []),
    ...(job.batchId ? [[t('Batch'), <button type="button" class="link" onClick={() => setQuery({ batch: job.batchId })}>{job.batchId}</button>] as [string, preact.ComponentChildren]] : []),
    ...(job.clientId ? [[t('Your ID'), <span dir="auto">{job.clientId}</span>] as [string, preact.ComponentChildren]] : []),
    [t('Sent'), `${moment(job.createdAt)} · ${by.name ?? by.id}`],
    ...(job.finishedAt ? [[t('Ended'), moment(job.finishedAt)] as [string, preact.ComponentChildren]] : []),
    ...(metadata ? [[t('Engine'), `${metadata.engine} · ${t('{n} ms', { n: number(metadata.processingTime) })}`], [t('Credits'), number(metadata.usage.creditsCharged)]] as [string, preact.ComponentChildren][] : [[t('Credits'), job.creditsReserved ? t('{n} set aside', { n: number(job.creditsReserved) }) : '0'] as [string, preact.ComponentChildren]]),
    ...(job.expiresAt ? [[t('Will be removed'), moment(job.expiresAt)] as [string, preact.ComponentChildren]] : []),
    [t('ID'), <code>{job.id}</code>],
  ];
  return <dl class="dl small">{rows.map(([name, value]) => <><dt>{name}</dt><dd>{value}</dd></>)}</dl>;
};

/** The values of a result, each with what the document says for it, and a form for what it should be. */
const Values = ({ report, path, reload }: { report: ExtractionReport; path: string; reload: () => Promise<void> }) => {
  const { extraction: job, schema, correction } = report;
  const { data, metadata } = job.result!;
  const noted = correction?.expected as Values | undefined;
  const names = Object.keys(data);
  const now: Texts = Object.fromEntries(names.map((name) => [name, textOf((noted ?? data)[name])]));
  const form = useForm<Texts>(`correction-${job.id}`, now);
  if (!form.dirty && JSON.stringify(form.base) != JSON.stringify(now)) form.rebase(now, now);
  const write = can('documents.correct');
  const wanted = (values: Texts): Values => Object.fromEntries(Object.entries(differences(form.base, values)).map(([name, text]) => [name, valueOf(String(text), typeOf(schema, name, data[name]), data[name])]));
  /** All fields that differ from the result: a correction replaces an earlier one as a whole. */
  const whole = (values: Texts): Values => ({ ...Object.fromEntries(Object.entries(noted ?? {}).filter(([name, value]) => JSON.stringify(value) != JSON.stringify(data[name]))), ...wanted(values) });
  const store = async (values: Values, text: string) => {
    await put(`/agents/${seg(agent.value!)}/corrections/${seg(job.id)}`, { values });
    done(text);
    invalidate(path);
    await reload();
  };
  const save = () => void form.submit(async (values) => {
    try {
      await store(whole(values), t('The correction is saved'));
    } catch (error) {
      // The server names a field by its path in the request.
      if (error instanceof ApiError) throw new ApiError(error.status, error.code, error.message, error.requestId, error.details, error.fields.map((one) => ({ ...one, field: one.field.replace(/^values\.([^.[]+).*$/, '$1') })));
      throw error;
    }
  });
  const confirm = () => void form.submit(() => store({}, t('The result is noted as right')));
  const missing = metadata.validation.missingRequired.filter((name) => (noted?.[name] ?? null) === null);
  const firstDoubt = names.find((name) => (metadata.fieldConfidences[name] ?? 1) < DOUBTFUL) ?? names[0];
  useKeys(write ? [
    { key: 'mod+s', label: t('Save the correction'), run: () => form.dirty && save() },
    { key: 'e', label: t('Edit the first doubtful value'), run: () => document.querySelector<HTMLElement>(`[data-field="${CSS.escape(firstDoubt ?? '')}"] .input`)?.focus() },
  ] : []);
  const line = `extractions correct ${job.id} --agent ${agent.value}${Object.entries(form.dirty ? wanted(form.values) : {}).map(([name, value]) => ` --set ${quoted(`${name}=${textOf(value).replaceAll('\n', ' ')}`)}`).join('')}`;
  return (
    <>
      {correction && <Notice tone="ok"><div class="row between wrap"><span>{t('Noted by {name}, {when}: a case for evaluations.', { name: correction.by.name ?? correction.by.id, when: moment(correction.at) })}</span></div></Notice>}
      {!!missing.length && <Notice tone="warn"><span>{t('Required, but not found: {names}', { names: list(missing) })}</span></Notice>}
      {[...metadata.validation.errors, ...metadata.validation.warnings].slice(0, 5).map((one) => <Notice tone="warn"><span>{one.field && <code>{one.field}</code>} {one.message}</span></Notice>)}
      {form.restored && form.dirty && <Notice tone="info"><div class="row between wrap"><span>{t('Your unsaved input from before is back.')}</span><Button onClick={() => form.reset()}>{t('Discard')}</Button></div></Notice>}
      {form.failure && <Failure error={form.failure} />}
      <form class="found" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        {names.map((name) => {
          const evidence = metadata.fields[name];
          const long = typeof data[name] == 'object' && data[name] !== null;
          const isNoted = noted && JSON.stringify(noted[name] ?? null) != JSON.stringify(data[name] ?? null);
          return (
            <div class="found-field" data-field={name} key={name}>
              <div class="found-state">{isNoted ? <Badge tone="accent">{t('corrected')}</Badge> : data[name] === null ? <span class="small muted">{t('not found')}</span> : <Sureness of={metadata.fieldConfidences[name]} />}</div>
              {write ? (
                <Field label={name} error={form.errors[name]}>{(props) => (long
                  ? <textarea class="input mono" rows={Math.min(10, (form.values[name] ?? '').split('\n').length)} spellcheck={false} dir="ltr" value={form.values[name]} onInput={(event) => form.set(name, event.currentTarget.value)} {...props} />
                  : typeOf(schema, name, data[name]) == 'boolean'
                    ? <select class="input" value={form.values[name]} onChange={(event) => form.set(name, event.currentTarget.value)} {...props}>{[['', '–'], ['true', t('yes')], ['false', t('no')]].map(([value, label]) => <option value={value} selected={value == form.values[name]}>{label}</option>)}</select>
                    : <input class="input" dir="auto" value={form.values[name]} onInput={(event) => form.set(name, event.currentTarget.value)} {...props} />)}</Field>
              ) : <><span class="strong" dir="auto">{name}</span><div><Shown value={(noted ?? data)[name]} /></div></>}
              {isNoted && <p class="small muted">{t('Found:')} <Shown value={data[name]} /></p>}
              {evidence && <p class="small muted cut" dir="auto" title={evidence.sourceText}>{t('“{text}”', { text: evidence.sourceText })}{evidence.page !== null && ` · ${t('page {n}', { n: number(evidence.page) })}`}</p>}
            </div>
          );
        })}
        <button type="submit" hidden />
      </form>
      {write && !form.dirty && !correction && <div class="row wrap"><Button icon="check" busy={form.busy} onClick={confirm}>{t('All values are right')}</Button><span class="small muted">{t('Notes the document as a case for evaluations.')}</span></div>}
      {write && <Cli line={line} />}
      {write && form.dirty && <div class="savebar"><Button kind="main" keys="mod+s" busy={form.busy} onClick={save}>{t('Save the correction')}</Button><Button onClick={() => form.reset()}>{t('Discard')}</Button><span class="muted small">{t('Not saved yet')}</span></div>}
    </>
  );
};
const Report = ({ report, path, refetch, changed, close }: { report: ExtractionReport; path: string; refetch: () => Promise<void>; changed: (job: ExtractionJob) => void; close: () => void }) => {
  const { extraction: job, correction } = report;
  const isOpen = job.status == 'queued' || job.status == 'running';
  useEvery(EVERY_MILLIS, () => isOpen && void refetch());
  const act = (what: 'cancel' | 'retry', text: string) => async () => {
    const { data } = await post<ExtractionState>(`${path}/${what}`);
    changed({ ...job, status: data.status });
    await refetch();
    done(text);
  };
  const retry = act('retry', t('The document is queued again'));
  const attempt = (run: () => Promise<void>) => void run().catch((error) => { if (error instanceof ApiError) done(errorTitle(error)); else throw error; });
  const cancel = () => ask({
    title: t('Cancel this extraction?'), button: t('Cancel extraction'), bad: true, cli: `extractions cancel ${job.id} --agent ${agent.value}`,
    text: t('It ends without a result and costs nothing. A document that was not saved is removed.'), run: act('cancel', t('The extraction is cancelled')),
  });
  const forget = () => ask({
    title: t('Remove the correction?'), button: t('Remove correction'), bad: true, cli: `extractions corrections remove ${job.id} --agent ${agent.value}`,
    text: t('The noted values are removed with their copy of the document. The result stays.'),
    run: async () => { await remove(`/agents/${seg(agent.value!)}/corrections/${seg(job.id)}`); await refetch(); done(t('The correction is removed')); },
  });
  const run = can('documents.run');
  return (
    <>
      <Bar title={job.document.fileName}>
        <Badge tone={STATUSES[job.status].tone} dot open={job.status == 'queued'}>{STATUSES[job.status].name()}</Badge>
        <Menu label={t('Actions')} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions')} expanded={expanded} onClick={open} />} items={[
          { label: t('Copy the id'), icon: 'copy', run: () => void navigator.clipboard.writeText(job.id) },
          ...(job.result ? [{ label: t('Download the result'), icon: 'file' as const, run: () => download(`${job.document.fileName}.json`, new Blob([JSON.stringify(job.result, null, 2) + '\n'], { type: 'application/json' })) }] : []),
          ...(run && job.status == 'failed' ? [{ label: t('Try again'), icon: 'rotate' as const, run: () => attempt(retry) }] : []),
          ...(run && isOpen ? [null, { label: t('Cancel…'), icon: 'x' as const, bad: true, run: cancel }] : []),
          ...(can('documents.correct') && correction ? [null, { label: t('Remove the correction…'), icon: 'trash' as const, bad: true, run: forget }] : []),
        ]} />
        <Button kind="quiet" icon="x" label={t('Close the record')} onClick={close} />
      </Bar>
      <div class="scroll"><div class="body">
        {isOpen && <Notice tone="info"><div class="row between wrap"><span>{job.status == 'queued' ? t('The document waits for a server.') : t('A server reads the document.')}{job.attempts > 1 && ` · ${t('Attempt {n}', { n: number(job.attempts) })}`}</span>{run && <Button onClick={cancel}>{t('Cancel…')}</Button>}</div></Notice>}
        {job.error && <div class="notice bad" role="alert"><div class="grow stack tight"><span class="strong">{job.error.message}</span><div class="row between wrap"><code>{job.error.code}</code>{run && job.status == 'failed' && <Button icon="rotate" onClick={() => attempt(retry)}>{t('Try again')}</Button>}</div></div></div>}
        {job.status == 'cancelled' && <Notice tone="info"><span>{t('This extraction was cancelled. It has no result and cost nothing.')}</span></Notice>}
        {job.result && <Values report={report} path={path} reload={refetch} />}
        <Facts report={report} />
      </div></div>
    </>
  );
};
export const Extraction = ({ id, changed, close }: { id: string; changed: (job: ExtractionJob) => void; close: () => void }) => {
  const path = `/agents/${seg(agent.value!)}/extractions/${seg(id)}`;
  const query = useQuery<ExtractionReport>(path);
  if (!query.data) return <><Bar title={t('Extraction')}><Button kind="quiet" icon="x" label={t('Close the record')} onClick={close} /></Bar><div class="scroll"><Loaded query={query} rows={6}>{() => null}</Loaded></div></>;
  return <Report report={query.data} path={path} refetch={query.refetch} changed={changed} close={close} />;
};
