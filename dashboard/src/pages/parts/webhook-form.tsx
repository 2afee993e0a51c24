// The dialog of a new webhook, and of a change: URL, types of events, order.
import {
  agent, ApiError, Button, Check, Cli, Dialog, done, Failure, get, holds, invalidate, Loaded, patch, post, quoted, same, Search, seg, t, TextField, tn, useForm, useKeys, useLayoutEffect, useQuery, useRef, useSignal,
  type Form, type IssuedWebhook, type WebhookEndpoint, type WebhookEventType,
} from '../../kit';
import { groupsOf, namesOf, operation, root, shortUrl, typesOf } from './webhook-parts';

interface Values extends Record<string, unknown> {
  url: string;
  description: string;
  all: boolean;
  names: string[];
  ordered: boolean;
  oldest: boolean;
}
const toForm = (one: WebhookEndpoint | null, catalogue: readonly WebhookEventType[]): Values => ({
  url: one?.url ?? '',
  description: one?.description ?? '',
  all: one ? one.types.includes('*') : true,
  names: one && !one.types.includes('*') ? namesOf(one.types, catalogue) : [],
  ordered: one?.mode == 'ordered',
  oldest: false,
});
const toBody = (values: Values, catalogue: readonly WebhookEventType[]) => ({
  url: values.url.trim(),
  types: values.all ? ['*'] : typesOf(values.names, catalogue),
  mode: values.ordered ? 'ordered' : 'parallel',
  description: values.description.trim() || null,
});
/** A box of a whole group, ticked in part where some of it are chosen. */
const GroupBox = ({ label, some, every, onChange }: { label: string; some: boolean; every: boolean; onChange: (on: boolean) => void }) => (
  <label class="check strong"><input type="checkbox" ref={(element) => { if (element) element.indeterminate = some && !every; }} checked={every} onChange={(event) => onChange(event.currentTarget.checked)} /><code>{label}</code></label>
);
/** The types by group, with a field that searches names and descriptions. */
const Types = ({ form, catalogue }: { form: Form<Values>; catalogue: readonly WebhookEventType[] }) => {
  const search = useSignal('');
  const { all, names } = form.values;
  const words = search.value.split(/\s+/).filter(Boolean);
  const fits = (one: WebhookEventType) => words.every((word) => holds(`${one.type} ${one.description}`, word));
  const set = (types: string[], on: boolean) => form.set('names', catalogue.map((one) => one.type).filter((type) => (types.includes(type) ? on : names.includes(type))));
  const groups = groupsOf(catalogue.filter(fits));
  const error = form.errors['types'];
  return (
    <fieldset class="stack tight">
      <legend>{t('Events')}</legend>
      <Check type="radio" name="types" label={t('All events, and types that are added later')} checked={all} onChange={() => form.set('all', true)} />
      <Check type="radio" name="types" label={t('Selected types')} checked={!all} onChange={() => form.set('all', false)} />
      {!all && (
        <div class="card types" role="group" aria-label={t('Types of events')}>
          <div class="typesearch"><Search label={t('Search types')} value={search.value} onInput={(value) => (search.value = value)} /><span class="muted small" aria-live="polite">{tn(names.length, '{n} selected', '{n} selected')}</span></div>
          <div class="typelist" tabIndex={0}>
            {groups.map(([group, members]) => {
              const types = members.map((one) => one.type);
              const chosen = types.filter((type) => names.includes(type));
              return (
                <section key={group}>
                  {members.length > 1 && <GroupBox label={`${group}.*`} some={!!chosen.length} every={chosen.length == types.length} onChange={(on) => set(types, on)} />}
                  {members.map((one) => <Check key={one.type} label={<><code>{one.type}</code> <span class="muted small">{one.description}</span></>} checked={names.includes(one.type)} onChange={(on) => set([one.type], on)} />)}
                </section>
              );
            })}
            {!groups.length && <p class="muted">{t('No type matches “{text}”.', { text: search.value })}</p>}
          </div>
        </div>
      )}
      {error && <span class="wrong" role="alert">{error}</span>}
    </fieldset>
  );
};
const flags = (values: Values, types: string[], isNew: boolean) =>
  (values.all ? (isNew ? '' : " --type '*'") : types.map((type) => ` --type ${quoted(type)}`).join('')) + (values.ordered ? ' --mode ordered' : isNew ? '' : ' --mode parallel') + (values.description ? ` --description ${quoted(values.description)}` : '') + (isNew && values.oldest ? ' --from oldest' : '');

