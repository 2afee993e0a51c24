// Webhooks: made, tested, explained, sent again, rotated, stopped and removed.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { artefacts, inspect, start, test, until } from './setup.mjs';

let all;
before(async () => (all = await start()));
after(() => all.stop());
const PATH = '/a/acme/settings/webhooks';
const of = (url) => all.stub.data.webhooks.find((one) => url.test(one.url));
const sent = (method) => all.stub.log.findLast((one) => one.method == method);
const begin = async (url, empty = false) => {
  all.stub.reset(empty);
  const visit = await all.visit(PATH + (url ? '/' + of(url).id : ''));
  await visit.page.locator('h1:visible').first().waitFor();
  // Keys act on a webhook once it is there.
  if (url) await visit.page.getByRole('button', { name: /^Actions for/ }).waitFor();
  return visit;
};
const look = async (page, name) => {
  await page.screenshot({ path: `${artefacts}${name}.png` });
  assert.deepEqual(await inspect(page, name), []);
};
/** Opens the menu of the page or of a row, and chooses from it. */
const choose = async (page, name, item) => {
  await page.getByRole('button', { name }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

test('a webhook is made by keyboard, after a proof of who asks, and its secret is shown', async () => {
  const visit = await begin(null, true);
  const { page } = visit;
  await page.getByText('No webhooks yet').waitFor();
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'New webhook' });
  const url = dialog.getByLabel('URL');
  await until(() => url.evaluate((input) => input == document.activeElement), 'the focus in the field');
  await page.keyboard.press('Control+Enter');
  await dialog.getByText('url is required').waitFor();
  assert.ok(await url.evaluate((input) => input == document.activeElement && input.getAttribute('aria-invalid') == 'true'));
  await page.keyboard.type('https://hooks.example.com/crm');
  await dialog.getByText(`webhooks create https://hooks.example.com/crm --agent acme`, { exact: false }).waitFor();
  // A group, less one of its types, and one type that a search finds.
  await dialog.getByRole('radio', { name: /Selected types/ }).check();
  assert.equal(await dialog.getByRole('button', { name: /Create webhook/ }).getAttribute('aria-disabled'), 'true', 'no type is chosen');
  const group = dialog.getByRole('checkbox', { name: 'contact.*' });
  await group.check();
  await dialog.getByText("--type 'contact.*'").waitFor();
  await dialog.getByRole('checkbox', { name: /^contact\.erased/ }).uncheck();
  assert.ok(await group.evaluate((box) => box.indeterminate && !box.checked));
  await dialog.getByRole('searchbox', { name: 'Search types' }).fill('waits person');
  await dialog.getByRole('checkbox', { name: /handoff_requested/ }).check();
  await dialog.getByRole('checkbox', { name: /^contact/ }).first().waitFor({ state: 'detached' });
  await dialog.getByText('5 selected').waitFor();
  await look(page, 'webhook-create');
  await dialog.getByRole('searchbox').fill('');
  await dialog.getByRole('radio', { name: /One at a time/ }).check();
  // Input survives a reload.
  await page.reload();
  await page.getByText('No webhooks yet').waitFor();
  await page.keyboard.press('n');
  assert.equal(await url.inputValue(), 'https://hooks.example.com/crm');
  await dialog.getByText('Restored from before the reload.').waitFor();
  all.stub.stepUp = true;
  await page.keyboard.press('Control+Enter');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByLabel(/Code/).fill('123456');
  await page.keyboard.press('Enter');
  const secret = page.getByRole('dialog', { name: 'hooks.example.com/crm is ready' });
  await secret.locator('[data-secret]').waitFor();
  assert.deepEqual(JSON.parse(all.stub.log.findLast((one) => one.path.endsWith('/webhooks') && one.method == 'POST').raw), {
    url: 'https://hooks.example.com/crm', types: ['contact.created', 'contact.updated', 'contact.archived', 'contact.unarchived', 'conversation.handoff_requested'], mode: 'ordered', description: null, from: 'now',
  });
  await secret.getByRole('button', { name: 'Copy secret' }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^whsec_N{43}=$/);
  await secret.getByRole('tab', { name: 'Python' }).click();
  await look(page, 'webhook-secret');
  await secret.getByRole('button', { name: 'Done' }).click();
  await page.waitForURL(/\/webhooks\/\w+$/);
  assert.ok(!(await page.content()).includes('whsec_'), 'the secret is gone with its dialog');
  assert.ok(!(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).includes('whsec_'));
  await page.getByText('No deliveries yet').waitFor();
  await look(page, 'webhook-new');
  await visit.done();
});
test('the list says how each is, and finds them', async () => {
  const visit = await begin();
  const { page } = visit;
  const row = (url) => page.getByRole('row', { name: url });
  for (const [url, text] of [[/hooks\.example/, 'healthy'], [/chat\.example/, 'retrying 2'], [/erp\.example/, 'failing'], [/old\.example/, 'disabled: gone'], [/staging/, 'disabled: by hand'], [/new\.example/, 'waiting for events']]) await row(url).getByText(text, { exact: true }).waitFor();
  await page.getByRole('searchbox', { name: 'Filter webhooks' }).fill('head office');
  await until(async () => (await page.locator('tbody tr').count()) == 1, 'one row');
  await page.getByRole('searchbox', { name: 'Filter webhooks' }).fill('nothing');
  await page.getByRole('button', { name: 'Clear filter' }).click();
  // How they are changes without an event; one that is disabled comes with an event.
  Object.assign(of(/hooks/), { status: 'disabled', statusReason: 'failing' });
  await until(() => all.stub.streams.size == 1, 'a stream');
  all.stub.emit('acme', 'endpoint.disabled', { endpointId: of(/hooks/).id });
  await row(/hooks\.example/).getByText('disabled: failing').waitFor({ timeout: 3000 });
  await visit.done();
});
test('a test message shows the answer, and what an error means', async () => {
  const visit = await begin(/hooks/);
  const { page } = visit;
  await page.getByRole('heading', { name: 'hooks.example.com/crm' }).waitFor();
  await page.keyboard.press('t');
  const dialog = page.getByRole('dialog', { name: 'Send a test message' });
  await dialog.getByLabel('Type of event').selectOption('lead.created');
  await dialog.getByText('webhooks test').waitFor();
  await page.keyboard.press('Control+Enter');
  await dialog.getByText('The receiver accepted the message.').waitFor();
  assert.deepEqual(JSON.parse(sent('POST').raw), { type: 'lead.created' });
  await page.keyboard.press('Escape');
  await page.goto(all.stub.page(`${PATH}/${of(/new/).id}`));
  await page.getByRole('button', { name: /Send test message/ }).click();
  await dialog.getByRole('button', { name: /Send test message/ }).click();
  await dialog.getByText('No connection was established.').waitFor();
  all.stub.fail = (method, path) => (/test$/.test(path) ? { status: 429, code: 'RATE_LIMIT_EXCEEDED', message: 'The endpoint has had its test messages for this minute' } : null);
  await dialog.getByRole('button', { name: /Send again/ }).click();
  await dialog.getByText('The endpoint has had its test messages for this minute').waitFor();
  assert.equal(await dialog.getByText('No connection').count(), 0);
  all.stub.fail = () => null;
  await page.goto(all.stub.page(`${PATH}/${of(/erp/).id}`));
  await page.getByRole('button', { name: /Send test message/ }).click();
  await dialog.getByRole('button', { name: /Send test message/ }).click();
  await dialog.getByText('The queue is full').waitFor();
  await look(page, 'webhook-test');
  await visit.done();
});
test('deliveries are filtered, read in steps, explained and sent again', async () => {
  const visit = await begin(/erp/);
  const { page } = visit;
  const rows = page.locator('section.card tbody tr');
  await until(async () => (await rows.count()) == 20, 'a page');
  await page.getByRole('button', { name: 'Load older entries' }).click();
  await until(async () => (await rows.count()) == 40, 'two pages');
  // Older ones stay while new ones come.
  Object.assign(of(/erp/), { lastFailureAt: new Date().toISOString() });
  await page.waitForTimeout(11000);
  assert.equal(await rows.count(), 40);
  await page.getByRole('button', { name: 'Failed', exact: true }).click();
  await until(async () => (await rows.count()) == 6, 'those that failed');
  await page.reload();
  await until(async () => (await rows.count()) == 6, 'the filter is in the address');
  await rows.nth(0).getByRole('button', { name: 'contact.updated', exact: true }).click();
  const panel = page.getByRole('dialog', { name: 'contact.updated' });
  await panel.getByText('"The queue is full"').waitFor();
  await panel.getByText('"contactId"').waitFor();
  await look(page, 'webhook-delivery');
  await panel.getByRole('button', { name: 'Resend' }).click();
  const question = page.getByRole('dialog', { name: 'Resend contact.updated?' });
  await question.getByText('all events after it are sent again too').waitFor();
  await question.getByText(`--id ${all.stub.data.attempts[0].eventId}`).waitFor();
  await question.getByRole('button', { name: /Resend/ }).click();
  await page.getByText('The event is sent again', { exact: true }).first().waitFor();
  assert.match(sent('POST').path, /\/attempts\/45\/resend$/);
  // An event that the log no longer has can be looked at, but not sent.
  const gone = rows.filter({ hasText: 'event expired' });
  assert.equal(await gone.getByRole('button', { name: /Resend/ }).count(), 0);
  await gone.getByRole('button').first().click();
  await page.getByText('The log no longer has this event.').waitFor();
  await visit.done();
});
test('events are replayed since a time', async () => {
  const visit = await begin(/erp/);
  const { page } = visit;
  await choose(page, /^Actions for/, 'Replay events…');
  const dialog = page.getByRole('dialog', { name: 'Replay events' });
  await dialog.getByText('newer events wait until the replay is done').waitFor();
  await dialog.getByRole('button', { name: '1 day' }).click();
  const since = new Date(await dialog.getByLabel('Since').inputValue());
  assert.ok(Math.abs(Date.now() - since - 86400000) < 120000, String(since));
  await dialog.getByText(`--since ${since.toISOString()}`).waitFor();
  await look(page, 'webhook-replay');
  await dialog.getByRole('button', { name: /^Replay/ }).click();
  await page.getByText('22 events are sent again').first().waitFor();
  assert.deepEqual(JSON.parse(sent('POST').raw), { since: since.toISOString() });
  await visit.done();
});
test('a secret is rotated with a while for the old one, and shown again on demand', async () => {
  const visit = await begin(/hooks/);
  const { page } = visit;
  all.stub.stepUp = true;
  await choose(page, /^Actions for/, 'Rotate secret…');
  const dialog = page.getByRole('dialog', { name: /^Rotate the secret/ });
  await dialog.getByRole('radio', { name: '1 hour' }).check();
  await dialog.getByText('--grace 1h').waitFor();
  await look(page, 'webhook-rotate');
  await page.keyboard.press('Control+Enter');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByLabel(/Code/).fill('123456');
  await page.keyboard.press('Enter');
  const shown = page.getByRole('dialog', { name: /^The new secret/ });
  await shown.getByText(/Until .*, messages carry two signatures/).waitFor();
  assert.equal(await shown.locator('[data-secret]').count(), 2);
  await look(page, 'webhook-rotated');
  await shown.getByRole('button', { name: 'Done' }).click();
  await page.getByText(/signs too until/).waitFor();
  await choose(page, /^Actions for/, 'Show secret');
  await page.getByRole('dialog', { name: /^The secret of/ }).locator('[data-secret]').waitFor();
  await visit.done();
});
test('one that is disabled says why, and is enabled with or without what it has missed', async () => {
  const visit = await begin(/old/);
  const { page } = visit;
  await page.getByText('The receiver answered 410 Gone').waitFor();
  await page.getByRole('button', { name: 'Enable…' }).click();
  const dialog = page.getByRole('dialog', { name: /^Enable/ });
  await dialog.getByText('311 events since it stopped').waitFor();
  await dialog.getByRole('radio', { name: /New events only/ }).check();
  await dialog.getByText('--resume now').waitFor();
  await look(page, 'webhook-enable');
  await dialog.getByRole('button', { name: /Enable webhook/ }).click();
  await page.getByText('old.example.com/receive is enabled').first().waitFor();
  assert.deepEqual(JSON.parse(sent('POST').raw), { resume: 'now' });
  await page.getByText('The receiver answered 410 Gone').waitFor({ state: 'detached' });
  // Disabled again, and that undone.
  await choose(page, /^Actions for/, 'Disable');
  await page.getByRole('dialog').getByRole('button', { name: /Disable webhook/ }).click();
  await page.getByText('This webhook is disabled').waitFor();
  await page.getByRole('button', { name: /Undo/ }).click();
  await page.getByText('This webhook is disabled').waitFor({ state: 'detached' });
  await visit.done();
});
test('a change names the version that it was made on, and removing asks for the host', async () => {
  const visit = await begin(/hooks/);
  const { page } = visit;
  await page.keyboard.press('e');
  const dialog = page.getByRole('dialog', { name: /^Edit/ });
  await dialog.getByLabel('Description').fill('CRM');
  // A colleague has changed the order meanwhile: it is taken over, and what was typed stays.
  Object.assign(of(/hooks/), { mode: 'ordered' });
  all.stub.touch(of(/hooks/).id);
  await dialog.getByRole('button', { name: /^Save/ }).click();
  await dialog.getByText('A colleague changed this in the meantime').waitFor();
  await until(() => dialog.getByRole('radio', { name: /One at a time/ }).isChecked(), 'the order of the colleague');
  assert.equal(await dialog.getByLabel('Description').inputValue(), 'CRM');
  await look(page, 'webhook-edit');
  await dialog.getByRole('checkbox', { name: /^file\.uploaded/ }).check();
  await dialog.getByRole('button', { name: /^Save/ }).click();
  await page.getByText('hooks.example.com/crm is saved').first().waitFor();
  assert.deepEqual(JSON.parse(sent('PATCH').raw), { types: ['contact.*', 'file.uploaded', 'lead.created'], description: 'CRM' });
  await choose(page, /^Actions for/, 'Remove…');
  const question = page.getByRole('dialog', { name: /^Remove/ });
  const button = question.getByRole('button', { name: /Remove webhook/ });
  assert.equal(await button.getAttribute('aria-disabled'), 'true');
  await question.getByLabel(/to confirm/).fill('hooks.example.com');
  await look(page, 'webhook-remove');
  await button.click();
  await page.waitForURL(/\/webhooks$/);
  await page.getByRole('row', { name: /erp/ }).waitFor();
  await page.getByRole('row', { name: /hooks\.example/ }).waitFor({ state: 'detached' });
  await visit.done();
});
test('who may only look finds no way to change', async () => {
  all.stub.reset();
  all.stub.granted = ['agents.read', 'webhooks.read'];
  const visit = await all.visit(`${PATH}/${of(/erp/).id}`);
  const { page } = visit;
  await page.locator('section.card tbody tr').nth(3).waitFor();
  for (const name of [/Send test/, /Resend/, /Enable/]) assert.equal(await page.getByRole('button', { name }).count(), 0, String(name));
  await page.goto(all.stub.page(PATH));
  await page.getByRole('row', { name: /erp/ }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'New webhook' }).count(), 0);
  await visit.done();
});
