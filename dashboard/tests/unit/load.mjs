// Bundles sources for a test in Node.
import { build } from 'esbuild';

const src = new URL('../../src/', import.meta.url).pathname;
/** The exports of sources, in one bundle, so that they share their state. */
export const load = async (...paths) => {
  const contents = paths.map((path) => `export * from './${path}';`).join('\n');
  const { outputFiles } = await build({ stdin: { contents, resolveDir: src }, bundle: true, write: false, format: 'esm', logLevel: 'error' });
  return import('data:text/javascript;base64,' + Buffer.from(outputFiles[0].text).toString('base64'));
};
