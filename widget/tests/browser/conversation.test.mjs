// A conversation in the browser: requests, rendering, and failures.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { after, before, beforeEach } from 'node:test';
import { LEAD } from '../host.mjs';
import { AGENT, isLong, replied, say, start, STRICT, test, until } from './setup.mjs';

let s;
before(async () => { s = await start(); });
after(() => s.stop());
beforeEach(() => s.host.reset());

const texts = (visit) => visit.at('.m:not(.v):has(time) .b').allInnerTexts();
const last = (list) => list.at(-1);

test('a first message is one request without preflight; the reply is rendered as sent', async () => {
  const { host } = s;
  host.script.reply = () => 'This is **it** [1].\n\n- a\n- b';
  host.script.sources = [{ n: 1, title: 'Services', url: 'https://www.example.com/services', page: 2 }];
  const visit = await s.visit({ path: '?utm_source=newsletter&secret=1' });
  await visit.at('.launcher').waitFor();
  assert.equal(host.log.length, 2, 'before a click: script and configuration');
  assert.ok(host.log.reduce((sum, one) => sum + one.bytes, 0) <= 16000);
  await say(visit, '  Do you offer\nhome visits?  ');
  await replied(visit);
  const posts = host.log.filter((one) => one.method != 'GET');
  assert.deepEqual(posts.map((one) => one.path), ['/widget/v1/turns']);
  assert.equal(host.log.length, 4, 'the second script came with the panel, not with the message');
  const { body } = posts[0];
  assert.equal(body.text, 'Do you offer\nhome visits?');
  assert.equal(body.page.url, `${host.site}/page`);
  assert.deepEqual(body.page.utm, { source: 'newsletter' });
  assert.equal(body.token, null);
  assert.equal(body.agentId, AGENT);
  assert.equal(await visit.at('.m:not(.v):has(time) .b').innerHTML(), '<p>This is <strong>it</strong><span class="cited"><sup title="Services, page 2"><a href="https://www.example.com/services" target="_blank" rel="noopener noreferrer nofollow ugc" aria-label="[1] Services, page 2">[1]</a></sup></span>.</p><ul><li>a</li><li>b</li></ul>');
  assert.equal(await visit.at('.src a span').innerText(), 'Services, page 2');
  await say(visit, 'More');
  await replied(visit, 2);
  assert.equal(last(host.calls('turns')).body.page, undefined, 'the page is described once');
  assert.ok(last(host.calls('turns')).body.token);
  await visit.done();
});

test('a whole conversation under the strictest policy breaks no rule', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, lead: LEAD, uploads: true, limits: { ...host.script.config.limits, uploadTypes: ['pdf'] }, teaser: { text: 'Hi', delayMs: 1 } };
  host.script.reply = () => '# a\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n\n![x](https://evil.example/a.png)';
  host.script.after = () => [['suggestions', { items: ['More'] }], ['form', LEAD]];
  const visit = await s.visit({ headers: STRICT(host) });
  await visit.at('.teaser').waitFor();
  await visit.page.screenshot();
  await say(visit, 'one');
  await replied(visit);
  await visit.at('input[type=file]').setInputFiles({ name: 'a.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4') });
  await visit.at('.composer .files li:not(.wait)').waitFor();
  await visit.at('.chips button').click();
  await replied(visit, 2);
  await visit.at('.form input[autocomplete=email]').fill('zoe.okafor@example.com');
  await visit.at('.form [type=checkbox]').check();
  await visit.at('.form .go').click();
  await visit.at('.note').waitFor();
  await visit.at('.f .i').first().click();
  await until(() => host.calls('feedback').length, 'feedback');
  await visit.page.evaluate(() => { ServiceWidget.update({ theme: 'dark', color: '#fff000' }); ServiceWidget.destroy(); });
  await visit.done();
});

