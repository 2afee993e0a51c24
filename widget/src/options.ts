// Options: which are there, what they may be, and what is said about others.
import { warn } from './name';
import type { InitOptions } from './public';

export type Options = Partial<InitOptions>;
type Values = Record<string, unknown>;
/** A pattern for type and value, or a number of members at most and the rule of each. */
type Rule = string | [number, Rule];

// The lengths are texts already: the first number that becomes one costs a table of 64 KiB in V8.
const line = (max: string) => `string:.{0,${max}}`;
const SIZE = 'number:\\d{1,4}(\\.\\d+)?';
const HANDLER = 'function:.*';

// Each rule and the options that it holds for.
const RULES: [Rule, string][] = [
  ['string:[\\w-]{1,64}', 'agentId chatbotId'],
  ['string:https?://[^\\s?#]*[^\\s?#/]', 'apiBase'],
  ['string:[A-Za-z]{2,8}(-[A-Za-z\\d]{1,8}){0,6}', 'locale'],
  ['string:(auto|light|dark)', 'theme'],
  ['string:(auto|ltr|rtl)', 'dir'],
  ['string:bottom-(right|left)', 'position'],
  ['string:(bubble|inline)', 'mode'],
  ['string:(local|session|memory)', 'persist'],
  ['string:(path|full|none)', 'page'],
  ['string:(config|off)', 'prechat'],
  ['string:#([\\da-fA-F]{3}){1,2}', 'color'],
  ['string:[^;{}]{1,200}', 'fontFamily'],
  [line('60'), 'launcherLabel'],
  [line('80'), 'title subtitle'],
  [line('1000'), 'greeting nonce avatar'],
  ['boolean:.*', 'open openOnMobile sound uploads feedback consent'],
  ['number:-?\\d{1,10}', 'zIndex'],
  [SIZE, 'radius'],
  [HANDLER, 'onReady onOpen onClose onMessage onError'],
  [[2, 'boolean:.*|string:(chat|help)'], 'launcher'],
  ['object:.*|boolean:false', 'teaser'],
  ['string:.*|object:.*Element\\]', 'container'],
  [[6, line('80')], 'suggestions'],
  [[5, line('512') + '|undefined:.*|object:null'], 'user'],
  [[20, line('256') + '|number:-?[\\d.e+-]+|boolean:.*'], 'metadata'],
  [[99, line('400')], 'strings'],
  [[2, SIZE], 'offset'],
  [[20, HANDLER], 'on'],
];

const fits = (rule: Rule, value: unknown): boolean =>
  typeof rule == 'string'
    ? RegExp(`^(${rule})$`, 'su').test(`${typeof value}:${value}`)
    : typeof value == 'object' &&
      Object.keys(value as Values).length <= rule[0] &&
      Object.keys(value as Values).every((key) => [...key].length < 41 && fits(rule[1], (value as Values)[key]));

/** The usable options; others are named in the console. `fixed` are those that cannot change any more. */
export const check = (given: object, fixed = ''): Options => {
  const out: Values = {};
  for (const [key, value] of Object.entries(given)) {
    const rule = RULES.find(([, names]) => names.split(' ').includes(key));
    if (value == null) continue;
    if (!rule) warn(`option "${key}" is unknown; remove it`);
    else if (fixed.split(' ').includes(key)) warn(`option "${key}" cannot be updated; use destroy() and init()`);
    else if (fits(rule[0], value)) out[key] = value;
    else warn(`option "${key}" is unusable; correct it:`, value);
  }
  return out;
};

/** What `init` starts from. Throws `TypeError` when it cannot start at all. */
export const start = (given: Options = {}, origin: string): Options & { agentId: string; apiBase: string } => {
  const { agentId = given?.chatbotId } = given || {};
  if (!fits(RULES[0][0], agentId)) throw TypeError('init needs the option agentId');
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
  for (const key of 'agentId apiBase position locale theme color title greeting launcherLabel open zIndex'.split(' ')) {
    // Names of attributes may be in any case.
    const value = read('data-' + key.replace(/[A-Z]/, '-$&'));
    if (value != null) out[key] = key == 'open' ? value != 'false' : key == 'zIndex' ? +value : value;
  }
  return out;
};
