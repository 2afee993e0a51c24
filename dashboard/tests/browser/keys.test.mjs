// API Permissions: a key from its form to its end, by keyboard, and its secret nowhere but on the screen.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { artefacts, inspect, start, test, until } from './setup.mjs';
import { CODE } from '../data.mjs';

let all;
before(async () => (all = await start()));
after(() => all.stop());
const keys = '/a/acme/settings/keys';
/** Presses Tab until an element has the focus; the focus is visible at every stop. */
const tabTo = async (page, what, most = 60) => {
  for (let n = 0; n < most; n++) {
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      const style = getComputedStyle(e);
      return { name: e == document.body ? '' : (e.getAttribute('aria-label') ?? e.innerText?.trim() ?? ''), outlined: style.outlineStyle != 'none' || e == document.body };
    });
    assert.ok(at.outlined, `the focus on “${at.name}” is not visible`);
    if (what.test(at.name)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`${what} was not reached`);
};

test('a key is made and tried by keyboard alone, and its secret is dropped', async () => {
  all.stub.reset();
  const visit = await all.visit(keys);
  const { page } = visit;
  await page.getByText('CRM sync').waitFor();
  await page.keyboard.press('n');
  await page.getByLabel('Name', { exact: true }).waitFor();
  await page.keyboard.type('Newsletter');
  await tabTo(page, /Contact Access: read/);
  await page.keyboard.press('Space');
  await page.getByText('Can read contacts and their files. Cannot delete contacts.').waitFor();
  await page.keyboard.press('Control+s');
  const secret = await page.locator('[data-secret]').innerText();
  assert.match(secret, /^svcs_\w{49}$/);
  assert.deepEqual(await inspect(page, 'secret'), []);
  await page.screenshot({ path: artefacts + 'secret.png' });
  assert.match(await page.evaluate(() => document.activeElement.innerText), /Copy secret/);
  await page.keyboard.press('Enter');
  await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) == secret, 'the copied secret');
  await tabTo(page, /^\.env$/);
  for (const language of ['curl', 'TypeScript', 'Python', 'Rust']) {
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: language, selected: true }).waitFor();
    assert.ok((await page.getByRole('tabpanel').innerText()).includes('https://api.example.com/v1/open/'), language);
  }
  await tabTo(page, /Try it/);
  await page.keyboard.press('Enter');
  await page.getByText('API is healthy').waitFor();
  // Leaving without a word is asked about.
  await tabTo(page, /^Done$/);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Leave without the secret?' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('I have stored the secret').check();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'Newsletter' }).waitFor();
  const left = await page.evaluate(() => document.documentElement.outerHTML + location.href + JSON.stringify({ ...localStorage, ...sessionStorage }));
  assert.ok(!left.includes(secret));
  const sent = all.stub.log.filter((one) => !one.path.endsWith('/keys/try')).map((one) => one.path + one.query + one.raw).join();
  assert.ok(!sent.includes(secret));
  await page.reload();
  await page.getByRole('heading', { name: 'Newsletter' }).waitFor();
  await visit.done();
});
test('errors stand at their fields, and input survives a reload', async () => {
  all.stub.reset();
  const visit = await all.visit(keys + '/new');
  const { page } = visit;
  await page.getByLabel('Description').fill('For the shop');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('name is required').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-invalid')), 'true');
  assert.deepEqual(await inspect(page, 'invalid'), []);
  await page.reload();
  await page.getByText('Restored from before the reload').waitFor();
  assert.equal(await page.getByLabel('Description').inputValue(), 'For the shop');
  await page.getByLabel('Name', { exact: true }).fill('Shop');
  await page.getByRole('button', { name: 'CRM sync' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.locator('[data-secret]').waitFor();
  assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage)), []);
  await visit.done();
});
test('a step-up asks over the page and repeats the request under its idempotency key', async () => {
  all.stub.reset();
  all.stub.stepUp = true;
  const visit = await all.visit(keys + '/new');
  const { page } = visit;
  await page.getByLabel('Name', { exact: true }).fill('Shop');
  await page.getByRole('button', { name: 'Read only' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('dialog', { name: 'Confirm that it is you' }).waitFor();
  assert.deepEqual(await inspect(page, 'step-up'), []);
  await page.getByLabel('Password').fill('wrong');
  await page.getByLabel('Code from your authenticator app').fill(CODE);
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('That was not correct').waitFor();
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.locator('[data-secret]').waitFor();
  const posts = all.stub.log.filter((one) => one.method == 'POST' && one.path.endsWith('/keys'));
  assert.equal(posts.length, 2);
  assert.equal(posts[0].headers['idempotency-key'], posts[1].headers['idempotency-key']);
  assert.equal(all.stub.data.keys.filter((one) => one.name == 'Shop').length, 1);
  await visit.done();
});
test('a key is edited on the version that was shown, and a later one of a colleague is not overwritten', async () => {
  all.stub.reset();
  const key = all.stub.data.keys[0];
  const visit = await all.visit(`${keys}/${key.id}/edit`);
  const { page } = visit;
  await page.getByLabel('Name', { exact: true }).fill('CRM sync 2');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'CRM sync 2' }).waitFor();
  const sent = all.stub.log.find((one) => one.method == 'PATCH');
  assert.deepEqual(JSON.parse(sent.raw), { name: 'CRM sync 2' });
  assert.equal(sent.headers['if-match'], '"1"');
  await page.getByRole('link', { name: /^Edit/ }).click();
  await page.getByLabel('Name', { exact: true }).fill('CRM sync 3');
  all.stub.touch(key.id);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('A colleague changed this in the meantime').waitFor();
  assert.equal(key.name, 'CRM sync 2');
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'CRM sync 3');
  await visit.done();
});
test('a key is disabled with undo, and revoked only when its name is typed', async () => {
  all.stub.reset();
  const visit = await all.visit(keys);
  const { page } = visit;
  const menu = async (item) => {
    await page.getByRole('button', { name: 'Actions for CRM sync' }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await page.getByText('CRM sync').waitFor();
  await menu('Disable');
  await page.getByRole('dialog').getByRole('button', { name: 'Disable key' }).click();
  await page.getByRole('row', { name: /CRM sync/ }).getByText('disabled').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('row', { name: /CRM sync/ }).getByText('active').waitFor();
  await menu('Revoke…');
  const dialog = page.getByRole('dialog', { name: 'Revoke CRM sync?' });
  await dialog.getByRole('button', { name: 'Revoke key' }).click({ force: true });
  assert.equal(all.stub.data.keys[0].status, 'active');
  await dialog.getByLabel('Type CRM sync to confirm').fill('CRM sync');
  assert.deepEqual(await inspect(page, 'revoke'), []);
  await page.keyboard.press('Control+Enter');
  await page.getByRole('row', { name: /CRM sync/ }).waitFor({ state: 'detached' });
  assert.equal(all.stub.data.keys[0].status, 'revoked');
  await visit.done();
});
test('a secret is rotated, and a found pair is checked without sending its secret', async () => {
  all.stub.reset();
  const visit = await all.visit(keys);
  const { page } = visit;
  await page.getByRole('button', { name: 'Found a key?' }).click();
  const [key] = all.stub.data.keys;
  const box = page.getByLabel('Text to check');
  await box.fill(key.apiKey.replace('Rf', 'Rg'));
  await page.getByText('has a typo or is cut').waitFor();
  const before = all.stub.log.length;
  await box.fill(`KEY=${key.apiKey} SECRET=svcs_${'a'.repeat(49)}`);
  await page.getByRole('dialog').getByRole('link', { name: 'Rotate' }).waitFor();
  assert.deepEqual(await inspect(page, 'found'), []);
  await page.screenshot({ path: artefacts + 'found.png' });
  assert.ok(!all.stub.log.slice(before).some((one) => (one.path + one.query + one.raw).includes('aaaa')));
  await page.getByRole('dialog').getByRole('link', { name: 'Rotate' }).click();
  await page.getByText('refused immediately').waitFor();
  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await page.locator('[data-secret]').waitFor();
  assert.equal(JSON.parse(all.stub.log.find((one) => one.path.endsWith('/rotate')).raw).graceSeconds, 0);
  await visit.done();
});