test('deltas, replacements and the final text render the same as the text at once', async () => {
  const { host } = s;
  const text = readFileSync(new URL('../../../docs/contract.md', import.meta.url), 'utf8').slice(0, 12000).replaceAll('\r', '');
  host.script.reply = () => text;
  const visit = await s.visit();
  await say(visit, 'stream');
  await replied(visit);
  // The widget draws a long text in pieces. All of it is there once the tree has not changed for a second.
  const drawn = async (n) => {
    let [before, since] = ['', Date.now()];
    await until(async () => {
      const now = (await texts(visit))[n] ?? '';
      if (now != before || now.length <= 9000) [before, since] = [now, Date.now()];
      return Date.now() - since > 1000;
    }, 'all of it', 30000);
  };
  await drawn(0);
  const streamed = await visit.at('.m:not(.v):has(time) .b').innerHTML();
  host.script.deltaChars = 1e9;
  await say(visit, 'at once');
  await replied(visit, 2);
  await drawn(1);
  const whole = await visit.at('.m:not(.v):has(time) .b').nth(1).innerHTML();
  assert.equal(streamed, whole);
  await visit.done();
});

test('cuts anywhere, a restart and a doubled request leave one stored turn and the same text', async () => {
  const { host } = s;
  const visit = await s.visit();
  await visit.page.evaluate(() => {
    const random = Math.random;
    // Shorter delays; a unit test checks the real ones.
    window.__share = 0.02;
    Math.random = () => random() * __share;
    window.__replies = [];
    ServiceWidget.on('reply', (reply) => __replies.push(reply.text));
    window.__messages = 0;
    ServiceWidget.on('message', () => __messages++);
  });
  await visit.at('.launcher').click();
  let cuts = isLong ? 200 : 60;
  let seed = 7;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  let short = 0;
  // A stream is cut anywhere, but not in the longest event, of 1,200 bytes, as often as the client retries.
  host.script.cut = () => {
    if (cuts-- <= 0) return;
    const bytes = random(3000);
    short = bytes < 1500 ? short + 1 : 0;
    if (short < 5) return bytes;
    short = 0;
    return bytes + 1500;
  };
  const words = 'é漢👍 word '.repeat(60);
  host.script.overlap = 2;
  // A busy machine takes longer to read the data before the cut.
  host.script.cutAfterMs = Math.min(500, 150 * Math.max(1, loadavg()[0] / cpus().length));
  host.script.reply = (turn) => `${turn.text}: ${words}`;
  let turns = 0;
  while (cuts > 0) {
    turns++;
    await say(visit, `turn ${turns}`);
    // The widget retries an unreachable server for the real time.
    if (turns == 2) {
      await visit.page.evaluate(() => { window.__share = 1; });
      await host.restart();
    }
    await until(async () => (await visit.page.evaluate(() => __replies.length)) == turns, `reply ${turns}`, 60000);
    assert.equal(await visit.page.evaluate((i) => __replies[i], turns - 1), `turn ${turns}: ${words}`);
    await visit.page.evaluate(() => { window.__share = 0.02; });
    assert.equal((await texts(visit)).at(-1), `turn ${turns}: ${words}`.trim());
    await until(async () => (await visit.at('.send').getAttribute('aria-label')) == 'Send', 'the end of the turn');
  }
  const served = [...host.visitors.values()].filter((one) => one.messages.length);
  assert.equal(served.length, 1);
  assert.equal(served[0].messages.length, turns * 2, 'each turn is stored once');
  assert.equal(await visit.page.evaluate(() => __messages), turns * 2, 'each message has one event');
  await visit.done();
});

test('offline: the message waits and is sent once', async () => {
  const { host } = s;
  const visit = await s.visit();
  await visit.at('.launcher').click();
  await visit.context.setOffline(true);
  await say(visit, 'Is anyone there?');
  await visit.at('.strip').filter({ hasText: 'You are offline' }).waitFor();
  await new Promise((resolve) => setTimeout(resolve, isLong ? 30000 : 1500));
  await visit.context.setOffline(false);
  await replied(visit);
  assert.equal(host.visitor().messages.length, 2);
  assert.equal(await visit.at('.strip').isVisible(), false);
  await visit.done();
});

