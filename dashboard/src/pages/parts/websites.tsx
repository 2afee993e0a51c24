// Websites that the agent answers from: the list, how far a crawl is, and what was not read and why.
import {
  address, agent, announce, ApiError, ask, Badge, Bar, Button, Cli, Dialog, done, Empty, errorTitle, Failure, get, holds, href, invalidate, Loaded, Menu, Meter, moment, navigate, Notice, number, post, quoted, remove,
  seg, Select, sentences, setQuery, t, TextField, tn, useEffect, useEvery, useForm, useKeys, useQuery, useRef, useSignal, When, type Item, type KnowledgeDocument, type Query, type Tone, type Website, type WebsitePage, type WebsiteReport,
} from '../../kit';

const of = (rest: string) => `/agents/${seg(agent.value!)}${rest}`;
export const documentsRoot = () => of('/knowledge');
export const websitesRoot = () => of('/sources');
/** The address of the page of websites, or of one. */
export const websitePath = (id = '') => `/a/${seg(agent.value!)}/knowledge/websites${id && '/' + seg(id)}`;
/** An address as people write it. */
export const shortUrl = (url: string) => url.replace(/^https?:\/\//, '').replace(/\/$/, '');
const documentsOf = (id: string) => `/a/${seg(agent.value!)}/knowledge?source=${seg(id)}`;
const isHttp = (url: string) => /^https?:/.test(url);
/** Whether a crawl runs, also between its turns. */
const isRunning = (one: Website) => /^(reading|waiting)$/.test(one.state) && !!one.beganAt && (one.state == 'reading' || !one.endedAt || one.beganAt > one.endedAt);
const isBusy = (one: Website) => /^(reading|waiting|removing)$/.test(one.state);
const asked = ({ pages }: Website) => pages.read + pages.unchanged + pages.notRead;

const schedule = (hours: number | null) =>
  hours === null ? t('on demand') : hours % 168 == 0 ? tn(hours / 168, 'every week', 'every {n} weeks') : hours % 24 == 0 ? tn(hours / 24, 'every day', 'every {n} days') : tn(hours, 'every hour', 'every {n} hours');
const SCHEDULES: [string, string, () => string][] = [
  ['6', ' --every 6h', () => t('Every 6 hours')], ['24', '', () => t('Every day')], ['168', ' --every 7d', () => t('Every week')], ['720', ' --every 30d', () => t('Every 30 days')], ['', ' --once', () => t('Once, and then on demand')],
];
const NEW = { url: '', everyHours: '24' };
/** What people type of an address, with its scheme. */
const whole = (url: string) => (/^[a-z][a-z0-9+.-]*:/i.test(url.trim()) ? url.trim() : 'https://' + url.trim());
/** The refusal of a website concerns its address. */
const atAddress = (error: unknown) =>
  error instanceof ApiError && /^(CONFLICT|NOT_POSSIBLE)$/.test(error.code) ? new ApiError(error.status, error.code, error.message, error.requestId, error.details, [{ field: 'url', message: error.message, type: 'conflict' }]) : error;
export const AddWebsite = ({ close }: { close: () => void }) => {
  const form = useForm(`website-new-${agent.value}`, NEW);
  const { url, everyHours } = form.values;
  const save = () => void form.submit(async () => {
    const { data } = await post<Website>(websitesRoot(), { url: url.trim() && whole(url), everyHours: everyHours ? Number(everyHours) : null }).catch((error) => { throw atAddress(error); });
    form.reset(NEW);
    invalidate(websitesRoot());
    done(t('{name} is added', { name: shortUrl(data.url) }));
    close();
    navigate(websitePath(data.id));
  });
  useKeys([{ key: 'mod+Enter', label: t('Add website'), run: save }]);
  const example = url.trim() ? whole(url) : 'https://www.example.com/';
  const flag = SCHEDULES.find(([hours]) => hours == everyHours)?.[1] ?? '';
  return (
    <Dialog title={t('Add a website')} onClose={close} foot={<><Cli line={`knowledge sources add ${quoted(example)} --agent ${agent.value}${flag}`} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} keys="mod+Enter" onClick={save}>{t('Add website')}</Button></>}>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        <TextField type="url" inputmode="url" label={t('Address')} autofocus autocomplete="off" placeholder="https://www.example.com/help/" value={url} error={form.errors['url']} onInput={(value) => form.set('url', value)}
          hint={t('All public pages in this folder are read, up to 1,000. A shorter path includes more of the website, a longer one less.')} />
        <Select label={t('Read again')} value={everyHours} error={form.errors['everyHours']} options={SCHEDULES.map(([hours, , label]) => [hours, label()])} onChange={(value) => form.set('everyHours', value)} />
        <p class="muted small">{t('robots.txt and noindex are respected, and a website is asked for one page a second. Pages that ask visitors to sign in are not read.')}</p>
        {form.failure && <Failure error={form.failure} />}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
};

const sync = async (one: Website) => {
  try {
    await post(`${websitesRoot()}/${seg(one.id)}/sync`);
    invalidate(websitesRoot());
    done(t('{name} is read again as soon as a server can', { name: shortUrl(one.url) }));
  } catch (error) {
    if (error instanceof ApiError && error.code != 'CANCELLED') done(errorTitle(error));
  }
};
/** Asks before a website goes, with the number of documents at this moment. */
const drop = async (one: Website, after?: () => void) => {
  const name = shortUrl(one.url);
  const all = await get<readonly KnowledgeDocument[]>(documentsRoot()).then((reply) => reply.data, () => null);
  const n = all?.filter((document) => document.sourceId == one.id).length;
  ask({
    title: t('Remove {name}?', { name }), button: t('Remove website'), bad: true, cli: `knowledge sources remove ${quoted(one.url)} --agent ${agent.value}`,
    text: (
sentences(
        n === undefined ? t('Its documents are removed with it, and the agent no longer answers from them.') : n ? tn(n, 'Its document is removed with it, and the agent no longer answers from it.', 'Its {n} documents are removed with it, and the agent no longer answers from them.') : t('It has no documents.'),
        isRunning(one) && t('Its crawl ends, and what is read until then goes too.'),
        t('Existing replies stay.'),
      )
    ),
    run: async () => {
      await remove(`${websitesRoot()}/${seg(one.id)}`);
      invalidate(websitesRoot(), documentsRoot());
      done(t('{name} is removed', { name }));
      after?.();
    },
  });
};
const itemsOf = (one: Website, write: boolean, gone?: () => void): Item[] => [
  { label: t('Show its documents'), icon: 'file', href: href(documentsOf(one.id)) },
  ...(write && !isBusy(one) ? [{ label: t('Sync now'), icon: 'rotate' as const, run: () => void sync(one) }] : []),
  ...(write ? [null, { label: t('Remove…'), icon: 'trash' as const, bad: true, run: () => void drop(one, gone) }] : []),
];
const Actions = ({ of: one, write, gone }: { of: Website; write: boolean; gone?: () => void }) => {
  const label = t('Actions for {name}', { name: shortUrl(one.url) });
  return <Menu label={label} items={itemsOf(one, write, gone)} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={label} expanded={expanded} onClick={open} />} />;
};

