// What visitors ask that the agent cannot answer, grouped by what they ask, and how to teach it the answer.
import { address, agent, Badge, Bar, Button, can, Empty, href, Icon, list, Loaded, locale, Menu, navigate, Notice, number, percent, seg, setQuery, t, tn, useQuery, useSignal, When, type OpenQuestions, type QuestionGroup } from '../kit';
import { Teach } from './parts/teach';

const PERIODS: [number, () => string][] = [[7, () => t('Last 7 days')], [30, () => t('Last 30 days')], [90, () => t('Last 90 days')], [365, () => t('Last 365 days')]];
const OUTCOMES: [string, () => string][] = [['', () => t('All')], ['unanswered', () => t('Not answered')], ['unsure', () => t('Not sure')]];
const languageOf = (tag: string) => new Intl.DisplayNames(locale.value, { type: 'language', fallback: 'code' }).of(tag) ?? tag;
const page = (rest: string) => `/a/${seg(agent.value!)}${rest}`;

const Nearest = ({ of: group }: { of: QuestionGroup }) => {
  const { nearest } = group;
  if (!nearest) return <span class="muted">{t('no documents')}</span>;
  return (
    <span class="stack tight">
      <span class="cut" dir="auto">{[nearest.title, ...nearest.headings].filter((one, n, all) => one != all[n - 1]).join(' › ')}</span>
      <span class="row">{nearest.answers ? <Badge tone="ok" dot>{t('Answered by now')}</Badge> : <span class="muted small">{t('{share} sure', { share: percent(nearest.confidence) })}</span>}</span>
    </span>
  );
};
const Groups = ({ of: groups, teach }: { of: readonly QuestionGroup[]; teach: ((group: QuestionGroup) => void) | null }) => (
  <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Unanswered questions')}><table class="list">
    <thead><tr><th scope="col">{t('Question')}</th><th scope="col">{t('Asked')}</th><th scope="col">{t('Nearest passage')}</th><th scope="col">{t('Last asked')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
    <tbody>{groups.map((group) => (
      <tr key={group.question}>
        <td><span class="stack tight"><span class="strong" dir="auto">{group.question}</span>{group.others.map((one) => <span class="muted small" dir="auto">{one}</span>)}</span></td>
        <td><span class="stack tight"><span>{tn(group.count, '{n} time', '{n} times')}</span><span class="muted small">{tn(group.visitors, 'by {n} visitor', 'by {n} visitors')}</span><span class="muted small">{list(group.languages.map(languageOf))}</span></span></td>
        <td><Nearest of={group} /></td>
        <td class="muted"><When at={group.lastAskedAt} /></td>
        <td class="end"><span class="row">
          {teach && <Button icon="note" onClick={() => teach(group)}>{t('Teach')}</Button>}
          <Menu label={t('Actions for {name}', { name: group.question })} items={[
            ...(can('inbox.read') ? [{ label: t('Show the last conversation'), icon: 'inbox' as const, href: href(page('/inbox/' + seg(group.lastConversationId))) }] : []),
            { label: t('Try it'), icon: 'play' as const, href: href(page('/studio/try?q=' + encodeURIComponent(group.question))) },
          ]} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions for {name}', { name: group.question })} expanded={expanded} onClick={open} />} />
        </span></td>
      </tr>
    ))}</tbody>
  </table></div>
);
export default () => {
  const query = address.value.query;
  const days = Number(query.get('days') ?? 30);
  const outcome = query.get('outcome') ?? '';
  const found = useQuery<OpenQuestions>(`/agents/${seg(agent.value!)}/insights/questions`, { days, limit: 100, outcome: outcome || null });
  const teaching = useSignal<QuestionGroup | null>(null);
  const mayTeach = can('studio.write');
  return (
    <>
      <Bar title={t('Unanswered questions')}>{found.data && <span class="muted small wide-only">{tn(found.data.questions, '{n} question', '{n} questions')} · {tn(found.data.totalGroups, '{n} topic', '{n} topics')}</span>}</Bar>
      <div class="filter">
        <div class="tabs">{OUTCOMES.map(([name, label]) => <button type="button" class="tab" aria-pressed={outcome == name} onClick={() => setQuery({ outcome: name || null })}>{label()}</button>)}</div>
        <select class="input" aria-label={t('Period')} value={days} onChange={(event) => setQuery({ days: event.currentTarget.value })}>{PERIODS.map(([n, label]) => <option value={n} selected={n == days}>{label()}</option>)}</select>
      </div>
      <div class="scroll"><div class="page full">
        <p class="muted">{t('What visitors asked and the agent could not answer, or was not sure of. Questions that ask the same are one topic, in whatever words and languages. Teach an answer, or add a document that has it.')}</p>
        <Loaded query={found}>{(data) => (
          <>
            {data.groupedBy == 'words' && <Notice tone="info"><Icon name="info" /><span>{t('This server compares words alone, so a topic is often several rows. The setting knowledge_embedder turns meaning on.')}</span></Notice>}
            {data.groups.length ? <Groups of={data.groups} teach={mayTeach ? (group) => (teaching.value = group) : null} />
              : <Empty icon="check" title={t('Nothing is unanswered')} cli={`insights questions --agent ${agent.value} --days ${days}`} action={days < 365 || outcome ? <Button onClick={() => navigate(page('/questions?days=365'))}>{t('Show a year')}</Button> : undefined}>{t('In this period the agent answered every question that it was asked.')}</Empty>}
            {data.totalGroups > data.groups.length && <p class="muted small">{t('The {shown} most frequent of {all} topics are shown.', { shown: number(data.groups.length), all: number(data.totalGroups) })}</p>}
            {data.partial && <p class="muted small">{t('The newest 500 questions are counted. Choose a shorter period to see all of them.')}</p>}
          </>
        )}</Loaded>
      </div></div>
      {teaching.value && <Teach questions={[teaching.value.question, ...teaching.value.others]} close={() => (teaching.value = null)} taught={() => void found.refetch()} />}
    </>
  );
};
