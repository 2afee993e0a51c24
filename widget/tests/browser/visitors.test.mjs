// What a visitor meets in the first minutes: writing, files, forms, persons, long answers, and the page around the widget.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach } from 'node:test';
import { LEAD } from '../host.mjs';
import { AGENT, html, replied, say, settled, start, tag, test, until } from './setup.mjs';

let s;
before(async () => { s = await start(); });
after(() => s.stop());
beforeEach(() => s.host.reset());

const locale = (name) => JSON.parse(readFileSync(new URL(`../../locales/${name}.json`, import.meta.url), 'utf8'));
const withFiles = (more = {}) => { s.host.script.config = { ...s.host.script.config, uploads: true, limits: { ...s.host.script.config.limits, uploadTypes: ['pdf', 'png'], ...more } }; };
const pdf = (name, size = 20) => ({ name, mimeType: 'application/pdf', buffer: Buffer.alloc(size, 'a') });
const pick = (visit, ...files) => visit.at('input[type=file]').setInputFiles(files);
const phone = { viewport: { width: 320, height: 568 }, hasTouch: true, isMobile: true };
const joined = (after, change = 'joined', name = 'Zoë Okafor') => ({ after, change, name, at: new Date().toISOString() });

test('a form before the first message is thanked for, keeps the suggestions, and has no thumbs', async () => {
  s.host.script.config = { ...s.host.script.config, prechat: LEAD };
  s.host.script.reply = () => 'Thank you! How can I help?';
  s.host.script.after = (turn) => (turn.text ? [] : [['suggestions', { items: ['Opening hours'] }]]);
  const visit = await s.visit();
  await visit.at('.launcher').click();
  await visit.at('.form [autocomplete=email]').fill('zoe.okafor@example.com');
  await visit.at('.form [type=checkbox]').check();
  await visit.at('.form .go').click();
  await replied(visit);
  assert.deepEqual(await visit.at('.chips button').allInnerTexts(), ['Opening hours']);
  assert.equal(await visit.at('.f .i').count(), 0, 'an acknowledgement answers nothing');
  await visit.at('.chips button').click();
  await replied(visit, 2);
  assert.equal(await visit.at('.f .i').count(), 2);
  await visit.done();
});

test('files chosen at once before the first message belong to one visitor, and are sent', async () => {
  withFiles();
  const visit = await s.visit();
  await visit.at('.launcher').click();
  await pick(visit, pdf('a.pdf'), pdf('b.pdf'), pdf('c.pdf'));
  await visit.at('.composer .files li:not(.wait)').nth(2).waitFor();
  assert.equal(s.host.visitors.size, 1);
  await say(visit, 'Here they are');
  await replied(visit);
  assert.deepEqual(s.host.visitor().messages[0].uploads.map((one) => one.name).sort(), ['a.pdf', 'b.pdf', 'c.pdf']);
  assert.equal(s.host.calls('turns')[0].body.page.url, `${s.host.site}/page`, 'the page is described although a file began the conversation');
  await visit.done();
});

test('files that the server does not know any more are taken out, and it says that something failed', async () => {
  withFiles();
  const visit = await s.visit();
  await visit.at('.launcher').click();
  await pick(visit, pdf('a.pdf'));
  await visit.at('.composer .files li:not(.wait)').waitFor();
  s.host.script.refuse = (path, _, count) => path == 'turns' && count == 1 && { status: 400, code: 'VALIDATION_ERROR', message: 'uploads names files', validationErrors: [{ field: 'uploads', message: 'uploads names files that this visitor has not sent', type: 'unknown', in: 'body' }] };
  await say(visit, 'Here it is');
  await visit.at('.composer .err').filter({ hasText: 'That did not work.' }).waitFor();
  assert.equal(await visit.at('textarea').inputValue(), 'Here it is');
  assert.equal(await visit.at('.composer .files li').count(), 0);
  await visit.at('.send').click();
  await replied(visit);
  await visit.done();
});

