// The states of the widget as a visitor sees them, each saved as a screenshot to look at, and checked for accessibility.
import { readFileSync } from 'node:fs';
import { after, before, beforeEach } from 'node:test';
import { LEAD } from '../host.mjs';
import { inspect } from './axe.mjs';
import { AGENT, artefacts, replied, say, start, tag, test, until } from './setup.mjs';

let s;
before(async () => { s = await start(); });
after(() => s.stop());
beforeEach(() => s.host.reset());

const locale = (name) => JSON.parse(readFileSync(new URL(`../../locales/${name}.json`, import.meta.url), 'utf8'));
const ANSWER = 'Yes. We visit patients at home in Leeds **on weekdays from 8:00 to 18:00** [1]. Ask before 10:00 for the same day [2].\n\n- Nurse: no charge\n- Doctor: with a referral';
const SOURCES = [
  { n: 1, title: 'Services › Home visits', url: 'https://www.example.com/services', page: null },
  { n: 2, title: 'Services › Home visits', url: 'https://www.example.com/services', page: null },
  { n: 3, title: 'Price list', url: 'https://www.example.com/prices', page: 2 },
];
const CODE = 'Call it like this [1]:\n\n```bash\ncurl https://api.harbourlane.example/v1/orders --header "Authorization: Bearer $KEY" --data @order.json\necho done\n```\n\n| Weight | Price | Time |\n|---|---|---|\n| up to 1 kg | £2.90 | 2 days |\n| up to 5 kg | £4.20 | 2 days |\n\nSet `dry_run` first.';
const open = async (visit) => { await visit.at('.launcher').click(); await visit.at('.hi').waitFor({ state: 'attached' }); };
const person = (text, more = {}) => s.host.store(s.host.visitor(), 'human', text, { name: 'Zoë Okafor', ...more });
const poll = (visit) => visit.page.evaluate(() => window.dispatchEvent(new Event('online')));

