// Runs tests that drive a browser: node scripts/browser-tests.mjs [--concurrency N] FILE...
//
// With CI=true, files with a failing test run once more, one after another: on a busy machine a browser may miss a wait
// that has nothing to do with the change. The last lines name each test that passed at its second attempt, and
// scripts/test repeats them in its summary. A test that fails twice fails the run. Without CI nothing runs twice.
import { relative, resolve } from 'node:path';
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

/** Runs files and returns what failed: the names of the tests for each file. */
const attempt = async (files, concurrency) => {
  const failed = new Map();
  const events = run({ files: files.map((file) => resolve(file)), concurrency });
  events.on('test:fail', ({ name, file }) => {
    const key = relative('.', file ?? name);
    failed.set(key, [...(failed.get(key) ?? []), name]);
  });
  const report = events.compose(spec);
  report.pipe(process.stdout, { end: false });
  await finished(report);
  return failed;
};

let failed = await attempt(args, concurrency);
if (failed.size && process.env.CI) {
  const first = failed;
  console.log(`\nonce more: ${[...first.keys()].join(' ')}`);
  failed = await attempt([...first.keys()], 1);
  for (const [file, names] of first) {
    // The file itself fails with its tests.
    const passed = names.filter((name) => !failed.get(file)?.includes(name) && resolve(name) != resolve(file));
    for (const name of passed) console.log(`second attempt: ${file}: ${name}`);
  }
}
process.exitCode = failed.size ? 1 : 0;
