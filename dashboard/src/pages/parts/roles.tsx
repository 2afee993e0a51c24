// Roles: their words, a badge for each, and the field that chooses them.
import { agents, Badge, Button, can, t } from '../../kit';

/** A role with its name and what it is for, from the highest rank to the lowest. */
const ROLES: Record<string, [() => string, () => string]> = {
  owner: [() => t('Owner'), () => t('Everything, on all agents')],
  admin: [() => t('Admin'), () => t('Everything except sign-in settings and the store')],
  developer: [() => t('Developer'), () => t('API keys, schemas, form templates and webhooks, without sensitive values')],
  'agent-editor': [() => t('Agent editor'), () => t('What agents answer from')],
  inbox: [() => t('Inbox operator'), () => t('Conversations and contacts')],
  reviewer: [() => t('Reviewer'), () => t('Submissions and documents')],
  viewer: [() => t('Viewer'), () => t('Read-only, without sensitive values')],
};
/** The roles, from the highest rank to the lowest. */
export const ROLE_NAMES = Object.keys(ROLES);
export const roleName = (role: string): string => ROLES[role]?.[0]() ?? role;
/** The role and the agent of a grant, such as `inbox@acme`; without an agent it holds on all. */
export const parts = (grant: string): [role: string, agent: string | null] => {
  const at = grant.indexOf('@');
  return at < 0 ? [grant, null] : [grant.slice(0, at), grant.slice(at + 1)];
};
/** The name of an agent. */
export const agentName = (id: string) => agents.value?.find((one) => one.id == id)?.name ?? id;
export const RoleBadge = ({ role, agent }: { role: string; agent: string | null }) => (
  <Badge tone={role == 'owner' || role == 'admin' ? 'accent' : ''}>{agent ? t('{role} on {agent}', { role: roleName(role), agent }) : role == 'owner' ? roleName(role) : t('{role} on all agents', { role: roleName(role) })}</Badge>
);
/** The grants of somebody. */
export const Grants = ({ of: grants }: { of: readonly string[] }) => (
  <ul class="roles">{grants.map((grant) => { const [role, agent] = parts(grant); return <li><RoleBadge role={role} agent={agent && agentName(agent)} /></li>; })}</ul>
);
/** Chooses roles, each on one agent or on all. Nobody gives more than they have, and a service token is no owner. */
export const RolesField = ({ value, error, withoutOwner, onChange }: { value: readonly string[]; error?: string; withoutOwner?: boolean; onChange: (grants: string[]) => void }) => {
  const known = Object.keys(ROLES).filter((role) => role != 'owner' || (!withoutOwner && can('signIn.manage', null)));
  const set = (n: number, role: string, agent: string) => onChange(value.map((grant, at) => (at == n ? (agent && role != 'owner' ? `${role}@${agent}` : role) : grant)));
  return (
    <fieldset class="stack tight">
      <legend>{t('Roles')}</legend>
      {value.map((grant, n) => {
        const [role, agent] = parts(grant);
        return (
          <div class="roleline">
            <select class="input" aria-label={t('Role {n}', { n: n + 1 })} aria-invalid={error ? true : undefined} value={role} onChange={(event) => set(n, event.currentTarget.value, agent ?? '')}>
              {[...new Set([...known, role])].map((one) => <option value={one} selected={one == role}>{roleName(one)}</option>)}
            </select>
            <select class="input" aria-label={t('Agents of role {n}', { n: n + 1 })} disabled={role == 'owner'} value={agent ?? ''} onChange={(event) => set(n, role, event.currentTarget.value)}>
              <option value="" selected={!agent}>{t('All agents')}</option>
              {[...new Set([...(agents.value ?? []).map((one) => one.id), ...(agent ? [agent] : [])])].map((id) => <option value={id} selected={id == agent}>{agentName(id)}</option>)}
            </select>
            <Button kind="quiet" icon="x" label={t('Remove role {n}', { n: n + 1 })} off={value.length == 1} onClick={() => onChange(value.filter((_, at) => at != n))} />
            <span class="hint">{ROLES[role]?.[1]()}</span>
          </div>
        );
      })}
      {error && <span class="wrong" role="alert">{error}</span>}
      <div class="row"><Button kind="quiet" icon="plus" onClick={() => onChange([...value, 'viewer'])}>{t('Add a role')}</Button></div>
    </fieldset>
  );
};
