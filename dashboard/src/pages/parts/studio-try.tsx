// Try: questions to the agent, each with what it finds and what it replies. Nothing is stored.
import { address, agent, ApiError, Badge, Button, Empty, Failure, Field, locale, number, percent, post, seg, t, useKeys, useRef, useSignal, type Tone, type TrialAnswer } from '../../kit';
import { Markdown } from './markdown';

interface Asked {
  id: number;
  question: string;
  answer: TrialAnswer | null;
  error: ApiError | null;
}
/** How many questions of a pasted list are asked. */
const MOST = 50;
/** The languages of the widget. */
const LANGUAGES = ['ar', 'de', 'en', 'es', 'fr', 'he', 'it', 'ja', 'nl', 'pl', 'pt-BR', 'tr', 'zh-Hans'];
const nameOf = (tag: string) => new Intl.DisplayNames([locale.value], { type: 'language' }).of(tag) ?? tag;
const OUTCOMES: Record<string, [() => string, Tone]> = {
  answered: [() => t('answered'), 'ok'], unsure: [() => t('unsure'), 'warn'], small_talk: [() => t('small talk'), ''], unknown: [() => t('no answer found'), 'bad'], queued: [() => t('handed over'), 'accent'], stopped: [() => t('stopped'), ''], limited: [() => t('limit reached'), 'warn'],
};
const Passages = ({ of: answer }: { of: TrialAnswer }) => (
  <details><summary>{t('Found passages')} · {t('coverage {share}, needed {needed}', { share: percent(answer.coverage), needed: percent(answer.minCoverage) })}</summary>
    <ol class="passages">{answer.passages.map((one) => (
      <li><span class="strong" dir="auto">{[one.title, ...one.headings.filter((heading) => heading != one.title)].join(' › ')}</span>{one.page ? <span class="muted small"> {t('page {n}', { n: number(one.page) })}</span> : null}<p dir="auto">{one.text}</p></li>
    ))}</ol>
    {!answer.passages.length && <p class="muted">{answer.hasDocuments ? t('No passage has a word of the question or is near to it in meaning.') : t('The agent has no documents yet.')}</p>}
  </details>
);
const Answer = ({ of: one, again }: { of: Asked; again: () => void }) => {
  const { answer } = one;
  const outcome = answer?.reply?.outcome ? OUTCOMES[answer.reply.outcome] : undefined;
  return (
    <article class="card">
      <header><h2 class="grow" dir="auto">{one.question}</h2>{outcome && <Badge tone={outcome[1]} dot>{outcome[0]()}</Badge>}{answer && <span class="muted small">{t('{n} ms', { n: number(answer.millis) })}</span>}</header>
      <div class="body stack">
        {one.error ? <Failure error={one.error} again={again} /> : !answer ? <span class="bone" style={{ width: '60%' }} role="status" aria-label={t('Loading')} /> : (
          <>
            {answer.reply ? (answer.reply.error ? <p class="wrong">{t('The reply failed: {reason}', { reason: answer.reply.error })}</p> : <div class="msg trial"><div class="bubble" dir="auto"><Markdown text={answer.reply.text} /></div></div>)
              : <p class="muted">{t('A model replies here, and each of its replies costs. Ask on a page with the widget to see the whole reply; below is what it would get.')}</p>}
            {!!answer.reply?.sources.length && <p class="muted small">{answer.reply.sources.map((source) => `[${source.n}] ${source.title}`).join('  ')}</p>}
            <Passages of={answer} />
          </>
        )}
      </div>
    </article>
  );
};
export const Try = () => {
  const text = useSignal(address.value.query.get('q') ?? '');
  const language = useSignal('en');
  const asked = useSignal<Asked[]>([]);
  const busy = useSignal(false);
  const input = useRef<HTMLTextAreaElement>(null);
  const ids = useRef(0);
  const put = (id: number, change: Partial<Asked>) => (asked.value = asked.value.map((one) => (one.id == id ? { ...one, ...change } : one)));
  const send = async (one: Asked, before?: string) => {
    put(one.id, { error: null });
    try {
      put(one.id, { answer: (await post<TrialAnswer>(`/agents/${seg(agent.value!)}/studio/ask`, { question: one.question, locale: language.value, ...(before ? { before } : {}) })).data });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      put(one.id, { error });
    }
  };
  const ask = async () => {
    const questions = text.value.split('\n').map((line) => line.trim()).filter(Boolean).slice(0, MOST);
    if (!questions.length || busy.value) return;
    busy.value = true;
    text.value = '';
    // A single question continues the one before it, as in a conversation; those of a list stand alone.
    const before = questions.length == 1 ? asked.value[0]?.question : undefined;
    const fresh = questions.map((question): Asked => ({ id: ++ids.current, question, answer: null, error: null }));
    asked.value = [...fresh.reverse(), ...asked.value];
    // One after another, so that a long list leaves the server to others.
    for (const one of fresh.reverse()) await send(one, before);
    busy.value = false;
    input.current?.focus();
  };
  useKeys([{ key: 'mod+Enter', label: t('Ask'), run: () => void ask() }]);
  return (
    <div class="page narrow">
      <section class="card"><div class="body stack">
        <Field label={t('Question')} hint={t('One question, or a list with one on each line. Nothing is stored or charged.')}>
          {(props) => <textarea ref={input} class="input" rows={3} dir="auto" autofocus value={text.value} placeholder={t('What would a visitor ask?')} onInput={(event) => (text.value = event.currentTarget.value)} onKeyDown={(event) => { if (event.key == 'Enter' && !event.shiftKey && !event.isComposing && !text.value.includes('\n')) { event.preventDefault(); void ask(); } }} {...props} />}
        </Field>
        <div class="row between wrap">
          <label class="row small"><span class="muted">{t('Language of the visitor')}</span><select class="input auto" value={language.value} onChange={(event) => (language.value = event.currentTarget.value)}>{LANGUAGES.map((tag) => <option value={tag} selected={tag == language.value}>{nameOf(tag)}</option>)}</select></label>
          <Button kind="main" icon="send" keys="mod+Enter" busy={busy.value} off={!text.value.trim()} onClick={() => void ask()}>{t('Ask')}</Button>
        </div>
      </div></section>
      {asked.value.map((one) => <Answer key={one.id} of={one} again={() => void send(one)} />)}
      {!asked.value.length && <Empty icon="search" title={t('No questions yet')}>{t('You see the passages that the agent finds, how sure it is, and the reply that a visitor would get.')}</Empty>}
    </div>
  );
};