test('no turn is lost if the response to the first request never arrives', async () => {
  const { host } = s;
  host.script.refuse = (path, _, count) => path == 'turns' && count < 3 && 'destroy';
  const visit = await s.visit();
  await say(visit, 'hello');
  await replied(visit);
  const ids = host.calls('turns').map((one) => one.body.id);
  assert.equal(ids.length, 3);
  assert.equal(new Set(ids).size, 1, 'the same id each time');
  await visit.done();
});

test('after the last retry the visitor can send the message again under the same id', async () => {
  const { host } = s;
  let down = true;
  host.script.refuse = (path) => path == 'turns' && down && { status: 503, code: 'SERVICE_UNAVAILABLE' };
  const visit = await s.visit({ init: () => { Math.random = () => 0.01; } });
  await say(visit, 'hello');
  await visit.at('.note.err').waitFor();
  assert.equal(host.calls('turns').length, 6);
  assert.match(await visit.at('.note.err').innerText(), /That did not work/);
  down = false;
  await visit.at('.note button').click();
  await replied(visit);
  assert.equal(new Set(host.calls('turns').map((one) => one.body.id)).size, 1);
  assert.equal(await visit.at('.note.err').count(), 0);
  assert.equal(await visit.page.evaluate(() => document.querySelector('service-widget').shadowRoot.activeElement.tagName), 'TEXTAREA');
  await visit.done();
});

test('after an error in the stream the partial text remains, and a retry replaces it', async () => {
  const { host } = s;
  host.script.reply = () => 'The answer is forty-two, more or less.';
  host.script.failure = () => ({ at: 14, retryable: true });
  const visit = await s.visit();
  await visit.page.evaluate(() => { window.__errors = []; ServiceWidget.on('error', (error) => __errors.push(error)); });
  await say(visit, 'question');
  await visit.at('.note.err').waitFor();
  // The text is rendered in the next frame.
  await visit.at('.m:not(.v)').last().filter({ hasText: 'The answer is' }).waitFor();
  assert.match(await visit.at('.m:not(.v) .f').last().innerText(), /Incomplete/);
  assert.equal((await visit.page.evaluate(() => __errors))[0].code, 'RESPONDER_UNAVAILABLE');
  host.script.failure = undefined;
  await visit.at('.note button').click();
  await replied(visit);
  assert.deepEqual(await texts(visit), ['The answer is forty-two, more or less.']);
  assert.equal(host.visitor().messages.length, 2);
  await visit.done();
});

test('rate limit: the text stays in the composer, a countdown runs, and then the message is sent', async () => {
  const { host } = s;
  host.script.refuse = (path, _, count) => path == 'turns' && count == 1 && { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { scope: 'visitor', retryAfterSeconds: 2 } };
  const visit = await s.visit();
  await visit.at('.launcher').click();
  await say(visit, 'too fast');
  await visit.at('.composer .err').filter({ hasText: 'You can write again in 2 seconds.' }).waitFor();
  assert.equal(await visit.at('textarea').inputValue(), 'too fast');
  assert.equal(await visit.at('.send').isDisabled(), true);
  assert.equal(await visit.at('.m.v').count(), 0);
  await visit.at('.composer .err').filter({ hasText: 'in 1 second.' }).waitFor();
  await replied(visit);
  assert.deepEqual(host.visitor().messages.map((one) => one.role), ['visitor', 'agent']);
  await visit.done();
});

test('a turn that runs in another tab: the text stays, and its reply is shown', async () => {
  const { host } = s;
  host.script.deltaMs = 60;
  host.script.reply = () => 'A slow answer that takes its time to arrive here.';
  const one = await s.visit();
  await say(one, 'first tab');
  await one.at('.m:not(.v) .b').nth(1).waitFor();
  const two = await s.visit({ context: one.context });
  await two.at('.launcher').waitFor();
  await two.at('.launcher').click();
  await two.at('.m:not(.v):has(time)').filter({ hasText: 'A slow answer' }).waitFor();
  await replied(one);
  assert.equal(host.visitor().messages.length, 2);
  assert.deepEqual(await texts(two), await texts(one));
  assert.deepEqual(one.errors, []);
  await two.done();
});

