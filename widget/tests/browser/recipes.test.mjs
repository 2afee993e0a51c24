// The recipes of docs/widget.md, run as they are written: with a script that comes late, and with one that never comes.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach } from 'node:test';
import { build } from 'esbuild';
import { compileScript, parse } from 'vue/compiler-sfc';
import { write } from '../../pack.mjs';
import { replied, say, start, test, until } from './setup.mjs';

const root = new URL('../../', import.meta.url).pathname;
const guide = readFileSync(root + '../docs/widget.md', 'utf8');
/** The block of a language below a heading. */
const recipe = (heading, language) => {
  const section = guide.split(`\n### ${heading}\n`)[1].split(/\n##/)[0];
  return section.split('```' + language + '\n')[1].split('```')[0];
};

let s, folder;
before(async () => {
  s = await start();
  folder = mkdtempSync(join(tmpdir(), 'widget-recipes-'));
  const target = join(folder, 'node_modules/service-widget');
  mkdirSync(target, { recursive: true });
  write(target);
});
after(async () => {
  await s.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => s.host.reset());

const here = (text) => text.replaceAll('https://widget.example.com', s.host.url);
/** Bundles a module with what the page does with it. */
const bundle = async (name, component, main) => {
  writeFileSync(join(folder, name), component);
  writeFileSync(join(folder, 'main.jsx'), main);
  const { outputFiles } = await build({ absWorkingDir: folder, entryPoints: [join(folder, 'main.jsx')], bundle: true, write: false, format: 'iife', jsx: 'automatic', nodePaths: [root + 'node_modules', join(folder, 'node_modules')], define: { 'process.env.NODE_ENV': '"development"', __VUE_OPTIONS_API__: 'true', __VUE_PROD_DEVTOOLS__: 'false', __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false' }, logLevel: 'silent' });
  return `<div id="app"></div><script>${outputFiles[0].text.replaceAll('</script', '<\\/script')}</script>`;
};
const REACT = "import { StrictMode, useState } from 'react';\nimport { createRoot } from 'react-dom/client';\nimport Chat from './recipe.jsx';\nfunction App() { const [on, set] = useState(true); window.toggle = () => set((on) => !on); return <><h1>The shop</h1>{on && <Chat />}</>; }\ncreateRoot(document.querySelector('#app')).render(<StrictMode><App /></StrictMode>);";
const VUE = "import { createApp, h, ref } from 'vue';\nimport Chat from './recipe.js';\nconst on = ref(true);\nwindow.toggle = () => { on.value = !on.value; };\ncreateApp({ render: () => [h('h1', 'The shop'), on.value ? h(Chat) : null] }).mount('#app');";
const vue = () => {
  const { descriptor } = parse(here(recipe('Vue', 'vue')), { filename: 'recipe.vue' });
  return compileScript(descriptor, { id: 'recipe', inlineTemplate: true }).content;
};
const shop = '<h1>The shop</h1>';

/** The page of each recipe; `toggle` in the page removes the component and brings it back. */
const RECIPES = {
  WordPress: () => shop + here(recipe('WordPress', 'php').split('?>')[1].split('<?php')[0]),
  // A tag manager inserts the script again, without its attributes.
  'a tag manager': () => `${shop}<script>(() => { const holder = document.createElement('div'); holder.innerHTML = ${JSON.stringify(here(recipe('Tag managers', 'html'))).replaceAll('</script', '<\\/script')}; for (const old of holder.querySelectorAll('script')) { const script = document.createElement('script'); script.text = old.text; document.head.append(script); } })()</script>`,
  'the npm package': () => bundle('recipe.js', here(recipe('npm package', 'js')), "import './recipe.js';").then((page) => shop + page),
  React: () => bundle('recipe.jsx', here(recipe('React', 'jsx')), REACT),
  'Next.js': () => bundle('recipe.jsx', here(recipe('Next.js', 'jsx')), REACT),
  Vue: () => bundle('recipe.js', vue(), VUE),
  'a configuration object': () => shop + here(recipe('Configure it', 'html')),
  'the stub': () => `${shop}${here(guide.split('put this stub before the tag')[1].split('```html\n')[1].split('```')[0])}<script>${recipe('Configure it', 'js')}</script><script src="${s.host.url}/embed.js" async></script>`,
};
for (const [name, page] of Object.entries(RECIPES))
  test(`recipe as written: ${name}`, async () => {
    const body = await page();
    assert.ok(body.includes(s.host.url) && !body.includes('widget.example.com'));
    // The script never comes: the page is whole, and nothing throws.
    let comes = false;
    const context = await s.browser.newContext();
    await context.route('**/embed.js', async (route) => {
      if (!comes) return route.abort();
      await new Promise((resolve) => setTimeout(resolve, 1000));
      return route.continue();
    });
    const without = await s.visit({ name: 'recipe', headers: {}, body, context });
    await without.page.locator('h1').waitFor();
    await without.page.waitForTimeout(300);
    assert.equal(await without.page.locator('h1').innerText(), 'The shop');
    assert.deepEqual(without.errors, []);
    // It comes late.
    comes = true;
    const visit = await s.visit({ name: 'recipe', headers: {}, body, context });
    await visit.at('.launcher').waitFor();
    assert.equal(await visit.page.locator('service-widget').count(), 1);
    await say(visit, 'hello');
    await replied(visit);
    if (await visit.page.evaluate(() => typeof window.toggle == 'function')) {
      await visit.page.evaluate(() => toggle());
      await until(async () => !(await visit.page.locator('service-widget').count()), 'the end');
      await visit.page.evaluate(() => toggle());
      await visit.at('.launcher').waitFor();
      assert.equal(await visit.page.locator('service-widget').count(), 1);
      assert.equal(await visit.page.locator('script[src$="embed.js"]').count(), 1, 'the script is loaded once');
    }
    assert.equal(await visit.page.locator('h1').innerText(), 'The shop');
    await visit.done();
  });

test('on a server the package does nothing', async () => {
  const { startWidget } = await import(join(folder, 'node_modules/service-widget/index.js'));
  const stop = startWidget('https://widget.example.com/embed.js', { agentId: 'a' });
  assert.equal(stop(), undefined);
});
