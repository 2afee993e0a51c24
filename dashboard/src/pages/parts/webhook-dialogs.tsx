// The dialogs of a webhook: its secret, a test message, a replay, and whether it goes on where it stopped.
import {
  agent, ApiError, ask, Badge, Button, Check, Cli, Code, Copy, Dialog, done, Failure, invalidate, Loaded, moment, Notice, number, post, remove, Select, sentences, t, TextField, tn, useEffect, useForm, useKeys, useQuery, useSignal,
  type WebhookEndpoint, type WebhookEventType, type WebhookReplayed, type WebhookSecret, type WebhookTestResult,
} from '../../kit';
import { errorInWords, groupsOf, hostOf, operation, root, shortUrl } from './webhook-parts';

/** How receivers verify messages, with a library of Standard Webhooks. */
const SNIPPETS = (secret: string): [string, string][] => [
  ['.env', `WEBHOOK_SECRET=${secret}\n`],
  ['Node', "// npm install standardwebhooks express\nconst express = require('express');\nconst { Webhook } = require('standardwebhooks');\n\nconst webhook = new Webhook(process.env.WEBHOOK_SECRET);\nconst app = express();\n\n// The signature covers the body as it was sent, before it is parsed.\napp.post('/webhooks', express.raw({ type: 'application/json' }), (request, response) => {\n  let event;\n  try {\n    event = webhook.verify(request.body.toString(), request.headers);\n  } catch {\n    return response.sendStatus(401);\n  }\n  console.log(event.type, event.data);\n  response.sendStatus(204);\n});\n"],
  ['Python', 'import os\n\n# pip install standardwebhooks flask\nfrom flask import Flask, request\nfrom standardwebhooks.webhooks import Webhook, WebhookVerificationError\n\napp = Flask(__name__)\nwebhook = Webhook(os.environ["WEBHOOK_SECRET"])\n\n\n@app.post("/webhooks")\ndef receive():\n    try:\n        event = webhook.verify(request.get_data(), dict(request.headers))\n    except WebhookVerificationError:\n        return "", 401\n    print(event["type"], event["data"])\n    return "", 204\n'],
  ['Rust', '// cargo add standardwebhooks\nlet webhook = standardwebhooks::Webhook::new(&std::env::var("WEBHOOK_SECRET")?)?;\nif webhook.verify(&body, &headers).is_err() {\n    return StatusCode::UNAUTHORIZED;\n}\n'],
];
/** A secret, and how to use it. The value is dropped when the dialog closes. */
export const SecretDialog = ({ title, of: { secret, previous, previousUntil }, close }: { title: string; of: WebhookSecret; close: () => void }) => {
  // After the dialog has chosen its first button, which closes it.
  useEffect(() => document.querySelector<HTMLElement>('dialog .secret .button.main')?.focus(), []);
  return (
    <Dialog title={title} kind="wide" onClose={close} foot={<Button kind="main" onClick={close}>{t('Done')}</Button>}>
      {secret ? (
        <>
          <p>{t('The receiver needs this secret to verify that messages come from here. Store it there now.')}</p>
          <div class="secret"><span class="label">{t('Secret')}</span><code data-secret>{secret}</code><Copy kind="main" text={secret}>{t('Copy secret')}</Copy></div>
          {previous && previousUntil && (
            <>
              <div class="secret"><span class="label">{t('Old secret')}</span><code data-secret>{previous}</code><Copy text={previous} label={t('Copy the old secret')} /></div>
              <Notice tone="info"><span>{t('Until {time}, messages carry two signatures: of the new secret and of the old one. A receiver that knows either accepts them.', { time: moment(previousUntil) })}</span></Notice>
            </>
          )}
          <Code name={t('Verify messages')} tabs={SNIPPETS(secret)} />
          <p class="muted small">{t('Showing the secret again asks who you are, and the audit log notes it.')}</p>
        </>
      ) : <Notice tone="warn"><span>{t('The server key that this secret was made from no longer exists. Rotate the secret.')}</span></Notice>}
    </Dialog>
  );
};
const failed = (error: unknown): ApiError | null => {
  if (!(error instanceof ApiError)) throw error;
  return error.code == 'CANCELLED' ? null : error;
};
/** The action of a dialog: whether it runs, and why it failed. It does not run twice at once. */
const useAction = (action: () => Promise<void>) => {
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const run = async () => {
    if (busy.value) return;
    busy.value = true;
    error.value = null;
    try {
      await action();
    } catch (cause) {
      error.value = failed(cause);
    } finally {
      busy.value = false;
    }
  };
  return { busy: busy.value, error: error.value, run: () => void run() };
};
/** For how many hours the old secret can sign too. */
const GRACES: [number, () => string][] = [[0, () => t('Immediately')], [1, () => t('After 1 hour')], [24, () => t('After 1 day')], [168, () => t('After 7 days')]];
export const RotateDialog = ({ of: one, close, rotated }: { of: WebhookEndpoint; close: () => void; rotated: (secret: WebhookSecret) => void }) => {
  const hours = useSignal(24);
  const { busy, error, run } = useAction(async () => {
    const { data } = await post<WebhookSecret>(operation(one, '/rotate'), { graceSeconds: hours.value * 3600 });
    invalidate(root());
    close();
    rotated(data);
  });
  useKeys([{ key: 'mod+Enter', label: t('Rotate secret'), run }]);
  return (
    <Dialog title={t('Rotate the secret of {name}', { name: shortUrl(one.url) })} onClose={close}
      foot={<><Cli line={`webhooks rotate ${one.id} --agent ${agent.value} --grace ${hours.value}h`} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={busy} keys="mod+Enter" onClick={run}>{t('Rotate secret')}</Button></>}>
      <p>{t('The webhook gets a new secret. The old one can sign too for a while, so that the receiver switches without losing messages.')}</p>
      <fieldset class="stack tight"><legend>{t('The old secret expires')}</legend>{GRACES.map(([wanted, label]) => <Check type="radio" name="grace" label={label()} checked={hours.value == wanted} onChange={() => (hours.value = wanted)} />)}</fieldset>
      {error && <Failure error={error} />}
    </Dialog>
  );
};
const Result = ({ of: result }: { of: WebhookTestResult }) => {
  const good = result.status !== null && result.status >= 200 && result.status < 300;
  return (
    <div class="stack tight" role="status">
      <div class="row wrap"><Badge tone={good ? 'ok' : 'bad'} dot>{result.status ?? t('no response')}</Badge><span>{good ? t('The receiver accepted the message.') : result.error ? errorInWords(result.error) : t('The receiver did not accept the message. It must answer with 2xx.')}</span><span class="muted">{t('{n} ms', { n: number(result.milliseconds) })}</span></div>
      {result.body && <div class="code"><pre tabIndex={0}><code>{result.body}</code></pre></div>}
    </div>
  );
};
export const TestDialog = ({ of: one, close }: { of: WebhookEndpoint; close: () => void }) => {
  const catalogue = useQuery<readonly WebhookEventType[]>(root('/catalogue'));
  const type = useSignal('contact.created');
  const result = useSignal<WebhookTestResult | null>(null);
  const { busy, error, run } = useAction(async () => {
    result.value = null;
    result.value = (await post<WebhookTestResult>(operation(one, '/test'), { type: type.value })).data;
  });
  useKeys([{ key: 'mod+Enter', label: t('Send test message'), run }]);
  return (
    <Dialog title={t('Send a test message')} onClose={close} foot={<><Cli line={`webhooks test ${one.id} --agent ${agent.value} --type ${type.value}`} /><Button onClick={close}>{t('Close')}</Button><Button kind="main" icon="send" busy={busy} keys="mod+Enter" onClick={run}>{result.value ? t('Send again') : t('Send test message')}</Button></>}>
      <p>{t('Sends an example to {url}, signed like any other and marked with "test": true. It is not retried and not logged.', { url: shortUrl(one.url) })}</p>
      <Loaded query={catalogue} rows={2}>{(all) => (
        <>
          <Select label={t('Type of event')} value={type.value} options={groupsOf(all).flatMap(([, members]) => members.map((member): [string, string] => [member.type, member.type]))} onChange={(value) => (type.value = value)} />
          <details><summary>{t('Example data')}</summary><div class="code"><pre tabIndex={0}><code>{JSON.stringify(all.find((member) => member.type == type.value)?.example, null, 2)}</code></pre></div></details>
        </>
      )}</Loaded>
      {error && <Failure error={error} />}
      {result.value && <Result of={result.value} />}
    </Dialog>
  );
};
const local = (at: number) => new Date(at - new Date(at).getTimezoneOffset() * 60000).toISOString().slice(0, 16);
export const ReplayDialog = ({ of: one, close }: { of: WebhookEndpoint; close: () => void }) => {
  const form = useForm(`webhook-replay-${one.id}`, { since: local(Date.now() - 3600000) });
  const { since } = form.values;
  const at = Number.isNaN(new Date(since).valueOf()) ? '' : new Date(since).toISOString();
  const save = () => void form.submit(async () => {
    const { data } = await post<WebhookReplayed>(operation(one, '/replay'), { since: at });
    const n = data.to - data.from + 1;
    done(n > 0 ? tn(n, '{n} event is sent again', '{n} events are sent again', { n: number(n) }) : t('No event since then is to be sent again'));
    invalidate(root());
    close();
  });
  useKeys([{ key: 'mod+Enter', label: t('Replay'), run: save }]);
  return (
    <Dialog title={t('Replay events')} onClose={close} foot={<><Cli line={`webhooks replay ${one.id} --agent ${agent.value} --since 2026-01-31T09:00:00Z`.replace(/\S+$/, at || 'TIME')} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={form.busy} off={!at} keys="mod+Enter" onClick={save}>{t('Replay')}</Button></>}>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); save(); }}>
        <p>{t('Sends the events of its types since a time again, with their ids, so that the receiver can recognise those that it has. The log reaches back 7 days unless the server is set otherwise.')}</p>
        <TextField type="datetime-local" label={t('Since')} autofocus value={since} error={form.errors['since']} onInput={(value) => form.set('since', value)} />
        <div class="row wrap" role="group" aria-label={t('Periods')}>{([[1, t('1 hour')], [24, t('1 day')], [168, t('7 days')]] as [number, string][]).map(([hours, label]) => <Button kind="chip" onClick={() => form.set('since', local(Date.now() - hours * 3600000))}>{label}</Button>)}</div>
        {one.mode == 'ordered' && <Notice tone="info"><span>{t('This webhook sends in order: newer events wait until the replay is done.')}</span></Notice>}
        {one.status == 'disabled' && <Notice tone="warn"><span>{t('The webhook is disabled. The events are sent when it is enabled again.')}</span></Notice>}
        {form.failure && <Failure error={form.failure} />}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
};
export const EnableDialog = ({ of: one, close }: { of: WebhookEndpoint; close: () => void }) => {
  const resume = useSignal<'cursor' | 'now'>('cursor');
  const { busy, error, run } = useAction(async () => {
    await post(operation(one, '/enable'), { resume: resume.value });
    invalidate(root());
    done(t('{name} is enabled', { name: shortUrl(one.url) }));
    close();
  });
  useKeys([{ key: 'mod+Enter', label: t('Enable webhook'), run }]);
  return (
    <Dialog title={t('Enable {name}?', { name: shortUrl(one.url) })} onClose={close} foot={<><Cli line={`webhooks enable ${one.id} --agent ${agent.value}${resume.value == 'now' ? ' --resume now' : ''}`} /><Button onClick={close}>{t('Cancel')}</Button><Button kind="main" busy={busy} keys="mod+Enter" onClick={run}>{t('Enable webhook')}</Button></>}>
      <fieldset class="stack tight">
        <legend>{t('Begin with')}</legend>
        <Check type="radio" name="resume" label={<>{t('What it has missed')} <span class="muted small">{tn(one.pending, '{n} event since it stopped, as far as the log has it', '{n} events since it stopped, as far as the log has them', { n: number(one.pending) })}</span></>} checked={resume.value == 'cursor'} onChange={() => (resume.value = 'cursor')} />
        <Check type="radio" name="resume" label={<>{t('New events only')} <span class="muted small">{t('What it has missed is never sent.')}</span></>} checked={resume.value == 'now'} onChange={() => (resume.value = 'now')} />
      </fieldset>
      {error && <Failure error={error} />}
    </Dialog>
  );
};
/** Asks before an endpoint stops. */
export const disable = (one: WebhookEndpoint) => ask({
  title: t('Disable {name}?', { name: shortUrl(one.url) }),
  text: t('Nothing is sent until you enable it again. Then you choose whether it gets what it has missed.'),
  button: t('Disable webhook'), cli: `webhooks disable ${one.id} --agent ${agent.value}`,
  run: async () => {
    await post(operation(one, '/disable'));
    invalidate(root());
    done(t('{name} is disabled', { name: shortUrl(one.url) }), async () => { await post(operation(one, '/enable'), { resume: 'cursor' }); invalidate(root()); });
  },
});
/** Asks before an endpoint goes for good. */
export const drop = (one: WebhookEndpoint, gone?: () => void) => ask({
  title: t('Remove {name}?', { name: shortUrl(one.url) }),
  text: sentences(t('Nothing more is sent, and its secret and its deliveries are gone for good.'), !!one.pending && one.status == 'enabled' && tn(one.pending, '{n} event that waits is not sent.', '{n} events that wait are not sent.')),
  button: t('Remove webhook'), bad: true, typed: hostOf(one.url), cli: `webhooks delete ${one.id} --agent ${agent.value}`,
  run: async () => {
    await remove(operation(one));
    gone?.();
    invalidate(root());
    done(t('{name} is removed', { name: shortUrl(one.url) }));
  },
});
/** Shows the secret, after a proof of who asks. */
export const reveal = async (one: WebhookEndpoint, show: (secret: WebhookSecret) => void) => {
  try {
    show((await post<WebhookSecret>(operation(one, '/secret'))).data);
  } catch (error) {
    const cause = failed(error);
    if (cause) done(cause.message);
  }
};
