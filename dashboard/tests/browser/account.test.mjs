// Signing in and out, set-up, the palette, the connection, the base path.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { artefacts, inspect, start, test, until } from './setup.mjs';
import { SETUP_TOKEN } from '../stub.mjs';

let all;
before(async () => (all = await start('/admin')));
after(() => all.stop());
/** A virtual authenticator in Chromium. */
const authenticator = async ({ page, context }) => {
  const session = await context.newCDPSession(page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', { options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } });
};

test('a password signs in, a wrong one says nothing of the account, and the page goes on', async () => {
  all.stub.reset();
  all.stub.signedIn = false;
  const visit = await all.visit('/a/acme/contacts?q=zo');
  const { page } = visit;
  await page.getByLabel('E-mail').fill('ada@example.com');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('E-mail or password is incorrect').waitFor();
  assert.deepEqual(await inspect(page, 'wrong-password'), []);
  await page.getByLabel('Password').fill('correct horse battery');
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: /Zoë/ }).first().waitFor();
  assert.match(page.url(), /\/admin\/a\/acme\/contacts\?q=zo$/);
  assert.equal(all.stub.log.at(-1).headers['x-console'], 'page-secret');
  await visit.done();
});
test('a set-up link makes the owner with a passkey, and its token leaves the address', async () => {
  all.stub.reset();
  Object.assign(all.stub, { signedIn: false, isSetUp: false });
  const visit = await all.visit('/sign-in');
  const { page } = visit;
  await authenticator(visit);
  await page.getByText('Nobody has an account yet').waitFor();
  await page.goto('about:blank');
  await page.goto(all.stub.page('/setup#' + SETUP_TOKEN));
  await page.getByLabel('Your name').fill('Ada Whitfield');
  assert.ok(!page.url().includes(SETUP_TOKEN));
  await page.getByLabel('E-mail').fill('ada@example.com');
  await page.getByRole('button', { name: 'Create passkey and continue' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  const accepted = JSON.parse(all.stub.log.find((one) => one.path == '/links/accept').raw);
  assert.equal(accepted.token, SETUP_TOKEN);
  assert.match(accepted.credential.response.attestationObject, /^[\w-]{100,}$/);
  assert.equal(Buffer.from(accepted.credential.response.clientDataJSON, 'base64url').toString().includes('webauthn.create'), true);
  await visit.done();
});
test('a set-up link works with a password too, and a used one says what to do', async () => {
  all.stub.reset();
  all.stub.signedIn = false;
  const visit = await all.visit('/setup#' + SETUP_TOKEN);
  const { page } = visit;
  await page.getByLabel('Your name').fill('Ada');
  await page.getByLabel('E-mail').fill('ada@example.com');
  await page.getByRole('radio', { name: /^Password/ }).check();
  await page.getByLabel('Choose a password').fill('short');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('password must have at least 12').waitFor();
  await page.getByLabel('Choose a password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.goto('about:blank');
  await page.goto(all.stub.page('/setup#' + 'B'.repeat(43)));
  await page.getByText('This link does not work').waitFor();
  assert.deepEqual(await inspect(page, 'dead-link'), []);
  await page.screenshot({ path: artefacts + 'dead-link.png' });
  await visit.done();
});
test('a passkey signs in', async () => {
  all.stub.reset();
  all.stub.signedIn = false;
  const visit = await all.visit('/setup#' + SETUP_TOKEN);
  const { page } = visit;
  await authenticator(visit);
  await page.getByLabel('Your name').fill('Ada');
  await page.getByLabel('E-mail').fill('ada@example.com');
  await page.getByRole('button', { name: 'Create passkey and continue' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  all.stub.signedIn = false;
  await page.goto(all.stub.page('/sign-in'));
  // The virtual authenticator answers the offer of the e-mail field at once; otherwise the button is pressed.
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click({ timeout: 2000 }).catch(() => undefined);
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  const sent = JSON.parse(all.stub.log.find((one) => one.path == '/sign-in/passkey').raw);
  assert.match(sent.credential.response.signature, /^[\w-]{60,}$/);
  assert.match(sent.credential.response.userHandle, /^[\w-]+$/);
  await visit.done();
});
test('signing out leaves nothing of the records in the browser', async () => {
  all.stub.reset();
  const visit = await all.visit('/a/acme/contacts/' + all.stub.data.contacts[0].id);
  const { page } = visit;
  await page.getByLabel('First name').fill('Zora');
  await until(() => page.evaluate(() => Object.keys(sessionStorage).length), 'the draft');
  await page.getByRole('button', { name: /Ada Whitfield/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(/sign-in$/);
  assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage)), []);
  assert.ok(!/Zo|Okafor|page-secret/.test(await page.evaluate(() => JSON.stringify(localStorage))));
  await visit.done();
});
test('the palette finds pages, records and actions by keyboard, and gives the focus back', async () => {
  all.stub.reset();
  const visit = await all.visit('/a/acme');
  const { page } = visit;
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  assert.deepEqual(await inspect(page, 'palette'), []);
  await page.screenshot({ path: artefacts + 'palette.png' });
  await page.keyboard.type('lindqvist');
  await page.getByRole('option', { name: /Lindqvist/ }).first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/contacts\/\w+/);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('> new ke');
  await page.getByRole('option', { name: /New key/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/keys\/new$/);
  await page.getByLabel('Name', { exact: true }).press('Escape');
  await page.evaluate(() => document.activeElement.blur());
  for (const [keys, url] of [['gi', /inbox$/], ['gc', /contacts$/], ['gk', /settings\/keys$/], ['gh', /a\/acme$/]]) {
    for (const key of keys) await page.keyboard.press(key);
    await page.waitForURL(url);
  }
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  assert.deepEqual(await inspect(page, 'help'), []);
  await page.screenshot({ path: artefacts + 'help.png' });
  await page.keyboard.press('Escape');
  await visit.done();
});
test('a lost connection is shown, what was loaded stays, and a reload goes on', async () => {
  all.stub.reset();
  const visit = await all.visit('/a/acme/settings/keys');
  const { page, context } = visit;
  await page.getByText('CRM sync').waitFor();
  await context.setOffline(true);
  await page.getByRole('link', { name: 'Contacts', exact: true }).click();
  await page.getByText('No connection since').waitFor();
  assert.deepEqual(await inspect(page, 'offline'), []);
  await page.screenshot({ path: artefacts + 'offline.png' });
  await context.setOffline(false);
  await page.goto(all.stub.page('/a/acme/settings/keys'));
  await page.getByText('CRM sync').waitFor();
  await page.getByText('No connection since').waitFor({ state: 'detached' });
  await visit.done();
});
test('the profile changes name, theme, density and keys, and ends other sessions', async () => {
  all.stub.reset();
  const visit = await all.visit('/profile');
  const { page } = visit;
  await page.getByLabel('Name shown to visitors').fill('Ada W.');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your profile is saved').first().waitFor();
  await page.getByLabel('Theme').selectOption('dark');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.getByLabel('Density').selectOption('compact');
  await page.reload();
  assert.deepEqual(await page.evaluate(() => ({ ...document.documentElement.dataset })), { density: 'compact', theme: 'dark' });
  await page.getByLabel(/Single-letter shortcuts/).uncheck();
  await page.locator('body').press('g');
  await page.locator('body').press('i');
  assert.match(page.url(), /profile$/);
  await page.getByRole('button', { name: 'End all others' }).click();
  await page.getByText('Safari on iPhone').waitFor({ state: 'detached' });
  await visit.done();
});
test('1,000 page changes leave no nodes and no listeners', async () => {
  all.stub.reset();
  const visit = await all.visit('/a/acme');
  const { page, context } = visit;
  const session = await context.newCDPSession(page);
  const walk = (times) => page.evaluate(async (times) => {
    const pages = ['/a/acme/contacts', '/a/acme/settings/keys', '/a/acme/knowledge', '/a/acme/inbox', '/a/acme'];
    for (let n = 0; n < times; n++) {
      history.pushState(null, '', '/admin' + pages[n % 5]);
      dispatchEvent(new PopStateEvent('popstate'));
      await new Promise((resolve) => setTimeout(resolve, 12));
    }
  }, times);
  const measure = async () => {
    await page.waitForTimeout(800);
    for (let n = 0; n < 3; n++) await page.evaluate(() => gc());
    const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
    return { nodes, jsEventListeners };
  };
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await walk(100);
  const before = await measure();
  await walk(1000);
  const after = await measure();
  assert.ok(after.nodes <= before.nodes * 1.1 + 50, JSON.stringify({ before, after }));
  assert.ok(after.jsEventListeners <= before.jsEventListeners + 5, JSON.stringify({ before, after }));
  await visit.done();
});
test('under the login of a host application, the host confirms who it is, and signs in and out', async () => {
  all.stub.reset();
  Object.assign(all.stub, { hasAccounts: false, stepUp: true });
  const visit = await all.visit('/a/acme/settings/keys/new');
  const { page } = visit;
  await page.getByLabel('Name').fill('CRM sync');
  await page.getByRole('button', { name: 'Read only' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  assert.equal(await dialog.getByRole('link', { name: 'Sign in' }).getAttribute('href'), '/admin/sign-in?next=%2Fadmin%2Fa%2Facme%2Fsettings%2Fkeys%2Fnew');
  assert.equal(await page.locator('input[type=password]').count(), 0);
  assert.deepEqual(await inspect(page, 'hosted-step-up'), []);
  await page.screenshot({ path: artefacts + 'hosted-step-up.png' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await page.getByRole('link', { name: 'Members' }).count(), 0);
  await page.getByRole('button', { name: 'Ada Whitfield' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(/\/admin\/sign-out$/);
  assert.ok(!all.stub.log.some((one) => one.method == 'DELETE'));
  all.stub.signedIn = false;
  await page.goto(all.stub.page('/a/acme'));
  await page.getByText('Sign in to Acme, then open this page again.').waitFor();
  assert.equal(await page.locator('input').count(), 0);
  await visit.done();
});
