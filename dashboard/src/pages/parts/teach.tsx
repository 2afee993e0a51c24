// The dialog that teaches an agent an answer.
import { agent, Button, Cli, Dialog, done, Failure, invalidate, post, seg, t, TextField, useForm } from '../../kit';

/** Phrasings of a question, one a line. */
const phrasings = (text: string) => text.split('\n').map((line) => line.trim()).filter((line) => line);
/** `questions` are the phrasings that it begins with; `taught` runs after the answer is stored. */
export const Teach = ({ questions = [], close, taught }: { questions?: readonly string[]; close: () => void; taught?: () => void }) => {
  const knowledge = `/agents/${seg(agent.value!)}/knowledge`;
  const empty = { questions: questions.join('\n'), answer: '', url: '' };
  const form = useForm(`teach-${agent.value}-${questions[0] ?? ''}`, empty);
  const text = (field: 'questions' | 'answer' | 'url') => ({ value: form.values[field], onInput: (value: string) => form.set(field, value), error: form.errors[field] });
  const save = () => void form.submit(async ({ questions: lines, answer, url }) => {
    await post(knowledge + '/pairs', { questions: phrasings(lines), answer, ...(url ? { url } : {}) });
    form.reset(empty);
    invalidate(knowledge);
    done(t('The agent answers this question now'));
    taught?.();
    close();
  });
  return (
    <Dialog title={t('Teach an answer')} kind="wide" onClose={close} foot={<><Cli line={`knowledge teach --agent ${agent.value} --question QUESTION --answer ANSWER`} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} onClick={save}>{t('Teach')}</Button></>}>
      <TextField label={t('Questions')} rows={4} autofocus={!questions.length} hint={t('One a line. Several phrasings of the same question help the agent to recognise it.')} {...text('questions')} />
      <TextField label={t('Answer')} rows={8} autofocus={!!questions.length} hint={t('The agent gives it as it stands. Markdown works.')} {...text('answer')} />
      <TextField label={t('URL that replies link to')} type="url" placeholder="https://" {...text('url')} />
      {form.failure && <Failure error={form.failure} />}
    </Dialog>
  );
};
