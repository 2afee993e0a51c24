// Chromium and the stub, for the tests of this folder.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test as run } from 'node:test';
import { chromium } from 'playwright-core';
import { startStub } from '../stub.mjs';

const root = new URL('../../../', import.meta.url).pathname;
/** Where screenshots go. */
export const artefacts = `${process.env.CARGO_TARGET_DIR || root + 'target'}/dashboard-artefacts/`;
mkdirSync(artefacts, { recursive: true });
const open = new Set();
/**
 * A test with a timeout for a page that hangs: one looks at every page while other checks run. The pages that a failed
 * test leaves open are closed, so that they send nothing to the stub while the next test runs.
 */
export const test = (name, action) =>
  run(name, { timeout: 300000 }, async (t) => {
    const before = new Set(open);
    try {
      await action(t);
    } finally {
      for (const context of open) if (!before.has(context)) await context.close();
    }
  });

export const startBrowser = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--enable-precise-memory-info', '--js-flags=--expose-gc'] });
/** A browser at a stub. */
export const start = async (base = '') => {
  const browser = await startBrowser();
  const stub = await startStub(base);
  return {
    stub,
    browser,
    /** A page; errors, policy violations and requests to elsewhere fail the test at `done`. */
    async visit(path = '/', { options = {}, init, prepare, forgive = [] } = {}) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'], ...options });
      open.add(context);
      context.on('close', () => open.delete(context));
      const page = await context.newPage();
      const errors = [];
      page.on('pageerror', (error) => errors.push('error: ' + error.message));
      page.on('console', (message) => (message.type() == 'error' || /Content Security|Trusted ?Type|Refused to/i.test(message.text())) && !/Failed to load resource/.test(message.text()) && errors.push(message.text()));
      page.on('request', (request) => !request.url().startsWith(stub.url) && !/^(data|blob):/.test(request.url()) && errors.push('elsewhere: ' + request.url()));
      page.setDefaultTimeout(10000);
      if (init) await page.addInitScript(init);
      await prepare?.(page);
      await page.goto(stub.page(path));
      return {
        page,
        context,
        errors,
        async done() {
          await context.close();
          assert.deepEqual(errors.filter((text) => !forgive.some((one) => one.test(text))), []);
          assert.deepEqual(stub.violations, []);
        },
      };
    },
    async stop() {
      await browser.close();
      stub.close();
    },
  };
};
/** Waits until a condition in this process holds. */
export const until = async (check, what = 'condition', ms = 10000) => {
  for (const end = Date.now() + ms; Date.now() < end; ) {
    const value = await check();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`${what} did not come about in ${ms} ms`);
};
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Waits until pages ask for nothing more. */
export const settled = async (stub) => {
  for (let before = -1; before != stub.log.length; ) {
    before = stub.log.length;
    await new Promise((resolve) => setTimeout(resolve, 600));
  }
};
/** Violations of accessibility rules on the whole page. */
export const inspect = async (page, name) => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  return violations.map((one) => `${name}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.target.join(' ') + ' ' + node.failureSummary.split('\n').slice(1, 3).join(' ')).join('; ')}`);
};
