// ⌘K: pages, records, and what can be done. And the list of keys.
import { signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useQuery } from '../lib/cache';
import { fits, fullName, t, tn } from '../lib/i18n';
import { activeKeys, strokes, useKeys } from '../lib/keys';
import { navigate } from '../lib/router';
import { Icon, type IconName } from '../ui/icon';
import { Dialog } from '../ui/dialog';
import { Keys } from '../ui/parts';
import { announce } from '../lib/announce';
import { openPages, pathOf } from './nav';
import { agent, agents, can, choose, session, setTheme, signOut } from './session';
import type { Contact, Key } from './types';

/** Something that can be done. */
export interface Action {
  id: string;
  label: string;
  icon: IconName;
  group?: string;
  keys?: string;
  detail?: string | null;
  run: () => void;
}
const opened = signal(false);
const helping = signal(false);
/** The actions of the page that is shown. */
const pageActions = signal<Action[]>([]);
export const openPalette = (): void => void (opened.value = true);
export const openHelp = (): void => void (helping.value = true);
/** Offers actions while a page is shown; their keys act too. */
export const useActions = (actions: Action[]): void => {
  useKeys(actions.filter((one) => one.keys).map((one) => ({ key: one.keys!, label: one.label, run: one.run })));
  const names = actions.map((one) => one.id + one.label).join();
  useEffect(() => {
    pageActions.value = actions;
    return () => void (pageActions.value = []);
  }, [names]);
};
const path = (rest: string) => `/a/${encodeURIComponent(agent.value ?? '')}${rest}`;
/** Every action outside of the page. */
const standing = (): Action[] => [
  ...openPages().map((page) => ({ id: page.name, label: page.title(), icon: page.icon, keys: page.key, group: t('Pages'), run: () => navigate(pathOf(page)) })),
  { id: 'profile', label: t('Profile'), icon: 'person' as IconName, group: t('Pages'), run: () => navigate('/profile') },
  { id: 'agents', label: t('All agents'), icon: 'bot' as IconName, group: t('Pages'), run: () => navigate('/agents') },
  ...(can('keys.manage') ? [{ id: 'newKey', label: t('New key'), icon: 'plus' as IconName, group: t('Actions'), run: () => navigate(path('/settings/keys/new')) }] : []),
  ...(session.value?.hasAccounts && can('members.manage', null) ? [{ id: 'invite', label: t('Invite someone'), icon: 'plus' as IconName, group: t('Actions'), run: () => navigate('/members?invite=1') }] : []),
  ...(can('contacts.write') ? [{ id: 'newContact', label: t('New contact'), icon: 'plus' as IconName, group: t('Actions'), run: () => navigate(path('/contacts/new')) }] : []),
  ...(agents.value ?? []).filter((one) => one.id != agent.value).map((one) => ({ id: 'agent-' + one.id, label: t('Switch to {name}', { name: one.name }), icon: 'bot' as IconName, group: t('Actions'), run: () => { choose(one.id); navigate(`/a/${encodeURIComponent(one.id)}`); } })),
  { id: 'theme', label: t('Switch between light and dark'), icon: 'sun' as IconName, group: t('Actions'), run: () => setTheme(document.documentElement.dataset['theme'] == 'dark' ? 'light' : 'dark') },
  { id: 'help', label: t('Keyboard shortcuts'), icon: 'info' as IconName, keys: '?', group: t('Actions'), run: openHelp },
  { id: 'out', label: t('Sign out'), icon: 'out' as IconName, group: t('Actions'), run: () => void signOut() },
];
const Open = () => {
  const text = useSignal('');
  const at = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const asked = useSignal('');
  useEffect(() => {
    const timer = setTimeout(() => (asked.value = text.value.replace(/^[>@#]/, '').trim()), 120);
    return () => clearTimeout(timer);
  }, [text.value]);
  const isActions = text.value.startsWith('>');
  const searching = asked.value.length > 1 && !isActions && !!agent.value;
  const base = `/agents/${encodeURIComponent(agent.value ?? '')}`;
  const contacts = useQuery<readonly Contact[]>(searching && can('contacts.read') ? base + '/contacts' : null, { search: asked.value, limit: 5 });
  const keys = useQuery<readonly Key[]>(searching && can('keys.read') ? base + '/keys' : null);
  const search = text.value.replace(/^[>@#]/, '').trim();
  const options = useMemo(() => {
    const own = pageActions.value.map((one) => ({ ...one, group: t('On this page') }));
    const all = [...own, ...standing().filter((one) => !own.some((mine) => mine.label == one.label))].filter((one) => (!isActions || one.group != t('Pages')) && (!search || fits(one.label, search)));
    const record = (id: string, label: string, detail: string | null, icon: IconName, to: string): Action => ({ id, label, detail, icon, group: t('Records'), run: () => navigate(path(to + encodeURIComponent(id))) });
    const records = searching ? [
      ...(contacts.data ?? []).map((one) => record(one.id, fullName(one.firstName, one.lastName) || (one.primaryEmail ?? one.id), one.primaryEmail, 'contacts', '/contacts/')),
      ...(keys.data ?? []).filter((one) => fits(one.name, search) || one.apiKey == asked.value).map((one) => record(one.id, one.name, one.apiKey, 'key', '/settings/keys/')),
    ] : [];
    return search ? [...records, ...all] : all;
  }, [text.value, asked.value, contacts.data, keys.data]);
  const index = Math.min(at.value, options.length - 1);
  const close = () => (opened.value = false);
  const run = (option: Action | undefined) => {
    if (!option) return;
    close();
    // After the dialog has given the focus back.
    setTimeout(option.run);
  };
  const move = (event: KeyboardEvent) => {
    const step = event.key == 'ArrowDown' ? 1 : event.key == 'ArrowUp' ? -1 : 0;
    if (step && options.length) {
      event.preventDefault();
      at.value = (index + step + options.length) % options.length;
      requestAnimationFrame(() => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }));
    } else if (event.key == 'Enter') {
      event.preventDefault();
      run(options[index]);
    }
  };
  useEffect(() => {
    if (search) announce(tn(options.length, '{n} result', '{n} results'));
  }, [options.length, search]);
  let group = '';
  return (
    <Dialog title={t('Search or do…')} kind="palette" hideTitle onClose={close}>
      <div class="ask">
        <Icon name="search" />
        <input role="combobox" aria-expanded="true" aria-controls="options" aria-autocomplete="list" aria-activedescendant={options[index] ? `option-${index}` : undefined} aria-label={t('Search or do…')}
          placeholder={t('Search contacts, keys and pages, or type > for actions')} value={text.value} spellcheck={false} autocomplete="off" dir="auto" autofocus
          onInput={(event) => { text.value = event.currentTarget.value; at.value = 0; }} onKeyDown={move} />
      </div>
      <div class="options" role="listbox" id="options" ref={list} aria-label={t('Results')} tabIndex={-1}>
        {options.flatMap((option, n) => {
          const head = option.group && option.group != group ? <div class="group" role="presentation">{(group = option.group)}</div> : null;
          return [head, (
            <div key={option.id} class="option" role="option" id={`option-${n}`} aria-selected={n == index} onMouseMove={() => (at.value = n)} onClick={() => run(option)}>
              <Icon name={option.icon} /><span class="cut" dir="auto">{option.label}</span>{option.detail && <span class="muted small cut" dir="auto">{option.detail}</span>}{option.keys && <Keys of={option.keys} />}
            </div>
          )];
        })}
        {!options.length && <div class="group" role="presentation">{contacts.loading ? t('Searching…') : t('Nothing matches “{text}”.', { text: search })}</div>}
      </div>
      <div class="foot" aria-hidden="true"><span><Keys of="ArrowUp ArrowDown" /> {t('choose')}</span><span><Keys of="Enter" /> {t('open')}</span><span><Keys of="Escape" /> {t('close')}</span></div>
    </Dialog>
  );
};
const Help = () => (
  <Dialog title={t('Keyboard shortcuts')} isText onClose={() => (helping.value = false)}>
    <dl class="dl keylist">{helpKeys.map((key) => <><dt><Keys of={key.key} /><span class="sr">{key.key.replace('mod', strokes('mod')[0]!)}</span></dt><dd>{key.label}</dd></>)}</dl>
    <p class="small muted">{t('Single letters work outside text fields only. You can turn them off in your profile.')}</p>
  </Dialog>
);
let helpKeys: ReturnType<typeof activeKeys> = [];
/** Where the palette and the help appear. */
export const Palette = () => {
  if (helping.value) helpKeys = activeKeys();
  return <>{opened.value && <Open />}{helping.value && <Help />}</>;
};