test('a double click on Send sends; a reply that is stopped before its first word is no bubble', async () => {
  s.host.script.delayMs = 700;
  const visit = await s.visit();
  await visit.at('.launcher').click();
  await visit.at('textarea').fill('hello');
  await visit.at('.send').dblclick();
  await replied(visit);
  assert.equal(s.host.calls('turns/cancel').length, 0);
  assert.equal(await visit.at('.m.a .b').last().innerText(), 'You said: hello');
  s.host.script.delayMs = 1500;
  await say(visit, 'again');
  await visit.page.waitForTimeout(700);
  await visit.at('.send').click();
  await visit.at('.m.a.bare').waitFor();
  assert.match(await visit.at('.m.a.bare').innerText(), /Stopped/);
  assert.equal(await visit.at('.m.a.bare .b').isVisible(), false);
  await visit.done();
});

test('shortcuts of the page do not hear what is typed in the panel', async () => {
  const body = `<input id="search">${tag(s.host)}`;
  for (const mode of ['bubble', 'inline']) {
    const visit = await s.visit({ name: mode, headers: {}, body: mode == 'inline' ? `<input id="search"><div id="chat" style="height:500px"></div><script>window.ServiceWidgetConfig={agentId:'${AGENT}',mode:'inline',container:'#chat'}</script>${tag(s.host, '')}` : body });
    await visit.page.evaluate(() => {
      window.heard = [];
      for (const name of ['keydown', 'keypress', 'keyup', 'beforeinput', 'input', 'paste', 'copy', 'cut']) addEventListener(name, (event) => heard.push(name + event.target.localName));
      document.addEventListener('keydown', (event) => {
        if (/INPUT|TEXTAREA/.test(event.target.tagName)) return;
        if (event.key == '/') { event.preventDefault(); document.querySelector('#search').focus(); }
        if (event.key == ' ') event.preventDefault();
      });
    });
    if (mode == 'bubble') await visit.at('.launcher').click();
    await visit.at('textarea').click();
    await visit.page.keyboard.type('What is 1/2 price');
    await visit.page.keyboard.press('Control+a');
    await visit.page.keyboard.press('Control+c');
    await visit.page.keyboard.press('End');
    await visit.page.keyboard.press('Control+v');
    assert.equal(await visit.at('textarea').inputValue(), 'What is 1/2 priceWhat is 1/2 price');
    assert.deepEqual(await visit.page.evaluate(() => heard), []);
    await visit.page.keyboard.press('Control+a');
    await visit.page.keyboard.press('Enter');
    await replied(visit);
    await visit.done();
  }
});

test('a person who writes to a visitor whom the agent answers is seen, with the panel open and closed', async () => {
  const visit = await s.visit();
  await say(visit, 'hello');
  await replied(visit);
  s.host.script.nextPollMs = 3000;
  s.host.store(s.host.visitor(), 'human', 'Hello, this is Zoë.', { name: 'Zoë' });
  const began = Date.now();
  await visit.at('.m.h').waitFor();
  assert.ok(Date.now() - began < 6000);
  await visit.at('.launcher').click();
  s.host.store(s.host.visitor(), 'human', 'Are you still there?', { name: 'Zoë' });
  await visit.at('.badge').filter({ hasText: '1' }).waitFor();
  assert.equal(await visit.at('.teaser .say').innerText(), 'Zoë\nAre you still there?');
  await visit.at('.teaser .say').click();
  await visit.at('.m.h').nth(1).waitFor();
  assert.equal(await visit.at('.badge').isVisible(), false);
  await visit.done();
});

