// Knowledge: what the agent answers from. Files by drop, texts by paste, websites by address.
import { address, agent, announce, ApiError, ask, Badge, Bar, Button, call, can, Cli, Dialog, done, Empty, errorTitle, Failure, holds, href, Icon, invalidate, Loaded, Menu, navigate, number, post, remove, Search, seg, sentences, setQuery, t, TextField, tn, useActions, useForm, useQuery, useRef, useSignal, When, type KnowledgeDocument, type Query, type Website } from '../kit';
import type { ComponentChildren } from 'preact';
import { AddWebsite, documentsRoot as root, shortUrl, WebsiteRecord, websitePath, Websites, websitesRoot } from './parts/websites';

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
/** Phrasings of a question, one a line. */
const phrasings = (text: string) => text.split('\n').map((line) => line.trim()).filter((line) => line);
const Teach = ({ close }: { close: () => void }) => {
  const form = useForm(`teach-${agent.value}`, { questions: '', answer: '', url: '' });
  const text = (field: 'questions' | 'answer' | 'url') => ({ value: form.values[field], onInput: (value: string) => form.set(field, value), error: form.errors[field] });
  const save = () => void form.submit(async ({ questions, answer, url }) => {
    await post(root() + '/pairs', { questions: phrasings(questions), answer, ...(url ? { url } : {}) });
    form.reset({ questions: '', answer: '', url: '' });
    invalidate(root());
    done(t('The agent answers this question now'));
    close();
  });
  return (
    <Dialog title={t('Teach an answer')} kind="wide" onClose={close} foot={<><Cli line={`knowledge teach --agent ${agent.value} --question QUESTION --answer ANSWER`} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} onClick={save}>{t('Teach')}</Button></>}>
      <TextField label={t('Questions')} rows={4} autofocus hint={t('One a line. Several phrasings of the same question help the agent to recognise it.')} {...text('questions')} />
      <TextField label={t('Answer')} rows={8} hint={t('The agent gives it as it stands. Markdown works.')} {...text('answer')} />
      <TextField label={t('URL that replies link to')} type="url" placeholder="https://" {...text('url')} />
      {form.failure && <Failure error={form.failure} />}
    </Dialog>
  );
};
const drop = (one: KnowledgeDocument, website: Website | undefined) => ask({
  title: t('Remove {name}?', { name: one.title }), button: t('Remove document'), bad: true, cli: `knowledge remove ${one.id} --agent ${agent.value}`,
  text: sentences(t('The agent no longer answers from it. Existing replies stay.'), website && t('It is a page of {name}: the next crawl adds it again if the page is still there.', { name: shortUrl(website.url) })),
  run: async () => { await remove(`${root()}/${seg(one.id)}`); invalidate(root()); done(t('{name} is removed', { name: one.title })); },
});
/** The documents that were added here, in the filter by origin. */
const OWN = 'own';
const Origin = ({ websites, value }: { websites: readonly Website[]; value: string }) => {
  const options: [string, string][] = [['', t('From everywhere')], [OWN, t('Added here')], ...websites.map((one): [string, string] => [one.id, shortUrl(one.url)])];
  if (value && !options.some(([id]) => id == value)) options.push([value, t('A removed website')]);
  return <select class="input" aria-label={t('Origin')} value={value} onChange={(event) => setQuery({ source: event.currentTarget.value })}>{options.map(([id, name]) => <option value={id} selected={id == value}>{name}</option>)}</select>;
};
const Rows = ({ of: shown, websites, write }: { of: readonly KnowledgeDocument[]; websites: readonly Website[]; write: boolean }) => (
  <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Documents')}><table class="list">
    <thead><tr><th scope="col">{t('Title')}</th><th scope="col">{t('File')}</th><th scope="col">{t('Language')}</th><th scope="col">{t('Passages')}</th><th scope="col">{t('Characters')}</th><th scope="col">{t('Updated')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
    <tbody>{shown.map((one) => {
      const website = websites.find((each) => each.id == one.sourceId);
      return (
        <tr key={one.id}>
          <td><span class="strong cut" dir="auto">{one.url && /^https?:/.test(one.url) ? <a class="main" href={one.url} target="_blank" rel="noopener noreferrer">{one.title}</a> : one.title}</span></td>
          <td class="muted"><span class="row">{one.sourceId && <Icon name="globe" />}<span class="cut" dir="auto">{one.questions.length ? tn(one.questions.length, '{n} question', '{n} questions') : one.fileName}{one.pages ? ` · ${tn(one.pages, '{n} page', '{n} pages')}` : ''}</span></span></td><td class="muted">{one.language ?? '–'}</td><td class="muted">{one.passages ? number(one.passages) : <Badge tone="warn" dot>{t('no text found')}</Badge>}</td><td class="muted">{number(one.characters)}</td><td class="muted"><When at={one.updatedAt} /></td>
          <td class="end">{(write || website) && <Menu label={t('Actions for {name}', { name: one.title })} items={[...(website ? [{ label: t('Show its website'), icon: 'globe' as const, href: href(websitePath(website.id)) }] : []), ...(write ? [{ label: t('Remove…'), icon: 'trash' as const, bad: true, run: () => drop(one, website) }] : [])]} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions for {name}', { name: one.title })} expanded={expanded} onClick={open} />} />}</td>
        </tr>
      );
    })}</tbody>
  </table></div>
);
interface DocumentsProps {
  query: Query<readonly KnowledgeDocument[]>;
  websites: readonly Website[];
  write: boolean;
  /** The buttons that add something. */
  adding: ComponentChildren;
}
const Documents = ({ query, websites, write, adding }: DocumentsProps) => {
  const search = address.value.query.get('q') ?? '';
  const source = address.value.query.get('source') ?? '';
  const fits = (one: KnowledgeDocument) => (!search || holds(`${one.title} ${one.fileName}`, search)) && (!source || (source == OWN ? !one.sourceId : one.sourceId == source));
  return (
    <Loaded query={query}>{(all) => {
      if (!all.length) return <Empty icon="book" title={t('No documents yet')} cli={`knowledge add FILE --agent ${agent.value}`} action={write && adding}>{t('Drop PDF, Word, Markdown, HTML or text files anywhere on this page, or add a website. The agent answers from them and cites its sources.')}</Empty>;
      const shown = all.filter(fits);
      if (shown.length) return <Rows of={shown} websites={websites} write={write} />;
      return <Empty icon="search" title={t('No matching documents')} action={<Button onClick={() => setQuery({ q: null, source: null })}>{t('Clear filter')}</Button>}>{source && source != OWN && !search ? t('This website has no documents. Its page says why.') : null}</Empty>;
    }}</Loaded>
  );
};
export default ({ rest }: { rest: string[] }) => {
  const isWebsites = rest[0] == 'websites';
  const id = (isWebsites && rest[1]) || null;
  const query = address.value.query;
  const documents = useQuery<readonly KnowledgeDocument[]>(root());
  const websites = useQuery<readonly Website[]>(websitesRoot());
  const uploads = useSignal<Upload[]>([]);
  const over = useSignal(false);
  const adding = useSignal<'text' | 'teach' | 'website' | null>(null);
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
  const pick = () => input.current?.click();
  const addText = () => (adding.value = 'text');
  const teach = () => (adding.value = 'teach');
  const addWebsite = () => (adding.value = 'website');
  const close = () => navigate(websitePath() + location.search);
  useActions([
    ...(write ? [
      { id: 'add', label: t('Add files'), icon: 'plus' as const, ...(isWebsites ? {} : { keys: 'n' }), run: pick },
      { id: 'text', label: t('Add a text'), icon: 'note' as const, run: addText },
      { id: 'teach', label: t('Teach an answer'), icon: 'note' as const, run: teach },
      { id: 'website', label: t('Add a website'), icon: 'globe' as const, ...(isWebsites ? { keys: 'n' } : {}), run: addWebsite },
    ] : []),
    ...(id ? [{ id: 'close', label: t('Close the record'), icon: 'x' as const, keys: 'Escape', run: close }] : []),
  ]);
  const all = documents.data ?? [];
  const passages = all.reduce((sum, one) => sum + one.passages, 0);
  const tabs: [boolean, string, string, number | undefined][] = [[!isWebsites, `/a/${seg(agent.value!)}/knowledge`, t('Documents'), documents.data?.length], [isWebsites, websitePath(), t('Websites'), websites.data?.length]];
  return (
    <div class={`split${id ? ' open' : ''}`}>
      <div class="pane under dropzone" onDragOver={(event) => { if (write && event.dataTransfer?.types.includes('Files')) { event.preventDefault(); over.value = true; } }} onDragLeave={(event) => { if (!(event.currentTarget as Node).contains(event.relatedTarget as Node)) over.value = false; }}
        onDrop={(event) => { if (!write) return; event.preventDefault(); over.value = false; add(event.dataTransfer?.files); }}>
        <Bar title={t('Knowledge')}>
          {!isWebsites && !!all.length && <span class="muted small wide-only">{tn(all.length, '{n} document', '{n} documents')} · {tn(passages, '{n} passage', '{n} passages')}</span>}
          {write && (isWebsites ? <Button kind="main" icon="plus" keys={id ? undefined : 'n'} onClick={addWebsite}>{t('Add website')}</Button> : <><Button onClick={teach}>{t('Teach')}</Button><Button icon="note" onClick={addText}>{t('Add text')}</Button><Button kind="main" icon="plus" keys="n" onClick={pick}>{t('Add files')}</Button></>)}
        </Bar>
        <input ref={input} type="file" multiple accept={TYPES} hidden onChange={(event) => { add(event.currentTarget.files); event.currentTarget.value = ''; }} />
        {over.value && <div class="dropcover"><div class="drop over"><Icon big name="book" /><span class="strong">{t('Drop files to add them')}</span></div></div>}
        {!!uploads.value.length && <ul class="uploads">{uploads.value.map((one) => <li class={`strip ${one.state == 'failed' ? 'bad' : 'info'}`} role={one.state == 'failed' ? 'alert' : 'status'}><Icon name={one.state == 'failed' ? 'warn' : 'file'} /><span class="grow cut" dir="auto">{one.name} <span class="muted">{one.error ? errorTitle(one.error) : t('uploading…')}</span></span>{one.error && <><Button onClick={() => void send(one)}>{t('Try again')}</Button><Button kind="quiet" icon="x" label={t('Dismiss')} onClick={() => (uploads.value = uploads.value.filter((other) => other.id != one.id))} /></>}</li>)}</ul>}
        <div class="filter">
          <Search label={isWebsites ? t('Filter websites') : t('Filter documents')} value={query.get('q') ?? ''} onInput={(value) => setQuery({ q: value })} />
          <div class="tabs">{tabs.map(([isHere, path, label, n]) => <a class="tab" href={href(path)} aria-current={isHere ? 'page' : undefined}>{label} {n !== undefined && <span class="n">{number(n)}</span>}</a>)}</div>
          {!isWebsites && (!!websites.data?.length || query.has('source')) && <Origin websites={websites.data ?? []} value={query.get('source') ?? ''} />}
        </div>
        <div class="scroll">
          {isWebsites ? <Websites query={websites} selected={id} write={write} add={addWebsite} />
            : <Documents query={documents} websites={websites.data ?? []} write={write} adding={<><Button kind="main" icon="plus" onClick={pick}>{t('Add files')}</Button><Button icon="note" onClick={addText}>{t('Add text')}</Button><Button icon="globe" onClick={addWebsite}>{t('Add website')}</Button></>} />}
        </div>
      </div>
      {id && <section class="pane record" aria-label={t('Website')}><WebsiteRecord key={id} id={id} listed={websites.data?.find((one) => one.id == id)} documents={documents.data} write={write} close={close} /></section>}
      {adding.value == 'text' && <AddText close={() => (adding.value = null)} />}
      {adding.value == 'teach' && <Teach close={() => (adding.value = null)} />}
      {adding.value == 'website' && <AddWebsite close={() => (adding.value = null)} />}
    </div>
  );
};
