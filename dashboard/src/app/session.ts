// Who is signed in, and what they may do.
import { computed, signal } from '@preact/signals';
import { ApiError, call, get } from '../lib/api';
import { base, stored } from '../lib/base';
import { forget } from '../lib/cache';
import { setLocale, t } from '../lib/i18n';
import { letters } from '../lib/keys';
import type { Operations, Person } from '../generated/operations';
import type { Agent, Session } from './types';

export const session = signal<Session | null>(null);
/** The agents that the operator may open. */
export const agents = signal<readonly Agent[] | null>(null);
/** The agent of the address, or the last one. */
export const agent = signal<string | null>(stored.read('local', 'agent'));
export const operator = computed<Person | null>(() => session.value?.operator ?? null);

/** Who has done something: the name, or the id, of which a system may have none. */
export const who = (actor: { type: string; id: string; name: string | null }): string => actor.name ?? (actor.id.startsWith('op:') ? t('Removed member') : actor.id || actor.type);

/** Whether the operator has a capability on an agent; without one, on the installation. */
export const can = (capability: string, on: string | null = agent.value): boolean => {
  const all = session.value?.capabilities ?? {};
  return all['*']?.[capability] !== undefined || (!!on && all[on]?.[capability] !== undefined);
};

type Raw = Operations['session.show']['output'];
/** The answer of `session.show` as a session; of none, that of a stranger. */
const readSession = (raw: Partial<Raw>): Session => ({
  operator: raw.operator ?? null,
  capabilities: { ...raw.agentCapabilities, '*': raw.capabilities ?? {} },
  methods: raw.methods ?? ['passkey', 'password'],
  providers: raw.providers ?? [],
  isSetUp: raw.isSetUp ?? true,
  needsMethod: raw.needsMethod ?? false,
  hasAccounts: raw.hasAccounts ?? true,
  serviceName: raw.serviceName ?? 'Console',
  publicUrl: raw.publicUrl ?? location.origin,
  build: raw.build ?? '',
});
const apply = (one: Session) => {
  const me = one.operator;
  if (me) {
    void setLocale(me.locale ?? stored.read('local', 'locale'));
    letters.value = stored.read('local', 'letters') != 'off';
  }
  session.value = one;
};
/** Sets the theme: `auto`, `light` or `dark`. */
export const setTheme = (theme: string): void => {
  stored.write('local', 'theme', theme == 'auto' ? null : theme);
  dispatchEvent(new Event('console-theme'));
};
/** Sets the density: `comfortable` or `compact`. */
export const setDensity = (density: string): void => {
  stored.write('local', 'density', density);
  dispatchEvent(new Event('console-theme'));
};

/** Reads the session, and the agents if somebody is signed in. */
export const start = async (): Promise<void> => {
  let raw: Partial<Raw> = {};
  try {
    raw = (await call<Raw>('GET', '/session', { quiet: true })).data;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status != 401) throw error;
  }
  apply(readSession(raw));
  if (session.value?.operator && !session.value.needsMethod) await readAgents();
};
/** Reads the agents again. */
export const readAgents = async (): Promise<void> => {
  const reply = await get<readonly Agent[]>('/agents');
  agents.value = reply.data;
  if (!reply.data.some((one) => one.id == agent.value)) agent.value = reply.data[0]?.id ?? null;
};
/** Chooses an agent. */
export const choose = (id: string): void => {
  agent.value = id;
  stored.write('local', 'agent', id);
};
/** Takes over a session that has just begun: the same person goes on where they were. */
export const begin = async (answer: { pageSecret: string | null }): Promise<boolean> => {
  stored.write('local', 'proof', answer.pageSecret);
  const before = operator.value?.id;
  await start();
  if (!before || before == operator.value?.id) return true;
  // Nothing of the one is shown to the other.
  forget();
  sessionStorage.clear();
  location.assign(base + '/');
  return false;
};
/** The host application's own page that signs people in, and then leads back; null where accounts are the console's. */
export const hostSignIn = (): string | null => (session.value?.hasAccounts === false ? `${base}/sign-in?next=${encodeURIComponent(location.pathname + location.search)}` : null);
/** Ends the session, and what the browser holds of it. A host application ends its own. */
export const signOut = async (): Promise<void> => {
  const isHosted = !!hostSignIn();
  if (!isHosted) await call('DELETE', '/session', { quiet: true }).catch(() => undefined);
  sessionStorage.clear();
  stored.write('local', 'proof', null);
  stored.write('local', 'agent', null);
  forget();
  location.assign(base + (isHosted ? '/sign-out' : '/sign-in'));
};