const stateOf = (one: Website): [Tone, string] => {
  if (one.state == 'removing') return ['warn', t('being removed')];
  if (one.state == 'reading') return ['accent', t('reading')];
  if (one.state == 'waiting') return ['accent', t('waiting for a server')];
  if (one.error) return ['bad', t('could not be read')];
  return one.isLimited ? ['warn', t('read in part')] : ['ok', t('read in full')];
};
const State = ({ of: one }: { of: Website }) => {
  const [tone, text] = stateOf(one);
  return <Badge tone={tone} dot open={one.state == 'waiting'}>{text}</Badge>;
};
const Progress = ({ of: one }: { of: Website }) => {
  const label = tn(one.pages.found, '{done} of {n} page', '{done} of {n} pages', { done: number(asked(one)) });
  return <span class="row"><Meter value={asked(one)} max={one.pages.found} label={label} /><span>{label}</span></span>;
};
const Pages = ({ of: one }: { of: Website }) => {
  if (isRunning(one)) return <Progress of={one} />;
  if (!one.endedAt || !one.pages.found) return <>–</>;
  const { read, unchanged, notRead } = one.pages;
  return <>{tn(read + unchanged, '{n} page', '{n} pages')}{!!notRead && ` · ${tn(notRead, '{n} not read', '{n} not read')}`}</>;
};
const Next = ({ of: one }: { of: Website }) => (isBusy(one) ? <>–</> : <When at={one.nextAt} never={t('on demand')} />);