test('a blocked visitor cannot write', async () => {
  const { host } = s;
  host.script.refuse = (path) => path == 'turns' && { status: 403, code: 'VISITOR_BLOCKED' };
  const visit = await s.visit();
  await say(visit, 'one');
  await visit.at('.composer .err').filter({ hasText: 'This chat is not available.' }).waitFor();
  assert.equal(await visit.at('textarea').isDisabled(), true);
  await visit.done();
});

for (const code of ['ORIGIN_NOT_ALLOWED', 'AGENT_NOT_AVAILABLE'])
  test(`${code}: the widget is hidden and reports it by an event and in the console`, async () => {
    const { host } = s;
    host.script.refuse = (path) => path == 'config' && { status: code[0] == 'O' ? 403 : 404, code };
    const visit = await s.visit({ init: () => { window.__errors = []; window.ServiceWidgetConfig = { onError: (error) => __errors.push(error.code) }; } });
    await until(() => visit.page.evaluate(() => __errors.length), 'the event');
    await visit.page.waitForTimeout(100);
    assert.equal(await visit.at('.launcher').isVisible(), false);
    assert.deepEqual(await visit.page.evaluate(() => __errors), [code]);
    assert.deepEqual(await visit.page.evaluate(() => ServiceWidget.send('x')), { ok: false, code });
    const said = visit.messages.filter((line) => line.includes('[ServiceWidget]')).join();
    assert.match(said, code[0] == 'O' ? /origin http:\/\/127.0.0.1:\d+ is not allowed for agent 695b6f80de7378c4412112d3; add it to the agent's allowed origins/ : /agent 695b6f80de7378c4412112d3/);
    await visit.done();
  });

test('stop: the turn is cancelled, and the text so far remains', async () => {
  const { host } = s;
  host.script.deltaMs = 50;
  host.script.reply = () => 'word '.repeat(400);
  const visit = await s.visit();
  await say(visit, 'long');
  await visit.at('.m:not(.v) .b').nth(1).waitFor();
  assert.equal(await visit.at('.send').getAttribute('aria-label'), 'Stop');
  // A press within 200 ms after sending would be the second one of a double click.
  await visit.page.waitForTimeout(250);
  await visit.at('.send').click();
  await replied(visit);
  assert.match(await visit.at('.m.a:has(time) .f').innerText(), /Stopped/);
  assert.equal(host.calls('turns/cancel').length, 1);
  assert.equal(await visit.at('.send').getAttribute('aria-label'), 'Send');
  await visit.done();
});

test('a reload restores the conversation and resumes an active turn', async () => {
  const { host } = s;
  const visit = await s.visit();
  for (let n = 1; n <= 3; n++) {
    await say(visit, `message ${n}`);
    await replied(visit, n);
  }
  host.script.deltaMs = 40;
  host.script.reply = () => 'A reply that goes on while the page is reloaded.';
  await say(visit, 'and now');
  await until(() => host.visitor().messages.length == 7, 'the message');
  await visit.page.reload();
  await visit.at('.launcher').click();
  await visit.at('.m:not(.v):has(time)').filter({ hasText: 'reloaded' }).waitFor();
  await until(async () => (await visit.at('.m .b').count()) == 9, 'the messages before it');
  assert.deepEqual(await visit.at('.m .b').allInnerTexts(), ['Hello! How can we help?', 'message 1', 'You said: message 1', 'message 2', 'You said: message 2', 'message 3', 'You said: message 3', 'and now', 'A reply that goes on while the page is reloaded.']);
  assert.equal(host.calls('turns').length, 4);
  await visit.done();
});

test('earlier messages precede those that were sent and streamed during the request', async () => {
  const { host } = s;
  const visit = await s.visit();
  await say(visit, 'message 1');
  await replied(visit);
  const before = ['Hello! How can we help?', 'message 1', 'You said: message 1'];
  const slow = 'A reply that takes its time. '.repeat(14) + 'It is here.';
  host.script.deltaMs = 60;
  host.script.reply = () => slow;
  let held;
  await visit.page.route('**/widget/v1/history', async (route) => { await held; await route.continue(); });
  for (const [text, reload] of [['message 2', (act) => visit.page.reload().then(act)], ['message 3', (act) => act().then(() => visit.page.reload())]]) {
    let go;
    held = new Promise((resolve) => { go = resolve; });
    // Sent after the reload, or just before.
    await reload(async () => {
      await say(visit, text);
      await until(() => host.visitor().messages.at(-1).text == text, 'the message');
    });
    await visit.at('.launcher').click({ trial: true });
    if (!(await visit.at('.panel').isVisible())) await visit.at('.launcher').click();
    await visit.at('.m:not(.v) .b').nth(1).waitFor();
    go();
    before.push(text, slow);
    await until(async () => (await visit.at('.m .b').count()) == before.length, 'the messages before it');
    await until(async () => (await visit.at('.list > .m').last().innerText()).includes('It is here.'), 'the end of the reply');
    assert.deepEqual(await visit.at('.m .b').allInnerTexts(), before);
  }
  await visit.done();
});

test('earlier messages load 50 at a time and preserve the scroll position', async () => {
  const { host } = s;
  const visit = await s.visit();
  await say(visit, 'first');
  await replied(visit);
  for (let n = 0; n < 140; n++) host.store(host.visitor(), n % 2 ? 'agent' : 'visitor', `stored ${n}`);
  await visit.page.evaluate(() => { const key = Object.keys(localStorage)[0]; const entry = JSON.parse(localStorage[key]); localStorage[key] = JSON.stringify({ ...entry, seq: 142, read: 142 }); });
  await visit.page.reload();
  await visit.at('.launcher').click();
  await visit.at('.m').filter({ hasText: 'stored 139' }).waitFor();
  assert.equal(await visit.at('.list .m .b').count(), 51);
  const anchor = visit.at('.m').filter({ hasText: 'stored 90' });
  // Within the log: the panel itself moves while it opens. Scrolling loads the next page, so the position is read at once.
  const position = (scrollTo) => anchor.evaluate((node, top) => {
    const log = node.closest('.log');
    if (top) log.scrollTop = top;
    return node.offsetTop - log.scrollTop;
  }, scrollTo);
  const before = await position(40);
  await until(async () => (await visit.at('.list .m .b').count()) == 101, 'the next page');
  const moved = (await position()) - before;
  assert.ok(Math.abs(moved) < 2, `moved by ${moved}`);
  assert.equal(await visit.at('.list .m .b').nth(1).innerText(), 'stored 40');
  assert.deepEqual(host.calls('history').map((one) => one.body.before ?? null), [null, 93]);
  await visit.done();
});

test('the log scrolls to its end only while that is visible', async () => {
  const { host } = s;
  host.script.reply = () => 'line\n\n'.repeat(12);
  const visit = await s.visit();
  for (let n = 1; n < 4; n++) {
    await say(visit, 'one');
    await replied(visit, n);
  }
  const log = visit.at('.log');
  const gap = () => log.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight);
  assert.ok((await gap()) < 2);
  await log.evaluate((node) => { node.scrollTop = 100; });
  await visit.page.waitForTimeout(50);
  host.store(host.visitor(), 'human', 'Hello from Ada');
  await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await visit.at('.jump').waitFor();
  assert.equal(await log.evaluate((node) => node.scrollTop), 100);
  await visit.at('.jump').click();
  await until(async () => (await gap()) < 2, 'the end');
  assert.equal(await visit.page.evaluate(() => document.querySelector('service-widget').shadowRoot.activeElement.className), 'log', 'the focus is not lost');
  assert.equal(await visit.at('.jump').isVisible(), false);
  await visit.done();
});

