// Writes the screenshots of the documentation, docs/images/console-*.png, from the console of `openapi-server demo`.
// `--check` writes them to target/dashboard-artefacts instead, and compares the size of those in docs/images.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { size, withPalette } from './png.mjs';
import { totpCode } from './totp.mjs';

const root = new URL('../../', import.meta.url).pathname;
const isCheck = process.argv.includes('--check');
const program = process.env.DASHBOARD_SERVER || root + 'target/debug/openapi-server';
const images = root + 'docs/images/';
const folder = isCheck ? `${process.env.CARGO_TARGET_DIR || root + 'target'}/dashboard-artefacts/` : images;
const VIEWPORT = { width: 1280, height: 800 };
const LIMIT = 160_000;
const failures = [];

if (!existsSync(program)) throw new Error(`${program} is missing; build it with: cargo build -p server-hyper`);
mkdirSync(folder, { recursive: true });
/** Starts the demo, and returns the link that sets the console up once its data is there. */
const start = () =>
  new Promise((resolve, reject) => {
    const server = spawn(program, ['demo', '--store', 'memory:', '--listen', '127.0.0.1:0', '--console-listen', '127.0.0.1:0', '--ops-listen', 'off', '--log', 'warn'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    server.stdout.on('data', (piece) => {
      output += piece;
      const link = /^ +(http:\S+\/setup#\S+)$/m.exec(output);
      if (link && /^agent /m.test(output)) resolve({ server, link: link[1] });
    });
    server.once('exit', (code) => reject(new Error(`the demo ended with ${code}: ${output}`)));
  });
const { server, link } = await start();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  const context = await browser.newContext({ viewport: VIEWPORT, deviceScaleFactor: 2, reducedMotion: 'reduce', locale: 'en-GB' });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  await page.goto(link);
  await page.getByLabel('Your name').fill('Ada Whitfield');
  await page.getByLabel('E-mail').fill('ada@example.com');
  await page.getByRole('radio', { name: /^Password/ }).check();
  await page.getByLabel('Choose a password').fill('correct horse battery');
  await page.getByLabel('Code from the app').fill(totpCode(await page.locator('.groups').innerText()));
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByLabel('I have stored the codes').check();
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await page.getByRole('link', { name: 'Inbox' }).first().click();
  await page.getByRole('button', { name: /^Open/ }).click();
  await page.getByRole('link', { name: /Zoë Okafor/ }).click();
  await page.getByText('Saturday would suit me better').first().waitFor();
  await page.getByRole('link', { name: 'Open contact' }).waitFor();
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.mouse.move(VIEWPORT.width - 1, VIEWPORT.height - 1);
    await page.waitForTimeout(300);
    const name = `console-${colorScheme}.png`;
    const image = withPalette(await page.screenshot());
    writeFileSync(folder + name, image);
    const committed = existsSync(images + name) ? readFileSync(images + name) : null;
    if (!committed) failures.push(`docs/images/${name} is missing`);
    else if (!readFileSync(root + 'README.md', 'utf8').includes(`docs/images/${name}`)) failures.push(`README.md does not show docs/images/${name}`);
    else if (committed.length > LIMIT) failures.push(`docs/images/${name} has ${committed.length} bytes, more than ${LIMIT}`);
    else if (String(size(committed)) != String(size(image))) failures.push(`docs/images/${name} has ${size(committed)} pixels instead of ${size(image)}`);
    console.log(`${folder + name}: ${size(image).join(' × ')}, ${image.length} bytes`);
  }
} finally {
  await browser.close();
  server.removeAllListeners('exit');
  server.kill();
}
for (const failure of failures) console.error(`screenshots: ${failure}; run: npm run screenshots`);
process.exitCode = failures.length ? 1 : 0;
