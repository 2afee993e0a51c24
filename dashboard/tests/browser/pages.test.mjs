// Every page in every look and state: accessible, without sideways scrolling, and a screenshot to look at.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { artefacts, inspect, start, test, until } from './setup.mjs';
import { pseudo, untranslated } from './pseudo.mjs';

let all;
before(async () => (all = await start()));
after(() => all.stop());

const first = (list) => all.stub.data[list][0]?.id ?? 'none';
const website = (url) => '/a/acme/knowledge/websites/' + (all.stub.data.sources.find((one) => url.test(one.url))?.id ?? 'none');
const webhook = (url) => '/a/acme/settings/webhooks/' + (all.stub.data.webhooks.find((one) => url.test(one.url))?.id ?? 'none');
const PAGES = {
  home: () => '/a/acme',
  inbox: () => '/a/acme/inbox',
  conversation: () => '/a/acme/inbox/' + first('conversations'),
  contacts: () => '/a/acme/contacts',
  contact: () => '/a/acme/contacts/' + first('contacts'),
  'new-contact': () => '/a/acme/contacts/new',
  import: () => '/a/acme/contacts/import',
  knowledge: () => '/a/acme/knowledge',
  websites: () => '/a/acme/knowledge/websites',
  website: () => website(/www/),
  'website-reading': () => website(/help/),
  'website-failed': () => website(/shop/),
  'website-limited': () => website(/docs/),
  'website-new': () => website(/blog/),
  questions: () => '/a/acme/questions',
  studio: () => '/a/acme/studio',
  'studio-replies': () => '/a/acme/studio/replies',
  'studio-people': () => '/a/acme/studio/people',
  'studio-try': () => '/a/acme/studio/try',
  'studio-install': () => '/a/acme/studio/install',
  extractions: () => '/a/acme/extractions',
  extraction: () => '/a/acme/extractions/' + (all.stub.data.extractions[2]?.id ?? 'none'),
  'extraction-running': () => '/a/acme/extractions/' + (all.stub.data.extractions[1]?.id ?? 'none'),
  keys: () => '/a/acme/settings/keys',
  key: () => '/a/acme/settings/keys/' + first('keys'),
  'new-key': () => '/a/acme/settings/keys/new',
  'rotate-key': () => `/a/acme/settings/keys/${first('keys')}/rotate`,
  webhooks: () => '/a/acme/settings/webhooks',
  webhook: () => '/a/acme/settings/webhooks/' + first('webhooks'),
  'webhook-failing': () => webhook(/erp/),
  'webhook-gone': () => webhook(/old/),
  schema: () => '/a/acme/settings/schema',
  'schema-json': () => '/a/acme/settings/schema?view=json',
  'schema-versions': () => '/a/acme/settings/schema?view=versions',
  credits: () => '/a/acme/settings/credits',
  audit: () => '/a/acme/settings/audit',
  members: () => '/members',
  invitations: () => '/members?view=invitations',
  tokens: () => '/tokens',
  'tokens-past': () => '/tokens?state=ended',
  'new-token': () => '/tokens/new',
  server: () => '/server',
  providers: () => '/providers',
  provider: () => '/providers?open=id',
  profile: () => '/profile',
  agents: () => '/agents',
  missing: () => '/a/acme/nothing',
  'sign-in': () => '/sign-in',
  setup: () => '/setup#' + 'A'.repeat(43),
  secure: () => '/profile',
};
const LOOKS = {
  light: {},
  dark: { colorScheme: 'dark' },
  rtl: { locale: 'ar' },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  narrow: { viewport: { width: 320, height: 640 } },
  tablet: { viewport: { width: 820, height: 1100 } },
  forced: { forcedColors: 'active' },
  // German is replaced by English with marks and 40 % more letters.
  pseudo: { locale: 'de' },
  'pseudo-phone': { locale: 'de', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};
const check = async (name, path, options, open) => {
  const isPseudo = options.locale == 'de';
  const visit = await all.visit(path, { options, prepare: isPseudo ? pseudo : undefined });
  await visit.page.locator('h1:visible').first().waitFor();
  await visit.page.waitForFunction(() => !document.querySelector('[role=status][aria-label], .bones'));
  if (open) {
    await open(visit.page);
    await visit.page.locator('dialog[open]').waitFor();
  }
  await visit.page.waitForTimeout(60);
  await visit.page.screenshot({ path: `${artefacts}${name}.png` });
  const found = isPseudo ? await untranslated(visit.page, all.stub.data, name) : await inspect(visit.page, name);
  const wide = await visit.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) found.push(`${name}: ${wide} px too wide`);
  await visit.done();
  return found;
};
for (const [look, options] of Object.entries(LOOKS))
  test(`every page: ${look}`, async () => {
    const found = [];
    for (const [name, path] of Object.entries(PAGES)) {
      all.stub.reset();
      all.stub.signedIn = !['sign-in', 'setup'].includes(name);
      all.stub.needsMethod = name == 'secure';
      found.push(...(await check(`${name}-${look}`, path(), options)));
    }
    assert.deepEqual(found, []);
  });
