// The pages: address, name, key, and what each needs.
import type { IconName } from '../ui/icon';
import { t } from '../lib/i18n';
import { agent, can, session } from './session';

/** A page of an agent. */
export interface Page {
  name: string;
  /** The path after `/a/{agent}`. */
  path: string;
  title: () => string;
  icon: IconName;
  key: string;
  needs: string;
  /** Where its link stands; a page that another one leads to has none. */
  group: 'main' | 'settings' | 'none';
  /** A page of the installation and not of an agent: its path is the whole one. */
  ofAll?: boolean;
  /** A page that exists with the console's own accounts alone. */
  ofAccounts?: boolean;
}
export const PAGES: Page[] = [
  { name: 'home', path: '', title: () => t('Home'), icon: 'home', key: 'g h', needs: 'agents.read', group: 'main' },
  { name: 'inbox', path: '/inbox', title: () => t('Inbox'), icon: 'inbox', key: 'g i', needs: 'inbox.read', group: 'main' },
  { name: 'contacts', path: '/contacts', title: () => t('Contacts'), icon: 'contacts', key: 'g c', needs: 'contacts.read', group: 'main' },
  { name: 'import', path: '/contacts/import', title: () => t('Import contacts'), icon: 'contacts', key: 'g o', needs: 'contacts.bulk', group: 'none' },
  { name: 'knowledge', path: '/knowledge', title: () => t('Knowledge'), icon: 'book', key: 'g a', needs: 'studio.read', group: 'main' },
  { name: 'questions', path: '/questions', title: () => t('Unanswered questions'), icon: 'question', key: 'g q', needs: 'insights.read', group: 'main' },
  { name: 'studio', path: '/studio', title: () => t('Agent'), icon: 'bot', key: 'g s', needs: 'studio.read', group: 'main' },
  { name: 'extractions', path: '/extractions', title: () => t('Extractions'), icon: 'file', key: 'g e', needs: 'documents.read', group: 'main' },
  { name: 'keys', path: '/settings/keys', title: () => t('API Permissions'), icon: 'key', key: 'g k', needs: 'keys.read', group: 'settings' },
  { name: 'webhooks', path: '/settings/webhooks', title: () => t('Webhooks'), icon: 'hook', key: 'g w', needs: 'webhooks.read', group: 'settings' },
  { name: 'schema', path: '/settings/schema', title: () => t('Contact schema'), icon: 'settings', key: 'g f', needs: 'schema.read', group: 'settings' },
  { name: 'credits', path: '/settings/credits', title: () => t('Credits'), icon: 'coin', key: 'g b', needs: 'credits.read', group: 'settings' },
  { name: 'members', path: '/members', title: () => t('Members'), icon: 'person', key: 'g m', needs: 'members.read', group: 'settings', ofAll: true, ofAccounts: true },
  { name: 'tokens', path: '/tokens', title: () => t('Service tokens'), icon: 'shield', key: 'g t', needs: 'tokens.manage', group: 'settings', ofAll: true, ofAccounts: true },
  { name: 'providers', path: '/providers', title: () => t('Sign-in'), icon: 'passkey', key: 'g p', needs: 'signIn.manage', group: 'settings', ofAll: true, ofAccounts: true },
  { name: 'audit', path: '/settings/audit', title: () => t('Audit log'), icon: 'audit', key: 'g l', needs: 'audit.read', group: 'settings' },
  { name: 'server', path: '/server', title: () => t('Server'), icon: 'info', key: 'g v', needs: 'server.read', group: 'settings', ofAll: true },
];
/** Whether the operator may open a page. Who has an account elsewhere finds no members here. */
export const mayOpen = (page: Page, on: string | null = agent.value): boolean => can(page.needs, page.ofAll ? null : on) && (!page.ofAccounts || !!session.value?.hasAccounts);
/** The pages that the operator may open. */
export const openPages = (): Page[] => PAGES.filter((page) => mayOpen(page));
/** The path of a page. */
export const pathOf = (page: Page): string => (page.ofAll ? page.path : `/a/${encodeURIComponent(agent.value ?? '')}${page.path}`);