test('a human agent takes over: the widget polls only while the document is visible', async () => {
  const { host } = s;
  host.script.reply = () => null;
  host.script.before = () => [['handoff', { name: 'Ada', avatar: null, etaSeconds: 60 }]];
  host.script.outcome = 'queued';
  const visit = await s.visit();
  host.script.mode = 'human';
  host.script.nextPollMs = 100;
  await visit.page.evaluate(() => { window.__seen = []; for (const name of ['handoff', 'reply', 'unread']) ServiceWidget.on(name, (payload) => __seen.push([name, payload.name ?? payload.text ?? payload.count])); });
  await say(visit, 'a person please');
  await visit.at('.part').filter({ hasText: 'A person will reply here.' }).waitFor();
  await until(() => host.calls('sync').length > 1, 'polling');
  host.store(host.visitor(), 'human', '<b>Hello</b>, this is Ada.');
  await visit.at('.m.h').waitFor();
  assert.equal(await visit.at('.m.h .b').innerText(), '<b>Hello</b>, this is Ada.');
  await visit.at('.launcher').click();
  host.store(host.visitor(), 'human', 'Are you there?');
  await visit.at('.badge').waitFor();
  assert.equal(await visit.at('.badge').innerText(), '1');
  assert.match(await visit.at('.launcher').getAttribute('aria-label'), /1 unread message$/);
  const seen = (await visit.page.evaluate(() => __seen)).map(([name, value]) => `${name} ${value}`);
  assert.deepEqual(seen.sort(), ['handoff Ada', 'reply <b>Hello</b>, this is Ada.', 'reply Are you there?', 'unread 1']);
  await visit.at('.launcher').click();
  await until(async () => !(await visit.at('.badge').isVisible()), 'no badge');
  await visit.done();
});

