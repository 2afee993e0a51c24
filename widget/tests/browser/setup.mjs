// Chromium, the scripted host and a page with the widget, for the tests of this folder.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { test as run } from 'node:test';
import { chromium } from 'playwright-core';
import { AGENT, startHost } from '../host.mjs';

export { AGENT };
const root = new URL('../../../', import.meta.url).pathname;
/** Where screenshots and measurements go. */
export const artefacts = `${process.env.CARGO_TARGET_DIR || root + 'target'}/widget-artefacts/`;
mkdirSync(artefacts, { recursive: true });
/** More rounds, real waits. */
export const isLong = process.env.WIDGET_LONG == '1';

export const STRICT = (host) => ({
  'Content-Security-Policy': `default-src 'none'; script-src ${host.url}; connect-src ${host.url}; require-trusted-types-for 'script'; trusted-types 'none'`,
});
export const tag = (host, attributes = `data-agent-id="${AGENT}"`) => `<script src="${host.url}/embed.js" ${attributes} async></script>`;
export const html = (inside, lang = 'en') =>
  `<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>A page</title><meta name="viewport" content="width=device-width"></head><body>${inside}</body></html>`;

/** A test with a timeout for a page that hangs. */
export const test = (name, action) => run(name, { timeout: isLong ? 300000 : 90000 }, action);

let browser;
export const start = async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    // The back/forward cache is part of what is tested.
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--enable-precise-memory-info', '--js-flags=--expose-gc'],
  });
  const host = await startHost();
  return {
    host,
    browser,
    /** A fresh visitor at a page with the widget; errors of the page fail the test at `done`. */
    async visit({ name = 'page', body, headers, options = {}, context: given, path, init } = {}) {
      const context = given || (await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options }));
      const page = await context.newPage();
      const errors = [];
      page.on('pageerror', (error) => errors.push('error: ' + error.message));
      page.on('console', (message) => /Content Security|Trusted ?Type|Refused to/i.test(message.text()) && errors.push('policy: ' + message.text()));
      const messages = [];
      page.on('console', (message) => messages.push(`${message.type()}: ${message.text()}`));
      if (init) await page.addInitScript(...[init].flat());
      page.setDefaultTimeout(15000);
      await page.goto(host.page(name, html(body ?? tag(host)), headers ?? STRICT(host)) + (path || ''));
      return {
        context,
        page,
        errors,
        messages,
        at: (selector) => page.locator('service-widget ' + selector),
        async done() {
          await context.close();
          assert.deepEqual(errors, []);
          assert.deepEqual(host.violations, []);
        },
      };
    },
    async stop() {
      await browser.close();
      host.close();
    },
  };
};

/** Waits until a condition in this process holds. */
export const until = async (test, what = 'condition', ms = 10000) => {
  for (const end = Date.now() + ms; Date.now() < end; ) {
    const value = await test();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`${what} did not come about in ${ms} ms`);
};
/** Repeats assertions about a page until they hold. Fails as the last attempt did. */
export const settled = async (assertions, ms = 10000) => {
  for (const end = Date.now() + ms; ; ) {
    try {
      return await assertions();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
};
/** Opens the panel as a visitor and sends a message. */
export const say = async (visit, text) => {
  if (!(await visit.at('.panel').isVisible())) await visit.at('.launcher').click();
  await visit.at('textarea').fill(text);
  await visit.at('.send').click();
};
/** Waits until a reply exists and is formatted. */
export const replied = (visit, n = 1) => visit.at('.m:not(.v):has(time):is(.h, :has(.md))').nth(n - 1).waitFor();
