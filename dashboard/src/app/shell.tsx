// The frame of every page: navigation, agent switcher, notices, dialogs.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { t, tn } from '../lib/i18n';
import { useQuery } from '../lib/cache';
import { useKeys } from '../lib/keys';
import { href, navigate, parts } from '../lib/router';
import { Icon, type IconName } from '../ui/icon';
import { Menu } from '../ui/menu';
import { Button, Keys, Mark } from '../ui/parts';
import { Interrupted, Offline } from '../ui/states';
import { follow, interrupted } from './live';
import { openPages, pathOf, type Page } from './nav';
import { openHelp, openPalette } from './palette';
import { agent, agents, can, choose, operator, session, setTheme, signOut } from './session';

const isAt = (page: Page) => {
  if (page.ofAll) return '/' + parts.value[0] == page.path;
  const rest = '/' + parts.value.slice(2).join('/');
  return parts.value[0] == 'a' && (page.path ? rest.startsWith(page.path) : rest == '/');
};
const Switcher = () => {
  const all = agents.value ?? [];
  const current = all.find((one) => one.id == agent.value);
  const items = [
    ...all.map((one) => ({ label: one.name, checked: one.id == agent.value, run: () => { choose(one.id); navigate(`/a/${encodeURIComponent(one.id)}`); } })),
    null,
    { label: t('All agents'), icon: 'bot' as IconName, href: href('/agents') },
  ];
  return (
    <Menu label={t('Agents')} items={items} trigger={({ open, expanded }) => (
      <button type="button" class="switch" aria-haspopup="menu" aria-expanded={expanded} title={t('Choose an agent')} onClick={open}>
        <Mark name={current?.name ?? '?'} /><span class="label grow cut" dir="auto">{current?.name ?? t('No agent')}</span><span class="sr">{t('Choose an agent')}</span><Icon name="updown" />
      </button>
    )} />
  );
};
/** The numbers next to the pages: conversations that wait. */
const useCounts = (): Record<string, number> => {
  const counts = useQuery<Record<string, number>>(agent.value && can('inbox.read') ? `/agents/${encodeURIComponent(agent.value)}/conversations/counts` : null);
  return { inbox: counts.data?.['human'] ?? 0 };
};
const Links = ({ group, counts }: { group: Page['group']; counts: Record<string, number> }) => (
  <>
    {openPages().filter((page) => page.group == group).map((page) => (
      <a href={href(pathOf(page))} aria-current={isAt(page) ? 'page' : undefined} title={page.title()}>
        <Icon name={page.icon} /><span class="label">{page.title()}</span>
        {!!counts[page.name] && <span class="count due" aria-label={tn(counts[page.name]!, '{n} waits', '{n} wait')}>{counts[page.name]}</span>}
      </a>
    ))}
  </>
);
const Me = () => {
  const me = operator.value!;
  const theme = document.documentElement.dataset['theme'];
  return (
    <Menu label={t('Your account')} trigger={({ open, expanded }) => (
      <button type="button" class="switch" aria-haspopup="menu" aria-expanded={expanded} title={t('Your account')} onClick={open}><Mark kind="round" name={me.name} /><span class="label grow cut" dir="auto">{me.name}</span></button>
    )} items={[
      { label: t('Profile'), icon: 'person', href: href('/profile') },
      { label: theme == 'dark' ? t('Light theme') : t('Dark theme'), icon: 'sun', run: () => setTheme(theme == 'dark' ? 'light' : 'dark') },
      { label: t('Keyboard shortcuts'), icon: 'info', run: openHelp, end: <Keys of="?" /> },
      null,
      { label: t('Sign out'), icon: 'out', run: () => void signOut() },
    ]} />
  );
};
/** The frame. */
export const Shell = ({ children }: { children: ComponentChildren }) => {
  const counts = useCounts();
  useEffect(() => (agent.value ? follow(agent.value) : undefined), [agent.value]);
  useKeys([
    { key: 'mod+k', label: t('Search or do…'), run: () => openPalette() },
    { key: '?', label: t('Keyboard shortcuts'), run: openHelp },
    { key: '/', label: t('Filter'), run: () => (document.getElementById('filter') ?? document.querySelector<HTMLElement>('.find'))?.focus() },
    { key: 'F6', label: t('Next region'), run: () => {
      const regions = [...document.querySelectorAll<HTMLElement>('nav:not([hidden]), main')].filter((one) => one.offsetParent);
      const at = regions.findIndex((one) => one.contains(document.activeElement));
      const next = regions[(at + 1) % regions.length];
      (next?.tagName == 'MAIN' ? next : next?.querySelector<HTMLElement>('a, button'))?.focus();
    } },
    ...openPages().map((page) => ({ key: page.key, label: page.title(), run: () => navigate(pathOf(page)) })),
  ]);
  const settings = openPages().some((page) => page.group == 'settings');
  const onPhone = openPages().filter((page) => page.group == 'main').slice(0, 4);
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>{t('Skip to the content')}</a>
      <nav class="side" aria-label={t('Console')}>
        <Switcher />
        <button type="button" class="find" onClick={() => openPalette()}><Icon name="search" /><span class="label grow cut">{t('Search or do…')}</span><Keys of="mod+k" /></button>
        <div class="nav"><Links group="main" counts={counts} />
          {settings && <h2>{t('Settings')}</h2>}
          <Links group="settings" counts={counts} />
        </div>
        <span class="spacer" />
        <Me />
      </nav>
      <main class="frame" id="main" tabIndex={-1}>
        <Offline />
        {interrupted.value && <Interrupted />}
        {children}
      </main>
      <nav class="phone" aria-label={t('Pages')}>
        {onPhone.map((page) => <a href={href(pathOf(page))} aria-current={isAt(page) ? 'page' : undefined}><Icon name={page.icon} /><span class="cut">{page.title()}</span>{!!counts[page.name] && <span class="count">{counts[page.name]}</span>}</a>)}
        <button type="button" onClick={() => openPalette()}><Icon name="dots" /><span>{t('More')}</span></button>
      </nav>
    </div>
  );
};
/** The head of a page. */
export const Bar = ({ title, crumb, children, back }: { title: string; crumb?: string; children?: ComponentChildren; back?: string }) => {
  useEffect(() => {
    document.title = `${title} · ${session.value?.serviceName ?? 'Console'}`;
  }, [title]);
  return (
    <header class="bar">
      {back && <Button kind="quiet" icon="back" label={t('Back')} href={href(back)} />}
      {crumb && <span class="crumb">{crumb}</span>}
      <h1 class="cut" dir="auto">{title}</h1>
      {children && <div class="actions">{children}</div>}
    </header>
  );
};