test('the form before the first message is submitted with it', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, prechat: LEAD };
  host.script.reply = () => 'Thank you. What can we do?';
  const visit = await s.visit();
  await visit.page.evaluate(() => { window.__leads = []; ServiceWidget.on('lead', (lead) => __leads.push(lead.fields)); });
  await visit.at('.launcher').click();
  await visit.at('.form').waitFor();
  assert.equal(await visit.at('textarea').isVisible(), false);
  const email = visit.at('.form [autocomplete=email]');
  await visit.at('.form .go').click();
  assert.equal(await email.getAttribute('aria-invalid'), 'true');
  assert.equal(await email.evaluate((node) => node.getRootNode().activeElement == node), true);
  assert.match(await visit.at('.form').evaluate((form) => form.querySelector('#' + form.querySelector('[aria-invalid]').getAttribute('aria-describedby')).textContent), /fill this in/);
  await email.fill('not an address');
  await visit.at('.form [type=checkbox]').check();
  await visit.at('.form .go').click();
  assert.equal(await email.getAttribute('aria-invalid'), 'true');
  assert.equal(host.calls('turns').length, 0);
  host.script.refuse = (path, _, count) => path == 'turns' && count == 1 && { status: 400, code: 'VALIDATION_ERROR', validationErrors: [{ field: 'lead.fields.primaryEmail', message: 'primaryEmail is not allowed', value: null, type: 'format', in: 'body' }] };
  await email.fill('zoe.okafor@example.com');
  await visit.at('.form .go').click();
  await visit.at('.form .err').filter({ hasText: 'Please enter an email address' }).waitFor();
  assert.equal(await email.inputValue(), 'zoe.okafor@example.com');
  await visit.at('.form .go').click();
  await replied(visit);
  assert.equal(await visit.at('.form').count(), 0);
  assert.equal(await visit.at('textarea').isVisible(), true);
  const { body } = last(host.calls('turns'));
  assert.equal(body.text, '');
  assert.deepEqual(body.lead.fields, { primaryEmail: 'zoe.okafor@example.com' });
  assert.equal(body.lead.consent.version, '2026-01');
  assert.deepEqual(await visit.page.evaluate(() => __leads), [['primaryEmail']]);
  assert.deepEqual(await visit.page.evaluate(() => JSON.parse(Object.values(localStorage)[0])).then((entry) => Object.keys(entry).sort()), ['conversation', 'read', 'seq', 'token', 'v']);
  await visit.done();
});

