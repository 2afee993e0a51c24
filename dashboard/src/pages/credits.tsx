// Credits: what an agent may still spend, what an extraction costs, and everything that moved the balances.
import { agent, ApiError, Badge, Bar, Bones, Button, can, Check, Cli, Dialog, done, Empty, Failure, invalidate, Loaded, moment, number, post, quoted, seg, t, TextField, tn, useActions, useEffect, useEntries, useForm, useQuery, useSignal, When, who, type CreditAccount, type CreditLedger } from '../kit';

const root = () => `/agents/${seg(agent.value!)}/credits`;
const KINDS: Record<string, () => string> = { set: () => t('Balance set'), topUp: () => t('Topped up'), charge: () => t('Extraction'), chat: () => t('Reply of a model'), refund: () => t('Given back') };
const signed = (value: number) => (value ? (value > 0 ? '+' : '−') + number(Math.abs(value)) : '–');
/** The count that is typed into a field. */
const count = (field: string, text: string): number => {
  if (/^\d{1,15}$/.test(text.trim())) return Number(text);
  const message = t('Enter a whole number.');
  throw new ApiError(400, 'VALIDATION_ERROR', message, null, {}, [{ field, message, type: 'type' }]);
};

const TopUp = ({ close, changed }: { close: () => void; changed: () => void }) => {
  const form = useForm(`topup-${agent.value}`, { topUp: '', note: '' });
  const save = () => void form.submit(async ({ topUp, note }) => {
    await post(root(), { topUp: count('topUp', topUp), ...(note ? { note } : {}) });
    form.reset({ topUp: '', note: '' });
    done(tn(Number(topUp), '{n} credit is added', '{n} credits are added'));
    changed();
    close();
  });
  const { topUp, note } = form.values;
  const amount = /^\d+$/.test(topUp) ? topUp : '500';
  const reason = note ? ` --note ${quoted(note)}` : '';
  return (
    <Dialog title={t('Add credits')} onClose={close} foot={<><Cli line={`credits topup 500 --agent ${agent.value}`.replace('500', amount) + reason} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} onClick={save}>{t('Add credits')}</Button></>}>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        <TextField label={t('Credits')} inputmode="numeric" autofocus value={topUp} error={form.errors['topUp']} onInput={(value) => form.set('topUp', value)} />
        <TextField label={t('Reason')} hint={t('It stands in the ledger, such as the number of an order.')} value={note} error={form.errors['note']} onInput={(value) => form.set('note', value)} />
        {form.failure && <Failure error={form.failure} />}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
};
const Limits = ({ of: account, close, changed }: { of: CreditAccount; close: () => void; changed: () => void }) => {
  const initial = { isUnlimited: account.isUnlimited, plan: String(account.plan), lowAt: String(account.lowAt ?? ''), perPage: String(account.perPage), charactersPerPage: String(account.charactersPerPage) };
  const form = useForm(`credits-${agent.value}`, initial);
  const text = (field: 'plan' | 'lowAt' | 'perPage' | 'charactersPerPage') => ({ inputmode: 'numeric' as const, value: form.values[field], error: form.errors[field], onInput: (value: string) => form.set(field, value) });
  const save = () => void form.submit(async (values) => {
    const { isUnlimited, plan, lowAt, perPage, charactersPerPage } = values;
    const differs = (field: keyof typeof initial) => values[field] !== initial[field];
    // Each is a change of its own, with its own entry in the audit log. Setting the plan charges again, so it comes before.
    if (differs('perPage') || differs('charactersPerPage')) await post(root(), { perPage: count('perPage', perPage), charactersPerPage: count('charactersPerPage', charactersPerPage) });
    if (differs('lowAt')) await post(root(), { lowAt: lowAt.trim() ? count('lowAt', lowAt) : 0 });
    if (differs('plan')) await post(root(), { plan: count('plan', plan) });
    if (differs('isUnlimited') || (differs('plan') && isUnlimited)) await post(root(), { isUnlimited });
    done(t('The credits are changed'));
    changed();
    close();
  });
  return (
    <Dialog title={t('Plan and prices')} onClose={close} foot={<><Cli line={`credits set 1000 --agent ${agent.value}`} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} off={!form.dirty} onClick={save}>{t('Save')}</Button></>}>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        <Check label={t('Charge nothing; the balances stay')} checked={form.values.isUnlimited} onChange={(on) => form.set('isUnlimited', on)} />
        <div class="two">
          <TextField label={t('Balance of the plan')} hint={t('Spent before what was added.')} {...text('plan')} />
          <TextField label={t('Warn below')} hint={t('The event credits.low. Empty for none.')} {...text('lowAt')} />
          <TextField label={t('Credits of a page')} {...text('perPage')} />
          <TextField label={t('Characters of a page')} hint={t('Of documents without pages.')} {...text('charactersPerPage')} />
        </div>
        {form.failure && <Failure error={form.failure} />}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
};
const Ledger = ({ stamp }: { stamp: number }) => {
  const { entries, hasMore, loading, error, ...log } = useEntries<CreditLedger, CreditLedger['entries'][number]>(root() + '/ledger', { limit: 50 }, (page) => page);
  useEffect(() => void (stamp && log.reload()), [stamp]);
  return (
    <section class="card"><header><h2>{t('Ledger')}</h2></header>
      {error && <div class="body"><Failure error={error} again={log.again} /></div>}
      {!entries.length && loading && <Bones rows={3} />}
      {!entries.length && !loading && !error && <Empty icon="audit" title={t('No entries yet')}>{t('Every extraction, every reply that was paid and every change of a balance is listed here.')}</Empty>}
      {!!entries.length && (
        <div class="tablewrap" tabIndex={0} role="region" aria-label={t('Ledger')}><table class="list">
          <thead><tr><th scope="col">{t('Time')}</th><th scope="col">{t('What')}</th><th scope="col">{t('Plan')}</th><th scope="col">{t('Added credits')}</th><th scope="col">{t('Available')}</th><th scope="col">{t('Actor')}</th><th scope="col">{t('Reason')}</th></tr></thead>
          <tbody>{entries.map((one) => <tr key={one.id}><td class="muted" title={moment(one.at)}><When at={one.at} /></td><td>{(KINDS[one.kind] ?? (() => one.kind))()}</td><td>{signed(one.plan)}</td><td>{signed(one.topUp)}</td><td class="strong">{number(one.available)}</td><td class="cut" dir="auto">{who(one.actor)}</td><td class="cut muted" dir="auto">{one.note}</td></tr>)}</tbody>
        </table></div>
      )}
      {hasMore && <footer><Button busy={loading} onClick={log.more}>{t('Load older entries')}</Button></footer>}
    </section>
  );
};
export default () => {
  const account = useQuery<CreditAccount>(root());
  const open = useSignal<'topUp' | 'limits' | null>(null);
  const stamp = useSignal(0);
  const manages = can('credits.manage');
  const close = () => (open.value = null);
  const changed = () => {
    stamp.value++;
    invalidate(root());
  };
  useActions(manages ? [{ id: 'topup', label: t('Add credits'), icon: 'plus' as const, keys: 'n', run: () => (open.value = 'topUp') }] : []);
  return (
    <>
      <Bar crumb={t('Settings')} title={t('Credits')}>{manages && <><Button onClick={() => (open.value = 'limits')}>{t('Plan and prices')}</Button><Button kind="main" icon="plus" keys="n" onClick={() => (open.value = 'topUp')}>{t('Add credits')}</Button></>}</Bar>
      <div class="scroll"><div class="page">
        <Loaded query={account} rows={2}>{(one) => {
          const low = !one.isUnlimited && one.lowAt !== null && one.available < one.lowAt;
          const rows: [string, number][] = [[t('Available'), one.available], [t('Of the plan'), one.plan], [t('Added credits'), one.topUp], [t('Set aside for running work'), one.reserved], [t('Credits of a page'), one.perPage]];
          return (
            <>
              <div class="row wrap">{one.isUnlimited ? <Badge tone="ok" dot>{t('nothing is charged')}</Badge> : !one.available ? <Badge tone="bad" dot>{t('used up')}</Badge> : low ? <Badge tone="warn" dot>{t('low')}</Badge> : <Badge tone="ok" dot>{t('charged')}</Badge>}<span class="muted">{one.isUnlimited ? t('Extractions and replies cost this agent nothing.') : one.lowAt === null ? t('Nobody is warned before they are used up: set a threshold under Plan and prices.') : t('The event credits.low comes below {n}.', { n: number(one.lowAt) })}</span></div>
              <dl class="numbers">{rows.map(([title, value]) => <div class="number"><dt class="small muted">{title}</dt><dd class="value">{number(value)}</dd></div>)}</dl>
              {open.value == 'limits' && <Limits of={one} close={close} changed={changed} />}
            </>
          );
        }}</Loaded>
        <Ledger stamp={stamp.value} />
        <Cli line={`credits show --agent ${agent.value}`} />
      </div></div>
      {open.value == 'topUp' && <TopUp close={close} changed={changed} />}
    </>
  );
};