/** What stands over a page: the page, and how it is opened. In the pseudo-language a name has marks around it. */
const press = (name, role = 'button') => (page) => page.getByRole(role, { name }).first().click();
const pick = (menu, item) => async (page) => {
  await press(menu)(page);
  await press(item, 'menuitem')(page);
};
const DIALOGS = {
  'revoke-key': ['keys', pick(/Actions for CRM sync/, /Revoke/)],
  'disable-key': ['keys', pick(/Actions for CRM sync/, /Disable/)],
  'found-key': ['keys', press(/Found a key/)],
  invite: ['members', press(/Invite/)],
  'disable-member': ['members', pick(/Actions for Kofi/, /Disable/)],
  teach: ['knowledge', press(/Teach/)],
  'new-webhook': ['webhooks', press(/New webhook/)],
  'rotate-webhook': ['webhook', pick(/Actions/, /Rotate/)],
  'test-webhook': ['webhook', press(/test message/)],
  'replay-webhook': ['webhook', pick(/Actions/, /Replay/)],
  'remove-webhook': ['webhook', pick(/Actions/, /Remove/)],
  'new-field': ['schema', press(/Add field/)],
  'add-credits': ['credits', press(/Add credits/)],
  'new-agent': ['agents', press(/New agent/)],
  'erase-contact': ['contact', pick(/^⟦Actions/, /Erase/)],
  palette: ['home', (page) => page.keyboard.press('Control+k')],
  shortcuts: ['inbox', (page) => page.keyboard.press('?')],
};
for (const look of ['pseudo', 'pseudo-phone'])
  test(`every dialog: ${look}`, async () => {
    const found = [];
    for (const [name, [on, open]] of Object.entries(DIALOGS)) {
      all.stub.reset();
      if (look == 'pseudo-phone' && name == 'shortcuts') continue;
      found.push(...(await check(`${name}-${look}`, PAGES[on](), LOOKS[look], open)));
    }
    assert.deepEqual(found, []);
  });