test('the form in the conversation can be dismissed, retains its values on failure, and is submitted once', async () => {
  const { host } = s;
  host.script.outcome = 'unknown';
  host.script.after = () => [['form', LEAD]];
  const visit = await s.visit();
  await say(visit, 'unknown thing');
  await visit.at('.form').waitFor();
  await visit.at('.form').getByRole('button', { name: 'Not now' }).click();
  assert.equal(await visit.at('.form').count(), 0);
  await say(visit, 'again');
  await visit.at('.form').waitFor();
  await visit.at('.form [autocomplete=email]').fill('zoe.okafor@example.com');
  await visit.at('.form [type=checkbox]').check();
  host.script.refuse = (path, _, count) => path == 'lead' && count == 1 && { status: 400, code: 'VALIDATION_ERROR', validationErrors: [{ field: 'consent', message: 'The text has changed', value: null, type: 'conflict', in: 'body' }] };
  await visit.at('.form .go').click();
  await visit.at('.form .err').filter({ hasText: 'Please check this.' }).waitFor();
  assert.equal(await visit.at('.form [autocomplete=email]').inputValue(), 'zoe.okafor@example.com');
  await visit.at('.form .go').click();
  await visit.at('.note').filter({ hasText: 'Thank you!' }).waitFor();
  assert.equal(host.visitor().leads.length, 1);
  assert.ok(host.visitor().leads[0].elapsedMs > 0);
  assert.equal(host.visitor().leads[0].hp, '');
  await visit.done();
});

test('files: uploaded separately, named in the message, rejected with the reason', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, uploads: true, limits: { ...host.script.config.limits, uploadTypes: ['pdf'], uploadBytes: 1000 } };
  const visit = await s.visit();
  await visit.at('.launcher').click();
  const pick = (name, size) => visit.at('input[type=file]').setInputFiles({ name, mimeType: 'application/pdf', buffer: Buffer.alloc(size, 'a') });
  await pick('large.pdf', 1001);
  await visit.at('.composer .err').filter({ hasText: 'large.pdf is too large.' }).waitFor();
  host.script.refuse = (path, _, count) => path == 'uploads' && count == 1 && { status: 415, code: 'UNSUPPORTED_FILE_TYPE', message: 'Files of this type are not accepted' };
  await pick('odd.pdf', 10);
  await visit.at('.composer .err').filter({ hasText: 'odd.pdf cannot be sent. These types can: pdf.' }).waitFor();
  await pick('letter.pdf', 500);
  await visit.at('.composer .files li:not(.wait)').waitFor();
  await pick('other.pdf', 500);
  await until(async () => (await visit.at('.composer .files li:not(.wait)').count()) == 2, 'two files');
  await visit.at('.composer .files .i').last().click();
  await visit.at('.send').click();
  await replied(visit);
  assert.equal(host.visitor().messages[0].uploads[0].name, 'letter.pdf');
  assert.equal(last(host.calls('turns')).body.uploads.length, 1);
  assert.match(await visit.at('.m.v').innerText(), /letter\.pdf/);
  await visit.done();
});

test('a challenge loads the solver script', async () => {
  const { host } = s;
  host.script.refuse = (path, body, count) => path == 'turns' && !body.challenge && { status: 429, code: 'CHALLENGE_REQUIRED', details: { challenge: { salt: 'abc', bits: 14, exp: 1, alg: 'sha-256' } } };
  const visit = await s.visit();
  await say(visit, 'hello');
  await replied(visit);
  assert.equal(host.log.filter((one) => /challenge\.[0-9a-f]{16}\.js/.test(one.path)).length, 1);
  assert.equal(last(host.calls('turns')).body.challenge.salt, 'abc');
  await visit.done();
});

