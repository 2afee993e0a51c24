// What a translation alone does not give: the server's labels, names of people, searches and keys in other languages.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { start, test } from './setup.mjs';

let all;
before(async () => (all = await start()));
after(() => all.stop());

const visit = (path, locale) => all.visit(path, { options: { locale } });

test('the palette finds words of Japanese, which has no spaces, and names begin with the family', async () => {
  all.stub.reset();
  Object.assign(all.stub.data.contacts[0], { firstName: '花子', lastName: '山田' });
  const { page, done } = await visit('/a/acme/contacts', 'ja');
  await page.getByRole('link', { name: '山田 花子' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('連絡先');
  // The word begins the name of the page, and ends that of the action.
  await page.getByRole('option', { name: /^連絡先/ }).first().waitFor();
  await page.getByRole('option', { name: /.連絡先/ }).first().waitFor();
  await done();
});
test('the actions of a key are said in words of the language', async () => {
  all.stub.reset();
  const { page, done } = await visit('/a/acme/settings/keys', 'de');
  const letters = page.locator('.letters').first();
  assert.equal(await letters.getAttribute('title'), await letters.locator('.sr').innerText());
  assert.match(await letters.getAttribute('title'), /lesen/);
  assert.doesNotMatch(await letters.getAttribute('title'), /read|create/);
  await done();
});
test('labels of standard fields are translated wherever fields are chosen', async () => {
  all.stub.reset();
  for (const path of ['/a/acme/settings/schema', '/a/acme/studio/people', '/a/acme/contacts/new']) {
    const { page, done } = await visit(path, 'de');
    await page.getByText('Vorname', { exact: true }).first().waitFor();
    assert.equal(await page.getByText('First name', { exact: true }).count(), 0, path);
    await done();
  }
});
test('the strokes of a key stand in their order where text runs from right to left', async () => {
  all.stub.reset();
  const { page, done } = await visit('/a/acme/settings/keys/new', 'ar');
  const strokes = page.locator('button[type=submit] kbd');
  await strokes.first().waitFor();
  const [first, second] = await strokes.evaluateAll((found) => found.map((one) => one.getBoundingClientRect().left));
  assert.ok(first < second, `${first} ${second}`);
  await done();
});