/** The list of websites, current while one is being read. */
export const Websites = ({ query, selected, write, add }: { query: Query<readonly Website[]>; selected: string | null; write: boolean; add: () => void }) => {
  const search = address.value.query.get('q') ?? '';
  const all = query.data ?? [];
  useEvery(all.some(isBusy) ? 4000 : 30000, () => void query.refetch());
  const ends = useRef<Map<string, string | null> | null>(null);
  useEffect(() => {
    const before = ends.current;
    if (query.data) ends.current = new Map(all.map((one) => [one.id, one.endedAt]));
    const ended = before ? all.filter((one) => before.has(one.id) && before.get(one.id) != one.endedAt) : [];
    if (!ended.length) return;
    invalidate(documentsRoot());
    announce(ended[0]!.error ? t('{name} could not be read', { name: shortUrl(ended[0]!.url) }) : t('{name} was read', { name: shortUrl(ended[0]!.url) }));
  }, [query.data]);
  return (
    <Loaded query={query}>{() => {
      if (!all.length) return <Empty icon="globe" title={t('No websites yet')} cli={`knowledge sources add https://www.example.com/ --agent ${agent.value}`} action={write && <Button kind="main" icon="plus" onClick={add}>{t('Add website')}</Button>}>{t('Add the address of a website. Its public pages are read in the background and again on a schedule, and the agent answers from them.')}</Empty>;
      const shown = all.filter((one) => holds(one.url, search));
      if (!shown.length) return <Empty icon="search" title={t('No matching websites')} action={<Button onClick={() => setQuery({ q: null })}>{t('Clear filter')}</Button>}>{t('Nothing matches “{text}”.', { text: search })}</Empty>;
      return (
        <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Websites')}><table class="list">
          <thead><tr><th scope="col">{t('Website')}</th><th scope="col">{t('State')}</th><th scope="col" class="side-hidden">{t('Pages')}</th><th scope="col" class="side-hidden">{t('Last crawl')}</th><th scope="col" class="side-hidden">{t('Next crawl')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
          <tbody>{shown.map((one) => (
            <tr key={one.id} class={one.id == selected ? 'at' : ''}>
              <td><a class="main cut address" href={href(websitePath(one.id))} aria-current={one.id == selected ? 'true' : undefined}>{shortUrl(one.url)}</a></td>
              <td><State of={one} /></td>
              <td class="muted side-hidden"><Pages of={one} /></td><td class="muted side-hidden"><When at={one.endedAt} /></td><td class="muted side-hidden"><Next of={one} /></td>
              <td class="end"><Actions of={one} write={write} gone={one.id == selected ? () => navigate(websitePath()) : undefined} /></td>
            </tr>
          ))}</tbody>
        </table></div>
      );
    }}</Loaded>
  );
};

/** Why pages were not read: the title, and what to do. Those that need somebody come first. */
const REASONS: Record<string, () => [string, string]> = {
  missing: () => [t('No longer found'), t('The last crawl did not find these pages. If the next one does not find them either, their documents are removed.')],
  status: () => [t('Answered with an error'), t('Check these addresses and the links that lead to them. A page that is missing in two crawls in a row loses its document.')],
  error: () => [t('Server not reachable'), t('The server did not answer. The pages are tried again in the next crawl.')],
  login: () => [t('Sign-in required'), t('Only public pages are read. Add their text as a document.')],
  noText: () => [t('No text'), t('The page is empty, or a script writes its text. Scripts are not run. Add the text as a document.')],
  type: () => [t('Not a web page'), t('Download these files, and add them as documents.')],
  tooLarge: () => [t('Too large'), t('A page has at most 5 MiB and 1,000,000 characters. Split it, or add the relevant part as a document.')],
  charset: () => [t('Unreadable characters'), t('The page is not in the encoding that it states. Ask the owner of the website to send it as UTF-8.')],
  taken: () => [t('Another document has this address'), t('Remove that document to have the page read, or leave it as it is.')],
  limit: () => [t('Beyond a limit'), t('A limit of the crawl or of the documents was reached first. Add the folder that matters as a website of its own, and remove this one.')],
  robots: () => [t('Excluded by robots.txt'), t('The website does not allow these pages to be read. Its owner can allow them in robots.txt.')],
  noindex: () => [t('Marked noindex'), t('These pages ask not to be indexed. The owner of the website can remove the mark.')],
  trap: () => [t('Endless addresses'), t('Too many addresses have the same form, such as those of a calendar. The first 200 are read. Nothing to do.')],
  redirect: () => [t('Redirect'), t('The target is read if it is in the folder of this website. To read another one, add it as a website.')],
  canonical: () => [t('Another address is preferred'), t('The page names another address as its own, which is read if it is in the folder of this website. Nothing to do.')],
  duplicate: () => [t('Same text as another page'), t('The agent answers from the other page. Nothing to do.')],
};
/** The pages that need a look, by reason. */
const groupsOf = (pages: readonly WebsitePage[]): [string, WebsitePage[]][] => {
  const groups = new Map<string, WebsitePage[]>(Object.keys(REASONS).map((name) => [name, []]));
  for (const page of pages) {
    const isRead = page.outcome == 'read' || page.outcome == 'unchanged';
    const name = isRead ? (page.misses ? 'missing' : null) : page.outcome;
    if (name) groups.set(name, [...(groups.get(name) ?? []), page]);
  }
  return [...groups].filter(([, members]) => members.length);
};
const AT_FIRST = 50;
const Reason = ({ name, pages, origin, open }: { name: string; pages: WebsitePage[]; origin: string; open: boolean }) => {
  const all = useSignal(false);
  const [title, advice] = REASONS[name]?.() ?? [name, ''];
  const within = (url: string) => (url.startsWith(origin + '/') ? url.slice(origin.length) : url);
  return (
    <details open={open}>
      <summary>{title} · {number(pages.length)}</summary>
      <div class="stack tight reason">
        <p>{advice}</p>
        <ul class="pagelist">{pages.slice(0, all.value ? pages.length : AT_FIRST).map((page) => (
          <li key={page.url}>
            {isHttp(page.url) ? <a class="address" href={page.url} target="_blank" rel="noopener noreferrer">{within(page.url)}</a> : <span class="address">{page.url}</span>}
            {page.detail && <span class="muted small" dir="auto">{within(page.detail)}</span>}
            {page.documentId && name != 'missing' && <span class="muted small">{t('The agent still answers from the version of an earlier crawl.')}</span>}
          </li>
        ))}</ul>
        {pages.length > AT_FIRST && !all.value && <div><Button onClick={() => (all.value = true)}>{tn(pages.length - AT_FIRST, 'Show {n} more', 'Show {n} more')}</Button></div>}
      </div>
    </details>
  );
};
const NotRead = ({ of: { website, pages } }: { of: WebsiteReport }) => {
  const groups = groupsOf(pages);
  const origin = isHttp(website.url) ? new URL(website.url).origin : website.url;
  return (
    <section class="stack" aria-labelledby="not-read">
      <h2 id="not-read">{t('Pages that were not read')}</h2>
      {groups.length ? groups.map(([name, members], n) => <Reason key={name} name={name} pages={members} origin={origin} open={n == 0} />) : <p class="muted">{!website.endedAt || isRunning(website) ? t('None so far.') : website.error ? t('No page was found.') : t('None. Every page that was found is read.')}</p>}
    </section>
  );
};

const Facts = ({ of: one, documents }: { of: Website; documents: number | null }) => {
  const numbers: [string, number][] = [[t('Found'), one.pages.found], [t('Read'), one.pages.read], [t('Unchanged'), one.pages.unchanged], [t('Not read'), one.pages.notRead]];
  return (
    <>
      {isRunning(one) && <Progress of={one} />}
      {!!one.pages.found && <dl class="numbers">{numbers.map(([name, value]) => <div class="number"><dt class="muted small">{name}</dt><dd class="value">{number(value)}</dd></div>)}</dl>}
      <dl class="dl">
        <dt>{t('State')}</dt><dd><State of={one} /></dd>
        <dt>{t('Address')}</dt><dd>{isHttp(one.url) ? <a class="address" href={one.url} target="_blank" rel="noopener noreferrer">{one.url}</a> : one.url}</dd>
        <dt>{t('Documents')}</dt><dd>{documents === null ? '–' : documents ? <a href={href(documentsOf(one.id))}>{tn(documents, '{n} document', '{n} documents')}</a> : t('none')}</dd>
        <dt>{t('Schedule')}</dt><dd>{schedule(one.everyHours)}</dd>
        <dt>{t('Last crawl')}</dt><dd>{one.endedAt ? moment(one.endedAt) : '–'}</dd>
        <dt>{t('Next crawl')}</dt><dd>{one.nextAt && !isBusy(one) ? moment(one.nextAt) : isBusy(one) ? '–' : t('on demand')}</dd>
        <dt>{t('Pages found by')}</dt><dd>{one.discovery == 'sitemap' ? t('sitemap') : one.discovery == 'links' ? t('links') : '–'}</dd>
        <dt>{t('Added on')}</dt><dd>{moment(one.createdAt)}</dd>
      </dl>
    </>
  );
};
/** A website with its report. What the list knows is newer than the report while a crawl runs. */
export const WebsiteRecord = ({ id, listed, documents, write, close }: { id: string; listed: Website | undefined; documents: readonly KnowledgeDocument[] | undefined; write: boolean; close: () => void }) => {
  const report = useQuery<WebsiteReport>(`${websitesRoot()}/${seg(id)}`);
  const one = listed ?? report.data?.website;
  // Of a large website the report is large: it is read again less often than the list.
  useEvery(one && isRunning(one) ? 20000 : 60000, () => void report.refetch());
  const stamp = one && `${one.state} ${one.endedAt}`;
  const seen = useRef(stamp);
  useEffect(() => {
    if (seen.current && seen.current != stamp) void report.refetch();
    seen.current = stamp;
  }, [stamp]);
  return (
    <>
      <Bar title={one ? shortUrl(one.url) : t('Website')}>
        {one && write && !isBusy(one) && <Button icon="rotate" onClick={() => void sync(one)}>{t('Sync now')}</Button>}
        {one && <Actions of={one} write={write} gone={close} />}
        <Button kind="quiet" icon="x" label={t('Close the record')} onClick={close} />
      </Bar>
      <div class="scroll"><Loaded query={report} rows={6}>{(data) => (
        <div class="body">
          {one?.error && !isRunning(one) && <Notice tone="bad"><span class="strong">{t('The last crawl failed')}</span><span dir="auto">{one.error}</span><span>{one.nextAt ? t('It is tried again {time}. The documents of earlier crawls stay.', { time: moment(one.nextAt) }) : t('Correct this and sync again. The documents of earlier crawls stay.')}</span></Notice>}
          {one?.isLimited && !isRunning(one) && <Notice tone="warn"><span class="strong">{t('Not all pages were read')}</span><span>{t('A crawl ends at 1,000 pages, 50 MiB or 6 hours. Add the folders that matter as websites of their own, and remove this one.')}</span></Notice>}
          {one?.state == 'removing' && <Notice tone="warn"><span>{t('Its removal was begun and has not ended. Remove it again to end it.')}</span></Notice>}
          {one && <Facts of={one} documents={documents ? documents.filter((document) => document.sourceId == id).length : null} />}
          <NotRead of={data} />
          <Cli line={`knowledge sources show ${quoted(data.website.url)} --agent ${agent.value}`} />
        </div>
      )}</Loaded></div>
    </>
  );
};
