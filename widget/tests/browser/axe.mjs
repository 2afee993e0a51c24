// Accessibility of the widget: the rules of axe, on the whole page, and contrasts that axe cannot decide.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Violations, and contrasts that axe cannot decide computed from the colours themselves. */
export const inspect = async (visit, name, tries = 3) => {
  await visit.page.evaluate(axe);
  const { violations, incomplete } = await visit.page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  assert.deepEqual(violations.map((one) => `${name}: ${one.id} ${one.nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary).join('; ')}`), []);
  for (const one of incomplete.filter((rule) => rule.id == 'color-contrast'))
    for (const node of one.nodes) {
      const ratio = await visit.page.evaluate((target) => {
        let found = document;
        for (const step of target.flat()) found = (found?.shadowRoot ?? found)?.querySelector(step);
        if (!found) return null;
        const channels = (text) => text.match(/[\d.]+/g).map(Number);
        const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        let ground = null;
        for (let up = found; up && !ground; up = up.parentElement) { const c = channels(getComputedStyle(up).backgroundColor); if (c.length == 3 || c[3] == 1) ground = c.slice(0, 3); }
        const [a, b] = [light(channels(getComputedStyle(found).color).slice(0, 3)), light(ground ?? [255, 255, 255])];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      }, node.target);
      // An element that has disappeared was in transition: everything is checked again.
      if (ratio === null && tries > 1) return inspect(visit, name, tries - 1);
      assert.ok(ratio >= 4.5, `${name}: ${node.target} has ${ratio}`);
    }
};
