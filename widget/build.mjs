// Builds dist/embed.js, dist/challenge.js, dist/embed.d.ts and dist/integrity.json. `--check` compares with what is committed.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, transform } from 'esbuild';
import { minify } from 'terser';

const here = new URL('.', import.meta.url).pathname;
const dist = here + 'dist/';
const { version } = JSON.parse(readFileSync(here + 'package.json', 'utf8'));
const TARGET = 'es2020';
/** Octets: what must not grow, and the goal, which is not reached yet. */
const LIMITS = { gzip: 19020, brotli: 17200 };
const GOALS = { gzip: 14000, brotli: 12600 };

const hash = (text) => createHash('sha256').update(text).digest('hex').slice(0, 16);
const integrity = (text) => 'sha384-' + createHash('sha384').update(text).digest('base64');
export const compressed = (text) => ({
  raw: Buffer.byteLength(text),
  gzip: gzipSync(text, { level: 9 }).length,
  brotli: brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length,
});

const bundle = async (entry, format, define = {}) => {
  const result = await build({
    entryPoints: [here + 'src/' + entry],
    bundle: true,
    write: false,
    format,
    target: TARGET,
    minify: true,
    mangleProps: /^_[a-z]/,
    legalComments: 'none',
    // Latin letters only: engines keep such a file in half the memory.
    charset: 'ascii',
    define,
    logLevel: 'warning',
  });
  // A second pass: what esbuild leaves, terser finds. Nothing of it may assume more than the sources promise: no getter
  // with effects, no patched built-in.
  const { code } = await minify(result.outputFiles[0].text, {
    ecma: 2020,
    module: true,
    compress: { passes: 3, unsafe: true, unsafe_arrows: true, pure_getters: true, hoist_vars: true, comparisons: false },
    format: { ascii_only: true },
  });
  return code.trim();
};

/** All files of dist by name. */
export const make = async () => {
  const challenge = (await bundle('challenge.ts', 'esm')) + '\n';
  const style = readFileSync(here + 'src/style.css', 'utf8');
  const { code } = await transform(style, { loader: 'css', minify: true, target: ['chrome109', 'firefox102', 'safari16.4'] });
  // The value of a variable may lose the blank that esbuild keeps.
  const css = code.trim().replace(/(--\w): /g, '$1:');
  const iife = await bundle('embed.ts', 'iife', {
    STYLE: JSON.stringify(css),
    VERSION_TEXT: JSON.stringify(version),
    SERVICE_NAME: '$',
    CHALLENGE_FILE: JSON.stringify(`challenge.${hash(challenge)}.js`),
  });
  // The service name becomes the argument of the outermost function: it stands in the file once.
  const head = '(()=>{';
  const tail = '})();';
  if (!iife.startsWith(head) || !iife.endsWith(tail)) throw new Error('the bundle does not have the expected frame');
  const embed = `($=>{"use strict";${iife.slice(head.length, -tail.length)}})("Service");\n`;
  if (embed.split('("Service")').length != 2) throw new Error('the service name does not stand in the bundle once');
  const declarations = readFileSync(here + 'src/public.ts', 'utf8').replace(/^\/\/.*\n/, '');
  const types = `// Types of the global that embed.js makes. Made by build.mjs.
${declarations}
declare global {
  interface Window {
    readonly ServiceWidget: Widget;
    ServiceWidgetConfig?: Partial<InitOptions>;
  }
  const ServiceWidget: Widget;
}
`;
  return {
    'embed.js': embed,
    'challenge.js': challenge,
    'embed.d.ts': types,
    'integrity.json': JSON.stringify({ version, hash: hash(embed), integrity: integrity(embed), challengeHash: hash(challenge) }, null, 2) + '\n',
  };
};

if (process.argv[1] == here + 'build.mjs') {
  const files = await make();
  const size = compressed(files['embed.js']);
  let failures = 0;
  const fail = (text) => {
    console.error('build: ' + text);
    failures++;
  };
  if (process.argv.includes('--check')) {
    for (const [name, text] of Object.entries(files)) {
      let committed = '';
      try {
        committed = readFileSync(dist + name, 'utf8');
      } catch {
        // Missing, so it differs.
      }
      if (committed != text) fail(`dist/${name} is not what the sources give; run \`npm run build\` and commit it`);
    }
  } else {
    mkdirSync(dist, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(dist + name, text);
  }
  console.log(`embed.js: ${size.raw} octets`);
  for (const kind of ['gzip', 'brotli']) {
    const missed = size[kind] - GOALS[kind];
    console.log(`  ${kind}: ${size[kind]}, limit ${LIMITS[kind]}, goal ${GOALS[kind]}${missed > 0 ? `, missed by ${missed}` : ''}`);
    if (size[kind] > LIMITS[kind]) fail(`${kind} is above its limit`);
  }
  process.exitCode = failures ? 1 : 0;
}
