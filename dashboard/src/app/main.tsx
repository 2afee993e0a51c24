// Starts the application, and shows the page of the address.
import { Component, render, type ComponentChildren, type ComponentType } from 'preact';
import { signal } from '@preact/signals';
import { ApiError } from '../lib/api';
import { load } from '../lib/base';
import { setLocale, t } from '../lib/i18n';
import { address, href, navigate, parts } from '../lib/router';
import { stored } from '../lib/base';
import { Questions } from '../ui/dialog';
import { Toasts } from '../ui/toast';
import { Bones, Empty, Failure } from '../ui/states';
import { Button } from '../ui/parts';
import { Bar, Shell } from './shell';
import { Palette } from './palette';
import { greet, LandedDialog, readLanding } from './oidc';
import { Waiting } from './signin';
import { agent, agents, choose, operator, session, start } from './session';
import { mayOpen, PAGES, type Page } from './nav';

type PageModule = { default: ComponentType<{ rest: string[] }> };
const modules = signal<Record<string, PageModule | Error>>({});
const asked = new Set<string>();
const need = (name: string) => {
  if (asked.has(name)) return;
  asked.add(name);
  load<PageModule>(name).then(
    (module) => (modules.value = { ...modules.value, [name]: module }),
    (error: Error) => {
      asked.delete(name);
      modules.value = { ...modules.value, [name]: error };
    },
  );
};
/** A defect of a page does not take the frame with it. */
class Guard extends Component<{ children: ComponentChildren; at: string }, { error: Error | null; at: string }> {
  override state = { error: null as Error | null, at: '' };
  static override getDerivedStateFromError = (error: Error) => ({ error });
  override componentDidUpdate() {
    if (this.state.error && this.state.at != this.props.at) this.setState({ error: null, at: this.props.at });
  }
  override componentDidCatch(error: Error) {
    console.error(error);
    this.setState({ at: this.props.at });
  }
  render() {
    if (!this.state.error) return this.props.children;
    return <div class="state" role="alert"><h1>{t('Something went wrong on this page')}</h1><p>{String(this.state.error.message)}</p><Button kind="main" onClick={() => location.reload()}>{t('Reload')}</Button></div>;
  }
}
const Show = ({ name, rest }: { name: string; rest: string[] }) => {
  need(name);
  const module = modules.value[name];
  if (module instanceof Error)
    return (
      <>
        <Bar title={t('This page could not be loaded')} />
        <div class="state" role="alert">
          <p>{t('The server cannot be reached, or it was updated. Reloading keeps what you have typed.')}</p>
          <Button kind="main" icon="rotate" onClick={() => location.reload()}>{t('Reload')}</Button>
        </div>
      </>
    );
  if (!module) return <Bones />;
  const Page = module.default;
  return <Page rest={rest} />;
};
/** The page of an agent by its path: the longest that fits. */
const pageOf = (path: string[]) =>
  [...PAGES].filter((page) => !page.ofAll).sort((a, b) => b.path.length - a.path.length).find((page) => {
    const own = page.path.split('/').filter(Boolean);
    return own.length <= path.length && own.every((part, n) => part == path[n]) && (own.length > 0 || path.length == 0);
  });
const Missing = () => (
  <>
    <Bar title={t('Not found')} />
    <Empty icon="search" title={t('This page does not exist')} action={<Button kind="main" href={href('/')}>{t('Go to Home')}</Button>}>{t('Check the address. It may have changed in this release.')}</Empty>
  </>
);
const Forbidden = ({ page }: { page: Page }) => (
  <>
    <Bar title={page.title()} />
    <Empty icon="shield" title={t('Your role does not include this page')} action={<Button href={href('/')}>{t('Go to Home')}</Button>}>{t('It needs the permission {name}. An owner or admin can grant it.', { name: page.needs })}</Empty>
  </>
);
const Inside = () => {
  const [first, id, ...rest] = parts.value;
  if (first == 'a' && id) {
    if (!agents.value?.some((one) => one.id == id)) return <><Bar title={t('Agent')} /><Empty icon="bot" title={t('This agent does not exist, or you have no access to it')} action={<Button kind="main" href={href('/agents')}>{t('All agents')}</Button>} /></>;
    if (agent.value != id) choose(id);
    const page = pageOf(rest);
    if (!page) return <Missing />;
    if (!mayOpen(page, id)) return <Forbidden page={page} />;
    return <Show key={id + page.name} name={page.name} rest={rest.slice(page.path.split('/').filter(Boolean).length)} />;
  }
  const whole = PAGES.find((page) => page.ofAll && page.path == '/' + first);
  if (whole && (!whole.ofAccounts || session.value!.hasAccounts)) {
    if (!mayOpen(whole)) return <Forbidden page={whole} />;
    return <Show name={whole.name} rest={[id, ...rest].filter((one): one is string => !!one)} />;
  }
  if (first == 'agents' || first == 'profile') return <Show name={first} rest={[id, ...rest].filter((one): one is string => !!one)} />;
  return <Missing />;
};
const PUBLIC = ['setup', 'join'];
const App = () => {
  const first = parts.value[0];
  const failed = failure.value;
  if (failed) return <div class="entry"><div class="entrybox"><Failure error={failed} again={() => void begin()} /></div></div>;
  if (!session.value) return null;
  if (first && PUBLIC.includes(first)) return <Show name="setup" rest={parts.value} />;
  if (!operator.value) {
    if (first != 'sign-in') stored.write('session', 'after', address.value.path + (address.value.query.size ? '?' + address.value.query : ''));
    return <Show name="sign-in" rest={[]} />;
  }
  if (session.value.needsMethod) return <Show name="setup" rest={[]} />;
  if (!first || first == 'sign-in') {
    const to = stored.read('session', 'after');
    stored.write('session', 'after', null);
    queueMicrotask(() => navigate(to && to != '/' && /^\/(?![/\\])/.test(to) && !to.startsWith('/sign-in') ? to : agent.value ? `/a/${encodeURIComponent(agent.value)}` : '/agents', true));
    return null;
  }
  return <Shell><Guard at={address.value.path}><Inside /></Guard></Shell>;
};
const failure = signal<ApiError | null>(null);
const begin = async () => {
  failure.value = null;
  try {
    await start();
  } catch (error) {
    failure.value = error instanceof ApiError ? error : new ApiError(0, 'INTERNAL_ERROR', String(error));
  }
};
readLanding();
// The page of the address is fetched while the session is.
const early = parts.value[0] == 'a' ? pageOf(parts.value.slice(2))?.name : parts.value[0] && PUBLIC.includes(parts.value[0]) ? 'setup' : parts.value[0];
if (early) need(early);
await Promise.all([setLocale(stored.read('local', 'locale')), begin()]);
greet();
render(<><App /><Questions /><Waiting /><LandedDialog /><Palette /><Toasts /></>, document.getElementById('app')!);