test('a person has a name everywhere, and the notes of coming and going outlive a reload', async () => {
  const { host } = s;
  const visit = await s.visit();
  await visit.page.evaluate(() => { window.seen = []; for (const name of ['handoff', 'reply', 'message']) ServiceWidget.on(name, (payload) => seen.push(`${name} ${payload.name}`)); });
  await say(visit, 'hello');
  await replied(visit);
  const check = (title, parts, hint) => settled(async () => {
    assert.equal(await visit.at('h2').innerText(), title);
    assert.deepEqual(await visit.at('.part').allInnerTexts(), parts);
    assert.match(await visit.at('.hint').innerText(), hint);
  });
  const order = (expected, words) => settled(async () => {
    const classes = await visit.at('.list > *').evaluateAll((all) => all.map((one) => one.className));
    assert.deepEqual(classes.map((one) => one.split(' ').slice(0, words).join(' ')), expected);
  });
  const poll = () => visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  host.script.mode = 'human';
  await poll();
  await check('Mill Lane Practice', ['A person will reply here.'], /come from an AI/);
  host.script.people = [joined(2)];
  host.store(host.visitor(), 'human', 'See https://www.example.com/book, **today**', { name: 'Zoë Okafor' });
  await poll();
  await check('Zoë Okafor', ['Zoë Okafor joined the conversation'], /^Privacy$/);
  assert.equal(await visit.at('.head .face').innerText(), 'ZO');
  assert.equal(await visit.at('.names p').innerText(), 'Mill Lane Practice');
  assert.equal(await visit.at('.m.h .who').innerText(), 'Zoë Okafor');
  assert.equal(await visit.at('.m.h > .x').innerText(), 'Zoë Okafor:');
  assert.equal(await visit.at('.m.h a').getAttribute('href'), 'https://www.example.com/book');
  assert.equal(await visit.at('.m.h strong').innerText(), 'today');
  await settled(async () => assert.deepEqual((await visit.page.evaluate(() => seen)).filter((one) => /Zoë/.test(one)).sort(), ['handoff Zoë Okafor', 'message Zoë Okafor', 'reply Zoë Okafor']));
  await visit.page.reload();
  await visit.at('.launcher').click();
  await check('Zoë Okafor', ['Zoë Okafor joined the conversation'], /^Privacy$/);
  await order(['m hi', 'm v', 'm a', 'part ', 'm h'], 2);
  host.script.mode = 'ai';
  host.script.people = [joined(2), joined(3, 'left')];
  await poll();
  await check('Mill Lane Practice', ['Zoë Okafor joined the conversation', 'Zoë Okafor left the conversation'], /come from an AI/);
  await say(visit, 'thanks');
  await replied(visit, 3);
  await order(['m', 'm', 'm', 'part', 'm', 'part', 'm', 'm'], 1);
  await visit.done();
});

test('that a person is awaited is said once, however many messages follow', async () => {
  const { host } = s;
  host.script.mode = 'human';
  host.script.reply = () => null;
  host.script.outcome = 'queued';
  const visit = await s.visit();
  await visit.at('.launcher').waitFor();
  await visit.page.evaluate(() => {
    window.spoken = [];
    const status = document.querySelector('service-widget').shadowRoot.querySelector('[role=status]');
    new MutationObserver((all) => all.forEach((one) => one.addedNodes.forEach((node) => spoken.push(node.textContent)))).observe(status, { childList: true });
  });
  for (const n of [1, 2, 3]) {
    await say(visit, `message ${n}`);
    await visit.at('.m.v:has(time)').nth(n - 1).waitFor();
  }
  await until(() => host.calls('sync').length, 'a look');
  assert.deepEqual(await visit.at('.part, .note').allInnerTexts(), ['A person will reply here.']);
  assert.equal((await visit.page.evaluate(() => spoken)).filter((one) => one == 'A person will reply here.').length, 1);
  host.script.people = [joined(0)];
  host.store(host.visitor(), 'human', 'Hello', { name: 'Zoë Okafor' });
  await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await visit.at('.m.h').waitFor();
  await say(visit, 'message 4');
  await visit.at('.m.v:has(time)').nth(3).waitFor();
  assert.deepEqual(await visit.at('.part, .note').allInnerTexts(), ['Zoë Okafor joined the conversation']);
  await visit.done();
});

