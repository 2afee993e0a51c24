// The secret of a key, once: to copy, as .env and in five languages, and to try at once.
import { agent, ApiError, ask, Bar, Button, Code, Copy, done, Failure, Icon, Notice, post, seg, session, t, useLayoutEffect, useSignal, type IssuedKey, type TriedRequest } from '../../kit';

/** JSON with line breaks, or the text as it is. */
const pretty = (text: string) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};
/** The use of a key in the languages of the guides. */
const snippets = (origin: string, key: string, secret: string, id: string): [string, string][] => [
  ['.env', `OPEN_API_URL=${origin}/v1/open\nOPEN_API_KEY=${key}\nOPEN_API_SECRET=${secret}\n`],
  ['curl', `curl ${origin}/v1/open/contacts/chatbots/${id}?limit=1 \\\n  -H "X-API-Key: ${key}" \\\n  -H "X-API-Secret: ${secret}"\n`],
  ['TypeScript', `const response = await fetch("${origin}/v1/open/contacts/chatbots/${id}?limit=1", {\n  headers: {\n    "X-API-Key": process.env.OPEN_API_KEY!,\n    "X-API-Secret": process.env.OPEN_API_SECRET!,\n  },\n});\nconst { data } = await response.json();\n`],
  ['Python', `import os, requests\n\nresponse = requests.get(\n    "${origin}/v1/open/contacts/chatbots/${id}",\n    params={"limit": 1},\n    headers={\n        "X-API-Key": os.environ["OPEN_API_KEY"],\n        "X-API-Secret": os.environ["OPEN_API_SECRET"],\n    },\n    timeout=10,\n)\nresponse.raise_for_status()\n`],
  ['Rust', `let response = reqwest::Client::new()\n    .get("${origin}/v1/open/contacts/chatbots/${id}?limit=1")\n    .header("X-API-Key", std::env::var("OPEN_API_KEY")?)\n    .header("X-API-Secret", std::env::var("OPEN_API_SECRET")?)\n    .send()\n    .await?\n    .error_for_status()?;\n`],
];
/** The panel. The value is dropped when it closes. */
export const SecretPanel = ({ issued, isNew, close }: { issued: IssuedKey; isNew?: boolean; close: () => void }) => {
  const stored = useSignal(false);
  const tried = useSignal<readonly TriedRequest[] | null>(null);
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const { key, secret } = issued;
  // The form that had the focus is gone.
  useLayoutEffect(() => document.querySelector<HTMLElement>('.secret .button.main')?.focus(), []);
  const leave = () =>
    stored.value ? close() : ask({ title: t('Leave without the secret?'), text: t('It cannot be shown again. If you have not stored it, you have to rotate it.'), button: t('Leave'), run: async () => close() });
  const tryIt = async () => {
    busy.value = true;
    error.value = null;
    try {
      tried.value = (await post<readonly TriedRequest[]>(`/agents/${seg(agent.value!)}/keys/try`, { apiKey: key.apiKey, secret })).data;
      if (tried.value.every((one) => one.status < 400)) done(t('The key works'));
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      error.value = cause.code == 'CANCELLED' ? null : cause;
    } finally {
      busy.value = false;
    }
  };
  return (
    <>
      <Bar crumb={t('API Permissions')} title={isNew ? t('{name} is ready', { name: key.name }) : t('The new secret of {name}', { name: key.name })} />
      <div class="scroll"><div class="page narrow">
        <Notice tone="warn"><span class="strong">{t('Copy the secret now. It is shown only once.')}</span><span>{t('The server keeps only a hash of it.')}</span></Notice>
        <div class="stack">
          <div class="secret"><span class="label">{t('Key')}</span><code>{key.apiKey}</code><Copy text={key.apiKey} label={t('Copy the key')} /></div>
          <div class="secret"><span class="label">{t('Secret')}</span><code data-secret>{secret}</code><Copy kind="main" text={secret}>{t('Copy secret')}</Copy></div>
        </div>
        <Code name={t('Use it')} tabs={snippets(session.value!.publicUrl, key.apiKey, secret, agent.value!)} />
        <section class="stack">
          <div class="row wide wrap"><Button icon="play" busy={busy.value} onClick={() => void tryIt()}>{t('Try it')}</Button><span class="muted">{t('Sends the key’s first permitted request from this server.')}</span></div>
          {error.value && <Failure error={error.value} />}
          {tried.value?.map((one) => (
            <div class="code"><header><span class={`status ${one.status < 400 ? 'good' : 'poor'}`}><Icon name={one.status < 400 ? 'check' : 'warn'} />{one.status}</span><code class="grow cut">{one.method} {one.path}</code></header>
              <pre tabIndex={0}><code>{pretty(one.body)}</code></pre></div>
          ))}
        </section>
        <div class="row wide wrap"><label class="check"><input type="checkbox" checked={stored.value} onChange={(event) => (stored.value = event.currentTarget.checked)} /><span>{t('I have stored the secret')}</span></label><Button kind={stored.value ? 'main' : ''} onClick={leave}>{t('Done')}</Button></div>
      </div></div>
    </>
  );
};
