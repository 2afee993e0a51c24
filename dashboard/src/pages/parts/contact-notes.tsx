// Notes on a contact, which colleagues alone see: read page by page, written, changed and removed in place.
import {
  agent, ApiError, ask, Bones, Button, can, Cli, done, Failure, Field, Menu, moment, Notice, number, post, put, quoted, remove, seg, t, useEntries, useForm, useKeys, useSignal, When,
  type ContactNote, type ContactNotes, type Contact,
} from '../../kit';

const MAX = 4000;
const PAGE = 20;
const root = (contact: Contact) => `/agents/${seg(agent.value!)}/contacts/${seg(contact.id)}/notes`;
const nameOf = (by: ContactNote['by']) => by.name ?? by.id;

interface EditorProps {
  /** The name of the draft. */
  id: string;
  text: string;
  label: string;
  button: string;
  save: (text: string) => Promise<unknown>;
  cancel?: () => void;
}
const Editor = ({ id, text, label, button, save, cancel }: EditorProps) => {
  const form = useForm(id, { text });
  const typed = form.values.text;
  const send = () => void form.submit(async (values) => {
    await save(values.text);
    form.reset({ text: '' });
  });
  const close = () => {
    form.reset();
    cancel?.();
  };
  return (
    <form class="stack tight" noValidate onSubmit={(event) => { event.preventDefault(); send(); }}>
      <Field label={label} hint={typed.length > MAX - 500 ? `${number(typed.length)} / ${number(MAX)}` : t('Only colleagues see this.')} error={form.errors['text']}>{(props) => (
        <textarea class="input" dir="auto" rows={cancel ? 4 : 2} maxLength={MAX} autofocus={!!cancel} value={typed} onInput={(event) => form.set('text', event.currentTarget.value)}
          onKeyDown={(event) => { if (event.key == 'Enter' && (event.metaKey || event.ctrlKey)) { event.preventDefault(); send(); } }} {...props} />
      )}</Field>
      {form.failure && <Failure error={form.failure} />}
      {(cancel || form.dirty) && <div class="row"><Button type="submit" kind="main" keys="mod+Enter" busy={form.busy} off={!typed.trim()}>{button}</Button><Button onClick={close}>{cancel ? t('Cancel') : t('Discard')}</Button></div>}
    </form>
  );
};

interface NoteProps {
  of: ContactNote;
  path: string;
  write: boolean;
  reload: () => void;
}
const Note = ({ of: note, path, write, reload }: NoteProps) => {
  const editing = useSignal(false);
  /** The note as a colleague has left it since it was read here. */
  const theirs = useSignal<ContactNote | null>(null);
  const shown = theirs.value ?? note;
  const stop = () => {
    editing.value = false;
    if (theirs.value) reload();
    theirs.value = null;
  };
  const save = async (text: string) => {
    try {
      await put<ContactNote>(path, { text }, shown.etag);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status != 412) throw error;
      theirs.value = error.details['current'] as ContactNote;
      throw new ApiError(0, 'CANCELLED', '');
    }
    done(t('The note is saved'));
    theirs.value = null;
    editing.value = false;
    reload();
  };
  const drop = () => ask({
    title: t('Remove this note?'), bad: true, button: t('Remove note'), text: t('The note is gone for good.'),
    run: async () => {
      await remove(path, note.etag);
      done(t('The note is removed'));
      reload();
    },
  });
  return (
    <li class="note">
      <div class="row between">
        <span class="small muted cut">{nameOf(shown.by)} · <When at={shown.at} />{shown.editedBy && <> · <span title={shown.editedAt ? moment(shown.editedAt) : undefined}>{t('changed by {name}', { name: nameOf(shown.editedBy) })}</span></>}</span>
        {write && !editing.value && <Menu label={t('Actions for this note')} trigger={({ open, expanded }) => <Button kind="quiet" icon="dots" label={t('Actions for this note')} expanded={expanded} onClick={open} />} items={[
          { label: t('Edit'), icon: 'edit', run: () => (editing.value = true) },
          { label: t('Remove…'), icon: 'trash', bad: true, run: drop },
        ]} />}
      </div>
      {(!editing.value || theirs.value) && <p class="text" dir="auto">{shown.text}</p>}
      {theirs.value && <Notice tone="warn"><span>{t('A colleague has changed this note in the meantime; theirs is above. Saving again replaces it with yours.')}</span></Notice>}
      {editing.value && <Editor id={`note-${note.id}`} text={note.text} label={t('Text of the note')} button={t('Save note')} save={save} cancel={stop} />}
    </li>
  );
};

/** The section of a contact's record. */
export const Notes = ({ of: contact }: { of: Contact }) => {
  const path = root(contact);
  const { entries, hasMore, loading, error, ...list } = useEntries<ContactNotes, ContactNote>(path, { limit: PAGE }, (page) => ({ entries: page.notes, next: page.next ? { after: page.next } : null }));
  const write = can('contacts.write') && !contact.isArchived;
  const add = async (text: string) => {
    await post(path, { text });
    done(t('The note is added'));
    list.reload();
  };
  useKeys(write ? [{ key: 'shift+n', label: t('Add a note'), run: () => document.querySelector<HTMLElement>('.notes textarea')?.focus() }] : []);
  return (
    <section class="notes stack" aria-label={t('Notes')}>
      <h2>{t('Notes')}</h2>
      {write && <Editor id={`note-new-${contact.id}`} text="" label={t('Add a note')} button={t('Add note')} save={add} />}
      {error && <Failure error={error} again={list.again} />}
      {!entries.length && loading && <Bones rows={2} />}
      {!entries.length && !loading && !error && <><p class="muted small">{t('No notes yet.')}</p>{write && <Cli line={`contacts note ${contact.id} ${quoted(t('Prefers mornings.'))} --agent ${agent.value}`} />}</>}
      {!!entries.length && <ol>{entries.map((note) => <Note key={note.id + note.etag} of={note} path={`${path}/${seg(note.id)}`} write={write} reload={list.reload} />)}</ol>}
      {hasMore && <div><Button busy={loading} onClick={list.more}>{t('Load older notes')}</Button></div>}
    </section>
  );
};
