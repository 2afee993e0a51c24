// The studio: how the agent looks, replies and hands over, questions to try, and the tag for web pages.
import { agent, ApiError, Badge, Bar, Button, can, changed, Check, Cli, done, download, Failure, Field, fieldLabel, get, href, invalidate, list, Loaded, merge, Notice, number, put, seg, Select, t, TextField, useActions, useForm, useKeys, useQuery, useRef, useSignal, type AgentSettings, type Form, type SchemaField, type Values } from '../kit';
import type { ComponentChildren } from 'preact';
import { Install } from './parts/studio-install';
import { Preview } from './parts/studio-preview';
import { fieldOf, LOOK, PAGES, PEOPLE, read, REPLIES, write, type Kinds, type Tree } from './parts/studio-settings';
import { Try } from './parts/studio-try';

const root = () => `/agents/${seg(agent.value!)}/settings`;
interface Named {
  label: string;
  error: string | undefined;
}
interface Edit {
  form: Form<Values>;
  /** The name of a field, and what is wrong with it; with its value for a text, a choice and a box. */
  field: (path: string, label: string) => Named;
  text: (path: string, label: string) => Named & { value: string; onInput: (value: string) => void };
  choice: (path: string, label: string) => Named & { value: string; onChange: (value: string) => void };
  flag: (path: string, label: string) => { label: string; checked: boolean; onChange: (checked: boolean) => void };
  settings: AgentSettings;
}
type Fields = (edit: Edit) => ComponentChildren;

