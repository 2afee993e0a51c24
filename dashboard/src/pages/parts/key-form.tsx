// The form of a key: name, permissions with their sentence, rates, addresses, end.
import { Button, Cli, Failure, list, number, sentences, t, TextField, useKeys, useMemo, type Form, type Key } from '../../kit';

/** A scope of permissions, with the names of the service's specification. */
export interface Scope {
  name: string;
  title: () => string;
  short: () => string;
  /** What its records are called in a sentence. */
  noun: () => string;
  /** What a key can do with them, as a sentence. */
  can: (actions: string) => string;
  actions: string[];
  /** Not a column of the list. */
  later?: boolean;
}
export const SCOPES: Scope[] = [
  { name: 'contacts', title: () => t('Contact Access'), short: () => t('Contacts'), noun: () => t('contacts and their files'), can: (actions) => t('Can {actions} contacts and their files.', { actions }), actions: ['create', 'read', 'update', 'delete'] },
  { name: 'forms', title: () => t('Forms Access'), short: () => t('Forms'), noun: () => t('forms and submissions'), can: (actions) => t('Can {actions} forms and submissions.', { actions }), actions: ['create', 'read', 'update'] },
  { name: 'document-extraction', title: () => t('Document Extraction Access'), short: () => t('Extraction'), noun: () => t('document extractions'), can: (actions) => t('Can {actions} document extractions.', { actions }), actions: ['create', 'read'] },
  { name: 'events', title: () => t('Event Access'), short: () => t('Events'), noun: () => t('events'), can: (actions) => t('Can {actions} events.', { actions }), actions: ['read'], later: true },
];
export const ACTIONS = ['create', 'read', 'update', 'delete'];
/** An action in words. */
export const actionName = (action: string): string => ({ create: t('create'), read: t('read'), update: t('update'), delete: t('delete') })[action] ?? action;
/** The permissions as a sentence: what the key can do, and what it cannot. */
export const sentence = (permissions: readonly string[]): string => {
  const can = SCOPES.flatMap((scope) => {
    const allowed = scope.actions.filter((action) => permissions.includes(`${scope.name}:${action}`));
    return allowed.length ? [scope.can(list(allowed.map(actionName)))] : [];
  });
  const cannot = SCOPES.filter((scope) => !scope.later && !permissions.some((one) => one.startsWith(scope.name + ':'))).map((scope) => scope.noun());
  const noDelete = permissions.some((one) => one.startsWith('contacts:')) && !permissions.includes('contacts:delete');
  if (!can.length) return t('No access yet. Select at least one permission.');
  return sentences(...can, noDelete && t('Cannot delete contacts.'), cannot.length && t('Has no access to {things}.', { things: list(cannot) }));
};
const ENDPOINTS: Record<string, [string, string][]> = {
  'contacts:create': [['POST', '/contacts/chatbots/{agent}'], ['POST', '/contacts/…/files']],
  'contacts:read': [['GET', '/contacts/chatbots/{agent}'], ['GET', '/contacts/…'], ['GET', '/contacts/…/files']],
  'contacts:update': [['PUT', '/contacts/…'], ['POST', '/contacts/…/archive']],
  'contacts:delete': [['DELETE', '/contacts/…/files/{file}']],
  'forms:create': [['POST', '/forms/…/submissions']],
  'forms:read': [['GET', '/forms/chatbots/{agent}/templates'], ['GET', '/forms/…/submissions']],
  'forms:update': [['PUT', '/forms/…/submissions/{submission}']],
  'document-extraction:create': [['POST', '/document-extraction/chatbots/{agent}']],
  'document-extraction:read': [['GET', '/document-extraction/chatbots/{agent}/health']],
  'events:read': [['GET', '/events/chatbots/{agent}']],
};
export interface KeyValues extends Record<string, unknown> {
  name: string;
  description: string;
  permissions: string[];
  perMinute: string;
  perHour: string;
  addresses: string;
  expires: string;
}
/** The values of a key; of none, those of a new one. */
export const toForm = (key: Key | null): KeyValues => ({
  name: key?.name ?? '',
  description: key?.description ?? '',
  permissions: [...(key?.permissions ?? [])],
  perMinute: String(key?.perMinute ?? 60),
  perHour: String(key?.perHour ?? 1000),
  addresses: key?.allowedAddresses.join(', ') ?? '',
  expires: key?.expiresAt ? local(key.expiresAt) : '',
});
const local = (at: string) => {
  const date = new Date(at);
  return new Date(date.valueOf() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
};
const end = (values: KeyValues) => (values.expires ? new Date(values.expires).toISOString() : null);
/** What is sent: everything of a new key, the differences of one that exists. */
export const toBody = (values: KeyValues, key: Key | null = null): Record<string, unknown> => {
  const all: Record<string, unknown> = {
    name: values.name.trim(),
    description: values.description.trim() || null,
    permissions: values.permissions,
    perMinute: Number(values.perMinute),
    perHour: Number(values.perHour),
    allowedAddresses: values.addresses.split(/[\s,]+/).filter(Boolean),
    expiresAt: end(values),
  };
  if (!key) return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
  const before = toBody(toForm(key));
  return Object.fromEntries(Object.entries(all).filter(([name, value]) => JSON.stringify(value) != JSON.stringify(before[name] ?? null)));
};
const PRESETS: [() => string, string[]][] = [
  [() => t('CRM sync'), ['contacts:create', 'contacts:read', 'contacts:update']],
  [() => t('Read only'), ['contacts:read', 'forms:read', 'document-extraction:read']],
  [() => t('Forms'), ['contacts:read', 'forms:create', 'forms:read']],
  [() => t('Extraction'), ['document-extraction:create', 'document-extraction:read']],
];
/** The name of a scope, which is short on a phone. */
export const ScopeName = ({ of: scope }: { of: Scope }) => <><span class="wide-only">{scope.title()}</span><span class="narrow-only">{scope.short()}</span></>;
const Grid = ({ form }: { form: Form<KeyValues> }) => {
  const chosen = form.values.permissions;
  const order = SCOPES.flatMap((scope) => scope.actions.map((action) => `${scope.name}:${action}`));
  const set = (names: string[], on: boolean) => form.set('permissions', order.filter((one) => (names.includes(one) ? on : chosen.includes(one))));
  return (
    <fieldset class="stack">
      <legend class="row between wide"><span>{t('Permissions')}</span></legend>
      <div class="row wrap" role="group" aria-label={t('Presets')}>{PRESETS.map(([label, names]) => <Button kind="chip" pressed={names.length == chosen.length && names.every((one) => chosen.includes(one))} onClick={() => form.set('permissions', order.filter((one) => names.includes(one)))}>{label()}</Button>)}</div>
      <div class="card tablewrap"><table class="grid">
        <thead><tr><th scope="col"><span class="sr">{t('Scope')}</span></th>{ACTIONS.map((action) => <th scope="col">{actionName(action)}</th>)}</tr></thead>
        <tbody>
          {SCOPES.map((scope) => {
            const names = scope.actions.map((action) => `${scope.name}:${action}`);
            const all = names.every((one) => chosen.includes(one));
            return (
              <tr>
                <th scope="row"><button type="button" class="linkish" title={all ? t('Clear {scope}', { scope: scope.title() }) : t('Allow all of {scope}', { scope: scope.title() })} onClick={() => set(names, !all)}><ScopeName of={scope} /></button></th>
                {ACTIONS.map((action) => <td>{scope.actions.includes(action) && <label class="cell"><input type="checkbox" aria-label={`${scope.title()}: ${actionName(action)}`} checked={chosen.includes(`${scope.name}:${action}`)} onChange={(event) => set([`${scope.name}:${action}`], event.currentTarget.checked)} /></label>}</td>)}
              </tr>
            );
          })}
        </tbody>
      </table></div>
      <p aria-live="polite" class={chosen.length ? '' : 'muted'}>{sentence(chosen)}</p>
      {form.errors['permissions'] && <span class="wrong" role="alert">{form.errors['permissions']}</span>}
      {!!chosen.length && (
        <details><summary>{t('Endpoints that this key can call')}</summary>
          <ul class="endpoints">{chosen.flatMap((one) => (ENDPOINTS[one] ?? []).map(([method, path]) => <li><code><span class="method">{method}</span> /v1/open{path}</code></li>))}</ul>
        </details>
      )}
    </fieldset>
  );
};
/** The form. */
export const KeyForm = ({ form, save, button, cancel, cli }: { form: Form<KeyValues>; save: () => void; button: string; cancel: string; cli: string }) => {
  const text = (field: keyof KeyValues & string, also = field) => ({ value: String(form.values[field]), onInput: (value: string) => form.set(field, value), error: form.errors[field] || form.errors[also] });
  useKeys([{ key: 'mod+s', label: button, run: save }, { key: 'mod+Enter', label: button, run: save, hidden: true }]);
  const tooMany = useMemo(() => Number(form.values.perMinute) > Number(form.values.perHour), [form.values]);
  return (
    <form class="stack loose" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
      <div class="stack">
        <TextField label={t('Name')} autofocus hint={t('Who uses it, such as “CRM sync”.')} {...text('name')} />
        <TextField label={t('Description')} rows={2} {...text('description')} />
      </div>
      <Grid form={form} />
      <details open={form.values.perMinute != '60' || form.values.perHour != '1000' || !!form.values.addresses || !!form.values.expires || undefined}>
        <summary>{t('Rate limits, addresses, expiry')}</summary>
        <div class="stack inset">
          <div class="two">
            <TextField label={t('Requests a minute')} type="number" min={1} max={1000} hint={t('1 to {n}', { n: number(1000) })} {...text('perMinute')} error={tooMany ? t('At most the number an hour') : form.errors['perMinute']} />
            <TextField label={t('Requests an hour')} type="number" min={1} max={10000} hint={t('1 to {n}', { n: number(10000) })} {...text('perHour')} />
          </div>
          <TextField label={t('Allowed addresses')} mono placeholder="192.0.2.7, 2001:db8::/32" hint={t('IP addresses and CIDR blocks, separated by commas. Leave empty to allow any.')} {...text('addresses', 'allowedAddresses')} />
          <TextField label={t('Expires')} type="datetime-local" hint={t('Leave empty for a key that never expires.')} {...text('expires', 'expiresAt')} />
        </div>
      </details>
      {form.restored && form.dirty && <p class="muted small row wrap">{t('Restored from before the reload.')} <Button kind="quiet" onClick={() => form.reset()}>{t('Discard')}</Button></p>}
      {form.failure && <Failure error={form.failure} />}
      <div class="row wrap"><Button type="submit" kind="main" keys="mod+s" busy={form.busy}>{button}</Button><Button href={cancel}>{t('Cancel')}</Button></div>
      <Cli line={cli} />
    </form>
  );
};
