// Bundles a source for a test in Node.
import { build } from 'esbuild';

export const load = async (path) => {
  const { outputFiles } = await build({ entryPoints: [new URL('../../src/' + path, import.meta.url).pathname], bundle: true, write: false, format: 'esm', logLevel: 'error' });
  return import('data:text/javascript;base64,' + Buffer.from(outputFiles[0].text).toString('base64'));
};
