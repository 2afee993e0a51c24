// Home: what waits, the first steps, the latest conversations.
import { agent, agents, Badge, Bar, Button, can, Failure, href, Icon, Mark, nameOfVisitor, navigate, number, operator, seg, t, useKeys, useQuery, When, type Contact, type Conversation, type ConversationCounts, type IconName, type Key, type KnowledgeDocument, type WebhookEndpoint } from '../kit';

const path = (rest: string) => `/a/${seg(agent.value!)}${rest}`;
const api = (rest: string) => `/agents/${seg(agent.value!)}${rest}`;
const SOON_MILLIS = 14 * 86400000;
interface Row {
  title: string;
  to: string;
  icon: IconName;
  count: number;
}
/** What needs attention: each row opens its list, by its number too. */
const Waits = ({ rows }: { rows: Row[] }) => {
  const shown = rows.filter((one) => one.count);
  useKeys(shown.map((one, n) => ({ key: String(n + 1), label: one.title, run: () => navigate(path(one.to)) })));
  if (!shown.length) return <section class="card"><div class="body row wide"><span class="tickbig"><Icon name="check" /></span><div><h2>{t('All caught up')}</h2><p class="muted">{t('Visitors waiting for a person, webhooks that fail and keys about to expire appear here.')}</p></div></div></section>;
  return (
    <section class="card"><header><h2>{t('Needs attention')}</h2></header>
      <ul class="todo">{shown.map((one, n) => <li><a href={href(path(one.to))}><Icon name={one.icon} /><span class="grow">{one.title}</span><Badge tone="accent">{number(one.count)}</Badge><kbd class="wide-only">{n + 1}</kbd></a></li>)}</ul>
    </section>
  );
};
/** What is there in all, each number with the list that it counts. */
const Numbers = ({ rows }: { rows: { title: string; to: string; value: number | undefined }[] }) => (
  <div class="numbers">{rows.map((one) => <a class="number" href={href(path(one.to))}><span class="muted small">{one.title}</span><span class="value">{one.value === undefined ? '–' : number(one.value)}</span></a>)}</div>
);
const Steps = ({ steps }: { steps: { title: string; to: string; done: boolean }[] }) => (
  <section class="card"><header><h2>{t('First steps')}</h2><span class="end muted small">{t('{done} of {all}', { done: steps.filter((step) => step.done).length, all: steps.length })}</span></header>
    <ul class="todo">{steps.map((step) => {
      const inside = <><span class={`tick${step.done ? ' yes' : ''}`}><Icon name="check" /></span><span class={`grow${step.done ? ' muted' : ''}`}>{step.title}<span class="sr"> {step.done ? t('done') : t('to do')}</span></span>{!step.done && <Icon name="chevron" />}</>;
      return <li>{step.done ? <span>{inside}</span> : <a href={href(path(step.to))}>{inside}</a>}</li>;
    })}</ul>
  </section>
);
const Recent = ({ rows }: { rows: readonly Conversation[] }) => (
  <section class="card"><header><h2>{t('Recent conversations')}</h2><span class="end"><Button kind="quiet" href={href(path('/inbox?view=all'))}>{t('All')}</Button></span></header>
    <ul class="todo">{rows.map((one) => <li key={one.id}><a href={href(path('/inbox/' + seg(one.id) + '?view=all'))}><Mark kind="round" name={nameOfVisitor(one)} /><span class="strong cut" dir="auto">{nameOfVisitor(one)}</span><span class="muted cut grow" dir="auto">{one.lastMessage?.text}</span><span class="muted small"><When at={one.lastMessageAt} /></span></a></li>)}</ul>
  </section>
);
export default () => {
  const counts = useQuery<ConversationCounts>(can('inbox.read') ? api('/conversations/counts') : null);
  const recent = useQuery<readonly Conversation[]>(can('inbox.read') ? api('/conversations') : null, { limit: 5 });
  const handed = useQuery<readonly Conversation[]>(can('inbox.read') ? api('/conversations') : null, { mode: 'human', status: 'open', limit: 100 });
  const keys = useQuery<readonly Key[]>(can('keys.read') ? api('/keys') : null);
  const knowledge = useQuery<readonly KnowledgeDocument[]>(can('studio.read') ? api('/knowledge') : null);
  const contacts = useQuery<readonly Contact[]>(can('contacts.read') ? api('/contacts') : null, { limit: 1 });
  const webhooks = useQuery<readonly WebhookEndpoint[]>(can('webhooks.read') ? api('/webhooks') : null);
  const all = [counts, recent, handed, keys, knowledge, contacts, webhooks];
  // A server without webhooks has none that fail.
  const failed = all.find((one) => one.error && one.error.code != 'EVENTS_UNAVAILABLE');
  const loading = all.some((one) => one.loading && one.data === undefined);
  const ending = keys.data?.filter((key) => key.status == 'active' && key.expiresAt && new Date(key.expiresAt).valueOf() - Date.now() < SOON_MILLIS).length ?? 0;
  const steps = [
    ...(knowledge.data ? [{ title: t('Add a document for the agent to answer from'), to: '/knowledge', done: knowledge.data.length > 0 }] : []),
    ...(counts.data ? [{ title: t('Add the widget to a page and ask it a question'), to: '/studio/install', done: counts.data.all > 0 }] : []),
    ...(keys.data ? [{ title: t('Create an API key'), to: '/settings/keys/new', done: keys.data.length > 0 }, { title: t('Send the first API request'), to: '/settings/keys', done: keys.data.some((key) => key.lastUsedAt) }] : []),
    ...(contacts.data ? [{ title: t('Add the first contact'), to: '/contacts', done: contacts.data.length > 0 }] : []),
  ];
  const hour = new Date().getHours();
  const name = (operator.value?.displayName ?? operator.value?.name ?? '').split(' ')[0];
  return (
    <>
      <Bar title={t('Home')} />
      <div class="scroll"><div class="page">
        <header class="stack tight"><h2 class="big" dir="auto">{hour < 12 ? t('Good morning, {name}', { name }) : hour < 18 ? t('Good afternoon, {name}', { name }) : t('Good evening, {name}', { name })}</h2><p class="muted" dir="auto">{agents.value?.find((one) => one.id == agent.value)?.name}</p></header>
        {failed && <Failure error={failed.error!} again={() => all.forEach((one) => one.error && void one.refetch())} />}
        {!loading && (
          <>
            {!failed && <Waits rows={[
              { title: t('Visitors waiting for a person'), to: '/inbox', icon: 'inbox', count: handed.data?.filter((one) => one.waitingSince).length ?? 0 },
              { title: t('Conversations with unread messages'), to: '/inbox', icon: 'person', count: handed.data?.filter((one) => one.unread && !one.waitingSince).length ?? 0 },
              { title: t('Webhooks that fail'), to: '/settings/webhooks', icon: 'hook', count: webhooks.data?.filter((one) => one.failingSince || (one.statusReason && one.statusReason != 'operator')).length ?? 0 },
              { title: t('Keys expiring within 14 days'), to: '/settings/keys', icon: 'key', count: ending },
            ]} />}
            {steps.some((step) => !step.done) && <Steps steps={steps} />}
            {!failed && <Numbers rows={[
              ...(counts.data ? [{ title: t('Open conversations'), to: '/inbox?view=open', value: counts.data.open }, { title: t('All conversations'), to: '/inbox?view=all', value: counts.data.all }] : []),
              ...(can('contacts.read') ? [{ title: t('Contacts'), to: '/contacts', value: contacts.pagination?.totalItems }] : []),
              ...(knowledge.data ? [{ title: t('Documents'), to: '/knowledge', value: knowledge.data.length }] : []),
              ...(keys.data ? [{ title: t('Active keys'), to: '/settings/keys', value: keys.data.filter((key) => key.status == 'active').length }] : []),
            ]} />}
            {!!recent.data?.length && <Recent rows={recent.data} />}
          </>
        )}
      </div></div>
    </>
  );
};
