// The widget on pages of the real server: replies from documents, from a model and from human agents, and
// a server that is killed. Needs the server's program: WIDGET_SERVER=/path/to/openapi-server.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';
import { artefacts, test, until } from './setup.mjs';

const program = process.env.WIDGET_SERVER || new URL('../../../target/debug/openapi-server', import.meta.url).pathname;
if (!existsSync(program)) throw new Error(`${program} is missing; build it with: cargo build -p server-hyper`);
const folder = mkdtempSync(join(tmpdir(), 'widget-server-'));
const store = ['--store', `sqlite:${folder}/openapi.db`];
const cli = (...args) => execFileSync(program, [...args, ...store], { encoding: 'utf8' });

/** A stub of a model's endpoint: its speed is adjustable, and it records closed connections. */
const model = { delay: 5, asked: [], closed: 0, words: () => ['Home ', 'visits ', 'are ', 'possible. ', '[1]'] };
const endpoint = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  model.asked.push(JSON.parse(Buffer.concat(chunks).toString()));
  let open = true;
  response.on('close', () => { open = response.writableFinished; model.closed += response.writableFinished ? 0 : 1; });
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const content of model.words()) {
    if (!open) return;
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
    await new Promise((resolve) => setTimeout(resolve, model.delay));
  }
  response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`);
  response.write(`data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } })}\n\n`);
  response.end('data: [DONE]\n\n');
});

/** An SMTP server that takes every message. */
const letters = [];
const mailbox = createSocketServer((socket) => {
  let data = null;
  let rest = '';
  const say = (line) => socket.write(line + '\r\n');
  say('220 localhost');
  socket.on('error', () => {});
  socket.on('data', (piece) => {
    const lines = (rest + piece).split('\r\n');
    rest = lines.pop();
    for (const line of lines) {
      if (data) {
        if (line == '.') {
          // Quoted-printable, joined and decoded.
          letters.push(data.join('\n').replace(/=\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16))));
          data = null;
          say('250 taken');
        } else data.push(line);
      } else if (/^DATA/i.test(line)) {
        data = [];
        say('354 go on');
      } else if (/^QUIT/i.test(line)) {
        say('221 bye');
        socket.end();
      } else say('250 localhost');
    }
  });
});

let browser, server, widget;
/** Starts the server; a restart reuses the address of its widget. */
const startServer = async () => {
  const port = widget ? new URL(widget).port : '0';
  const args = ['demo', ...store, '--listen', '127.0.0.1:0', '--ops-listen', 'off', '--widget-listen', `127.0.0.1:${port}`,
    '--widget-limit', 'turns=off', '--widget-limit', 'address_turns=off', '--widget-limit', 'address_sessions=off', '--log', 'warn',
    '--smtp-host', '127.0.0.1', '--smtp-port', `${mailbox.address().port}`, '--smtp-tls', 'none', '--mail-from', 'desk@example.com', '--mail-delay', '1s',
    '--llm', `default.url=http://127.0.0.1:${endpoint.address().port}/v1`, '--llm', 'default.model=stub'];
  server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  server.stdout.on('data', (piece) => { output += piece; });
  const line = await until(() => /listening widget (\S+)/.exec(output), 'the widget listens', 30000);
  widget = line[1];
  await until(() => /\n(agent|The store already has)/.test(output), 'the demo is there', 30000);
  return output;
};
const stopServer = (signal) => new Promise((resolve) => {
  server.once('exit', resolve);
  server.kill(signal);
});

