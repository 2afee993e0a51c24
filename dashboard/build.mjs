// Builds dist: the shell (kit), a script for each page, the languages, the style sheet, index.html, their brotli forms, and
// the list of files for the Rust crate. `--check` compares with what is committed.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const here = new URL('.', import.meta.url).pathname;
const dist = here + 'dist/';
/**
 * Maximum sizes in bytes: the first load is the document, the shell, the style and the largest page; everything is what a
 * browser loads that opens every page in English. Another language adds the keys of the texts and its translations. All
 * languages together are in the binary.
 */
const LIMITS = { firstLoadGzip: 60_000, allGzip: 180_000, languageGzip: 40_000, allBrotli: 200_000, languagesBrotli: 240_000 };
const TARGET = ['chrome111', 'edge111', 'firefox113', 'safari16.4'];
const TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', html: 'text/html; charset=utf-8', svg: 'image/svg+xml' };

/** The notice of the libraries in the shell; their licence is LICENSE-PREACT. */
const NOTICE = '/*! preact, (c) 2015-present Jason Miller; @preact/signals, (c) 2022-present Preact Team; MIT */';

const hash = (text) => createHash('sha256').update(text).digest('hex').slice(0, 12);
const gzip = (text) => gzipSync(text, { level: 9 }).length;
const brotli = (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 22 } });

const options = {
  bundle: true,
  write: false,
  minify: true,
  target: TARGET,
  absWorkingDir: here,
  legalComments: 'none',
  logLevel: 'warning',
  jsx: 'automatic',
  jsxImportSource: 'preact',
};
const bundle = async (entry, more = {}) => (await build({ ...options, entryPoints: [here + entry], format: 'esm', ...more })).outputFiles[0].text;
const sources = (folder, end) => readdirSync(here + folder).filter((name) => name.endsWith(end)).sort();

/** The keys of the texts, once, and the translations of each language in their order. */
const languages = () => {
  const files = sources('locales', '.json').map((file) => [file.slice(0, -'.json'.length), JSON.parse(readFileSync(here + 'locales/' + file, 'utf8'))]);
  const keys = [...new Set(files.flatMap(([, texts]) => Object.keys(texts)))].sort();
  const missing = files.flatMap(([name, texts]) => keys.filter((key) => !(key in texts)).map((key) => `${name}: ${key}`));
  if (missing.length) throw new Error('without a translation: ' + missing.join('; '));
  return files.length ? { texts: keys, ...Object.fromEntries(files.map(([name, texts]) => ['locale-' + name, keys.map((key) => texts[key])])) } : {};
};

/** All files of dist by path. */
export const make = async () => {
  const files = {};
  const add = (name, extension, text) => {
    const path = `assets/${name}.${hash(text)}.${extension}`;
    files[path] = text;
    return path;
  };
  const style = (await build({ ...options, entryPoints: [here + 'src/styles/app.css'] })).outputFiles[0].text;
  const css = add('app', 'css', style);
  const theme = add('theme', 'js', await bundle('src/theme.ts', { format: 'iife' }));
  const icon = add('icon', 'svg', readFileSync(here + 'src/icon.svg', 'utf8').trim());
  const kit = add('kit', 'js', await bundle('src/kit.ts', { banner: { js: NOTICE } }));
  // A page imports the shell by its hashed name, and the shell learns the names of the pages from index.html: so neither
  // needs the other's hash.
  const shell = {
    name: 'shell',
    setup(plugin) {
      plugin.onResolve({ filter: /^((\.\.\/)+kit|preact\/jsx-runtime)$/ }, () => ({ path: './' + kit.slice('assets/'.length), external: true }));
      plugin.onResolve({ filter: /^(preact|@preact)/ }, ({ path }) => ({ errors: [{ text: `a page imports ${path} from the kit` }] }));
    },
  };
  const scripts = {};
  for (const file of sources('src/pages', '.tsx')) {
    const name = file.slice(0, -'.tsx'.length);
    scripts[name] = add(name, 'js', await bundle('src/pages/' + file, { plugins: [shell] }));
  }
  for (const [name, list] of Object.entries(languages())) scripts[name] = add(name, 'js', `export default ${JSON.stringify(list)}`);
  const names = JSON.stringify(Object.fromEntries(Object.entries(scripts).map(([name, path]) => [name, path.slice('assets/'.length)])));
  files['index.html'] = readFileSync(here + 'src/index.html', 'utf8')
    .replaceAll('{{css}}', css)
    .replaceAll('{{theme}}', theme)
    .replaceAll('{{icon}}', icon)
    .replaceAll('{{kit}}', kit)
    .replaceAll('{{scripts}}', names.replaceAll('"', '&quot;'));
  return files;
};

