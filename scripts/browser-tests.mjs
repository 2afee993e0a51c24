// Runs tests that drive a browser: node scripts/browser-tests.mjs [--concurrency N] FILE...
//
// With CI=true, files with a failing test run once more, one after another: on a busy machine a browser may miss a wait
// that has nothing to do with the change. The last lines name each test that passed at its second attempt, and
// scripts/test repeats them in its summary. A test that fails twice fails the run. Without CI nothing runs twice.
import process from 'node:process';
import { finished } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const args = process.argv.slice(2);
const concurrency = args[0] == '--concurrency' ? Number(args.splice(0, 2)[1]) : 1;
if (!args.length || !(concurrency >= 1)) {
  console.error('Usage: node scripts/browser-tests.mjs [--concurrency N] FILE...');
  process.exit(2);
}

/** Runs a file, prints its report as a whole, and returns the names of the tests that failed. */
const attempt = async (file) => {
  const failed = [];
  const events = run({ files: [file] });
  events.on('test:fail', ({ name }) => failed.push(name));
  const report = events.compose(spec);
  const pieces = [];
  report.on('data', (piece) => pieces.push(piece));
  await finished(report);
  process.stdout.write(`${file}\n${pieces.join('')}`);
  return failed;
};

/** Runs files, so many at a time, and returns those that failed with the names of their tests. */
const attempts = async (files, concurrency) => {
  const failed = new Map();
  const waiting = files.values();
  const worker = async () => {
    for (const file of waiting) {
      const names = await attempt(file);
      if (names.length) failed.set(file, names);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return failed;
};

let failed = await attempts(args, concurrency);
if (failed.size && process.env.CI) {
  const first = failed;
  console.log(`\nonce more: ${[...first.keys()].join(' ')}`);
  failed = await attempts([...first.keys()], 1);
  for (const [file, names] of first) {
    for (const name of names.filter((name) => !failed.get(file)?.includes(name))) console.log(`second attempt: ${file}: ${name}`);
  }
}
for (const [file, names] of failed) console.log(`failed: ${file}: ${names.join(', ')}`);
process.exitCode = failed.size ? 1 : 0;