before(async () => {
  await new Promise((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  await new Promise((resolve) => mailbox.listen(0, '127.0.0.1', resolve));
  await startServer();
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
});
after(async () => {
  await browser?.close();
  if (server) await stopServer('SIGTERM');
  endpoint.close();
  endpoint.closeAllConnections();
  mailbox.close();
  rmSync(folder, { recursive: true, force: true });
});

const visit = async (context) => {
  context ??= await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push('error: ' + error.message));
  page.on('console', (message) => /Content Security|Trusted ?Type|Refused to/i.test(message.text()) && errors.push('policy: ' + message.text()));
  page.setDefaultTimeout(15000);
  const requests = [];
  page.on('request', (request) => requests.push(request));
  await page.goto(`${widget}/demo/demo`);
  const at = (selector) => page.locator('service-widget ' + selector);
  await at('.launcher').waitFor();
  return { context, page, at, errors, requests };
};
const say = async (one, text) => {
  if (!(await one.at('.panel').isVisible())) await one.at('.launcher').click();
  await one.at('textarea').fill(text);
  await one.at('textarea').press('Enter');
};
const replies = (one) => one.at('.m:not(.v):has(time) .b').allInnerTexts();
const replied = (one, count) => until(async () => (await replies(one)).length >= count, `${count} replies`, 20000);

test('a visitor asks and gets a reply from the documents, under the strictest policy', async () => {
  const one = await visit();
  await say(one, 'Do you offer home visits?');
  await replied(one, 1);
  assert.match((await replies(one))[0], /home visit/i);
  assert.match(await one.at('.src').first().innerText(), /Mill Lane Practice/);
  const posts = one.requests.filter((request) => request.method() != 'GET');
  assert.deepEqual(posts.map((request) => [request.method(), new URL(request.url()).pathname]), [['POST', '/widget/v1/turns']], 'one request, no preflight');
  await one.page.screenshot({ path: artefacts + 'server-answer.png' });
  assert.deepEqual(one.errors, []);
  await one.context.close();
});

test('a question outside of the documents gets the form, which creates a contact', async () => {
  const one = await visit();
  await say(one, 'Which programming languages does the orchestra speak?');
  await replied(one, 1);
  await one.at('.form input[autocomplete=email]').fill('visitor@example.com');
  await one.page.screenshot({ path: artefacts + 'server-form.png' });
  await one.page.waitForTimeout(1500);
  await one.at('.form .go').click();
  await one.at('.note').waitFor();
  const contacts = cli('contacts', 'export', '--agent', 'demo', '--format', 'ndjson').trim().split('\n').map((line) => JSON.parse(line));
  const made = contacts.filter((contact) => contact.source == 'widget');
  assert.deepEqual(made.map((contact) => contact.primaryEmail), ['visitor@example.com']);
  assert.deepEqual(one.errors, []);
  await one.context.close();
});

test('the conversation continues after a reload of the page and after the server was killed', async () => {
  const one = await visit();
  await say(one, 'When are you open?');
  await replied(one, 1);
  const before = await replies(one);
  await stopServer('SIGKILL');
  await startServer();
  await one.page.reload();
  await one.at('.launcher').waitFor();
  await one.at('.launcher').click();
  await replied(one, 1);
  assert.deepEqual(await replies(one), before);
  await say(one, 'Can I pay by card?');
  await replied(one, 2);
  assert.deepEqual(one.errors, []);
  await one.context.close();
});

test('a model replies, and stopping it closes the connection to it', async () => {
  cli('agents', 'configure', 'demo', '--set', 'chat.responder=llm');
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const one = await visit();
  await say(one, 'Do you offer home visits?');
  await replied(one, 1);
  assert.match((await replies(one))[0], /Home visits are possible\./);
  const { messages, stream } = model.asked.at(-1);
  assert.equal(stream, true);
  assert.ok(messages.some((message) => JSON.stringify(message).includes('ten kilometres')), 'grounded on the passages');
  const closed = model.closed;
  model.delay = 300;
  model.words = () => Array(100).fill('More. ');
  await say(one, 'Tell me everything about it');
  await until(() => model.asked.length >= 2, 'the model is asked');
  await one.page.waitForTimeout(250);
  await one.at('.composer .stop, .composer .send').first().click();
  await until(() => model.closed > closed, 'the connection is closed', 3000);
  cli('agents', 'configure', 'demo', '--unset', 'chat.responder');
  await new Promise((resolve) => setTimeout(resolve, 5000));
  assert.deepEqual(one.errors, []);
  await one.context.close();
});

test('a human agent takes over, and the visitor gets their messages', async () => {
  const one = await visit();
  await say(one, 'When are you open?');
  await replied(one, 1);
  const [conversation] = JSON.parse(cli('conversations', 'list', '--agent', 'demo', '--limit', '1', '--json')).conversations;
  cli('conversations', 'take', '--agent', 'demo', conversation.id);
  await one.at('.part').filter({ hasText: 'Team joined the conversation' }).waitFor();
  await say(one, 'Is somebody there?');
  await one.at('.m.v:has(time)').nth(1).waitFor();
  cli('conversations', 'reply', '--agent', 'demo', conversation.id, 'Yes, this is the front desk.', '--name', 'Front desk');
  await until(async () => (await replies(one)).some((text) => text.includes('front desk')), 'the reply', 15000);
  await one.at('.part').filter({ hasText: 'Front desk joined the conversation' }).waitFor();
  assert.equal(await one.at('h2').innerText(), 'Front desk');
  await one.page.screenshot({ path: artefacts + 'server-human.png' });
  cli('conversations', 'release', '--agent', 'demo', conversation.id);
  await one.at('.part').filter({ hasText: 'Front desk left the conversation' }).waitFor();
  assert.deepEqual(one.errors, []);
  await one.context.close();
});

test('a person who writes while the agent answers is seen within three seconds, with the panel open and closed', async () => {
  const one = await visit();
  await say(one, 'When are you open?');
  await replied(one, 1);
  const [conversation] = JSON.parse(cli('conversations', 'list', '--agent', 'demo', '--limit', '1', '--json')).conversations;
  for (const [text, selector] of [['I can help, too.', '.m.h'], ['Are you still there?', '.badge']]) {
    cli('conversations', 'reply', '--agent', 'demo', conversation.id, text, '--name', 'Zoë Okafor');
    const began = Date.now();
    await one.at(selector).waitFor();
    console.log(`figure: a person's reply seen after ${Date.now() - began} ms`);
    assert.ok(Date.now() - began < 4500, 'an interval of three seconds and a request');
    if (selector == '.m.h') {
      await one.at('.launcher').click();
      cli('conversations', 'release', '--agent', 'demo', conversation.id);
    }
  }
  assert.equal(await one.at('.teaser b').innerText(), 'Zoë Okafor');
  assert.deepEqual(one.errors, []);
  await one.context.close();
});

test('an e-mail about an unread reply leads back to the conversation, once, in any browser', async () => {
  cli('agents', 'configure', 'demo', '--set', 'emailReplies=true');
  const one = await visit();
  await say(one, 'Which programming languages does the orchestra speak?');
  await replied(one, 1);
  await one.at('.form input[autocomplete=email]').fill('later@example.com');
  await one.page.waitForTimeout(1500);
  await one.at('.form .go').click();
  await one.at('.note').waitFor();
  const [conversation] = JSON.parse(cli('conversations', 'list', '--agent', 'demo', '--limit', '1', '--json')).conversations;
  await one.context.close();
  cli('conversations', 'reply', '--agent', 'demo', conversation.id, 'They speak Italian in rehearsals.', '--name', 'Zoë Okafor');
  const letter = await until(() => letters.find((text) => /^To: .*later@example\.com/m.test(text)), 'the e-mail', 60000);
  assert.match(letter, /They speak Italian in rehearsals/);
  const [link] = /http:\S+\/resume\/demo\?lang=en#[\w.-]+/.exec(letter);
  const open = async () => {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const page = await context.newPage();
    page.setDefaultTimeout(15000);
    const errors = [];
    page.on('pageerror', (error) => errors.push('error: ' + error.message));
    page.on('console', (message) => /Content Security|Trusted ?Type|Refused to/i.test(message.text()) && errors.push('policy: ' + message.text()));
    await page.goto(link);
    await page.getByRole('button').waitFor();
    return { context, page, errors };
  };
  const back = await open();
  await back.page.screenshot({ path: artefacts + 'server-resume.png' });
  await back.page.getByRole('button').click();
  await back.page.waitForURL(/\/chat\/demo/);
  await back.page.getByRole('log').getByText('Italian').waitFor();
  await back.page.getByRole('log').getByText('Which programming languages').waitFor();
  await back.page.screenshot({ path: artefacts + 'server-resumed.png' });
  assert.deepEqual(back.errors, []);
  const again = await open();
  await again.page.getByRole('button').click();
  await again.page.getByRole('alert').waitFor();
  assert.match(again.page.url(), /\/resume\//, 'the link works once');
  // In the browser that has used it, it leads to the conversation again.
  await back.page.goto('about:blank');
  await back.page.goto(link);
  await back.page.getByRole('button').click();
  await back.page.getByRole('log').getByText('Italian').waitFor();
  // Its reader wants no more.
  const [stop] = /http:\S+\/unsubscribe\/[\w.?=&-]+/.exec(letter);
  await again.page.goto(stop);
  await again.page.screenshot({ path: artefacts + 'server-unsubscribe.png' });
  await again.page.getByRole('button').click();
  await again.page.getByRole('status').waitFor();
  assert.deepEqual(again.errors, []);
  await back.context.close();
  await again.context.close();
  cli('agents', 'configure', 'demo', '--set', 'emailReplies=false');
});
