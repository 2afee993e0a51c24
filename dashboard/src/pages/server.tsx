// Settings → Server: whether the server can work, and what answers. Read only.
import { Badge, Bar, Button, Cli, Copy, Loaded, moment, Notice, t, useActions, useEvery, useQuery, type ServerHealth } from '../kit';

export default () => {
  const health = useQuery<ServerHealth>('/server/health');
  const again = () => void health.refetch();
  useEvery(30000, again);
  useActions([{ id: 'reload', label: t('Reload'), icon: 'rotate', run: again }]);
  return (
    <>
      <Bar crumb={t('Settings')} title={t('Server')}><Button icon="rotate" onClick={again}>{t('Reload')}</Button></Bar>
      <div class="scroll"><Loaded query={health} rows={3}>{(server) => (
        <div class="page narrow">
          {!server.isHealthy && <Notice tone="bad"><span class="strong">{t('The server cannot work at the moment')}</span><span dir="auto">{server.problem}</span></Notice>}
          <section class="card"><header><h2>{t('State')}</h2></header><div class="body">
            <dl class="dl">
              <dt>{t('Store')}</dt><dd>{server.isHealthy ? <Badge tone="ok" dot>{t('answers')}</Badge> : <Badge tone="bad" dot>{t('does not answer')}</Badge>}</dd>
              <dt>{t('Version')}</dt><dd class="row"><code>{server.build}</code></dd>
              <dt>{t('Contract of the Open API')}</dt><dd><code>{server.contractVersion}</code></dd>
              <dt>{t('URL of the Open API')}</dt><dd class="row"><code class="cut">{server.publicUrl}</code><Copy text={server.publicUrl} /></dd>
              <dt>{t('Time of the server')}</dt><dd>{moment(server.now)}</dd>
            </dl>
          </div></section>
          <Cli line="server health" />
        </div>
      )}</Loaded></div>
    </>
  );
};
