// The agents that the operator may open, and a new one.
import { agent, agents, Badge, Bar, Button, can, choose, Cli, Dialog, done, Empty, Failure, href, Icon, Mark, navigate, post, quoted, readAgents, t, TextField, useActions, useForm, useSignal, When, type Agent } from '../kit';

const New = ({ close }: { close: () => void }) => {
  const form = useForm('agent-new', { name: '', id: '' });
  const text = (field: 'name' | 'id') => ({ value: form.values[field], onInput: (value: string) => form.set(field, value), error: form.errors[field] });
  const save = () => void form.submit(async ({ name, id }) => {
    const { data } = await post<Agent>('/agents', { name, ...(id ? { id } : {}) });
    await readAgents();
    choose(data.id);
    done(t('{name} is created', { name }));
    close();
    navigate(`/a/${encodeURIComponent(data.id)}`);
  });
  return (
    <Dialog title={t('New agent')} onClose={close} foot={<><Cli line={`agents create ${quoted(form.values.name || '…')}${form.values.id ? ` --id ${quoted(form.values.id)}` : ''}`} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} onClick={save}>{t('Create agent')}</Button></>}>
      <form class="stack" onSubmit={(event) => { event.preventDefault(); save(); }}>
        <p class="muted">{t('An agent has its own contacts, conversations, knowledge and keys. Nothing is shared with other agents.')}</p>
        <TextField label={t('Name')} autofocus {...text('name')} />
        <TextField label={t('ID')} mono hint={t('Used in Open API URLs and in the widget’s tag. Letters, digits, - and _. Leave empty to generate one. It cannot be changed later.')} {...text('id')} />
        {form.failure && <Failure error={form.failure} />}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
};
export default () => {
  const creating = useSignal(false);
  const manage = can('agents.manage', null);
  const all = agents.value ?? [];
  useActions(manage ? [{ id: 'new', label: t('New agent'), icon: 'plus', keys: 'n', run: () => (creating.value = true) }] : []);
  return (
    <>
      <Bar title={t('Agents')}>{manage && <Button kind="main" icon="plus" keys="n" onClick={() => (creating.value = true)}>{t('New agent')}</Button>}</Bar>
      <div class="scroll">
        {all.length ? (
          <div class="page">
            <ul class="card todo">
              {all.map((one) => (
                <li key={one.id}><a href={href(`/a/${encodeURIComponent(one.id)}`)}>
                  <Mark name={one.name} /><span class="strong cut" dir="auto">{one.name}</span><code class="muted small cut">{one.id}</code>
                  <span class="grow" />{one.id == agent.value && <Badge tone="accent">{t('current')}</Badge>}{one.status == 'disabled' && <Badge dot open>{t('agent disabled')}</Badge>}
                  <span class="muted small wide-only"><When at={one.createdAt} /></span><Icon name="chevron" />
                </a></li>
              ))}
            </ul>
          </div>
        ) : <Empty icon="bot" title={t('No agents yet')} cli='agents create "Mill Lane Practice"' action={manage && <Button kind="main" icon="plus" onClick={() => (creating.value = true)}>{t('New agent')}</Button>}>{manage ? t('An agent answers your visitors and has its own contacts, knowledge and keys.') : t('You have no access to any agent. Ask an owner or admin for a role.')}</Empty>}
      </div>
      {creating.value && <New close={() => (creating.value = false)} />}
    </>
  );
};