test("forms speak the visitor's language, and the owner's words count more", async () => {
  const { host } = s;
  const fields = [
    { name: 'primaryEmail', label: 'Primary email', type: 'email', required: true, options: null },
    { name: 'primaryPhone', label: 'Primary phone', type: 'phone', required: false, options: null },
    { name: 'firstName', label: 'First name', type: 'string', required: false, options: null },
    { name: 'customFields.room', label: 'Room', type: 'string', required: false, options: null },
  ];
  host.script.config = { ...host.script.config, lead: { fields, consent: null } };
  host.script.configs.de = { locale: 'de', strings: { ...locale('de'), 'field.firstName': 'Wie heißen Sie?' } };
  host.script.after = () => [['form', { fields, consent: LEAD.consent }]];
  const visit = await s.visit({ body: tag(host, `data-agent-id="${AGENT}" data-locale="de"`) });
  await say(visit, 'x');
  await visit.at('.form').waitFor();
  assert.deepEqual((await visit.at('.form label').allInnerTexts()).map((one) => one.trim()), ['E-Mail', 'Telefon freiwillig', 'Wie heißen Sie? freiwillig', 'Room freiwillig', LEAD.consent.text]);
  assert.equal(await visit.at('.form .intro').innerText(), 'Hinterlassen Sie uns Ihre Angaben, wir melden uns bei Ihnen.');
  await visit.at('.form .go').click();
  assert.deepEqual((await visit.at('.form .row .err').allInnerTexts()).filter(Boolean), ['Bitte ausfüllen.', 'Bitte setzen Sie das Häkchen, um fortzufahren.']);
  await visit.at('.form input').first().fill('zoe@example.com');
  await visit.at('.form input').nth(2).fill('Zoë');
  await visit.at('.form [type=checkbox]').check();
  host.script.refuse = (path, _, count) => path == 'lead' && count == 1 && { status: 400, code: 'VALIDATION_ERROR', validationErrors: [{ field: 'fields.primaryPhone', message: 'fields.primaryPhone must be a telephone number of 3 to 15 digits', type: 'format', in: 'body' }] };
  await visit.at('.form .go').click();
  await visit.at('.form .row .err').filter({ hasText: 'Bitte geben Sie eine Telefonnummer mit 3 bis 15 Ziffern ein.' }).waitFor();
  await visit.at('.form .go').click();
  await visit.at('.done').waitFor();
  assert.equal(await visit.at('.done').innerText(), 'Vielen Dank, Zoë!\nWir schreiben an zoe@example.com.');
  await visit.done();
});

test('a form shows what the visitor has said, and sends it only when the visitor does', async () => {
  const { host } = s;
  const fields = [
    { name: 'primaryEmail', label: 'Primary email', type: 'email', required: true, options: null, value: 'zoe@example.com' },
    { name: 'customFields.size', label: 'Size', type: 'select', required: false, options: ['S', 'M'], value: 'M' },
    { name: 'customFields.count', label: 'Count', type: 'number', required: false, options: null, value: 12.5 },
    { name: 'customFields.call', label: 'Call me', type: 'boolean', required: false, options: null, value: true },
    { name: 'firstName', label: 'First name', type: 'string', required: false, options: null },
  ];
  host.script.after = () => [['form', { fields, consent: null }]];
  const visit = await s.visit({ body: tag(host, `data-agent-id="${AGENT}"`) });
  await say(visit, 'Write to zoe@example.com');
  await visit.at('.form').waitFor();
  await visit.at('.form select').waitFor();
  const sent = () => host.log.filter((one) => one.path == 'lead');
  assert.deepEqual(sent(), []);
  await visit.at('.form input').nth(1).fill('13');
  await visit.at('.form .go').click();
  await visit.at('.done').waitFor();
  assert.deepEqual(sent().map((one) => one.body.fields), [{ primaryEmail: 'zoe@example.com', 'customFields.size': 'M', 'customFields.count': 13, 'customFields.call': true }]);
  await visit.done();
});

