// Packs the npm package: `npm run pack` writes a tarball to target/npm, or to the folder that is named.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const here = new URL('.', import.meta.url).pathname;
const { version, license, description } = JSON.parse(readFileSync(here + 'package.json', 'utf8'));

/** Writes the package to a folder. */
export const write = (folder) => {
  for (const [from, to] of [['npm/index.js'], ['npm/index.d.ts'], ['npm/README.md'], ['dist/embed.d.ts', 'embed.d.ts'], ['LICENSE-MIT'], ['LICENSE-APACHE']]) copyFileSync(here + from, join(folder, to ?? from.split('/').pop()));
  const exports = { '.': { types: './index.d.ts', default: './index.js' } };
  const all = { name: 'service-widget', version, description: `${description}, started from a bundled application`, license, type: 'module', sideEffects: false, exports, types: './index.d.ts', files: ['*.js', '*.d.ts', 'LICENSE-*'] };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(all, null, 2) + '\n');
};

if (process.argv[1] == here + 'pack.mjs') {
  const target = resolve(process.argv[2] ?? `${process.env.CARGO_TARGET_DIR || here + '../target'}/npm`);
  const folder = mkdtempSync(join(tmpdir(), 'service-widget-'));
  try {
    write(folder);
    mkdirSync(target, { recursive: true });
    const name = execFileSync('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', target], { cwd: folder, encoding: 'utf8' }).trim();
    console.log(join(target, name));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
