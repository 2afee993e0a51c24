// Extractions: their states, what was found and how sure it is, and what operators note of the documents.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { artefacts, inspect, start, test, until } from './setup.mjs';

let all;
before(async () => (all = await start()));
after(() => all.stop());
const PATH = '/a/acme/extractions';
const named = (fileName) => all.stub.data.extractions.find((one) => one.document.fileName == fileName);
const done = () => named('invoice-20418.pdf');
const open = async (one, options) => {
  const visit = await all.visit(`${PATH}/${one.id}`, options);
  await visit.page.locator('.record').getByText(one.id, { exact: true }).waitFor();
  return visit;
};
const corrections = () => all.stub.log.filter((one) => one.method == 'PUT' && one.path.includes('/corrections/')).map((one) => JSON.parse(one.raw).values);

test('a list follows what has not ended, is filtered by state and batch, and reads on', async () => {
  all.stub.reset();
  const visit = await all.visit(PATH);
  const { page } = visit;
  await page.getByRole('row', { name: /delivery-note-0911\.pdf queued/ }).waitFor();
  assert.equal(await page.locator('.bar [aria-live]').first().innerText(), '135');
  // A state that changes is shown without an action of the operator.
  await page.getByRole('button', { name: 'queued' }).click();
  await page.getByRole('row', { name: /delivery-note/ }).waitFor();
  named('delivery-note-0911.pdf').status = 'running';
  await page.getByText('No matching extractions').waitFor({ timeout: 6000 });
  assert.deepEqual(await inspect(page, 'extractions-none'), []);
  await page.getByRole('button', { name: 'Clear filter' }).click();
  await page.getByRole('row', { name: /invoice-20418\.pdf/ }).click();
  await page.locator('.record').getByRole('button', { name: 'november' }).click();
  await page.getByRole('button', { name: 'Show all batches' }).waitFor();
  await until(async () => (await page.getByRole('row').count()) == 3, 'the two of the batch');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Show all batches' }).click();
  for (let n = 0; n < 8; n++) {
    await page.locator('.under .scroll').evaluate((element) => (element.scrollTop = element.scrollHeight));
    await page.waitForTimeout(60);
  }
  await page.getByRole('row', { name: /invoice-20171\.pdf/ }).waitFor();
  await visit.done();
});
test('a doubtful value is corrected by keyboard, and the correction replaced and removed', async () => {
  all.stub.reset();
  const visit = await open(done());
  const { page } = visit;
  await page.getByText('doubtful 52').waitFor();
  assert.deepEqual(await inspect(page, 'extraction'), []);
  await page.screenshot({ path: artefacts + 'extraction.png' });
  await page.keyboard.press('e');
  assert.equal(await page.evaluate(() => document.activeElement.closest('[data-field]').dataset.field), 'total', 'the first doubtful value');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('237,00');
  await page.keyboard.press('Control+s');
  // The error stands at its field, and the input stays.
  await page.getByText('values.total must be a number').waitFor();
  assert.equal(await page.getByLabel('total').inputValue(), '237,00');
  await page.getByLabel('total').fill('237');
  // What was typed survives a reload.
  await page.reload();
  await page.getByText('Your unsaved input from before is back').waitFor();
  await page.getByText("--set total=237", { exact: false }).waitFor();
  await page.keyboard.press('Control+s');
  await page.getByText('The correction is saved').first().waitFor();
  assert.deepEqual(corrections().at(-1), { total: 237 });
  await page.getByText('Noted by Ada Whitfield').waitFor();
  await page.locator('[data-field=total]').getByText('corrected').waitFor();
  await page.locator('[data-field=total]').getByText('284.4', { exact: true }).waitFor();
  // A correction replaces the earlier one as a whole, so it has its values too.
  await page.getByLabel('purchase_order').fill('PO-77');
  await page.getByLabel('is_paid').selectOption('yes');
  await page.getByLabel('items').fill('[{ "description": "Paper" }]');
  await page.keyboard.press('Control+s');
  await until(() => corrections().length == 3, 'the second correction');
  assert.deepEqual(corrections().at(-1), { total: 237, purchase_order: 'PO-77', is_paid: true, items: [{ description: 'Paper' }] });
  await page.getByText('Not saved yet').waitFor({ state: 'detached' });
  assert.deepEqual(await inspect(page, 'extraction-corrected'), []);
  await page.screenshot({ path: artefacts + 'extraction-corrected.png' });
  await page.locator('.record').getByRole('button', { name: 'Actions' }).click();
  await page.getByRole('menuitem', { name: 'Remove the correction…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove correction' }).click();
  await page.getByRole('button', { name: 'All values are right' }).waitFor();
  assert.equal(await page.getByLabel('total').inputValue(), '284.4');
  await page.getByRole('button', { name: 'All values are right' }).click();
  await until(() => corrections().length == 4, 'a confirmation');
  assert.deepEqual(corrections().at(-1), {});
  await visit.done();
});
test('one that waits is cancelled, and one that failed is queued again', async () => {
  all.stub.reset();
  const visit = await open(named('delivery-note-0911.pdf'));
  const { page } = visit;
  await page.getByText('The document waits for a server.').waitFor();
  assert.deepEqual(await inspect(page, 'extraction-queued'), []);
  await page.locator('.record').getByRole('button', { name: 'Cancel…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel extraction' }).click();
  await page.getByText('It has no result and cost nothing').waitFor();
  assert.equal(named('delivery-note-0911.pdf').status, 'cancelled');
  await page.getByRole('row', { name: /delivery-note-0911\.pdf cancelled/ }).waitFor();
  await page.getByRole('row', { name: /holiday\.jpg/ }).click();
  await page.getByText('No text was found in the document').waitFor();
  assert.deepEqual(await inspect(page, 'extraction-failed'), []);
  await page.screenshot({ path: artefacts + 'extraction-failed.png' });
  all.stub.fail = (method, path) => (path.endsWith('/retry') ? { status: 404, code: 'FILE_NOT_FOUND', message: 'The document of this extraction is gone; send it again' } : null);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('The document of this extraction is gone').first().waitFor();
  all.stub.fail = () => null;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('The document waits for a server.').waitFor();
  await visit.done();
});
test('who may only read sees the values without a form', async () => {
  all.stub.reset();
  all.stub.granted = ['agents.read', 'documents.read'];
  const visit = await open(done(), { options: { viewport: { width: 390, height: 844 } } });
  const { page } = visit;
  await page.getByText('Lindqvist Office Supplies', { exact: true }).waitFor();
  assert.equal(await page.locator('.record input, .record textarea').count(), 0);
  assert.equal(await page.getByRole('button', { name: 'All values are right' }).count(), 0);
  assert.deepEqual(await inspect(page, 'extraction-read'), []);
  await page.screenshot({ path: artefacts + 'extraction-phone.png', fullPage: true });
  await page.locator('.record').getByRole('button', { name: 'Close the record' }).click();
  await page.getByRole('row', { name: /holiday\.jpg failed/ }).waitFor();
  await page.screenshot({ path: artefacts + 'extractions-phone.png' });
  await visit.done();
});