/** Prepares a state; `config` changes the configuration. */
export const STATES = {
  launcher: {},
  welcome: { act: open },
  'welcome-plain': { config: { greeting: null, suggestions: [], subtitle: null }, act: open },
  'welcome-six': {
    config: { suggestions: ['What are your opening hours on public holidays and at weekends?', 'Do you offer home visits in the north of Leeds?', 'How do I cancel or move an appointment?', 'Which insurance plans do you accept?', 'Can I bring my dog to the practice?', 'Where can I park my car or my bicycle?'] },
    act: open,
  },
  loading: { act: async (visit) => { await visit.page.route('**/more.*.js', () => {}); await visit.at('.launcher').click(); await visit.at('.bones').waitFor(); } },
  failed: { act: async (visit) => { await visit.page.route('**/more.*.js', (route) => route.abort()); await visit.at('.launcher').click(); await visit.at('.bones .go').waitFor(); } },
  typing: { act: async (visit) => { s.host.script.deltaMs = 60000; await say(visit, 'Do you offer home visits?'); await visit.at('.dots').waitFor(); } },
  answer: {
    act: async (visit) => {
      s.host.script.reply = () => ANSWER;
      s.host.script.sources = SOURCES;
      s.host.script.after = () => [['suggestions', { items: ['Prices', 'Parking'] }]];
      await say(visit, 'Do you offer home visits?');
      await replied(visit);
    },
  },
  groups: {
    act: async (visit) => {
      s.host.script.reply = () => 'Monday to Friday from 8:00 to 18:00.';
      await say(visit, 'When are you open?');
      await replied(visit);
      await say(visit, 'And on Saturdays?');
      await replied(visit, 2);
      await visit.at('.latest .f .i').first().click();
    },
  },
  long: { act: async (visit) => { s.host.script.reply = () => Array.from({ length: 14 }, (_, n) => `Step ${n + 1}: take the document to the desk and wait for your turn.`).join('\n\n'); await say(visit, 'How does registration work?'); await replied(visit); } },
  code: { act: async (visit) => { s.host.script.reply = () => CODE; s.host.script.sources = SOURCES.slice(2).map((one) => ({ ...one, n: 1 })); await say(visit, 'How do I order?'); await replied(visit); } },
  queued: {
    act: async (visit) => {
      s.host.script.reply = () => 'I will pass you on to the team.';
      s.host.script.before = () => [['handoff', { name: null, avatar: null, etaSeconds: null }]];
      s.host.script.mode = 'human';
      await say(visit, 'I want to talk to a human');
      await replied(visit);
      await visit.at('.part.wait').waitFor();
    },
  },
  person: {
    act: async (visit) => {
      s.host.script.reply = () => 'I will pass you on to the team.';
      await say(visit, 'I want to talk to a human');
      await replied(visit);
      s.host.script.mode = 'human';
      s.host.script.people = [{ after: 2, change: 'joined', name: 'Zoë Okafor', at: new Date().toISOString() }];
      person('Hello, this is Zoë from the front desk.');
      person('You can pick a time here: https://www.example.com/book\n\nOr call us, **any time**.');
      await poll(visit);
      await visit.at('.m.h').nth(1).waitFor();
    },
  },
  left: {
    act: async (visit) => {
      await STATES.person.act(visit);
      s.host.script.mode = 'ai';
      s.host.script.people = [...s.host.script.people, { after: 4, change: 'left', name: 'Zoë Okafor', at: new Date().toISOString() }];
      await poll(visit);
      await visit.at('.part').nth(1).waitFor();
    },
  },
  form: { act: async (visit) => { s.host.script.reply = () => 'I could not find an answer to that.'; s.host.script.after = () => [['form', LEAD]]; await say(visit, 'What do birds eat?'); await visit.at('.form').waitFor(); } },
  'form-errors': { act: async (visit) => { await STATES.form.act(visit); await visit.at('.form input').first().fill('zoe@'); await visit.at('.form .go').click(); } },
  thanks: { act: async (visit) => { await STATES.form.act(visit); await visit.at('.form input').first().fill('zoe@example.com'); await visit.at('.form input').nth(1).fill('Zoë'); await visit.at('.form [type=checkbox]').check(); await visit.at('.form .go').click(); await visit.at('.done').waitFor(); } },
  prechat: { config: { prechat: LEAD }, act: async (visit) => { await visit.at('.launcher').click(); await visit.at('.form').waitFor(); } },
  files: {
    config: { uploads: true },
    act: async (visit) => {
      await visit.at('.launcher').click();
      await visit.page.route('**/uploads', async (route) => { await new Promise((resolve) => setTimeout(resolve, 60000)); await route.continue(); });
      const png = await visit.page.screenshot();
      await visit.at('input[type=file]').setInputFiles([{ name: 'photo-of-the-letter-that-came-yesterday.png', mimeType: 'image/png', buffer: png }, { name: 'letter.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF') }]);
      await visit.at('.files canvas').waitFor();
      await visit.at('textarea').fill('Here they are');
      await visit.at('.send').click();
    },
  },
  limited: { act: async (visit) => { s.host.script.refuse = (path) => path == 'turns' && { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { retryAfterSeconds: 20 } }; await say(visit, 'Too fast'); await visit.at('.composer .err').filter({ hasText: /\d/ }).waitFor(); } },
  offline: { act: async (visit) => { await open(visit); await visit.context.setOffline(true); await say(visit, 'Is anyone there?'); await visit.at('.strip').waitFor(); } },
  error: { act: async (visit) => { s.host.script.failure = () => ({ at: 20, retryable: true }); s.host.script.reply = () => 'This answer will be cut off soon'; await say(visit, 'What?'); await visit.at('.note.err').waitFor(); } },
  question: { act: async (visit) => { await STATES.answer.act(visit); await visit.at('.head [aria-label="New conversation"]').click(); } },
  names: {
    config: { title: 'The Mill Lane Medical Practice and Walk-in Centre of Greater Leeds', subtitle: 'We usually answer within a few minutes, day and night, also at weekends' },
    act: async (visit) => { s.host.script.reply = () => 'ok'; await say(visit, 'Donaudampfschifffahrtsgesellschaftskapitänsmützenknopflochverstärkung?'); await replied(visit); },
  },
  teaser: { config: { teaser: { text: 'Questions about your visit? We are here to help.', delayMs: 1 }, suggestions: ['Opening hours', 'Home visits'] }, act: (visit) => visit.at('.teaser').waitFor() },
  unread: { act: async (visit) => { await say(visit, 'hi'); await replied(visit); await visit.at('.launcher').click(); person('Hello, this is Zoë. Which day would suit you?'); await poll(visit); await visit.at('.teaser').waitFor(); } },
  yellow: { config: { color: '#ffe14d' }, act: (visit) => STATES.person.act(visit) },
};
const LOOKS = {
  light: { options: { colorScheme: 'light' } },
  dark: { options: { colorScheme: 'dark' }, css: 'html{background:#111;color:#eee}' },
  rtl: { lang: 'ar' },
  small: { options: { viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true } },
};
/** On a desktop all states in light, and those that differ in the other looks. */
const SHOWN = { rtl: /^(welcome|answer|person|form|names)$/, small: /^(welcome-six|answer|long|person|form|names|files|failed)$/ };
const ARABIC = { title: 'عيادة شارع الطاحونة', subtitle: null, disclosure: null, greeting: null, suggestions: ['ساعات العمل', 'الزيارات المنزلية'] };
const only = process.env.WIDGET_STATE && new RegExp(process.env.WIDGET_STATE);
for (const [look, { options, lang, css }] of Object.entries(LOOKS))
  for (const [name, { config, act }] of Object.entries(STATES)) {
    const title = `${look}, ${name}`;
    if ((SHOWN[look] && !SHOWN[look].test(name)) || (only && !only.test(title))) continue;
    test(`a state that is accessible, with a screenshot: ${title}`, async () => {
      s.host.script.config = { ...s.host.script.config, ...config };
      if (lang) s.host.script.configs[lang] = { locale: lang, strings: locale(lang), ...ARABIC };
      const visit = await s.visit({ name: 'state', options, headers: {}, body: `<header><h1>Harbour Lane</h1></header><main><p>Some text of the page.</p></main><footer>About us</footer>${tag(s.host, `data-agent-id="${AGENT}" ${lang ? `data-locale="${lang}"` : ''}`)}` });
      await visit.page.addStyleTag({ content: `body{font:16px sans-serif}${css || ''}` });
      await visit.at('.launcher').waitFor();
      await act?.(visit);
      await visit.page.waitForTimeout(350);
      await visit.page.mouse.move(5, 5);
      await visit.page.screenshot({ path: `${artefacts}state-${look}-${name}.png`, clip: look == 'small' ? undefined : { x: look == 'rtl' ? 0 : 820, y: 0, width: 460, height: 800 } });
      await inspect(visit, title);
      await visit.context.close();
    });
  }
