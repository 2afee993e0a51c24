// Loads source modules, for tests without a browser.
import { build } from 'esbuild';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const src = new URL('../../src/', import.meta.url).pathname;
export const load = async (file) => {
  const folder = mkdtempSync(join(tmpdir(), 'widget-'));
  const outfile = join(folder, 'module.mjs');
  try {
    await build({
      entryPoints: [src + file], bundle: true, outfile, format: 'esm', target: 'es2022', charset: 'utf8',
      define: { SERVICE_NAME: '"Service"', VERSION_TEXT: '"0.0.0"', MORE_FILE: '"more.js"', CHALLENGE_FILE: '"challenge.js"', STYLE: '""', MORE_STYLE: '""' },
    });
    return await import(pathToFileURL(outfile));
  } finally {
    rmSync(folder, { recursive: true });
  }
};