test('every page without records', async () => {
  const found = [];
  for (const name of ['home', 'inbox', 'contacts', 'knowledge', 'websites', 'questions', 'extractions', 'keys', 'webhooks', 'credits', 'audit', 'agents', 'members', 'invitations', 'providers']) {
    all.stub.reset(true);
    if (name == 'agents') all.stub.data.agents = [];
    found.push(...(await check(`${name}-empty`, PAGES[name](), {})));
  }
  assert.deepEqual(found, []);
});
test('every page whose reading fails names the reason, the request, and the next step', async () => {
  const found = [];
  for (const name of ['home', 'inbox', 'conversation', 'contacts', 'contact', 'knowledge', 'websites', 'website', 'questions', 'studio', 'extractions', 'extraction', 'keys', 'key', 'webhooks', 'webhook', 'schema', 'schema-versions', 'credits', 'audit', 'members', 'invitations']) {
    all.stub.reset();
    all.stub.fail = (method, path) => (/^\/(agents\/acme|members)/.test(path) ? { status: 503, code: 'SERVICE_UNAVAILABLE', message: 'The data store is not available' } : null);
    const visit = await all.visit(PAGES[name]());
    const alert = visit.page.locator('[role=alert]').first();
    await alert.waitFor();
    for (const text of ['The server is not ready', 'SERVICE_UNAVAILABLE', '0199c1f2', 'Try again']) assert.ok((await alert.innerText()).includes(text), `${name}: ${text}`);
    await visit.page.screenshot({ path: `${artefacts}${name}-failing.png` });
    found.push(...(await inspect(visit.page, name + '-failing')));
    all.stub.fail = () => null;
    const again = visit.page.getByRole('button', { name: 'Try again' });
    await until(async () => {
      if (await again.count()) await again.first().click({ timeout: 1000 }).catch(() => undefined);
      return !(await visit.page.locator('[role=alert]').count());
    }, `${name} after the failure`);
    await visit.done();
  }
  assert.deepEqual(found, []);
});
test('a slow server shows the frame at once, and rows of the real height while it waits', async () => {
  all.stub.reset();
  const visit = await all.visit('/profile');
  await visit.page.getByText('MacBook').waitFor();
  all.stub.delayMs = 1500;
  for (const [link, name] of [['Contacts', 'contacts'], ['API Permissions', 'keys'], ['Knowledge', 'knowledge'], ['Members', 'members']]) {
    await visit.page.getByRole('link', { name: link, exact: true }).first().click();
    await visit.page.locator('.bone').first().waitFor();
    await visit.page.screenshot({ path: `${artefacts}${name}-loading.png` });
    assert.deepEqual(await inspect(visit.page, name + '-loading'), []);
  }
  await visit.done();
});
test('what a role may not is absent, and a forbidden page names the permission', async () => {
  all.stub.reset();
  all.stub.granted = ['agents.read', 'inbox.read', 'contacts.read', 'schema.read'];
  const visit = await all.visit('/a/acme/contacts');
  await visit.page.getByRole('row').nth(3).waitFor();
  assert.equal(await visit.page.getByRole('link', { name: 'New contact' }).count(), 0);
  assert.equal(await visit.page.getByRole('link', { name: 'API Permissions' }).count(), 0);
  assert.equal(await visit.page.getByRole('link', { name: 'Members' }).count(), 0);
  await visit.page.goto(all.stub.page('/members'));
  await visit.page.getByText('members.read').waitFor();
  assert.ok(!all.stub.log.some((one) => one.path.startsWith('/members')));
  await visit.page.goto(all.stub.page('/a/acme/settings/keys'));
  await visit.page.getByText('keys.read').waitFor();
  assert.deepEqual(await inspect(visit.page, 'forbidden'), []);
  await visit.page.screenshot({ path: artefacts + 'forbidden.png' });
  await visit.page.goto(all.stub.page('/a/acme/inbox/' + first('conversations')));
  await visit.page.getByText('Hello! Do you do home visits?').waitFor();
  assert.equal(await visit.page.getByRole('button', { name: 'Take over' }).count(), 0);
  assert.equal(await visit.page.locator('textarea').count(), 0);
  await visit.done();
});
test('the first load is at most 6 requests and under the policy', async () => {
  all.stub.reset();
  const files = [];
  const visit = await all.visit('/a/acme/settings/keys', { init: () => localStorage.setItem('console-agent', 'acme') });
  visit.page.on('request', (request) => /assets|\/settings\/keys$/.test(request.url()) && files.push(request.url()));
  await visit.page.reload();
  await visit.page.getByText('CRM sync').waitFor();
  assert.ok(files.filter((url) => !/icon/.test(url)).length <= 6, files.join('\n'));
  await visit.done();
});