const Card = ({ title, hint, children }: { title: string; hint?: string; children: ComponentChildren }) => (
  <section class="card"><header><h2>{title}</h2></header><div class="body stack">{hint && <p class="muted">{hint}</p>}{children}</div></section>
);
const Look: Fields = ({ form, field, text, choice }) => (
  <>
    <Card title={t('Head')}>
      <TextField placeholder={t('The agent’s name')} {...text('appearance.title', t('Title'))} />
      <TextField {...text('appearance.subtitle', t('Subtitle'))} />
      <TextField type="url" placeholder="https://" hint={t('On the widget host or a host of the list under Install.')} {...text('appearance.avatar', t('Address of an image'))} />
    </Card>
    <Card title={t('Colours and position')}>
      <div class="two">
        <Field {...field('appearance.color', t('Colour'))} hint={t('The widget picks text that is readable on it.')}>{(props) => <span class="row"><input type="color" class="swatch" aria-label={t('Pick a colour')} value={/^#[\da-f]{6}$/i.test(String(form.values['appearance.color'])) ? String(form.values['appearance.color']) : '#000000'} onInput={(event) => form.set('appearance.color', event.currentTarget.value)} /><input class="input mono" value={String(form.values['appearance.color'])} spellcheck={false} onInput={(event) => form.set('appearance.color', event.currentTarget.value)} {...props} /></span>}</Field>
        <Select options={[['auto', t('As the page')], ['light', t('Light')], ['dark', t('Dark')]]} {...choice('appearance.theme', t('Theme'))} />
        <Select options={[['', t('By the language of the page')], ['bottom-right', t('Bottom right')], ['bottom-left', t('Bottom left')]]} {...choice('appearance.position', t('Position'))} />
      </div>
    </Card>
    <Card title={t('Words')}>
      <TextField rows={3} {...text('appearance.greeting', t('Greeting'))} />
      <TextField rows={3} hint={t('One on each line, at most six.')} {...text('appearance.suggestions', t('Suggested questions'))} />
      <TextField {...text('appearance.teaser.text', t('Teaser next to the launcher'))} />
      <TextField placeholder={t('In the language of the visitor')} {...text('appearance.disclosure', t('Notice that an AI answers'))} />
      <TextField {...text('appearance.footer', t('Text at the bottom'))} />
      <TextField type="url" placeholder="https://" {...text('appearance.privacyUrl', t('Privacy policy'))} />
    </Card>
  </>
);
const Replies: Fields = ({ form, text, choice, settings }) => {
  const responder = String(form.values['chat.responder']);
  const names: Record<string, string> = { knowledge: t('Passages of your documents, without a model'), llm: t('A language model') };
  const known = settings.responders.includes(responder) ? settings.responders : [...settings.responders, responder];
  return (
    <>
      <Card title={t('Who answers')}>
        <Select {...choice('chat.responder', t('Responder'))} options={known.map((one): [string, string] => [one, names[one] ?? one])} hint={settings.responders.includes('llm') ? undefined : t('This server has no language model. The operator configures one with --llm-endpoint.')} />
        <TextField inputmode="numeric" hint={t('How sure the agent must be that its documents answer. Try shows the coverage of a question.')} {...text('chat.minCoverage', t('Needed coverage, 0 to 1'))} />
        <TextField inputmode="numeric" hint={t('Beyond them visitors get the form. 0 is no limit.')} {...text('chat.turnsPerDay', t('Replies a day'))} />
      </Card>
      {responder != 'knowledge' && (
        <Card title={t('Model')}>
          <TextField rows={8} hint={t('Tone, scope, what never to say. At most 8,000 characters.')} {...text('chat.instructions', t('Instructions'))} />
          <div class="two">
            <TextField hint={t('Its name in the settings of the server.')} {...text('chat.llm.endpoint', t('Endpoint'))} />
            <TextField placeholder={t('The endpoint’s own')} {...text('chat.llm.model', t('Model'))} />
            <Select options={[['strict', t('your documents only')], ['open', t('general knowledge too, marked as such')]]} {...choice('chat.llm.grounding', t('May answer from'))} />
            <Select options={[['knowledge', t('answer from passages')], ['error', t('show an error')]]} {...choice('chat.fallback', t('When the model fails'))} />
            <TextField inputmode="numeric" {...text('chat.llm.temperature', t('Temperature, 0 to 2'))} />
            <TextField inputmode="numeric" {...text('chat.llm.maxOutputTokens', t('Tokens of a reply'))} />
            <TextField inputmode="numeric" {...text('chat.llm.contextTokens', t('Tokens of a prompt'))} />
            <TextField inputmode="numeric" hint={t('0 is no limit.')} {...text('chat.llm.tokensPerDay', t('Tokens a day'))} />
            <TextField inputmode="numeric" placeholder={t('No limit')} {...text('chat.llm.costPerDay', t('Cost a day'))} />
          </div>
        </Card>
      )}
    </>
  );
};
const LeadFields = ({ edit }: { edit: Edit }) => {
  const schema = useQuery<{ fields: SchemaField[]; customFields: SchemaField[] }>(`/agents/${seg(agent.value!)}/contact-schema`);
  const chosen = edit.form.values['lead.fields'] as string[];
  const { error } = edit.field('lead.fields', t('Form'));
  const toggle = (name: string, on: boolean) => edit.form.set('lead.fields', on ? [...chosen, name] : chosen.filter((one) => one != name));
  return (
    <Loaded query={schema} rows={3}>{(one) => {
      const named = [...one.fields.map((field) => ({ ...field, at: field.name })), ...one.customFields.map((field) => ({ ...field, at: 'customFields.' + field.name }))];
      const all = named.filter((field) => !field.sensitive).map((field): [string, string] => [field.at, fieldLabel(field)]);
      const offered = all.filter(([name]) => !/^(id|createdAt|updatedAt|isArchived|customFields|tags|source|status|externalReferenceId)$/.test(name));
      return <fieldset class="stack tight"><legend>{t('Fields of the form, in the order in which you tick them')}</legend><div class="choices">{offered.map(([name, label]) => <Check label={label} checked={chosen.includes(name)} onChange={(on) => toggle(name, on)} />)}</div>{error && <span class="wrong">{error}</span>}</fieldset>;
    }}</Loaded>
  );
};
const People: Fields = (edit) => {
  const { form, text, flag } = edit;
  return (
    <>
      <Card title={t('Handover to people')}>
        <Check {...flag('chat.handoff.enabled', t('Visitors may ask for a person'))} />
        <TextField inputmode="numeric" {...text('chat.handoff.timeoutMinutes', t('Minutes without a reply until the agent answers again'))} />
        <Check {...flag('emailReplies', t('E-mail replies that a visitor does not read'))} />
        <Check {...flag('feedback', t('Visitors may rate replies'))} />
      </Card>
      <Card title={t('Form')} hint={t('What a visitor leaves becomes a contact. Without fields there is no form.')}>
        <LeadFields edit={edit} />
        <Check {...flag('lead.prechat', t('Ask before the first message'))} />
        <TextField rows={2} placeholder={t('No consent is asked for')} {...text('lead.consent.text', t('Consent'))} />
        {!!form.values['lead.consent.text'] && <div class="two"><TextField hint={t('Stored with each consent. Change it with the text.')} {...text('lead.consent.version', t('Version of this text'))} /><Check {...flag('lead.consent.required', t('The form requires it'))} /></div>}
      </Card>
      <Card title={t('Files and retention')}>
        <Check {...flag('uploads.enabled', t('Visitors may send files'))} />
        {!!form.values['uploads.enabled'] && <TextField rows={3} hint={t('One extension on each line.')} {...text('uploads.types', t('Types of files'))} />}
        <TextField inputmode="numeric" hint={t('Counted from its last message, 1 to 3,650. It also holds for existing conversations.')} {...text('retentionDays', t('Days until a conversation is erased'))} />
      </Card>
    </>
  );
};
const Pages: Fields = ({ text, flag }) => (
  <Card title={t('Pages')}>
    <TextField rows={3} hint={t('One origin on each line, such as https://www.example.com or https://*.example.com. Empty for every page.')} {...text('origins', t('Pages that may show the agent'))} />
    <TextField rows={2} {...text('imageHosts', t('Hosts of images in replies'))} />
    <TextField rows={2} {...text('linkHosts', t('Hosts that replies may link to'))} />
    <Check {...flag('onlyLinkHosts', t('Link to these hosts only, not to those of the documents'))} />
  </Card>
);

/** What a save and its undo share. */
const store = async (settings: Tree, version: string | null) => {
  const reply = await put<AgentSettings>(root(), { settings }, version);
  invalidate(root());
  return reply;
};
/** A part of the settings as a form. What a colleague saves meanwhile is taken over where nothing was typed. */
const Editor = ({ data, etag, kinds, name, children, side, above }: { data: AgentSettings; etag: string | null; kinds: Kinds; name: string; children: Fields; side?: (values: Values) => ComponentChildren; above?: ComponentChildren }) => {
  const now = read(data.settings as Tree, kinds);
  const form = useForm<Values>(`settings-${agent.value}-${name}`, now);
  const theirs = useSignal<string[]>([]);
  /** What the changes were made on. */
  const on = useSignal({ settings: data.settings as Tree, etag });
  // A newer state that nobody here has touched is taken over. What was read before a save is not.
  const seen = useSignal(etag);
  if (!form.dirty && seen.value != etag) {
    seen.value = etag;
    on.value = { settings: data.settings as Tree, etag };
    if (Object.keys(changed(form.base, now)).length) form.rebase(now, now);
  }
  const writes = can('studio.write');
  const save = () => void form.submit(async (values) => {
    try {
      const before = on.value.settings;
      const reply = await store(write(before, kinds, values), on.value.etag);
      on.value = { settings: reply.data.settings as Tree, etag: reply.etag };
      theirs.value = [];
      done(t('Saved. Pages follow within a minute.'), () => store(before, reply.etag));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status == 412) {
        const reply = await get<AgentSettings>(root());
        on.value = { settings: reply.data.settings as Tree, etag: reply.etag };
        const latest = read(on.value.settings, kinds);
        const merged = merge(form.base, values, latest);
        theirs.value = [...merged.others, ...merged.conflicts.map((one) => one.field)];
        form.rebase(latest, { ...latest, ...Object.fromEntries([...merged.yours, ...merged.conflicts.map((one) => one.field)].map((field) => [field, values[field]])) });
        invalidate(root());
        throw new ApiError(0, 'CANCELLED', '');
      }
      throw new ApiError(error.status, error.code, error.message, error.requestId, error.details, error.fields.map((one) => ({ ...one, field: fieldOf(one.field) })), error.retryAfter);
    }
  });
  useKeys([{ key: 'mod+s', label: t('Save'), run: save }]);
  /** What the settings are called on the page. */
  const names = useRef<Record<string, string>>({});
  const field = (path: string, label: string): Named => {
    names.current[path] = label;
    return { label, error: form.errors[path] };
  };
  const edit: Edit = {
    form, settings: data, field,
    text: (path, label) => ({ ...field(path, label), value: String(form.values[path] ?? ''), onInput: (value) => form.set(path, value) }),
    choice: (path, label) => ({ ...field(path, label), value: String(form.values[path]), onChange: (value) => form.set(path, value) }),
    flag: (path, label) => ({ label: field(path, label).label, checked: form.values[path] === true, onChange: (on) => form.set(path, on) }),
  };
  return (
    <>
      <div class="scroll grow"><div class={side ? 'page studio' : 'page narrow'}>
        {above}
        <form class="stack loose" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
          {!writes && <Notice><span>{t('Your role shows the settings but does not change them.')}</span></Notice>}
          {!!theirs.value.length && <Notice tone="warn"><span>{t('A colleague saved at the same time and changed {names}. Your changes are still here: look and save again.', { names: list(theirs.value.map((one) => names.current[one] ?? one)) })}</span></Notice>}
          {form.restored && form.dirty && <Notice tone="info"><div class="row between wrap"><span>{t('Your unsaved input from before is back.')}</span><Button onClick={() => form.reset()}>{t('Discard')}</Button></div></Notice>}
          {form.failure && <Failure error={form.failure} />}
          <fieldset class="stack loose plain" disabled={!writes}>{children(edit)}</fieldset>
          <button type="submit" hidden />
          <Cli line={`agents configure ${agent.value} --file settings.json`} />
        </form>
        {side?.(form.values)}
      </div></div>
      {writes && form.dirty && <div class="savebar"><Button kind="main" keys="mod+s" busy={form.busy} onClick={save}>{t('Save')}</Button><Button onClick={() => form.reset()}>{t('Discard')}</Button><span class="muted small">{t('Not saved yet')}</span></div>}
    </>
  );
};
const TABS: [string, () => string][] = [['', () => t('Look')], ['replies', () => t('Replies')], ['people', () => t('Form and people')], ['try', () => t('Try')], ['install', () => t('Install')]];
const pathOf = (tab: string) => `/a/${seg(agent.value!)}/studio${tab ? '/' + tab : ''}`;
const save = async () => {
  const { data } = await get<AgentSettings>(root());
  download('settings.json', new Blob([JSON.stringify(data.settings, null, 2)], { type: 'application/json' }));
};
export default ({ rest }: { rest: string[] }) => {
  const tab = rest[0] ?? '';
  const settings = useQuery<AgentSettings>(root());
  useActions([{ id: 'settings', label: t('Download the settings'), icon: 'file' as const, run: () => void save() }]);
  const editor = (kinds: Kinds, children: Fields, more: { side?: (values: Values) => ComponentChildren; above?: ComponentChildren } = {}) => <Loaded query={settings}>{(data) => <Editor key={tab} data={data} etag={settings.etag} kinds={kinds} name={tab || 'look'} {...more}>{children}</Editor>}</Loaded>;
  const shown: Record<string, () => ComponentChildren> = {
    '': () => editor(LOOK, Look, { side: (values) => <Preview values={values} /> }),
    replies: () => editor(REPLIES, Replies),
    people: () => editor(PEOPLE, People),
    try: () => <div class="scroll grow"><Try /></div>,
    install: () => editor(PAGES, Pages, { above: <Install /> }),
  };
  const passages = settings.data ? number(Number((settings.data.settings as { chat: { minCoverage: number } }).chat.minCoverage)) : null;
  return (
    <>
      <Bar title={t('Agent')}>{tab == 'try' && passages && <Badge>{t('needs coverage {n}', { n: passages })}</Badge>}</Bar>
      <div class="filter"><nav class="tabs" aria-label={t('Parts of the agent')}>{TABS.map(([name, label]) => <a class="tab" href={href(pathOf(name))} aria-current={name == tab ? 'page' : undefined}>{label()}</a>)}</nav></div>
      {(shown[tab] ?? shown['']!)()}
    </>
  );
};