test('files: what is too large or of another kind is named; pasted and dropped ones count; Enter waits for them', async () => {
  withFiles({ uploadBytes: 2 * 1048576 });
  const visit = await s.visit({ name: 'sending' });
  await visit.at('.launcher').click();
  await pick(visit, pdf('big.pdf', 2 * 1048576 + 1));
  await visit.at('.composer .err').filter({ hasText: 'big.pdf is too large. A file may have up to 2 MB.' }).waitFor();
  s.host.script.refuse = (path, _, count) => path == 'uploads' && count == 1 && { status: 415, code: 'UNSUPPORTED_FILE_TYPE', message: 'Files of this type are not accepted' };
  await pick(visit, pdf('odd.pdf'));
  await visit.at('.composer .err').filter({ hasText: 'odd.pdf cannot be sent. These types can: pdf, png.' }).waitFor();
  const box = await visit.at('.composer .err').boundingBox();
  const field = await visit.at('.write').boundingBox();
  assert.ok(field.y - box.y - box.height >= 0 && (await visit.at('.composer .err').evaluate((node) => parseFloat(getComputedStyle(node).paddingBottom))) >= 6, 'the error has room');
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  await visit.page.route('**/uploads', async (route) => { await held; await route.continue(); });
  for (const name of ['paste', 'drop'])
    await visit.at('textarea').evaluate((node, name) => {
      const data = new DataTransfer();
      data.items.add(new File(['x'], `${name}.png`, { type: 'image/png' }));
      const event = name == 'paste' ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true, composed: true }) : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true, composed: true });
      node.dispatchEvent(event);
    }, name);
  await visit.at('.composer .files li.wait').nth(1).waitFor();
  await visit.at('textarea').fill('look');
  await visit.at('textarea').press('Enter');
  await visit.at('.composer .info').filter({ hasText: 'as soon as the file has arrived' }).waitFor();
  assert.equal(s.host.calls('turns').length, 0);
  assert.equal(await visit.at('textarea').inputValue(), 'look');
  go();
  await replied(visit);
  assert.deepEqual(s.host.visitor().messages[0].uploads.map((one) => one.name), ['paste.png', 'drop.png']);
  assert.equal(s.host.calls('turns')[0].body.text, 'look');
  await visit.done();
});

test('a block of code has its language and a button that covers nothing; a table has the width of the message', async () => {
  s.host.script.reply = () => '```bash\ncurl https://api.example.com/orders --header "Authorization: Bearer of something long"\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |';
  const visit = await s.visit({ options: { permissions: ['clipboard-read', 'clipboard-write'] } });
  await say(visit, 'x');
  await replied(visit);
  const [button, code] = [await visit.at('.copy').boundingBox(), await visit.at('pre').boundingBox()];
  assert.ok(button.y + button.height <= code.y + 1, 'no overlap');
  assert.equal(await visit.at('.bar span').innerText(), 'bash');
  await visit.at('.copy').click();
  await visit.at('.copy').filter({ hasText: 'Copied' }).waitFor();
  assert.match(await visit.page.evaluate(() => navigator.clipboard.readText()), /^curl .*long"$/);
  const [table, bubble, message] = [await visit.at('table').boundingBox(), await visit.at('.m.a .b').last().boundingBox(), await visit.at('.m.a').last().boundingBox()];
  assert.ok(table.width > bubble.width - 40 && bubble.width > message.width - 50);
  await visit.done();
});

test('the welcome is never empty, begins at its top, and a long title leaves room', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, greeting: null, title: 'The Mill Lane Medical Practice and Walk-in Centre of Greater Leeds', suggestions: Array.from({ length: 6 }, (_, n) => `What are your opening hours on public holidays, question ${n}?`) };
  const visit = await s.visit({ options: phone });
  await visit.at('.launcher').click();
  await visit.at('.rows button').nth(5).waitFor({ state: 'attached' });
  assert.equal(await visit.at('.hi .b').innerText(), 'Hello! How can I help?');
  assert.equal(await visit.at('.log').evaluate((node) => node.scrollTop), 0);
  assert.ok((await visit.at('.hi .b').boundingBox()).y > (await visit.at('.head').boundingBox()).height);
  assert.ok((await visit.at('.head').boundingBox()).height <= 110);
  const [rows, log] = [await visit.at('.rows').boundingBox(), await visit.at('.log').boundingBox()];
  assert.ok(rows.x - log.x < 20 && rows.width > log.width - 40, 'a list below the greeting');
  await visit.done();
});

