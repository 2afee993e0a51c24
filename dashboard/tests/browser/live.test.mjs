// Live updates: the stream of a visible tab, what it shows, and what happens without one.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { settled, start, test, until } from './setup.mjs';

let all;
before(async () => (all = await start()));
after(() => all.stop());

const INBOX = '/a/acme/inbox?view=open';
const opened = () => all.stub.log.filter((one) => one.path == '/stream');
const reads = (path) => all.stub.log.filter((one) => one.method == 'GET' && one.path == path).length;
const begin = async (path = INBOX, options = {}) => {
  all.stub.reset();
  all.stub.fail = options.fail ?? (() => null);
  const visit = await all.visit(path, options);
  await visit.page.locator('ul.convs').waitFor();
  return visit;
};
const streaming = (count = 1) => until(() => all.stub.streams.size == count, `${count} streams`);
const row = (page, id) => page.locator(`ul.convs a[data-id="${id}"]`);
const shows = (page, text) => page.locator('ul.convs').getByText(text, { exact: true }).waitFor({ timeout: 3000 });

/** Hides a tab, or shows it again. */
const hide = (page, isHidden) => page.evaluate((is) => {
  Object.defineProperty(document, 'hidden', { value: is, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}, isHidden);

test('what happens is shown at once, and a tab that was hidden goes on after its last event', async (t) => {
  const visit = await begin();
  await streaming();
  const id = all.stub.data.conversations.at(-5).id;
  const took = [];
  for (let n = 1; n <= 10; n++) {
    const begun = performance.now();
    all.stub.say(id, `Message ${n}`);
    await shows(visit.page, `Message ${n}`);
    took.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve, 260));
  }
  t.diagnostic(`from the event to the page: ${took.map(Math.round).sort((a, b) => a - b).join(' ')} ms`);
  await hide(visit.page, true);
  await until(() => all.stub.streams.size == 0, 'no stream of a hidden tab');
  all.stub.say(id, 'While nobody looks');
  await visit.page.waitForTimeout(1500);
  assert.equal(opened().length, 1, 'a hidden tab asks for nothing');
  await hide(visit.page, false);
  await shows(visit.page, 'While nobody looks');
  assert.equal(opened().length, 2);
  assert.match(opened()[1].headers['last-event-id'], /^acme:1[01]$/);
  await visit.done();
});
test('what a page has read is not read again when its stream begins, and nothing in between is missed', async () => {
  all.stub.reset();
  const visit = await all.visit('/profile');
  const { page } = visit;
  await page.getByText('MacBook').waitFor();
  // The stream is held until something has happened that the page has not seen.
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route('**/console/v1/stream*', async (route) => {
    await held;
    await route.continue();
  });
  const begun = all.stub.log.length;
  await page.goto(all.stub.page(INBOX));
  await page.locator('ul.convs').waitFor();
  await settled(all.stub);
  const read = all.stub.log.slice(begun).filter((one) => one.path.startsWith('/agents/acme/')).map((one) => one.path + one.query);
  assert.ok(read.length >= 2);
  all.stub.say(all.stub.data.conversations.at(-5).id, 'In between');
  release();
  await shows(page, 'In between');
  await settled(all.stub);
  const again = all.stub.log.slice(begun).filter((one) => one.path.startsWith('/agents/acme/')).map((one) => one.path + one.query);
  for (const path of read) assert.equal(again.filter((one) => one == path).length, /\/conversations(\/counts)?(\?|$)/.test(path) ? 2 : 1, path);
  await visit.done();
  // And where nothing has happened, each is read once.
  const still = all.stub.log.length;
  const other = await all.visit(INBOX);
  await other.page.locator('ul.convs').waitFor();
  await streaming();
  await settled(all.stub);
  const paths = all.stub.log.slice(still).filter((one) => one.path.startsWith('/agents/acme/')).map((one) => one.path + one.query);
  assert.equal(new Set(paths).size, paths.length, paths.join('\n'));
  await other.done();
});
test('another agent gets a stream of its own, from its beginning', async () => {
  const visit = await begin();
  await streaming();
  all.stub.say(all.stub.data.conversations.at(-5).id, 'Here');
  await shows(visit.page, 'Here');
  await visit.page.evaluate(() => {
    history.pushState(null, '', location.pathname.replace('/a/acme/', '/a/harbour/'));
    dispatchEvent(new PopStateEvent('popstate'));
  });
  await until(() => opened().at(-1).query == '?agents=harbour', 'a stream of the other agent');
  await streaming();
  assert.equal(opened().at(-1).headers['last-event-id'], 'harbour:0', 'the cursor is its own');
  await visit.done();
});
test('focus, input and scroll stay while a conversation and the list grow', async () => {
  all.stub.reset();
  const { data } = all.stub;
  // As in browsers without it, where what is moved loses the focus.
  const visit = await all.visit('/', { init: () => delete Element.prototype.moveBefore });
  const one = data.conversations[2];
  for (let n = 2; n <= 60; n++) data.threads[one.id].push({ ...data.threads[one.id][0], id: `m${n}`, seq: n, text: `Line ${n}` });
  one.messageCount = 60;
  const { page } = visit;
  await page.goto(all.stub.page(`/a/acme/inbox/${one.id}?view=open`));
  await page.getByText('Line 60').waitFor();
  await streaming();
  await settled(all.stub);
  const box = page.locator('.composer textarea');
  await box.fill('Half a sentence');
  await box.evaluate((element) => element.setSelectionRange(4, 8));
  const scroller = page.locator('.reading-pane .scroll').first();
  await scroller.evaluate((element) => (element.scrollTop = 0));
  all.stub.say(one.id, 'A new line');
  await page.locator('.thread').getByText('A new line').waitFor({ timeout: 3000 });
  assert.deepEqual(await box.evaluate((element) => [element == document.activeElement, element.value, element.selectionStart, element.selectionEnd]), [true, 'Half a sentence', 4, 8]);
  assert.equal(await scroller.evaluate((element) => element.scrollTop), 0);
  // A row that moves to the top of the list.
  const last = data.conversations.filter((each) => each.status == 'open').at(-1).id;
  await row(page, last).focus();
  all.stub.say(last, 'Up to the top');
  await shows(page, 'Up to the top');
  assert.equal(await page.locator('ul.convs a').first().getAttribute('data-id'), last);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.id), last);
  await visit.done();
});
test('a burst of events costs a few requests', async () => {
  const visit = await begin();
  await streaming();
  await settled(all.stub);
  const [list, counts, others] = [reads('/agents/acme/conversations'), reads('/agents/acme/conversations/counts'), all.stub.log.length];
  const id = all.stub.data.conversations[0].id;
  const begun = performance.now();
  for (let n = 0; n < 500; n++) {
    all.stub.say(id, `Burst ${n}`);
    if (n % 10 == 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await shows(visit.page, 'Burst 499');
  // Reads of one path are 250 ms apart, however long a busy machine takes for the burst.
  const most = 4 + Math.ceil((performance.now() - begun) / 250);
  await settled(all.stub);
  const [ofList, ofCounts] = [reads('/agents/acme/conversations') - list, reads('/agents/acme/conversations/counts') - counts];
  assert.ok(ofList >= 2 && ofList <= most, `${ofList} of ${most} requests for the list`);
  assert.ok(ofCounts >= 2 && ofCounts <= most, `${ofCounts} of ${most} requests for the counts`);
  assert.equal(all.stub.log.length - others, ofList + ofCounts, 'and for nothing else');
  await visit.done();
});
test('a stream that is lost begins again after the last event', async () => {
  const visit = await begin();
  await streaming();
  const id = all.stub.data.conversations.at(-5).id;
  all.stub.say(id, 'Before');
  await shows(visit.page, 'Before');
  await settled(all.stub);
  for (const stream of all.stub.streams) stream.drop();
  await until(() => all.stub.streams.size == 0, 'no stream');
  all.stub.say(id, 'Meanwhile');
  await shows(visit.page, 'Meanwhile');
  assert.equal(opened().length, 2);
  assert.equal(opened()[1].headers['last-event-id'], 'acme:1');
  assert.equal(await visit.page.getByText('Live updates are interrupted').count(), 0);
  await visit.done();
});
test('a server without events is read every few seconds, and nothing is said', async () => {
  const fail = (method, path) => (path == '/stream' ? { status: 503, code: 'EVENTS_UNAVAILABLE' } : null);
  const visit = await begin(INBOX, { fail });
  await until(() => opened().length == 1, 'an attempt');
  all.stub.say(all.stub.data.conversations.at(-5).id, 'Without a stream', true);
  await visit.page.locator('ul.convs').getByText('Without a stream').waitFor({ timeout: 9000 });
  await visit.page.waitForTimeout(25000);
  assert.equal(await visit.page.getByText('Live updates are interrupted').count(), 0);
  assert.equal(opened().length, 1, 'the server is asked once a minute');
  await visit.done();
});
test('a stream that is refused is said after 20 s, while pages are read again, and until it is back', async () => {
  const fail = (method, path) => (path == '/stream' ? { status: 429, code: 'STREAM_LIMIT_EXCEEDED' } : null);
  const visit = await begin(INBOX, { fail });
  const strip = visit.page.getByText('Live updates are interrupted');
  await strip.waitFor({ timeout: 30000 });
  all.stub.say(all.stub.data.conversations.at(-5).id, 'Read again', true);
  await visit.page.locator('ul.convs').getByText('Read again').waitFor({ timeout: 9000 });
  // 0.5, 1, 2, 4 and then every 8 s.
  assert.ok(opened().length >= 4 && opened().length <= 8, `${opened().length} attempts`);
  all.stub.fail = () => null;
  await strip.waitFor({ state: 'detached', timeout: 15000 });
  await streaming();
  await visit.done();
});
test('a session that has ended asks to sign in, and one with other roles is read again', async () => {
  const visit = await begin();
  await streaming();
  await settled(all.stub);
  const sessions = reads('/session');
  for (const stream of all.stub.streams) { stream.send('session', { reason: 'changed' }); stream.end(); }
  await until(() => reads('/session') > sessions, 'the session is read again');
  await streaming();
  all.stub.signedIn = false;
  for (const stream of all.stub.streams) { stream.send('session', { reason: 'ended' }); stream.end(); }
  await visit.page.getByRole('dialog').waitFor();
  assert.equal(await visit.page.locator('ul.convs').count(), 1, 'the page stays');
  await visit.done();
});