/** The Rust list of the files. The document is not compressed ahead, because the base path is written into it. */
const listing = (files) => {
  const rows = Object.keys(files)
    .filter((path) => path != 'index.html')
    .map((path) => `    ("${path}", "${TYPES[path.split('.').pop()]}", include_bytes!("../dist/${path}.br")),\n`);
  return `//! The files of \`dist\`: path, content type, brotli form. Generated by build.mjs.\n\n#[rustfmt::skip]\npub(crate) const FILES: &[(&str, &str, &[u8])] = &[\n${rows.join('')}];\n`;
};

if (process.argv[1] == here + 'build.mjs') {
  const files = await make();
  const output = { 'rust/files.rs': Buffer.from(listing(files)) };
  for (const [path, text] of Object.entries(files)) {
    output['dist/' + path] = Buffer.from(text);
    if (path != 'index.html') output[`dist/${path}.br`] = brotli(text);
  }
  let failures = 0;
  const fail = (text) => {
    console.error('build: ' + text);
    failures++;
  };
  const present = () => {
    try {
      return readdirSync(dist + 'assets').map((name) => 'dist/assets/' + name);
    } catch {
      return [];
    }
  };
  if (process.argv.includes('--check')) {
    for (const [path, bytes] of Object.entries(output)) {
      let committed = null;
      try {
        committed = readFileSync(here + path);
      } catch {
        // A missing file differs.
      }
      if (!committed?.equals(bytes)) fail(`${path} differs from a fresh build; run \`npm run build\` and commit it`);
    }
    for (const path of present()) if (!output[path]) fail(`${path} is of no present source; run \`npm run build\``);
  } else {
    rmSync(dist, { recursive: true, force: true });
    mkdirSync(dist + 'assets', { recursive: true });
    for (const [path, bytes] of Object.entries(output)) writeFileSync(here + path, bytes);
  }
  const isLanguage = (path) => /assets\/(texts|locale-.*)\./.test(path);
  const isShell = (path) => /index\.html|assets\/(app|theme|kit|icon)\./.test(path);
  const size = (filter) => Object.entries(files).filter(([path]) => filter(path)).map(([path, text]) => [path, gzip(text)]).sort((a, b) => b[1] - a[1]);
  const sum = (list) => list.reduce((total, [, bytes]) => total + bytes, 0);
  const embedded = (filter) => Object.entries(files).filter(([path]) => filter(path)).reduce((total, [, text]) => total + brotli(text).length, 0);
  const shell = size(isShell);
  const pages = size((path) => !isShell(path) && !isLanguage(path));
  const keys = size((path) => /assets\/texts\./.test(path));
  const languages = size((path) => isLanguage(path) && !/assets\/texts\./.test(path));
  for (const [path, bytes] of [...shell, ...pages, ...keys, ...languages]) console.log(`${String(bytes).padStart(7)} gzip  ${path}`);
  const found = {
    firstLoadGzip: sum(shell) + pages[0][1],
    allGzip: sum(shell) + sum(pages),
    languageGzip: sum(keys) + (languages[0]?.[1] ?? 0),
    allBrotli: embedded((path) => !isLanguage(path)),
    languagesBrotli: embedded(isLanguage),
  };
  for (const [name, limit] of Object.entries(LIMITS)) {
    console.log(`${name}: ${found[name]} bytes (at most ${limit})`);
    if (found[name] > limit) fail(`${name} has ${found[name] - limit} bytes too many`);
  }
  process.exitCode = failures ? 1 : 0;
}
