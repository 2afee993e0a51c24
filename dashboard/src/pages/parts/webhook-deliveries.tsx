// The deliveries of a webhook: what was sent, what was answered, and what can be sent again.
import {
  address, agent, ask, Badge, Bones, Button, Copy, Dialog, done, Empty, Failure, invalidate, Loaded, moment, number, post, seg, sentences, setQuery, t, useEffect, useEntries, useQuery, useRef, useSignal, When,
  type WebhookDeliveries, type WebhookDelivery, type WebhookDeliveryReport, type WebhookEndpoint, type Tone,
} from '../../kit';
import { errorInWords, operation, root } from './webhook-parts';

const PAGE = 20;
const RESULTS: Record<WebhookDelivery['attempt']['result'], () => [Tone, string]> = {
  succeeded: () => ['ok', t('delivered')], failed: () => ['warn', t('failed')], givenUp: () => ['bad', t('given up')], expired: () => ['bad', t('event expired')],
};
const Result = ({ of: { attempt } }: { of: WebhookDelivery }) => {
  const [tone, text] = RESULTS[attempt.result]();
  return <Badge tone={tone} dot>{text}</Badge>;
};
/** The status of the response, or why there is none. */
const Response = ({ of: { attempt } }: { of: WebhookDelivery }) => (attempt.status === null ? <span class="muted">{attempt.error ? <code>{attempt.error}</code> : '–'}</span> : <code>{attempt.status}</code>);
const name = ({ attempt, type }: WebhookDelivery) => type ?? t('Event {n}', { n: number(attempt.seq) });
const pretty = (text: string) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};
/** Asks, and sends the event of an attempt again. */
const resend = (one: WebhookEndpoint, delivery: WebhookDelivery) => ask({
  title: t('Resend {name}?', { name: name(delivery) }),
  text: sentences(
    one.mode == 'ordered' ? t('The event is sent again with its id. Because this webhook sends in order, all events after it are sent again too.') : t('The event is sent again with its id, so that the receiver can recognise it.'),
    one.status == 'disabled' && t('The webhook is disabled. The event is sent when it is enabled again.'),
  ),
  button: t('Resend'), cli: `webhooks replay ${one.id} --agent ${agent.value} --id ${delivery.eventId}`,
  run: async () => {
    await post(operation(one, `/attempts/${delivery.attempt.number}/resend`));
    invalidate(root());
    done(t('The event is sent again'));
  },
});
const Details = ({ of: { delivery, message } }: { of: WebhookDeliveryReport }) => {
  const { attempt } = delivery;
  return (
    <>
      <dl class="dl">
        <dt>{t('Result')}</dt><dd><Result of={delivery} /></dd>
        <dt>{t('Response')}</dt><dd><Response of={delivery} />{attempt.error && <div class="small muted">{errorInWords(attempt.error)}</div>}</dd>
        <dt>{t('Time')}</dt><dd>{moment(attempt.at)}</dd>
        <dt>{t('Duration')}</dt><dd>{attempt.attempt ? t('{n} ms', { n: number(attempt.milliseconds) }) : '–'}</dd>
        <dt>{t('Attempt')}</dt><dd>{attempt.attempt ? t('{n} of 10', { n: attempt.attempt }) : t('Nothing was sent: the log no longer has the event.')}</dd>
        <dt>{t('Event number')}</dt><dd>{attempt.upto ? `${number(attempt.seq)}–${number(attempt.upto)}` : number(attempt.seq)}</dd>
        {delivery.eventId && <><dt><code>webhook-id</code></dt><dd class="row"><code class="cut">{delivery.eventId}</code><Copy text={delivery.eventId} /></dd></>}
      </dl>
      {attempt.body && <section class="stack tight"><h3>{t('Text of the response')}</h3><div class="code"><pre tabIndex={0}><code>{pretty(attempt.body)}</code></pre></div></section>}
      <section class="stack tight"><h3>{t('Message')}</h3>
        {message ? <div class="code"><pre tabIndex={0}><code>{JSON.stringify(message, null, 2)}</code></pre></div> : <p class="muted small">{delivery.type ? t('Your role does not include what this event is about.') : t('The log no longer has this event.')}</p>}
      </section>
    </>
  );
};
const Report = ({ of: one, delivery, manages, close }: { of: WebhookEndpoint; delivery: WebhookDelivery; manages: boolean; close: () => void }) => {
  const report = useQuery<WebhookDeliveryReport>(operation(one, `/attempts/${delivery.attempt.number}`));
  return (
    <Dialog title={name(delivery)} kind="panel" onClose={close} foot={manages && delivery.eventId && <Button kind="main" icon="send" onClick={() => { close(); resend(one, delivery); }}>{t('Resend')}</Button>}>
      <Loaded query={report} rows={4}>{(data) => <Details of={data} />}</Loaded>
    </Dialog>
  );
};
/** The list. `stamp` changes whenever something was delivered. */
export const Deliveries = ({ of: one, manages, stamp }: { of: WebhookEndpoint; manages: boolean; stamp: string }) => {
  const onlyFailed = address.value.query.get('show') == 'failed';
  const open = useSignal<WebhookDelivery | null>(null);
  const { entries, hasMore, loading, error, ...log } = useEntries<WebhookDeliveries, WebhookDelivery>(operation(one, '/attempts'), { failed: onlyFailed || null, limit: PAGE }, (page) => ({ entries: page.deliveries, next: page.nextCursor ? { cursor: page.nextCursor } : null }));
  const seen = useRef(stamp);
  useEffect(() => {
    // Older pages that somebody reads stay where they are.
    if (seen.current != stamp && entries.length <= PAGE) log.reload();
    seen.current = stamp;
  }, [stamp]);
  const tab = (label: string, failed: boolean) => <button type="button" class="tab" aria-pressed={onlyFailed == failed} onClick={() => setQuery({ show: failed ? 'failed' : null })}>{label}</button>;
  return (
    <section class="card">
      <header class="row between wrap"><h2>{t('Deliveries')}</h2><span class="row"><span class="tabs">{tab(t('All'), false)}{tab(t('Failed'), true)}</span><Button kind="quiet" icon="rotate" label={t('Reload')} busy={loading} onClick={log.reload} /></span></header>
      {error && <div class="body"><Failure error={error} again={log.again} /></div>}
      {!entries.length && loading && <Bones rows={4} />}
      {!entries.length && !loading && !error && (onlyFailed
        ? <Empty icon="check" title={t('No failed deliveries')} action={<Button onClick={() => setQuery({ show: null })}>{t('Show all')}</Button>}>{t('Attempts are logged for 30 days.')}</Empty>
        : <Empty icon="hook" title={t('No deliveries yet')}>{t('They appear here as soon as an event of its types happens. A test message shows now whether the receiver answers.')}</Empty>)}
      {!!entries.length && (
        <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Deliveries')}><table class="list">
          <thead><tr><th scope="col">{t('Event')}</th><th scope="col">{t('Result')}</th><th scope="col">{t('Response')}</th><th scope="col" class="wide-only">{t('Duration')}</th><th scope="col" class="wide-only">{t('Attempt')}</th><th scope="col">{t('Time')}</th><th scope="col"><span class="sr">{t('Actions')}</span></th></tr></thead>
          <tbody>{entries.map((delivery) => (
            <tr key={delivery.attempt.number} data-href="" onClick={() => (open.value = delivery)}>
              <td class="cut"><button type="button" class="linkish cut" onClick={(event) => { event.stopPropagation(); open.value = delivery; }}><code>{name(delivery)}</code></button></td>
              <td><Result of={delivery} /></td><td><Response of={delivery} /></td>
              <td class="muted wide-only">{delivery.attempt.attempt ? t('{n} ms', { n: number(delivery.attempt.milliseconds) }) : '–'}</td><td class="muted wide-only">{delivery.attempt.attempt || '–'}</td>
              <td class="muted"><When at={delivery.attempt.at} /></td>
              <td class="end">{manages && delivery.eventId && <Button kind="quiet" icon="send" label={t('Resend {name}', { name: name(delivery) })} onClick={(event) => { event.stopPropagation(); resend(one, delivery); }} />}</td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
      <footer class="row between wrap"><span class="muted small">{t('Logged are each failure, the success after one, and the first success of a minute, for 30 days. What is not here was accepted at the first attempt.')}</span>{hasMore && <Button busy={loading} onClick={log.more}>{t('Load older entries')}</Button>}</footer>
      {open.value && <Report key={seg(String(open.value.attempt.number))} of={one} delivery={open.value} manages={manages} close={() => (open.value = null)} />}
    </section>
  );
};