test('files and forms solve challenges too; without the solver the rejection remains', async () => {
  const { host } = s;
  const asked = { status: 429, code: 'CHALLENGE_REQUIRED', message: 'Solve the challenge and send this again', details: { challenge: { salt: 'abc', bits: 10, exp: 1, alg: 'sha-256' } } };
  host.script.config = { ...host.script.config, uploads: true };
  host.script.refuse = (path, _, count) => ['uploads', 'lead'].includes(path) && count == 1 && asked;
  host.script.after = () => [['form', LEAD]];
  const visit = await s.visit();
  await visit.at('.launcher').click();
  const pick = (name) => visit.at('input[type=file]').setInputFiles({ name, mimeType: 'application/pdf', buffer: Buffer.from('%PDF-') });
  await pick('letter.pdf');
  await visit.at('.composer .files li:not(.wait)').waitFor();
  const [first, second] = host.calls('uploads').map((one) => one.raw.toString('latin1'));
  assert.ok(!first.includes('name="challenge"'));
  assert.match(second, /name="agentId"[^]*name="challenge"\r\n\r\n\{"salt":"abc","nonce":"\d+"\}\r\n[^]*name="file"/);
  await visit.at('.send').click();
  await visit.at('.form').waitFor();
  await visit.at('.form [autocomplete=email]').fill('zoe.okafor@example.com');
  await visit.at('.form [type=checkbox]').check();
  await visit.at('.form .go').click();
  await visit.at('.note').filter({ hasText: 'Thank you!' }).waitFor();
  assert.deepEqual(host.calls('lead').map((one) => one.body.challenge?.salt), [undefined, 'abc']);
  assert.equal(host.visitor().leads.length, 1);
  await visit.page.route('**/challenge.*.js', (route) => route.abort());
  host.script.refuse = (path) => path == 'uploads' && asked;
  await pick('other.pdf');
  await visit.at('.composer .err').filter({ hasText: 'other.pdf: Solve the challenge' }).waitFor();
  await visit.context.close();
});

test('after two silent turns the next one requests a document', async () => {
  const { host } = s;
  const visit = await s.visit({ init: () => { const real = window.setTimeout; window.setTimeout = (f, ms, ...rest) => real(f, ms == 10000 ? 150 : ms, ...rest); } });
  host.script.delayMs = 300;
  // As a proxy that buffers the stream: nothing arrives before its end.
  const stop = await visit.page.route('**/widget/v1/turns', async (route) => route.fulfill({ response: await route.fetch() }));
  for (let n = 1; n <= 3; n++) {
    await say(visit, `turn ${n}`);
    await replied(visit, n);
  }
  assert.deepEqual(host.calls('turns').map((one) => one.headers.accept), ['*/*', '*/*', 'application/json']);
  assert.deepEqual(await texts(visit), ['You said: turn 1', 'You said: turn 2', 'You said: turn 3']);
  assert.equal(host.violations.filter((one) => one.startsWith('a preflight')).length, 0);
  await visit.done();
});

test('feedback is sent, can be withdrawn, and is reset if the server rejects it', async () => {
  const { host } = s;
  const visit = await s.visit();
  await say(visit, 'x');
  await replied(visit);
  const [up, down] = [visit.at('.f .i').first(), visit.at('.f .i').last()];
  await up.click();
  await until(() => host.visitor().messages[1].feedback == 1, 'up');
  assert.equal(await up.getAttribute('aria-pressed'), 'true');
  await down.click();
  await until(() => host.visitor().messages[1].feedback == -1, 'down');
  await down.click();
  await until(() => host.visitor().messages[1].feedback == 0, 'none');
  host.script.refuse = (path) => path == 'feedback' && { status: 404, code: 'MESSAGE_NOT_FOUND' };
  await up.click();
  await until(async () => (await up.getAttribute('aria-pressed')) == 'false', 'taken back');
  await visit.done();
});

test('a new conversation asks for confirmation, closes the old one and has the same visitor', async () => {
  const { host } = s;
  const visit = await s.visit();
  await say(visit, 'x');
  await replied(visit);
  const fresh = visit.at('.head [aria-label="New conversation"]');
  await fresh.click();
  await visit.at('.ask').getByRole('button', { name: 'Not now' }).click();
  assert.equal(await visit.at('.m.v').count(), 1);
  await fresh.click();
  await visit.at('.ask .go').click();
  assert.equal(await visit.at('.m.v').count(), 0);
  await until(() => host.calls('close').length == 1, 'the call');
  const before = host.visitor().conversation;
  await say(visit, 'y');
  await replied(visit);
  assert.notEqual(host.visitor().conversation, before);
  assert.equal(host.visitors.size, 1);
  await visit.done();
});