test('a long answer begins in view; who reads on follows it', async () => {
  s.host.script.reply = () => Array.from({ length: 60 }, (_, n) => `Paragraph ${n} of the answer.`).join('\n\n');
  s.host.script.pace = 2;
  const visit = await s.visit();
  await say(visit, 'one');
  await replied(visit);
  await visit.page.waitForTimeout(200);
  const top = async (selector) => (await visit.at(selector).boundingBox()).y - (await visit.at('.log').boundingBox()).y;
  assert.ok((await top('.m.v')) >= 0 && (await top('.m.v')) < 40, `${await top('.m.v')}`);
  await visit.at('.jump').click();
  assert.ok((await visit.at('.log').evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight)) < 2);
  assert.equal(await visit.at('.jump').isVisible(), false);
  await visit.done();
});

test('messages are grouped: one time a group, one face a group', async () => {
  const visit = await s.visit();
  await say(visit, 'hello');
  await replied(visit);
  for (const text of ['One', 'Two', 'Three']) s.host.store(s.host.visitor(), 'human', text, { name: 'Zoë' });
  await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await visit.at('.m.h').nth(2).waitFor();
  assert.deepEqual(await visit.at('.m.h time').evaluateAll((all) => all.map((one) => one.getClientRects().length)), [0, 0, 1]);
  assert.equal(await visit.at('.m.h .face').count(), 1);
  const [one, two] = [await visit.at('.m.h .b').nth(0).boundingBox(), await visit.at('.m.h .b').nth(1).boundingBox()];
  assert.equal(Math.round(two.y - one.y - one.height), 4);
  await visit.done();
});

test('sources without repeats, linked citations', async () => {
  s.host.script.reply = () => 'Open daily [1]. Also on Sundays [2].';
  s.host.script.sources = [1, 2].map((n) => ({ n, title: 'Opening hours', url: 'https://www.example.com/hours', page: null }));
  const visit = await s.visit();
  await say(visit, 'x');
  await replied(visit);
  assert.deepEqual(await visit.at('.src li').allInnerTexts(), ['1 2\nOpening hours']);
  assert.equal(await visit.at('sup a').count(), 2);
  assert.equal(await visit.at('.cited').first().evaluate((node) => getComputedStyle(node).whiteSpace), 'nowrap');
  await visit.done();
});

test("times are the visitor's: the hour cycle of the browser, the day if it is not today", async () => {
  for (const [locale, pattern] of [['en-GB', /^\d\d:\d\d$/], ['en-US', /^\d{1,2}:\d\d\s[AP]M$/]]) {
    s.host.reset();
    const visit = await s.visit({ options: { locale, timezoneId: 'UTC' } });
    await say(visit, 'x');
    await replied(visit);
    // Two minutes ago, but still today.
    const recent = new Date(Math.max(Date.now() - 120000, new Date().setUTCHours(0, 0, 0, 0)));
    s.host.store(s.host.visitor(), 'human', 'a', { name: 'Ada', at: '2026-01-31T14:36:00.000Z' });
    s.host.store(s.host.visitor(), 'human', 'b', { name: 'Bea', at: recent.toISOString() });
    await visit.page.evaluate(() => window.dispatchEvent(new Event('online')));
    await visit.at('.m.h').nth(1).waitFor();
    const [day, time] = await visit.at('.m.h time').allInnerTexts();
    assert.match(time, pattern, locale);
    assert.match(day, /31/);
    assert.match(day, locale == 'en-GB' ? /14:36/ : /2:36\sPM/);
    await visit.done();
  }
});

test('on a phone the page under the panel keeps its position', async () => {
  const visit = await s.visit({ headers: {}, options: phone, body: `<div style="height:4000px">long</div>${tag(s.host)}` });
  await visit.at('.launcher').click();
  await visit.at('.hi').waitFor();
  for (const selector of ['.head', '.hint', '.log']) {
    const box = await visit.at(selector).boundingBox();
    await visit.page.mouse.move(box.x + 20, box.y + box.height / 2);
    await visit.page.mouse.wheel(0, 600);
    await visit.page.waitForTimeout(150);
    assert.equal(await visit.page.evaluate(() => scrollY), 0, selector);
  }
  await visit.done();
});

