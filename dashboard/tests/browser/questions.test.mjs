// The page of unanswered questions, and teaching an answer from it.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { artefacts, inspect, start, test, until } from './setup.mjs';

let all;
before(async () => (all = await start()));
after(() => all.stop());

test('a topic is taught with its phrasings, and is open no longer', async () => {
  all.stub.reset();
  const visit = await all.visit('/a/acme/questions');
  const row = visit.page.getByRole('row').filter({ hasText: 'Do you treat children under three?' });
  await row.getByText('6 times').waitFor();
  await visit.page.getByText('32 questions').waitFor();
  await row.getByRole('button', { name: 'Teach' }).click();
  const dialog = visit.page.getByRole('dialog');
  assert.equal(await dialog.getByLabel('Questions').inputValue(), 'Do you treat children under three?\nfrom which age do you see kids');
  // The cursor is where the person writes.
  await until(() => dialog.getByLabel('Answer').evaluate((field) => field == document.activeElement), 'focus');
  await visit.page.screenshot({ path: artefacts + 'questions-teach.png' });
  assert.deepEqual(await inspect(visit.page, 'questions-teach'), []);
  await visit.page.keyboard.type('Yes, from the first tooth on.');
  await dialog.getByRole('button', { name: 'Teach' }).click();
  await row.waitFor({ state: 'detached' });
  const pair = all.stub.data.knowledge.at(-1);
  assert.deepEqual(pair.questions, ['Do you treat children under three?', 'from which age do you see kids']);
  await visit.page.getByText('26 questions').waitFor();
  await visit.done();
});
test('filters stand in the address, an answered topic says so, and its last conversation is a click away', async () => {
  all.stub.reset();
  const visit = await all.visit('/a/acme/questions?days=7');
  await visit.page.getByRole('button', { name: 'Not sure' }).click();
  await until(() => new URL(visit.page.url()).searchParams.get('outcome') == 'unsure', 'the filter');
  await until(async () => (await visit.page.getByRole('row').count()) == 4, 'three topics and the head');
  const sent = all.stub.log.filter((one) => one.path.endsWith('/insights/questions')).map((one) => one.query);
  assert.ok(sent.at(-1).includes('days=7') && sent.at(-1).includes('outcome=unsure'), sent.at(-1));
  const row = visit.page.getByRole('row').filter({ hasText: 'Can I pay by card?' });
  await row.getByText('Answered by now').waitFor();
  await row.getByRole('button', { name: /^Actions/ }).click();
  await visit.page.getByRole('menuitem', { name: 'Show the last conversation' }).click();
  await until(() => visit.page.url().includes('/inbox/' + all.stub.data.conversations[0].id), 'the conversation');
  await visit.page.goBack();
  await row.getByRole('button', { name: /^Actions/ }).click();
  await visit.page.getByRole('menuitem', { name: 'Try it' }).click();
  assert.equal(await visit.page.getByRole('textbox').first().inputValue(), 'Can I pay by card?');
  await visit.done();
});
test('who may not change the agent reads the topics and teaches nothing', async () => {
  all.stub.reset();
  all.stub.granted = ['agents.read', 'insights.read'];
  const visit = await all.visit('/a/acme/questions');
  await visit.page.getByText('Is there parking').waitFor();
  assert.equal(await visit.page.getByRole('button', { name: 'Teach' }).count(), 0);
  await visit.page.getByRole('row').nth(1).getByRole('button', { name: /^Actions/ }).click();
  assert.equal(await visit.page.getByRole('menuitem', { name: 'Show the last conversation' }).count(), 0);
  await visit.done();
});
