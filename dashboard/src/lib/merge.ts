// Merges a record that two people have changed.

/** Values by name. */
export type Values = Record<string, unknown>;
/** A field that both sides changed, differently. */
export interface Conflict {
  field: string;
  base: unknown;
  theirs: unknown;
  mine: unknown;
}
export const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a ?? null) == JSON.stringify(b ?? null);

/** The merged values, the fields that only one side changed, and those that both did. */
export const merge = (base: Values, mine: Values, theirs: Values): { merged: Values; yours: string[]; others: string[]; conflicts: Conflict[] } => {
  const merged: Values = { ...theirs };
  const yours: string[] = [];
  const others: string[] = [];
  const conflicts: Conflict[] = [];
  for (const field of new Set([...Object.keys(base), ...Object.keys(mine), ...Object.keys(theirs)])) {
    const iChanged = field in mine && !same(base[field], mine[field]);
    const theyChanged = !same(base[field], theirs[field]);
    if (iChanged && theyChanged && !same(mine[field], theirs[field])) conflicts.push({ field, base: base[field], theirs: theirs[field], mine: mine[field] });
    else if (iChanged) {
      merged[field] = mine[field];
      if (!theyChanged) yours.push(field);
    } else if (theyChanged) others.push(field);
  }
  return { merged, yours, others, conflicts };
};
/** The members that differ from the base: what a PATCH sends. */
export const changed = (base: Values, mine: Values): Values => Object.fromEntries(Object.entries(mine).filter(([field, value]) => !same(base[field], value)));