test("the theme follows the page: its color scheme, its background, then the system; the font may be the page's", async () => {
  const isDark = (visit) => visit.at('.w').evaluate((node) => node.classList.contains('dark'));
  for (const [css, colorScheme, expected] of [
    ['', 'light', false], ['', 'dark', true], ['body{background:#101418}', 'light', true], ['body{background:#fff}', 'dark', false], ['html{background:rgb(20 20 20)}', 'light', true],
    [':root{color-scheme:dark}', 'light', true], [':root{color-scheme:light}', 'dark', false], [':root{color-scheme:light dark}', 'dark', true],
  ]) {
    const visit = await s.visit({ headers: {}, options: { colorScheme }, body: `<style>${css} body{font-family:Courier}</style>${tag(s.host)}` });
    await visit.at('.launcher').waitFor();
    assert.equal(await isDark(visit), expected, `${css} ${colorScheme}`);
    if (!css) {
      await visit.page.evaluate(() => { document.body.style.background = '#000'; ServiceWidget.update({ fontFamily: 'inherit' }); ServiceWidget.open(); });
      assert.equal(await isDark(visit), true, 'a page that becomes dark');
      assert.equal(await visit.at('.panel').evaluate((node) => getComputedStyle(node).fontFamily), 'Courier');
    }
    await visit.done();
  }
});

test('the teaser has questions to tap; the launcher may have the image of the agent', async () => {
  const { host } = s;
  host.script.config = { ...host.script.config, avatar: `${host.url}/face.png`, teaser: { text: 'Questions?', delayMs: 1 }, suggestions: ['One?', 'Two?', 'Three?', 'Four?'] };
  const visit = await s.visit({ headers: {}, body: `<script>window.ServiceWidgetConfig={agentId:'${AGENT}',launcher:{icon:'avatar'}}</script>${tag(host, '')}` });
  await visit.at('.teaser').waitFor();
  assert.deepEqual(await visit.at('.teaser .chips button').allInnerTexts(), ['One?', 'Two?', 'Three?']);
  assert.equal(await visit.at('.launcher img').getAttribute('src'), `${host.url}/face.png`);
  await visit.at('.teaser .chips button').nth(1).click();
  await replied(visit);
  assert.equal(host.visitor().messages[0].text, 'Two?');
  assert.equal(await visit.at('.launcher svg').count(), 1, 'an open panel is closed by an arrow');
  await visit.context.close();
});

test('an owner learns why nothing shows: no id, a sandboxed frame', async () => {
  const hint = (visit) => visit.messages.find((one) => /nothing has started; set data-agent-id or window\.ServiceWidgetConfig, or call init\(\)/.test(one));
  const stripped = await s.visit({ headers: {}, body: `<script>const ServiceWidgetConfig = { agentId: '${AGENT}' }</script>${tag(s.host, '')}` });
  await until(() => hint(stripped), 'the hint');
  assert.equal(await stripped.page.evaluate(() => ServiceWidget.state), null);
  await stripped.done();
  const started = await s.visit({ body: tag(s.host, ''), headers: {} });
  await started.page.waitForFunction(() => window.ServiceWidget?.version);
  await started.page.evaluate((agentId) => ServiceWidget.init({ agentId }), AGENT);
  await started.at('.launcher').waitFor();
  await started.page.waitForTimeout(5500);
  assert.equal(hint(started), undefined, 'started by the page');
  assert.deepEqual(await started.page.evaluate(() => ServiceWidget.state), { ready: true, open: false, unread: 0, conversation: null });
  await started.done();
  s.host.script.refuse = (path) => path == 'config' && { status: 403, code: 'ORIGIN_NOT_ALLOWED', details: { origin: 'null' } };
  const inside = html(tag(s.host)).replace(/"/g, '&quot;');
  const framed = await s.visit({ headers: {}, body: `<iframe sandbox="allow-scripts" srcdoc="${inside}"></iframe>` });
  await until(() => framed.messages.some((one) => /sandboxed frame.*allow-same-origin/.test(one)), 'the reason');
  assert.ok(!framed.messages.some((one) => /add it to the agent/.test(one)));
  await framed.context.close();
});
