// Options: which are there, what they may be, and what is said about others.
import { warn } from './name';
import type { InitOptions } from './public';

export type Options = Partial<InitOptions>;
type Values = Record<string, unknown>;

// What the options may be: a pattern for type and value, then the options that it holds for. A number before the pattern
// says how many members an object may have, and the pattern is that of each. One text, because tables of small ones take
// more room.
const RULES = `string:[\\w-]{1,64} agentId chatbotId
string:https?://[^\\s?#]*[^\\s?#/] apiBase
string:[A-Za-z]{2,8}(-[A-Za-z\\d]{1,8}){0,6} locale
string:(auto|light|dark) theme
string:(auto|ltr|rtl) dir
string:bottom-(right|left) position
string:(bubble|inline) mode
string:(local|session|memory) persist
string:(path|full|none) page
string:(config|off) prechat
string:#([\\da-fA-F]{3}){1,2} color
string:[^;{}]{1,200} fontFamily
string:.{0,60} launcherLabel
string:.{0,80} title subtitle
string:.{0,1000} greeting nonce avatar
boolean:.* open openOnMobile sound uploads feedback consent
number:-?\\d{1,10} zIndex
number:\\d{1,4}(\\.\\d+)? radius
function:.* onReady onOpen onClose onMessage onError
object:.*|boolean:false teaser
string:.*|object:.*Element\\] container
2*boolean:.*|string:(chat|help) launcher
6*string:.{0,80} suggestions
5*string:.{0,512}|undefined:.*|object:null user
20*string:.{0,256}|number:-?[\\d.e+-]+|boolean:.* metadata
99*string:.{0,400} strings
2*number:\\d{1,4}(\\.\\d+)? offset
20*function:.* on`;

/** The pattern of an option; empty for one that is not known. */
const ruleOf = (name: string): string => {
  for (const line of RULES.split('\n')) {
    const [rule, ...names] = line.split(' ');
    if (names.includes(name)) return rule;
  }
  return '';
};
const fits = (rule: string, value: unknown): boolean => {
  const [most, each] = rule.split('*', 2);
  return each && +most
    ? typeof value == 'object' && Object.entries(value as Values).every(([key, one], i) => i < +most && [...key].length < 41 && fits(rule.slice(most.length + 1), one))
    : RegExp(`^(${rule})$`, 'su').test(`${typeof value}:${value}`);
};

/** The usable options; others are named in the console. `fixed` are those that cannot change any more. */
export const check = (given: object, fixed = ''): Options => {
  const out: Values = {};
  for (const [key, value] of Object.entries(given)) {
    const rule = ruleOf(key);
    if (value == null) continue;
    if (!rule) warn(`option "${key}" is unknown; remove it`);
    else if (fixed.split(' ').includes(key)) warn(`option "${key}" cannot be updated; use destroy() and init()`);
    else if (fits(rule, value)) out[key] = value;
    else warn(`option "${key}" is unusable; correct it:`, value);
  }
  return out;
};

/** What `init` starts from. Throws `TypeError` when it cannot start at all. */
export const start = (given: Options = {}, origin: string): Options & { agentId: string; apiBase: string } => {
  const { agentId = given?.chatbotId } = given || {};
  if (!fits(ruleOf('agentId'), agentId)) throw TypeError('init needs the option agentId');
  const options = check(given);
  const { chatbotId, apiBase = origin } = options;
  let { container } = options;
  if (chatbotId && chatbotId != agentId) warn('option "chatbotId" is not agentId; remove it');
  if (!apiBase) throw TypeError('init needs the option apiBase');
  if (typeof container == 'string') {
    try {
      container = document.querySelector(container) as HTMLElement;
    } catch {
      container = undefined;
    }
    if (!container) warn('option "container" matches nothing; correct it');
  }
  if (options.mode == 'inline' && !container) throw TypeError('init needs the option container');
  return { ...options, agentId: agentId as string, apiBase, container };
};

/** The options that the attributes of a script tag give. */
export const fromAttributes = (read: (name: string) => string | null): Values => {
  const out: Values = {};
  for (const name of 'agent-id api-base position locale theme color title greeting launcher-label open z-index'.split(' ')) {
    const value = read('data-' + name);
    if (value != null) out[name.replace(/-./, (letter) => letter[1].toUpperCase())] = name == 'open' ? value != 'false' : name == 'z-index' ? +value : value;
  }
  return out;
};
