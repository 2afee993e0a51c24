// Builds the files of dist: embed.js, the scripts that it loads when they are needed, declarations, integrity values.
// `--check` compares with what is committed.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, transform } from 'esbuild';
import { minify } from 'terser';

const here = new URL('.', import.meta.url).pathname;
const dist = here + 'dist/';
const { version } = JSON.parse(readFileSync(here + 'package.json', 'utf8'));
const TARGET = 'es2020';
/** Bytes, compressed: the goal of the script that every page loads, and what the others must not exceed. */
const LIMITS = {
  'embed.js': { gzip: 14000, brotli: 12600 },
  'more.js': { gzip: 8000, brotli: 7500 },
  'challenge.js': { gzip: 800, brotli: 750 },
};

const hash = (text) => createHash('sha256').update(text).digest('hex').slice(0, 16);
const integrity = (text) => 'sha384-' + createHash('sha384').update(text).digest('base64');
export const compressed = (text) => ({
  raw: Buffer.byteLength(text),
  gzip: gzipSync(text, { level: 9 }).length,
  brotli: brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length,
});

/** The shortened names of properties are the same in all scripts: one hands objects to the other. */
let mangled = {};
/** A script made of these sources. `allowed` are those that it may hold. */
const bundle = async (entry, format, define = {}, allowed = /./) => {
  const result = await build({
    entryPoints: [here + 'src/' + entry],
    bundle: true,
    write: false,
    format,
    target: TARGET,
    minify: true,
    mangleProps: /^_[a-zA-Z]/,
    mangleCache: mangled,
    metafile: true,
    absWorkingDir: here,
    legalComments: 'none',
    // Latin letters only: engines keep such a file in half the memory.
    charset: 'ascii',
    define,
    logLevel: 'warning',
  });
  mangled = result.mangleCache;
  const foreign = Object.keys(result.metafile.inputs).filter((input) => !allowed.test(input));
  if (foreign[0]) throw new Error(`${entry} holds parts that have a state of their own: ${foreign}`);
  // A second pass: what esbuild leaves, terser finds. Nothing of it may assume more than the sources promise: no getter
  // with effects, no patched built-in.
  const { code } = await minify(result.outputFiles[0].text, {
    ecma: 2020,
    module: true,
    compress: { passes: 6, unsafe: true, unsafe_arrows: true, pure_getters: true, comparisons: false },
    format: { ascii_only: true },
  });
  return code.trim();
};

const style = async (file) => {
  const { code } = await transform(readFileSync(here + file, 'utf8'), { loader: 'css', minify: true, target: ['chrome109', 'firefox102', 'safari16.4'] });
  // The value of a variable may lose the blank that esbuild keeps.
  return JSON.stringify(code.trim().replace(/(--\w): /g, '$1:'));
};

/** All files of dist by name. */
export const make = async () => {
  mangled = {};
  const embed = (file) => style('src/style.css').then((text) => bundle('embed.ts', 'iife', { STYLE: text, VERSION_TEXT: JSON.stringify(version), SERVICE_NAME: '$', MORE_FILE: file }));
  // First of all for the names of its properties: the shortest are for the script that every page loads.
  await embed('""');
  const challenge = (await bundle('challenge.ts', 'esm')) + '\n';
  const fileOf = (name, text) => JSON.stringify(`${name}.${hash(text)}.js`);
  // Of the first script it may hold what has no state.
  const pure = /^src\/(more\/.*|dom|view\/icons)\.ts$/;
  const more = (await bundle('more/main.ts', 'esm', { MORE_STYLE: await style('src/more/style.css'), CHALLENGE_FILE: fileOf('challenge', challenge) }, pure)) + '\n';
  const iife = await embed(fileOf('more', more));
  // The service name becomes the argument of the outermost function: it stands in the file once.
  const head = '(()=>{';
  const tail = '})();';
  if (!iife.startsWith(head) || !iife.endsWith(tail)) throw new Error('the bundle does not have the expected frame');
  const script = `($=>{"use strict";${iife.slice(head.length, -tail.length)}})("Service");\n`;
  if (script.split('("Service")').length != 2) throw new Error('the service name does not stand in the bundle once');
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
    'embed.js': script,
    'more.js': more,
    'challenge.js': challenge,
    'embed.d.ts': types,
    'integrity.json': JSON.stringify({ version, hash: hash(script), integrity: integrity(script), moreHash: hash(more), challengeHash: hash(challenge) }, null, 2) + '\n',
  };
};

if (process.argv[1] == here + 'build.mjs') {
  const files = await make();
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
  for (const [name, limits] of Object.entries(LIMITS)) {
    const size = compressed(files[name]);
    console.log(`${name}: ${size.raw} bytes`);
    for (const [kind, limit] of Object.entries(limits)) {
      console.log(`  ${kind}: ${size[kind]}, limit ${limit}`);
      if (size[kind] > limit) fail(`${name} has ${size[kind] - limit} bytes too many with ${kind}`);
    }
  }
  process.exitCode = failures ? 1 : 0;
}
