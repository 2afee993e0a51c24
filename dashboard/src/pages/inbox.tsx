// The inbox: conversations that wait, one of them, and who is writing.
import {
  address, agent, announce, ApiError, Badge, Bar, Button, bytes, can, done, Empty, errorTitle, Failure, Fragment, get, holds, href, Icon, invalidate, letters, list as joined, Loaded, Mark, Menu, moment, nameOfVisitor as nameOf, navigate, number,
  operator, post, Search, seg, setQuery, since, stored, t, time, tn, useActions, useEffect, useLayoutEffect, useQuery, useRef, useSignal, useSignalEffect, When, type Conversation, type ConversationCounts, type Message, type Tone,
} from '../kit';
import { Markdown, plain } from './parts/markdown';

const root = () => `/agents/${seg(agent.value!)}/conversations`;
const page = (rest = '') => `/a/${seg(agent.value!)}/inbox${rest}`;
/** The views: a name, what it asks for, its number. */
const VIEWS: [string, () => string, Record<string, string>, keyof ConversationCounts][] = [
  ['people', () => t('Handed over'), { mode: 'human', status: 'open' }, 'human'],
  ['open', () => t('Open'), { status: 'open' }, 'open'],
  ['closed', () => t('Closed'), { status: 'closed' }, 'closed'],
  ['all', () => t('All'), {}, 'all'],
];
const LIMIT = 100;
/** After this time a waiting visitor stands out. */
const LATE_MILLIS = 5 * 60000;
/** The person who has taken a conversation over. */
const takenBy = (one: Conversation): string | null => {
  const last = [...one.participants].reverse().find((change) => change.change != 'closed');
  return last?.change == 'joined' ? last.name : null;
};
const isMine = (one: Conversation) => one.mode == 'human' && !!takenBy(one) && takenBy(one) == (operator.value?.displayName ?? operator.value?.name);
/** Who answers, as a badge. */
const Mode = ({ of: one }: { of: Conversation }) => {
  if (one.status == 'closed') return <Badge>{t('closed')}</Badge>;
  if (one.waitingSince) return <Badge tone={Date.now() - new Date(one.waitingSince).valueOf() > LATE_MILLIS ? 'bad' : 'warn'} dot>{t('waiting {time}', { time: since(one.waitingSince) })}</Badge>;
  if (one.mode == 'human') return <Badge tone="accent" dot>{isMine(one) ? t('you') : (takenBy(one) ?? t('a person'))}</Badge>;
  return <Badge>{t('agent')}</Badge>;
};
const Item = ({ of: one, selected, search }: { of: Conversation; selected: boolean; search: string }) => (
  <li class={one.unread ? 'unread' : ''}>
    <a href={href(page('/' + seg(one.id)) + search)} aria-current={selected ? 'true' : undefined} data-id={one.id}>
      <span class="dot" />
      <span class="who cut" dir="auto">{nameOf(one)}{one.unread > 0 && <span class="sr"> {tn(one.unread, '{n} unread message', '{n} unread messages')}</span>}</span>
      <span class="small muted"><When at={one.lastMessageAt} /></span>
      <span class="last cut" dir="auto">{one.lastMessage ? (one.lastMessage.role == 'visitor' ? one.lastMessage.text : '↩ ' + plain(one.lastMessage.text)) : t('No message yet')}</span>
      <span class="meta"><Mode of={one} /></span>
    </a>
  </li>
);
const OUTCOMES: Record<string, [() => string, Tone]> = {
  answered: [() => t('answered'), 'ok'], unsure: [() => t('unsure'), 'warn'], unanswered: [() => t('no answer found'), 'bad'], unknown: [() => t('no answer found'), 'bad'],
  handed_over: [() => t('handed over'), 'accent'], queued: [() => t('handed over'), 'accent'], failed: [() => t('failed'), 'bad'], limited: [() => t('limited'), 'warn'], stopped: [() => t('stopped'), ''],
};
const bytesOf = (files: Message['uploads']) => joined(files.map((file) => `${file.name} (${bytes(file.size)})`));
const Entry = ({ of: one, visitor }: { of: Message; visitor: string }) => {
  const outcome = one.outcome ? OUTCOMES[one.outcome] : undefined;
  return (
    <li class={`msg ${one.role == 'visitor' ? '' : 'out'}`}>
      <span class="by"><span class="strong" dir="auto">{one.role == 'visitor' ? visitor : (one.author ?? t('Agent'))}</span><time dateTime={one.at} title={moment(one.at)}>{time(one.at)}</time></span>
      <div class="bubble" dir="auto">{one.role == 'visitor' ? one.text : <Markdown text={one.text} />}</div>
      {!!one.uploads.length && <span class="by"><Icon name="file" />{bytesOf(one.uploads)}</span>}
      {one.role == 'agent' && (outcome || !!one.sources.length || !!one.feedback) && (
        <span class="by">{outcome && <Badge tone={outcome[1]}>{outcome[0]()}</Badge>}
          {one.sources.map((source) => (source.url && /^https?:/.test(source.url) ? <a href={source.url} target="_blank" rel="noopener noreferrer">[{source.n}] {source.title}</a> : <span>[{source.n}] {source.title}</span>))}
          {!!one.feedback && <span>{one.feedback > 0 ? t('Rated helpful') : t('Rated not helpful')}{one.comment && <> · <span dir="auto">{t('“{text}”', { text: one.comment })}</span></>}</span>}</span>
      )}
    </li>
  );
};
const CHANGES = { joined: (name: string) => t('{name} took over', { name }), left: (name: string) => t('{name} handed back to the agent', { name }), closed: (name: string) => t('{name} closed the conversation', { name }) };
/** Messages, and who joined or left between them, in one order. */
const Entries = ({ messages, of: one }: { messages: readonly Message[]; of: Conversation }) => {
  const first = messages[0]?.seq ?? 0;
  const changes = (after: number) => one.participants.filter((change) => change.after == after).map((change) => <li class="event">{CHANGES[change.change](change.name ?? t('Someone'))} · <time dateTime={change.at} title={moment(change.at)}>{time(change.at)}</time></li>);
  return <>{first == 1 && changes(0)}{messages.map((message) => <Fragment key={message.id}><Entry of={message} visitor={nameOf(one)} />{changes(message.seq)}</Fragment>)}</>;
};
const Composer = ({ of: one, last }: { of: Conversation; last: number }) => {
  const key = 'reply:' + one.id;
  const text = useSignal(stored.read('session', key) ?? '');
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  // At each key, not after the next frame: a reload right after the last one loses nothing.
  useSignalEffect(() => {
    stored.write('session', key, text.value || null);
  });
  const send = async () => {
    if (!text.value.trim() || busy.value) return;
    busy.value = true;
    error.value = null;
    try {
      await post(`${root()}/${seg(one.id)}/replies`, { text: text.value, afterReply: last });
      text.value = '';
      announce(t('Your reply is sent'));
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      error.value = cause.code == 'CANCELLED' ? null : cause;
    } finally {
      invalidate(root());
      busy.value = false;
    }
  };
  useActions([{ id: 'reply', label: t('Reply'), icon: 'send', keys: 'r', run: () => box.current?.focus() }]);
  return (
    <form class="composer" onSubmit={(event) => { event.preventDefault(); void send(); }}>
      {error.value && (error.value.code == 'CONVERSATION_MOVED' ? <p class="notice warn" role="alert"><Icon name="warn" />{t('A colleague replied in the meantime. Read the reply above, then send again.')}</p> : <Failure error={error.value} />)}
      <textarea ref={box} class="input" dir="auto" rows={3} maxLength={4000} aria-label={t('Reply to {name}', { name: nameOf(one) })} placeholder={t('Reply to {name}', { name: nameOf(one) })} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)}
        onKeyDown={(event) => { if (event.key == 'Enter' && (event.metaKey || event.ctrlKey)) { event.preventDefault(); void send(); } }} />
      <div class="row between"><span class="small muted">{text.value.length > 3500 ? `${number(text.value.length)} / ${number(4000)}` : isMine(one) ? t('**bold**, lists and links work') : t('Replying takes over the conversation')}</span><Button type="submit" kind="main" icon="send" keys="mod+Enter" busy={busy.value}>{t('Send')}</Button></div>
    </form>
  );
};
const LEVELS: [() => string, Tone][] = [[() => t('anonymous'), ''], [() => t('unverified e-mail'), ''], [() => t('verified'), 'ok']];
const Aside = ({ of: one }: { of: Conversation }) => {
  const level = LEVELS[one.visitor.level] ?? LEVELS[0]!;
  return (
    <div class="aside">
      <section class="row wide"><Mark kind="large round" name={nameOf(one)} /><div class="grow"><div class="strong cut" dir="auto">{nameOf(one)}</div><div class="small muted cut">{one.isMasked ? t('Hidden for your role') : (one.visitor.email ?? t('No e-mail known'))}</div></div></section>
      <div class="row wrap"><Badge tone={level[1]} dot={!!level[1]}>{level[0]()}</Badge></div>
      {one.contactId && can('contacts.read') && <Button href={href(`/a/${seg(agent.value!)}/contacts/${seg(one.contactId)}`)} icon="contacts" keys="c">{t('Open contact')}</Button>}
      <section><h3>{t('Conversation')}</h3><dl class="dl">
        <dt>{t('Started')}</dt><dd><When at={one.createdAt} /></dd>
        <dt>{t('Messages')}</dt><dd>{number(one.messageCount)}</dd>
        <dt>{t('Language')}</dt><dd>{one.locale}</dd>
        {one.timeZone && <><dt>{t('Time zone')}</dt><dd>{one.timeZone}</dd></>}
        {one.pageUrl && <><dt>{t('Page')}</dt><dd class="cut" title={one.pageUrl}>{one.pageUrl.replace(/^https?:\/\//, '')}</dd></>}
        {one.visitor.phone && <><dt>{t('Phone')}</dt><dd>{one.visitor.phone}</dd></>}
        <dt>{t('Expires')}</dt><dd><When at={one.expiresAt} /></dd>
      </dl></section>
    </div>
  );
};
/** Older messages than those that the thread begins with. */
const useOlder = (path: string) => {
  const state = useSignal<{ messages: Message[]; loading: boolean }>({ messages: [], loading: false });
  const read = async (before: number) => {
    state.value = { ...state.value, loading: true };
    try {
      const { data } = await get<readonly Message[]>(path, { before, limit: LIMIT });
      state.value = { messages: [...data, ...state.value.messages], loading: false };
    } catch (error) {
      state.value = { ...state.value, loading: false };
      if (error instanceof ApiError) done(errorTitle(error));
    }
  };
  return { ...state.value, read };
};
const Reading = ({ id, step }: { id: string; step: (by: number) => void }) => {
  const path = `${root()}/${seg(id)}`;
  const conversation = useQuery<Conversation>(path);
  const thread = useQuery<readonly Message[]>(path + '/thread', { limit: LIMIT });
  const older = useOlder(path + '/thread');
  const end = useRef<HTMLLIElement>(null);
  const one = conversation.data;
  const fresh = thread.data ?? [];
  const from = fresh[0]?.seq ?? 1;
  const messages = [...older.messages.filter((message) => message.seq < from), ...fresh];
  const last = messages[messages.length - 1]?.seq ?? 0;
  const isNear = useRef(true);
  useEffect(() => {
    const scroller = end.current?.closest('.scroll');
    // A reader further up stays there.
    if (scroller && isNear.current) scroller.scrollTop = scroller.scrollHeight;
  }, [last, !one]);
  const change = async (action: 'take' | 'release' | 'close', text: string) => {
    try {
      await post<Conversation>(`${path}/${action}`);
      const back = action == 'take' ? 'release' : action == 'release' ? 'take' : null;
      done(text, back && (async () => { await post(`${path}/${back}`); invalidate(root()); }));
    } catch (error) {
      if (error instanceof ApiError && error.code != 'CANCELLED') done(errorTitle(error));
    } finally {
      invalidate(root());
    }
  };
  const take = () => void change('take', t('You took over'));
  const release = () => void change('release', t('The agent answers again'));
  const close = () => void change('close', t('Conversation closed'));
  const may = can('inbox.reply') && one?.status == 'open';
  useActions([
    { id: 'next', label: t('Next conversation'), icon: 'chevron', keys: ']', run: () => step(1) },
    { id: 'previous', label: t('Previous conversation'), icon: 'back', keys: '[', run: () => step(-1) },
    ...(may ? [
      { id: 'take', label: t('Take over'), icon: 'person' as const, keys: 't', run: take },
      { id: 'release', label: t('Hand back to the agent'), icon: 'bot' as const, keys: 'shift+t', run: release },
      { id: 'close', label: t('Close conversation'), icon: 'check' as const, run: close },
    ] : []),
    ...(one?.contactId ? [{ id: 'contact', label: t('Open contact'), icon: 'contacts' as const, keys: 'c', run: () => navigate(`/a/${seg(agent.value!)}/contacts/${seg(one.contactId!)}`) }] : []),
  ]);
  if (!one) return <section class="pane reading-pane" aria-label={t('Conversation')}><div class="scroll"><Loaded query={conversation} rows={6}>{() => null}</Loaded></div></section>;
  const lastHuman = [...messages].reverse().find((message) => message.role == 'human')?.seq ?? 0;
  return (
    <>
      <section class="pane reading-pane" aria-label={t('Conversation with {name}', { name: nameOf(one) })}>
        <header class="bar">
          <span class="phone-only"><Button kind="quiet" icon="back" label={t('Back to the list')} href={href(page() + location.search)} /></span>
          <h2 class="cut" dir="auto">{nameOf(one)}</h2><Mode of={one} />
          {may && <div class="actions">
            {isMine(one) ? <Button keys="shift+t" onClick={release}>{t('Hand back')}</Button> : <Button kind={one.waitingSince ? 'main' : ''} keys="t" onClick={take}>{t('Take over')}</Button>}
            <Menu label={t('Actions')} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions')} expanded={expanded} onClick={open} />} items={[
              ...(one.mode == 'human' && !isMine(one) ? [{ label: t('Hand back to the agent'), icon: 'bot' as const, run: release }] : []),
              { label: t('Close conversation'), icon: 'check', run: close },
              { label: t('Copy the link'), icon: 'link', run: () => void navigator.clipboard.writeText(location.href).then(() => announce(t('Copied'))) },
            ]} />
          </div>}
        </header>
        <div class="scroll" tabIndex={0} role="region" aria-label={t('Messages')} onScroll={(event) => { const box = event.currentTarget; isNear.current = box.scrollHeight - box.scrollTop - box.clientHeight < 120; }}>
          <Loaded query={thread}>{() => (
            <>
              {(messages[0]?.seq ?? 1) > 1 && <div class="older"><Button busy={older.loading} onClick={() => { isNear.current = false; void older.read(messages[0]!.seq); }}>{t('Show older messages')}</Button></div>}
              <ol class="thread"><Entries messages={messages} of={one} /><li ref={end} class="sr" aria-hidden="true" /></ol>
            </>
          )}</Loaded>
        </div>
        {may && <Composer key={one.id} of={one} last={lastHuman} />}
      </section>
      <aside class="pane aside-pane" aria-label={t('About the visitor')}><div class="scroll"><Aside of={one} /></div></aside>
    </>
  );
};
/** A row that has the focus retains it when it moves to another position in the list. */
const useFocusOfRows = () => {
  const before = document.activeElement;
  useLayoutEffect(() => {
    if (before instanceof HTMLElement && before.isConnected && document.activeElement == document.body) before.focus({ preventScroll: true });
  });
};
export default ({ rest }: { rest: string[] }) => {
  const id = rest[0] ?? null;
  const query = address.value.query;
  const counts = useQuery<ConversationCounts>(`${root()}/counts`);
  const view = VIEWS.find(([name]) => name == query.get('view')) ?? VIEWS[0]!;
  const at = Number(query.get('page') ?? 1);
  const list = useQuery<readonly Conversation[]>(root(), { ...view[2], limit: LIMIT, page: at > 1 ? at : null });
  const filter = useSignal('');
  useFocusOfRows();
  const rows = [...(list.data ?? [])].filter((one) => !filter.value || holds(nameOf(one), filter.value));
  // Who waits comes first, the longest waiting before all.
  if (view[0] == 'people') rows.sort((a, b) => (a.waitingSince ?? '9').localeCompare(b.waitingSince ?? '9'));
  const index = rows.findIndex((one) => one.id == id);
  const step = (by: number) => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, index < 0 ? 0 : index + by))];
    if (next) navigate(page('/' + seg(next.id)) + location.search, !!id);
  };
  useActions([
    { id: 'down', label: t('Next row'), icon: 'down', keys: 'j', run: () => step(1) },
    { id: 'up', label: t('Previous row'), icon: 'down', keys: 'k', run: () => step(-1) },
    ...(id ? [{ id: 'back', label: t('Back to the list'), icon: 'back' as const, keys: 'Escape', run: () => navigate(page() + location.search) }] : []),
  ]);
  const texts: Record<string, [string, string]> = {
    people: [t('No one is waiting'), t('Conversations appear here when a visitor asks for a person or you take one over.')],
    open: [t('No open conversations'), t('Conversations appear here as soon as a visitor writes.')],
    closed: [t('No closed conversations'), t('Closed conversations stay here until they expire.')],
    all: [t('No conversations yet'), t('Add the widget to a page. Conversations appear here as soon as a visitor writes.')],
  };
  const total = list.pagination?.totalItems ?? 0;
  return (
    <>
      <Bar title={t('Inbox')}><div class="tabs" role="group" aria-label={t('Views')}>{VIEWS.map(([name, label, , count]) => <button type="button" class="tab" aria-pressed={view[0] == name} onClick={() => navigate(page() + (name == 'people' ? '' : '?view=' + name))}>{label()} {counts.data && <span class="n">{number(counts.data[count])}</span>}</button>)}</div></Bar>
      <div class={`inbox${id ? ' reading side3' : ''}`}>
        <section class="pane listing" aria-label={t('Conversations')}>
          <div class="filter inboxfilter"><Search label={t('Filter by name')} value={filter.value} onInput={(value) => (filter.value = value)} /></div>
          <div class="scroll">
            <Loaded query={list} rows={6}>{() => rows.length ? <ul class="convs">{rows.map((one) => <Item key={one.id} of={one} selected={one.id == id} search={location.search} />)}</ul>
              : filter.value ? <Empty icon="search" title={t('No matches')} action={<Button onClick={() => (filter.value = '')}>{t('Clear filter')}</Button>}>{t('Nothing matches “{text}”.', { text: filter.value })}</Empty>
                : <Empty icon="inbox" title={texts[view[0]]![0]} cli={`conversations list --agent ${agent.value}`} action={view[0] != 'all' && <Button onClick={() => setQuery({ view: 'all', page: null })}>{t('Show all')}</Button>}>{texts[view[0]]![1]}</Empty>}</Loaded>
            {total > LIMIT && <div class="older row">{at > 1 && <Button onClick={() => setQuery({ page: at > 2 ? String(at - 1) : null })}>{t('Newer')}</Button>}{at * LIMIT < total && <Button onClick={() => setQuery({ page: String(at + 1) })}>{t('Older')}</Button>}</div>}
          </div>
        </section>
        {id ? <Reading key={id} id={id} step={step} /> : <section class="pane reading-pane" aria-label={t('Conversation')}>{rows.length > 0 && <div class="state"><Icon big name="inbox" /><h2>{t('No conversation selected')}</h2><p>{letters.value ? t('Select one from the list, or press j for the first.') : t('Select one from the list.')}</p></div>}</section>}
      </div>
    </>
  );
};
