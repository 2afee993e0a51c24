// The contrasts of the design tokens, computed: text, state texts, borders of controls, in both themes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const css = readFileSync(new URL('../../src/styles/tokens.css', import.meta.url), 'utf8');
const tokens = (block) => Object.fromEntries([...block.matchAll(/--([\w-]+): oklch\(([\d.]+) ([\d.]+) ([\d.]+)\)/g)].map(([, name, ...numbers]) => [name, numbers.map(Number)]));
const [light, dark] = [css.slice(0, css.indexOf('[data-theme=dark]')), css.slice(css.indexOf('[data-theme=dark]'))].map(tokens);
const linear = ([l, c, h]) => {
  const [a, b] = [c * Math.cos((h * Math.PI) / 180), c * Math.sin((h * Math.PI) / 180)];
  const [x, y, z] = [l + 0.3963377774 * a + 0.2158037573 * b, l - 0.1055613458 * a - 0.0638541728 * b, l - 0.0894841775 * a - 1.291485548 * b].map((v) => v ** 3);
  return [4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z, -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z, -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z];
};
const luminance = (color) => linear(color).map((v) => Math.min(1, Math.max(0, v))).reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
const WHITE = [1, 0, 0];

for (const [name, theme] of [['light', light], ['dark', dark]])
  test(`contrasts of the ${name} theme`, () => {
    for (const ground of ['canvas', 'surface', 'sunken']) {
      assert.ok(contrast(theme.text, theme[ground]) >= 12, `text on ${ground} ${contrast(theme.text, theme[ground])}`);
      assert.ok(contrast(theme.muted, theme[ground]) >= 6, `muted on ${ground} ${contrast(theme.muted, theme[ground])}`);
      assert.ok(contrast(theme.control, theme[ground]) >= 3, `control on ${ground} ${contrast(theme.control, theme[ground])}`);
      for (const state of ['ok', 'warn', 'bad', 'accent-text']) assert.ok(contrast(theme[state], theme[ground]) >= 4.5, `${state} on ${ground} ${contrast(theme[state], theme[ground])}`);
    }
    for (const state of ['ok', 'warn', 'bad']) assert.ok(contrast(theme[state], theme[state + '-soft']) >= 4.5, `${state} ${contrast(theme[state], theme[state + '-soft'])}`);
    assert.ok(contrast(theme['accent-text'], theme['accent-soft']) >= 4.5);
    assert.ok(contrast(theme.muted, theme['accent-soft']) >= 4.5);
    for (const ink of ['text', 'muted']) assert.ok(contrast(theme[ink], theme.note) >= 6, `${ink} on note ${contrast(theme[ink], theme.note)}`);
    for (const fill of ['accent', 'accent-hover']) assert.ok(contrast(WHITE, theme[fill]) >= 5, `${fill} ${contrast(WHITE, theme[fill])}`);
    for (const [token, color] of Object.entries(theme)) for (const channel of linear(color)) assert.ok(channel > -0.002 && channel < 1.002, `${token} is outside of sRGB: ${channel}`);
  });