interface Props {
  of?: { webhook: WebhookEndpoint; etag: string | null };
  close: () => void;
  /** What is done with a new webhook and its secret. */
  issued?: (one: IssuedWebhook) => void;
}
const Body = ({ of: known, close, issued, catalogue }: Props & { catalogue: readonly WebhookEventType[] }) => {
  // What the changes are made on stays while the dialog is open: progress of the webhook changes nothing in it.
  const on = useRef(known);
  const form = useForm<Values>(on.current ? `webhook-${on.current.webhook.id}` : `webhook-new-${agent.value}`, toForm(on.current?.webhook ?? null, catalogue));
  // The catalogue may come after the dialog has opened.
  useLayoutEffect(() => document.querySelector<HTMLElement>('dialog [autofocus]')?.focus(), []);
  const { values } = form;
  const text = (field: 'url' | 'description') => ({ value: values[field], error: form.errors[field], onInput: (value: string) => form.set(field, value) });
  const create = async () => {
    const { data } = await post<IssuedWebhook>(root(), { ...toBody(values, catalogue), from: values.oldest ? 'oldest' : 'now' });
    form.reset(toForm(null, catalogue));
    return data;
  };
  /** Sends what differs. Where a colleague was faster, takes over what only the colleague has changed. */
  const edit = async ({ webhook, etag }: NonNullable<Props['of']>) => {
    const before: Record<string, unknown> = toBody(toForm(webhook, catalogue), catalogue);
    const changes = Object.fromEntries(Object.entries(toBody(values, catalogue)).filter(([name, value]) => !same(value, before[name])));
    try {
      await patch(operation(webhook), changes, etag);
    } catch (error) {
      if (error instanceof ApiError && error.status == 412) {
        const current = await get<WebhookEndpoint>(operation(webhook));
        const mine = Object.fromEntries(Object.entries(values).filter(([field, value]) => !same(value, form.base[field])));
        on.current = { webhook: current.data, etag: current.etag };
        const theirs = toForm(current.data, catalogue);
        form.rebase(theirs, { ...theirs, ...mine });
      }
      throw error;
    }
    done(t('{name} is saved', { name: shortUrl(values.url) }));
  };
  const save = () => void form.submit(async () => {
    const made = on.current ? void (await edit(on.current)) : await create();
    invalidate(root());
    close();
    if (made) issued?.(made);
  });
  const button = on.current ? t('Save') : t('Create webhook');
  useKeys([{ key: 'mod+Enter', label: button, run: save }, { key: 'mod+s', label: button, run: save, hidden: true }]);
  const example = values.url.trim() || 'https://www.example.com/webhooks';
  const types = toBody(values, catalogue).types;
  const one = on.current?.webhook;
  const url = one && values.url != one.url ? ` --url ${quoted(example)}` : '';
  return (
    <>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        <TextField type="url" inputmode="url" label={t('URL')} autofocus autocomplete="off" mono placeholder="https://www.example.com/webhooks" hint={t('An https address of yours that answers each POST with 2xx within 15 seconds.')} {...text('url')} />
        <TextField label={t('Description')} hint={t('What receives the events, such as “CRM of the head office”.')} {...text('description')} />
        <Types form={form} catalogue={catalogue} />
        <fieldset class="stack tight">
          <legend>{t('Order')}</legend>
          <Check type="radio" name="order" label={<>{t('As fast as possible')} <span class="muted small">{t('A failed event is retried while others are sent.')}</span></>} checked={!values.ordered} onChange={() => form.set('ordered', false)} />
          <Check type="radio" name="order" label={<>{t('One at a time, in order')} <span class="muted small">{t('A failed event holds back those after it.')}</span></>} checked={values.ordered} onChange={() => form.set('ordered', true)} />
          {form.errors['mode'] && <span class="wrong" role="alert">{form.errors['mode']}</span>}
        </fieldset>
        {!one && <Check label={t('Also send the events that the log still has')} checked={values.oldest} onChange={(oldest) => form.set('oldest', oldest)} />}
        {form.restored && form.dirty && <p class="muted small row wrap">{t('Restored from before the reload.')} <Button kind="quiet" onClick={() => form.reset()}>{t('Discard')}</Button></p>}
        {form.failure && <Failure error={form.failure} />}
        <button type="submit" hidden />
      </form>
      <div class="row wrap actions-end">{one ? <Cli line={`webhooks edit ${one.id} --agent ${agent.value}${url + flags(values, types, false)}`} /> : <Cli line={`webhooks create ${quoted(example)} --agent ${agent.value}${flags(values, types, true)}`} />}<Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} off={(!values.all && !values.names.length) || (!!one && !form.dirty)} keys="mod+Enter" onClick={save}>{button}</Button></div>
    </>
  );
};
/** The dialog. The types are those that the server knows. */
export const WebhookForm = (props: Props) => {
  const catalogue = useQuery<readonly WebhookEventType[]>(root('/catalogue'));
  const title = props.of ? t('Edit {name}', { name: shortUrl(props.of.webhook.url) }) : t('New webhook');
  return <Dialog title={title} kind="wide" onClose={props.close}><Loaded query={catalogue} rows={4}>{(data) => <Body key={seg(props.of?.webhook.id ?? 'new')} {...props} catalogue={data} />}</Loaded></Dialog>;
};
