// The dashboard in a host application: the example embed-axum, with its own sign-in. Needs its program next to the server's:
// DASHBOARD_SERVER=/path/to/openapi-server.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before } from 'node:test';
import { artefacts, inspect, startBrowser, test } from './browser/setup.mjs';

const program = join(dirname(process.env.DASHBOARD_SERVER || new URL('../../target/debug/openapi-server', import.meta.url).pathname), 'embed-axum');
if (!existsSync(program)) throw new Error(`${program} is missing; build it with: cargo build -p embed-axum`);
const folder = mkdtempSync(join(tmpdir(), 'dashboard-host-'));
let browser, host, origin, password;
before(async () => {
  host = spawn(program, [folder, '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  await new Promise((resolve, reject) => {
    host.stdout.on('data', (piece) => {
      output += piece;
      if (/^http:/m.test(output)) resolve();
    });
    host.once('exit', (code) => reject(new Error(`the host ended with ${code}: ${output}`)));
  });
  [, password] = /with the password (\w+)/.exec(output);
  origin = /^(http:\/\/[^/]+)\//m.exec(output)[1];
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  host?.removeAllListeners('exit').kill();
  rmSync(folder, { recursive: true, force: true });
});

test('the application signs a person in and leads back, and the console works with the role', async () => {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  page.setDefaultTimeout(10000);
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => /Content Security|Trusted ?Type|Refused to/i.test(message.text()) && errors.push(message.text()));
  await page.goto(origin + '/admin/a/front-desk/settings/keys/new');
  assert.deepEqual(await inspect(page, 'host-sign-in'), []);
  await page.getByLabel('Name').fill('ada');
  await page.getByLabel('Password').fill('guess');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Name or password is incorrect.').waitFor();
  await page.getByLabel('Name').fill('ada');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(origin + '/admin/a/front-desk/settings/keys/new');
  await page.getByLabel('Name').fill('CRM sync');
  await page.getByRole('button', { name: 'Read only' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.locator('[data-secret]').first().waitFor();
  await page.screenshot({ path: artefacts + 'host-secret.png' });
  await page.getByRole('button', { name: 'Ada Whitfield' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.goto(origin + '/admin/a/front-desk');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.match(page.url(), /\/admin\/sign-in\?next=%2Fadmin%2Fa%2Ffront-desk$/);
  assert.deepEqual(errors, []);
});
