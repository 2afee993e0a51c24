// The roles that groups of a provider give: one line for each role of a group.
import { agents, Button, t } from '../../kit';
import { agentName, parts, ROLE_NAMES, roleName } from './roles';

export interface GroupLine {
  group: string;
  grant: string;
}
/** The lines of groups as the API has them. */
export const linesOf = (groups: Readonly<Record<string, readonly string[]>>): GroupLine[] => Object.entries(groups).flatMap(([group, grants]) => grants.map((grant) => ({ group, grant })));
/** The groups of lines; a line without a group says nothing. */
export const groupsOf = (lines: readonly GroupLine[]): Record<string, string[]> => {
  const groups: Record<string, string[]> = {};
  for (const { group, grant } of lines) if (group.trim()) (groups[group.trim()] ??= []).push(grant);
  return groups;
};
export const GroupsField = ({ value, error, onChange }: { value: readonly GroupLine[]; error?: string; onChange: (lines: GroupLine[]) => void }) => {
  const set = (n: number, change: Partial<GroupLine>) => onChange(value.map((line, at) => (at == n ? { ...line, ...change } : line)));
  return (
    <fieldset class="stack tight">
      <legend>{t('Roles by group')}</legend>
      <p class="muted small">{t('Applied at each sign-in. Roles that a person granted stay. The group * is everyone at the provider.')}</p>
      {value.map((line, n) => {
        const [role, agent] = parts(line.grant);
        const grant = (next: string, on: string | null) => set(n, { grant: on ? `${next}@${on}` : next });
        return (
          <div class="groupline">
            <input class="input" aria-label={t('Group {n}', { n: n + 1 })} aria-invalid={error ? true : undefined} placeholder={t('Group')} value={line.group} dir="auto" autocomplete="off" spellcheck={false} onInput={(event) => set(n, { group: event.currentTarget.value })} />
            <select class="input" aria-label={t('Role of group {n}', { n: n + 1 })} value={role} onChange={(event) => grant(event.currentTarget.value, agent)}>
              {ROLE_NAMES.filter((one) => one != 'owner').map((one) => <option value={one} selected={one == role}>{roleName(one)}</option>)}
            </select>
            <select class="input" aria-label={t('Agents of group {n}', { n: n + 1 })} value={agent ?? ''} onChange={(event) => grant(role, event.currentTarget.value || null)}>
              <option value="" selected={!agent}>{t('All agents')}</option>
              {[...new Set([...(agents.value ?? []).map((one) => one.id), ...(agent ? [agent] : [])])].map((id) => <option value={id} selected={id == agent}>{agentName(id)}</option>)}
            </select>
            <Button kind="quiet" icon="x" label={t('Remove group {n}', { n: n + 1 })} onClick={() => onChange(value.filter((_, at) => at != n))} />
          </div>
        );
      })}
      {error && <span class="wrong" role="alert">{error}</span>}
      <div class="row"><Button kind="quiet" icon="plus" onClick={() => onChange([...value, { group: '', grant: 'viewer' }])}>{t('Add a group')}</Button></div>
    </fieldset>
  );
};
