// The settings of an agent as a form: each setting by its path, as the command line names it.
import type { Values } from '../../kit';

/** How a setting is edited. */
export type Kind =
  /** A text; empty is `null`, the built-in one. */
  | 'text'
  /** A text that is always there. */
  | 'word'
  /** One entry on a line. */
  | 'lines'
  /** Entries that are ticked. */
  | 'list'
  | 'number'
  /** A number; empty is `null`. */
  | 'limit'
  | 'flag';
export type Kinds = Record<string, Kind>;
export type Tree = { [name: string]: unknown };

export const LOOK: Kinds = {
  'appearance.title': 'text', 'appearance.subtitle': 'text', 'appearance.avatar': 'text', 'appearance.color': 'word', 'appearance.theme': 'word', 'appearance.position': 'text', 'appearance.greeting': 'text', 'appearance.suggestions': 'lines',
  'appearance.teaser.text': 'text', 'appearance.footer': 'text', 'appearance.privacyUrl': 'text', 'appearance.disclosure': 'text',
};
export const REPLIES: Kinds = {
  'chat.responder': 'word', 'chat.instructions': 'text', 'chat.minCoverage': 'number', 'chat.fallback': 'word', 'chat.turnsPerDay': 'number', 'chat.llm.endpoint': 'word', 'chat.llm.model': 'text', 'chat.llm.grounding': 'word',
  'chat.llm.temperature': 'number', 'chat.llm.maxOutputTokens': 'number', 'chat.llm.contextTokens': 'number', 'chat.llm.tokensPerDay': 'number', 'chat.llm.costPerDay': 'limit',
};
export const PEOPLE: Kinds = {
  'chat.handoff.enabled': 'flag', 'chat.handoff.timeoutMinutes': 'number', 'lead.fields': 'list', 'lead.prechat': 'flag', 'lead.consent.text': 'text', 'lead.consent.version': 'text', 'lead.consent.required': 'flag', 'uploads.enabled': 'flag', 'uploads.types': 'lines',
  emailReplies: 'flag', feedback: 'flag', retentionDays: 'number',
};
export const PAGES: Kinds = { origins: 'lines', imageHosts: 'lines', linkHosts: 'lines', onlyLinkHosts: 'flag' };

const at = (tree: unknown, path: string): unknown => path.split('.').reduce<unknown>((inner, name) => (inner as Tree | null | undefined)?.[name], tree);
const put = (tree: Tree, [first, ...rest]: string[], value: unknown): void => {
  if (!first) return;
  if (!rest.length) tree[first] = value;
  else put(((tree[first] as Tree | null) ??= {}) as Tree, rest, value);
};
/** The values of a form. */
export const read = (settings: Tree, kinds: Kinds): Values =>
  Object.fromEntries(Object.entries(kinds).map(([path, kind]) => {
    const value = at(settings, path);
    return [path, kind == 'flag' ? value === true : kind == 'list' ? (value ?? []) : kind == 'lines' ? ((value as string[] | undefined) ?? []).join('\n') : String(value ?? '')];
  }));
const stored = (kind: Kind, value: unknown): unknown => {
  if (kind == 'flag' || kind == 'list') return value;
  const text = String(value).trim();
  if (kind == 'lines') return text.split('\n').map((line) => line.trim()).filter(Boolean);
  if (kind == 'word') return text;
  if (!text) return null;
  return kind == 'text' ? text : Number.isFinite(Number(text)) ? Number(text) : text;
};
/** Settings with the values of a form. Members of which nothing is left are `null`. */
export const write = (settings: Tree, kinds: Kinds, values: Values): Tree => {
  const tree = structuredClone(settings);
  for (const [path, kind] of Object.entries(kinds)) put(tree, path.split('.'), stored(kind, values[path]));
  const appearance = tree['appearance'] as Tree | undefined;
  if (appearance && !at(appearance, 'teaser.text')) appearance['teaser'] = null;
  const lead = tree['lead'] as Tree | undefined;
  if (lead && !at(lead, 'consent.text')) lead['consent'] = null;
  return tree;
};
/** A path of the server as the form has it: the entry of a list is the list's. */
export const fieldOf = (path: string): string => path.replace(/\[\d+\].*$/, '').replace(/^(lead\.consent|appearance\.teaser)$/, '$1.text');
