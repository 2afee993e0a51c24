// Knowledge: what the agent answers from. Files by drop, texts by paste.
import { address, agent, announce, ApiError, ask, Badge, Bar, Button, call, can, Cli, Dialog, done, Empty, errorTitle, Failure, Icon, invalidate, Loaded, Menu, number, post, remove, Search, seg, setQuery, t, TextField, tn, useActions, useForm, useQuery, useRef, useSignal, When, type KnowledgeDocument } from '../kit';

const root = () => `/agents/${seg(agent.value!)}/knowledge`;
const TYPES = '.pdf,.docx,.md,.txt,.html,.htm,.csv';
interface Upload {
  id: number;
  name: string;
  state: 'sending' | 'failed';
  error: ApiError | null;
  file: File;
}
const AddText = ({ close }: { close: () => void }) => {
  const form = useForm(`knowledge-${agent.value}`, { title: '', text: '', url: '' });
  const text = (field: 'title' | 'text' | 'url') => ({ value: form.values[field], onInput: (value: string) => form.set(field, value), error: form.errors[field] });
  const save = () => void form.submit(async ({ title, text, url }) => {
    await post(root(), { title, text, ...(url ? { url } : {}) });
    form.reset({ title: '', text: '', url: '' });
    invalidate(root());
    done(t('The agent answers from {name} now', { name: title }));
    close();
  });
  return (
    <Dialog title={t('Add a text')} kind="wide" onClose={close} foot={<><Cli line={`knowledge add FILE --agent ${agent.value}`} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} onClick={save}>{t('Add text')}</Button></>}>
      <TextField label={t('Title')} autofocus {...text('title')} />
      <TextField label={t('Text')} rows={12} hint={t('Headings and paragraphs become passages. Markdown works.')} {...text('text')} />
      <TextField label={t('URL that replies link to')} type="url" placeholder="https://" {...text('url')} />
      {form.failure && <Failure error={form.failure} />}
    </Dialog>
  );
};
export default () => {
  const query = address.value.query;
  const documents = useQuery<readonly KnowledgeDocument[]>(root());
  const uploads = useSignal<Upload[]>([]);
  const over = useSignal(false);
  const adding = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  const write = can('studio.write');
  let ids = uploads.value.length;
  const send = async (upload: Upload) => {
    const set = (change: Partial<Upload> | null) => (uploads.value = change ? uploads.value.map((one) => (one.id == upload.id ? { ...one, ...change } : one)) : uploads.value.filter((one) => one.id != upload.id));
    set({ state: 'sending', error: null });
    try {
      await call('POST', root() + '/files', { body: new Blob([upload.file], { type: 'application/octet-stream' }), query: { fileName: upload.name } });
      set(null);
      announce(t('The agent answers from {name} now', { name: upload.name }));
      invalidate(root());
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      set({ state: 'failed', error });
    }
  };
  const add = (files: FileList | null | undefined) => {
    const fresh = [...(files ?? [])].map((file): Upload => ({ id: ++ids + Date.now(), name: file.name, state: 'sending', error: null, file }));
    uploads.value = [...uploads.value, ...fresh];
    // One after another, so that a slow server is not flooded.
    void fresh.reduce((before, one) => before.then(() => send(one)), Promise.resolve());
  };
  const drop = (one: KnowledgeDocument) => ask({
    title: t('Remove {name}?', { name: one.title }), button: t('Remove document'), bad: true, cli: `knowledge remove ${one.id} --agent ${agent.value}`,
    text: t('The agent no longer answers from it. Existing replies stay.'),
    run: async () => { await remove(`${root()}/${seg(one.id)}`); invalidate(root()); done(t('{name} is removed', { name: one.title })); },
  });
  const pick = () => input.current?.click();
  useActions(write ? [{ id: 'add', label: t('Add files'), icon: 'plus', keys: 'n', run: pick }, { id: 'text', label: t('Add a text'), icon: 'note', run: () => (adding.value = true) }] : []);
  const search = query.get('q') ?? '';
  const all = documents.data ?? [];
  const shown = all.filter((one) => !search || `${one.title} ${one.fileName}`.toLocaleLowerCase().includes(search.toLocaleLowerCase()));
  return (
    <div class="dropzone" onDragOver={(event) => { if (write && event.dataTransfer?.types.includes('Files')) { event.preventDefault(); over.value = true; } }} onDragLeave={(event) => { if (!(event.currentTarget as Node).contains(event.relatedTarget as Node)) over.value = false; }}
      onDrop={(event) => { if (!write) return; event.preventDefault(); over.value = false; add(event.dataTransfer?.files); }}>
      <Bar title={t('Knowledge')}>
        {!!all.length && <span class="muted small wide-only">{tn(all.length, '{n} document', '{n} documents')} · {tn(all.reduce((sum, one) => sum + one.passages, 0), '{n} passage', '{n} passages')}</span>}
        {write && <><Button icon="note" onClick={() => (adding.value = true)}>{t('Add text')}</Button><Button kind="main" icon="plus" keys="n" onClick={pick}>{t('Add files')}</Button></>}
      </Bar>
      <input ref={input} type="file" multiple accept={TYPES} hidden onChange={(event) => { add(event.currentTarget.files); event.currentTarget.value = ''; }} />
      {over.value && <div class="dropcover"><div class="drop over"><Icon big name="book" /><span class="strong">{t('Drop files to add them')}</span></div></div>}
      {!!uploads.value.length && <ul class="uploads">{uploads.value.map((one) => <li class={`strip ${one.state == 'failed' ? 'bad' : 'info'}`} role={one.state == 'failed' ? 'alert' : 'status'}><Icon name={one.state == 'failed' ? 'warn' : 'file'} /><span class="grow cut" dir="auto">{one.name} <span class="muted">{one.error ? errorTitle(one.error) : t('uploading…')}</span></span>{one.error && <><Button onClick={() => void send(one)}>{t('Try again')}</Button><Button kind="quiet" icon="x" label={t('Dismiss')} onClick={() => (uploads.value = uploads.value.filter((other) => other.id != one.id))} /></>}</li>)}</ul>}
      <div class="scroll">
        <Loaded query={documents}>{() => !all.length ? (
          <Empty icon="book" title={t('No documents yet')} cli={`knowledge add FILE --agent ${agent.value}`} action={write && <><Button kind="main" icon="plus" onClick={pick}>{t('Add files')}</Button><Button icon="note" onClick={() => (adding.value = true)}>{t('Add text')}</Button></>}>{t('Drop PDF, Word, Markdown, HTML or text files anywhere on this page. The agent answers from them and cites its sources.')}</Empty>
        ) : (
          <>
            <div class="filter"><Search label={t('Filter documents')} value={search} onInput={(value) => setQuery({ q: value })} /></div>
            {shown.length ? <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Documents')}><table class="list">
              <thead><tr><th scope="col">{t('Title')}</th><th scope="col">{t('File')}</th><th scope="col">{t('Language')}</th><th scope="col">{t('Passages')}</th><th scope="col">{t('Characters')}</th><th scope="col">{t('Updated')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
              <tbody>{shown.map((one) => (
                <tr key={one.id}>
                  <td><span class="strong cut" dir="auto">{one.url && /^https?:/.test(one.url) ? <a class="main" href={one.url} target="_blank" rel="noopener noreferrer">{one.title}</a> : one.title}</span></td>
                  <td class="muted"><span class="cut" dir="auto">{one.fileName}{one.pages ? ` · ${tn(one.pages, '{n} page', '{n} pages')}` : ''}</span></td><td class="muted">{one.language ?? '–'}</td><td class="muted">{one.passages ? number(one.passages) : <Badge tone="warn" dot>{t('no text found')}</Badge>}</td><td class="muted">{number(one.characters)}</td><td class="muted"><When at={one.updatedAt} /></td>
                  <td class="end">{write && <Menu label={t('Actions for {name}', { name: one.title })} items={[{ label: t('Remove…'), icon: 'trash', bad: true, run: () => drop(one) }]} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions for {name}', { name: one.title })} expanded={expanded} onClick={open} />} />}</td>
                </tr>
              ))}</tbody>
            </table></div> : <Empty icon="search" title={t('No matching documents')} action={<Button onClick={() => setQuery({ q: null })}>{t('Clear filter')}</Button>} />}
          </>
        )}</Loaded>
      </div>
      {adding.value && <AddText close={() => (adding.value = false)} />}
    </div>
  );
};
