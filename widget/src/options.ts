// Validates options and warns about unknown and invalid ones.
import { warn } from './name';
import type { InitOptions } from './public';

export type Options = Partial<InitOptions>;
type Values = Record<string, unknown>;

// One rule a line: a pattern for the first letter of the type and the value, then the options that it applies to.
// A number before the pattern is the maximum of an object's members; the pattern applies to each and may begin with its name.
// A single string, because a table takes more memory.
const RULES = `s:[\\w-]{1,64} agentId chatbotId
s:https?://[^\\s?#]*[^\\s?#/] apiBase
s:[A-Za-z]{2,8}(-\\w{1,8})* locale
s:(auto|light|dark) theme
s:(auto|ltr|rtl) dir
s:bottom-(right|left) position
s:(bubble|inline) mode
s:(local|session|memory) persist
s:(path|full|none) page
s:(config|off) prechat
s:#([\\da-fA-F]{3}){1,2} color
s:[^;{}]{1,200} fontFamily
s:.{0,60} launcherLabel
s:.{0,80} title subtitle
s:.{0,1000} greeting nonce avatar
b:\\D+ open openOnMobile sound uploads feedback consent
n:-?\\d{1,10} zIndex
n:\\d{1,4}(\\.\\d+)? radius
f:.* onReady onOpen onClose onMessage onError
2*text=s:.{0,200}|delayMs=n:\\d{1,9} teaser
s:.*|o:.*Element\\] container
2*hidden=b:\\D+|icon=s:(chat|help|avatar) launcher
6*\\d=s:.{0,80} suggestions
5*s:.{0,512}|u:.*|o:null user
20*s:.{0,256}|n:-?[\\d.e+-]+|b:\\D+ metadata
99*s:.{0,400} strings
2*n:\\d{1,4}(\\.\\d+)? offset
20*f:.* on`;

/** The rule of an option; empty if the option is unknown. */
const ruleOf = (name: string): string => {
  for (const line of RULES.split('\n')) {
    const [rule, ...names] = line.split(' ');
    if (names.includes(name)) return rule;
  }
  return '';
};
/** `name` is that of a member, with `=`; a pattern may contain it. */
const fits = (rule: string, value: unknown, name = ''): boolean => {
  const [most, each] = rule.split('*', 2);
  return each && +most
    ? typeof value == 'object' && Object.entries(value as Values).every(([key, one], i) => i < +most && [...key].length < 41 && fits(rule.slice(most.length + 1), one, key + '='))
    : ['', name].some((begin) => RegExp(`^(${rule})$`, 'su').test(`${begin + (typeof value)[0]}:${value}`));
};

/** The valid options; the console names the others. `fixed` are those that `update` cannot change. */
export const check = (given: object, fixed = ''): Options => {
  const out: Values = {};
  for (const [key, value] of Object.entries(given)) {
    const rule = ruleOf(key);
    if (value == null) continue;
    if (!rule) warn(`option "${key}" is unknown; remove it`);
    else if (fixed.split(' ').includes(key)) warn(`option "${key}" cannot be updated; use destroy() and init()`);
    else if (fits(rule, value) || (key == 'teaser' && value === false)) out[key] = value;
    else warn(`option "${key}" is unusable; correct it:`, value);
  }
  return out;
};

/** The options of `init`. Throws `TypeError` if a required one is missing. */
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

/** The options in the attributes of a script tag. */
export const fromAttributes = (data: DOMStringMap): Values => {
  const out: Values = {};
  for (const name of 'agentId apiBase position locale theme color title greeting launcherLabel open openOnMobile zIndex'.split(' ')) {
    const value = data[name];
    if (value != null) out[name] = /^open/.test(name) ? value != 'false' : name == 'zIndex' ? +value : value;
  }
  return out;
};
