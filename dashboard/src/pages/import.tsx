// Import of contacts: file, columns, preview, result.
import {
  address, agent, agents, ApiError, Badge, Bar, Button, can, Cli, download, Empty, Failure, fieldLabel, href, Icon, Notice, number, quoted, seg, Select, setQuery, t, TextField, tn, useEffect, useQuery, useRef, useSignal,
  type ImportColumn, type ImportLine, type ImportPreview, type SchemaField,
} from '../kit';
import { begin, differences, EFFECTS, forget, isBusy, job, MAX_BYTES, preview, resume, stop, type Effect, type Job, type Source } from './parts/import-job';

const contacts = () => `/a/${seg(agent.value!)}/contacts`;
const TYPES = '.csv,.tsv,.xlsx,.ndjson,.jsonl,.json,.txt';
const NAMES: Record<Effect, () => string> = { created: () => t('New contacts'), updated: () => t('Updated contacts'), unchanged: () => t('Unchanged contacts'), refused: () => t('Refused lines') };
const DID: Record<Effect, () => string> = { created: () => t('create'), updated: () => t('update'), unchanged: () => t('leave unchanged'), refused: () => t('refuse') };
const OUT: Record<Effect, () => string> = { created: () => t('created'), updated: () => t('updated'), unchanged: () => t('left unchanged'), refused: () => t('refused') };
const STEPS = [() => t('File'), () => t('Columns'), () => t('Preview'), () => t('Result')];
const Steps = ({ at }: { at: number }) => (
  <ol class="steps" aria-label={t('Steps')}>{STEPS.map((step, n) => <li aria-current={n == at ? 'step' : undefined} class={n < at ? 'past' : ''}><span class="tick" aria-hidden="true">{n < at ? <Icon name="check" /> : n + 1}</span>{step()}</li>)}</ol>
);
const save = (name: string, header: string, rows: string) => download(name.replace(/\.\w+$/, '') + '-refused.csv', new Blob([header + rows], { type: 'text/csv' }));

const FileStep = ({ busy, pick }: { busy: boolean; pick: (file: File) => void }) => {
  const input = useRef<HTMLInputElement>(null);
  const over = useSignal(false);
  const hold = (event: DragEvent, is: boolean) => { event.preventDefault(); over.value = is; };
  return (
    <section class="card"><div class="body stack">
      <div class={`drop${over.value ? ' over' : ''}`} onDragOver={(event) => hold(event, true)} onDragLeave={(event) => hold(event, false)} onDrop={(event) => { hold(event, false); const file = event.dataTransfer?.files[0]; if (file) pick(file); }}>
        <Icon big name="file" />
        <span>{t('Drop a file here, or choose one.')}</span>
        <Button kind="main" busy={busy} onClick={() => input.current?.click()}>{t('Choose file')}</Button>
        <span class="small">{t('CSV, Excel (.xlsx), NDJSON or JSON, up to 10 MiB and 100,000 lines. The first row of a table names its columns.')}</span>
      </div>
      <input ref={input} type="file" accept={TYPES} hidden onChange={(event) => { const file = event.currentTarget.files?.[0]; event.currentTarget.value = ''; if (file) pick(file); }} />
      <p class="muted small">{t('Nothing is stored before you have seen what each line would do. A contact with an external ID is created or updated by it; one without is created, unless an identical one exists. Larger files can be imported on the command line:')}</p>
      <Cli line={`contacts import FILE --agent ${agent.value}`} />
    </div></section>
  );
};
const DELIMITERS = (): [string, string][] => [['', t('detect')], [',', t('comma')], [';', t('semicolon')], ['tab', t('tab')], ['|', '|']];
const ENCODINGS = (): [string, string][] => [['', t('detect')], ...['utf-8', 'windows-1252', 'windows-1250', 'windows-1251', 'macintosh', 'utf-16le', 'ibm866', 'shift_jis', 'gb18030'].map((name): [string, string] => [name, name])];
/** How the file is read; what the server could not detect is chosen here. */
const Reading = ({ source, change, open }: { source: Source; change: (change: Partial<Source>) => void; open: boolean }) => {
  const sheet = useSignal(source.sheet);
  return (
    <details open={open}><summary>{t('Read the file differently')}</summary>
      {/\.xls[xm]$/i.test(source.name) ? (
        <form class="row wrap inset end" onSubmit={(event) => { event.preventDefault(); change({ sheet: sheet.value }); }}><TextField label={t('Sheet')} value={sheet.value} hint={t('Else the first one with cells.')} onInput={(value) => (sheet.value = value)} /><Button type="submit">{t('Read again')}</Button></form>
      ) : <div class="two inset"><Select label={t('Delimiter')} value={source.delimiter} options={DELIMITERS()} onChange={(delimiter) => change({ delimiter })} /><Select label={t('Encoding')} value={source.encoding} options={ENCODINGS()} onChange={(encoding) => change({ encoding })} /></div>}
    </details>
  );
};
interface ColumnsProps {
  columns: readonly ImportColumn[];
  mapping: (string | null)[];
  set: (mapping: (string | null)[]) => void;
}
const Columns = ({ columns, mapping, set }: ColumnsProps) => {
  const schema = useQuery<{ fields: SchemaField[]; customFields: SchemaField[] }>(`/agents/${seg(agent.value!)}/contact-schema`);
  const known: [string, string][] = [
    ...(schema.data?.fields ?? []).filter((one) => !one.readOnly && one.name != 'customFields').map((one): [string, string] => [one.name, fieldLabel(one)]),
    ...(schema.data?.customFields ?? []).map((one): [string, string] => ['customFields.' + one.name, one.label]),
  ];
  const options = (column: ImportColumn, now: string | null): [string, string][] => {
    const all: [string, string][] = [['', t('Leave out')], ...known];
    if (column.custom && !all.some(([name]) => name == column.custom)) all.push([column.custom, t('New custom field “{name}”', { name: column.custom.replace(/^customFields\./, '') })]);
    if (now && !all.some(([name]) => name == now)) all.push([now, now]);
    return all;
  };
  return (
    <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Columns')}><table class="list columns stacked">
      <thead><tr><th scope="col">{t('Column of the file')}</th><th scope="col">{t('Its first values')}</th><th scope="col">{t('Field')}</th></tr></thead>
      <tbody>{columns.map((column, at) => {
        const now = mapping[at] ?? null;
        const twice = now && mapping.indexOf(now) != mapping.lastIndexOf(now);
        const name = column.name.trim() || t('(without a name)');
        return (
          <tr key={at}>
            <td class="strong" dir="auto">{name}</td>
            <td class="muted small"><ul class="plain samples">{column.samples.map((sample) => <li class="cut" dir="auto" title={sample}>{sample}</li>)}{!column.samples.length && <li>–</li>}</ul></td>
            <td><select class="input" aria-label={t('Field of the column {name}', { name })} aria-invalid={twice ? true : undefined} value={now ?? ''} onChange={(event) => set(mapping.map((one, n) => (n == at ? event.currentTarget.value || null : one)))}>
              {options(column, now).map(([key, text]) => <option value={key} selected={key == (now ?? '')}>{text}</option>)}
            </select>{twice && <span class="wrong"><Icon name="warn" />{t('Another column is this field, too.')}</span>}</td>
          </tr>
        );
      })}</tbody>
    </table></div>
  );
};
/** The options of the command line for columns that are not named like their fields. */
const maps = (columns: readonly ImportColumn[], mapping: (string | null)[]) => columns.map((one, at) => (one.name.trim() && one.name != mapping[at] ? ` --map ${quoted(`${one.name}=${mapping[at] ?? ''}`)}` : '')).join('');
/** Why a mapping cannot be previewed, in words. */
const missing = (mapping: (string | null)[]): string | null => {
  const fields = mapping.filter(Boolean);
  if (new Set(fields).size < fields.length) return t('Two columns are the same field. Leave one of them out.');
  if (!fields.includes('primaryEmail') && !fields.includes('externalReferenceId') && !fields.includes('customFields')) return t('Assign a column to the e-mail address, or to the external ID if the file only updates contacts.');
  return null;
};
const Changes = ({ of: line }: { of: ImportLine }) => (
  <ul class="plain stack tight">{line.changes.map((one) => <li class="change"><code>{one.field}</code> {one.isHidden ? <span class="muted">{t('(hidden)')}</span> : <><del dir="auto">{one.before || '–'}</del> <span class="sr">{t('becomes')}</span><span aria-hidden="true">→</span> <ins dir="auto">{one.after || '–'}</ins></>}</li>)}</ul>
);
const Lines = ({ of: lines, total, effect }: { of: readonly ImportLine[]; total: number; effect: Effect }) => (
  <>
    {!lines.length ? <p class="muted inside">{t('No line does this.')}</p> : (
      <div class="tablewrap" tabIndex={0} role="region" aria-label={NAMES[effect]()}><table class="list stacked">
        <thead><tr><th scope="col">{t('Line')}</th><th scope="col">{t('Contact')}</th>{effect == 'updated' && <th scope="col">{t('What changes')}</th>}{effect == 'refused' && <th scope="col">{t('Reason')}</th>}</tr></thead>
        <tbody>{lines.map((line) => <tr key={line.line}><td class="muted" data-label={t('Line')}>{number(line.line)}</td><td dir="auto">{line.contact ? <a class="plain" href={href(`${contacts()}/${seg(line.contact)}`)} target="_blank">{line.name || line.contact}</a> : line.name || '–'}</td>{effect == 'updated' && <td><Changes of={line} /></td>}{effect == 'refused' && <td>{line.reason}</td>}</tr>)}</tbody>
      </table></div>
    )}
    {total > lines.length && <p class="muted small inside">{t('The first {n} of {all}.', { n: number(lines.length), all: number(total) })}</p>}
  </>
);
const Preview = ({ of: found, name }: { of: ImportPreview; name: string }) => {
  const lists: Record<Effect, readonly ImportLine[]> = { created: found.createdLines, updated: found.updatedLines, unchanged: found.unchangedLines, refused: found.refusedLines };
  const first = EFFECTS.find((effect) => found[effect]) ?? 'created';
  const asked = address.value.query.get('show') as Effect | null;
  const at = asked && EFFECTS.includes(asked) ? asked : found.refused ? 'refused' : first;
  return (
    <section class="card" aria-label={t('Preview')}>
      <div class="numbers flat">{EFFECTS.map((effect) => <button type="button" class={`number${effect == 'refused' && found.refused ? ' bad' : ''}`} aria-pressed={effect == at} onClick={() => setQuery({ show: effect })}><span class="value">{number(found[effect])}</span><span class="muted small">{NAMES[effect]()}</span></button>)}</div>
      {at == 'refused' && !!found.refused && (
        <div class="body stack"><div class="row between wrap"><h2>{t('Why lines are refused')}</h2><Button icon="file" onClick={() => save(name, found.refusedHeader, found.refusedRows)}>{t('Download refused lines')}</Button></div>
          <ul class="plain stack tight">{found.reasons.slice(0, 10).map((one) => <li class="row top"><Badge tone="bad">{number(one.lines)}</Badge><span>{one.reason}</span></li>)}</ul>
          {!found.hasAllRefused && <p class="muted small">{t('The file has the first refused lines, up to 12 MiB.')}</p>}</div>
      )}
      <Lines of={lists[at]} total={found[at]} effect={at} />
    </section>
  );
};
const MOST_DIFFERENCES = 100;
const Result = ({ of: one, again }: { of: Job; again: () => void }) => {
  const all = one.preview.lines;
  const differ = differences(one);
  const title = { running: t('Importing…'), stopping: t('Stopping after these lines…'), stopped: t('The import has stopped'), done: t('The import is done') }[one.state];
  const busy = one.state == 'running' || one.state == 'stopping';
  return (
    <>
      <section class="card"><div class="body stack">
        <div class="row between wrap"><h2>{title}</h2><span class="muted small">{tn(all, '{done} of {n} line is done', '{done} of {n} lines are done', { done: number(one.done) })}</span></div>
        <div class="progress" role="progressbar" aria-label={t('Progress of the import')} aria-valuemin={0} aria-valuemax={all} aria-valuenow={one.done}><span style={{ width: `${all ? (100 * one.done) / all : 100}%` }} /></div>
        <div class="numbers">{EFFECTS.map((effect) => <div class={`number${effect == 'refused' && one.counts.refused ? ' bad' : ''}`}><span class="value">{number(one.counts[effect])}</span><span class="muted small">{NAMES[effect]()}</span></div>)}</div>
        {busy && <p class="muted small">{t('You can go to other pages meanwhile. If you close the tab, the import stops; what is done stays done. Import the file again to go on: lines that are done change nothing.')}</p>}
        {one.error && <Failure error={one.error} again={resume} />}
        {one.state == 'stopped' && !one.error && <Notice><span>{tn(all, 'What is done stays done: {done} of {n} line. Nothing is half written.', 'What is done stays done: {done} of {n} lines. Nothing is half written.', { done: number(one.done) })}</span></Notice>}
        {one.state == 'done' && (differ.length ? <Notice tone="warn"><span>{tn(differ.length, '{n} line had a different result than in the preview.', '{n} lines had a different result than in the preview.')}</span><span>{one.isResent ? t('Some lines were sent twice because an answer was lost; they count as unchanged.') : t('Contacts have changed in the meantime.')}</span><ul class="plain stack tight">{differ.slice(0, MOST_DIFFERENCES).map((each) => <li>{t('Contact {n} of the file: the preview said {expected}; it was {found}.', { n: number(each.at), expected: DID[each.expected](), found: OUT[each.found]() })}</li>)}</ul></Notice> : <Notice tone="ok"><span>{t('Every line came out as the preview said.')}</span></Notice>)}
        <div class="row wrap">
          {one.state == 'running' && <Button icon="pause" onClick={stop}>{t('Stop')}</Button>}
          {one.state == 'stopped' && !one.error && <Button kind="main" icon="play" onClick={resume}>{t('Go on')}</Button>}
          {!busy && !!one.counts.refused && <Button icon="file" onClick={() => save(one.source.name, one.refusedHeader, one.refusedRows.join(''))}>{t('Download refused lines')}</Button>}
          {one.state == 'done' && <Button kind="main" icon="contacts" href={href(contacts())}>{t('Show contacts')}</Button>}
          {!busy && <Button onClick={again}>{t('Import another file')}</Button>}
        </div>
      </div></section>
    </>
  );
};
/** The flags by which the command line reads a file in the same way. */
const readAs = ({ delimiter, encoding, sheet }: Source) => Object.entries({ delimiter, encoding, sheet }).filter(([, value]) => value).map(([name, value]) => ` --${name} ${quoted(value)}`).join('');
export default () => {
  const source = useSignal<Source | null>(null);
  const read = useSignal<ImportPreview | null>(null);
  const mapping = useSignal<(string | null)[]>([]);
  /** What was checked: exactly this is imported. */
  const checked = useSignal<{ agent: string; source: Source; chosen: string | null; found: ImportPreview } | null>(null);
  const error = useSignal<ApiError | null>(null);
  const busy = useSignal(false);
  const heading = useRef<HTMLDivElement>(null);
  const running = job.value?.agent == agent.value ? job.value : null;
  const at = running ? 3 : checked.value ? 2 : source.value ? 1 : 0;
  const elsewhere = !running && isBusy() ? job.value!.agent : null;
  /** An answer to an earlier question changes nothing. */
  const turn = useRef(0);
  useEffect(() => {
    // Who works with a keyboard or a screen reader goes on where the next step begins.
    if (at) heading.current?.focus();
  }, [at]);
  /** Asks the server, and takes its answer unless something else was asked or chosen since. */
  const look = async (one: Source, fields: string | null, take: (found: ImportPreview, agent: string) => void) => {
    const [own, on] = [++turn.current, agent.value!];
    const isWanted = () => own == turn.current;
    busy.value = true;
    error.value = null;
    try {
      const found = await preview(on, one, fields, isWanted);
      if (isWanted()) take(found, on);
    } catch (failed) {
      if (isWanted()) error.value = failed instanceof ApiError ? failed : new ApiError(0, 'INTERNAL_ERROR', String(failed));
    }
    if (isWanted()) busy.value = false;
  };
  const readAgain = () => {
    const one = source.value!;
    read.value = null;
    return look(one, null, (found, on) => {
      read.value = found;
      mapping.value = found.columns.map((column) => column.field);
      // JSON names its fields itself.
      if (found.isChecked) checked.value = { agent: on, source: one, chosen: null, found };
    });
  };
  const pick = async (file: File) => {
    if (file.size > MAX_BYTES) {
      error.value = new ApiError(413, 'PAYLOAD_TOO_LARGE', t('{name} is larger than 10 MiB. Divide it, or import it on the command line.', { name: file.name }));
      return;
    }
    if (!file.size) {
      error.value = new ApiError(400, 'EMPTY', t('{name} is empty.', { name: file.name }));
      return;
    }
    const own = ++turn.current;
    const content = new Blob([await file.arrayBuffer()], { type: 'application/octet-stream' });
    if (own != turn.current) return;
    source.value = { name: file.name, content, delimiter: '', encoding: '', sheet: '' };
    await readAgain();
  };
  const change = (part: Partial<Source>) => {
    source.value = { ...source.value!, ...part };
    void readAgain();
  };
  const clear = () => {
    turn.current++;
    busy.value = false;
    source.value = read.value = checked.value = error.value = null;
    mapping.value = [];
  };
  const reset = () => {
    forget();
    clear();
    setQuery({ show: null });
  };
  // Another agent has other fields and other contacts; and nobody waits for an answer once the page is left.
  useEffect(() => {
    clear();
    return () => void turn.current++;
  }, [agent.value]);
  const chosen = read.value?.columns.length ? JSON.stringify(mapping.value) : null;
  const check = () => {
    const one = source.value!;
    return look(one, chosen, (found, on) => (checked.value = { agent: on, source: one, chosen, found }));
  };
  const start = () => { const one = checked.value!; begin(one.agent, one.source, one.chosen, one.found); };
  const fault = read.value?.columns.length ? missing(mapping.value) : null;
  const found = checked.value?.found;
  const changing = found ? found.created + found.updated : 0;
  if (!can('contacts.bulk')) return <><Bar title={t('Import contacts')} back={contacts()} /><Empty icon="shield" title={t('Your role does not include this page')}>{t('It needs the permission {name}. An owner or admin can grant it.', { name: 'contacts.bulk' })}</Empty></>;
  return (
    <>
      <Bar title={t('Import contacts')} back={contacts()} />
      <div class="scroll"><div class="page stack">
        <Steps at={at} />
        <div ref={heading} tabIndex={-1} class="stack nofocus" aria-label={STEPS[at]!()} role="group">
          {!running && source.value && <div class="row between wrap"><span class="row wrap"><Icon name="file" /><span class="strong cut" dir="auto">{source.value.name}</span>{read.value && <span class="muted small">{tn(read.value.lines, '{n} contact', '{n} contacts')}{read.value.readAs && ` · ${read.value.readAs}`}</span>}</span><Button onClick={reset}>{t('Choose another file')}</Button></div>}
          {error.value && <Failure error={error.value} again={source.value ? () => void (read.value && !checked.value && !fault ? check() : readAgain()) : undefined} />}
          {at == 0 && <FileStep busy={busy.value} pick={(file) => void pick(file)} />}
          {at == 1 && (
            <>
              {busy.value && !read.value && <Notice><span role="status">{t('Reading the file…')}</span></Notice>}
              {read.value && !!read.value.columns.length && <section class="card"><header><h2>{t('Which column is which field?')}</h2></header><fieldset class="plain" disabled={busy.value}><Columns columns={read.value.columns} mapping={mapping.value} set={(fields) => (mapping.value = fields)} /></fieldset></section>}
              <Reading source={source.value!} change={change} open={!!error.value && !read.value} />
              {fault && <Notice tone="warn"><span>{fault}</span></Notice>}
              {read.value && <div class="row wrap"><Button kind="main" busy={busy.value} off={!!fault} onClick={() => void check()}>{t('Show preview')}</Button>{busy.value && <span class="muted small" role="status">{t('Checking every line…')}</span>}</div>}
            </>
          )}
          {at == 2 && found && (
            <>
              <p class="muted">{found.refused ? tn(found.refused, 'This is what the import would do. {n} line is refused and left out; correct it and import it again.', 'This is what the import would do. {n} lines are refused and left out; correct them and import them again.') : t('This is what the import would do. Nothing has changed yet.')}</p>
              <Preview of={found} name={checked.value!.source.name} />
              {elsewhere && <Notice><div class="row between wrap"><span>{t('An import of the agent {name} is running in this tab. This one can begin when it has ended.', { name: agents.value?.find((one) => one.id == elsewhere)?.name ?? elsewhere })}</span><Button href={href(`/a/${seg(elsewhere)}/contacts/import`)}>{t('Show it')}</Button></div></Notice>}
              <div class="row wrap">
                <Button kind="main" off={!changing || !!elsewhere} onClick={start}>{changing ? tn(changing, 'Import {n} contact', 'Import {n} contacts') : t('Nothing to import')}</Button>
                {chosen && <Button icon="back" onClick={() => (checked.value = null)}>{t('Back to columns')}</Button>}
              </div>
              <Cli line={`contacts import ${quoted(checked.value!.source.name)} --agent ${agent.value}${readAs(checked.value!.source)}${maps(found.columns, mapping.value)}`} />
            </>
          )}
          {running && <Result of={running} again={reset} />}
        </div>
      </div></div>
    </>
  );
};
