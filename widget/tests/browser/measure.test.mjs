// The quality goals that are numbers. Counts and bytes are always limits; times are limits in the long run only, and otherwise reported.
import assert from 'node:assert/strict';
import { cpus, loadavg } from 'node:os';
import { after, before, beforeEach } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { readFileSync, writeFileSync } from 'node:fs';
import { AGENT, artefacts, html, isLong, start, tag, test } from './setup.mjs';

let s;
const figures = {};
const report = (name, value) => {
  figures[name] = value;
  console.log(`figure: ${name}: ${value}`);
};
before(async () => { s = await start(); });
after(async () => {
  writeFileSync(artefacts + 'figures.json', JSON.stringify(figures, null, 2) + '\n');
  await s.stop();
});
beforeEach(() => s.host.reset());
/** Thread time of each task of the page's main thread during an action, in ms; it excludes other load of the machine. */
const tasks = async (visit, rate, action) => {
  const page = await visit.context.newCDPSession(visit.page);
  await page.send('Emulation.setCPUThrottlingRate', { rate });
  const session = await s.browser.newBrowserCDPSession();
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline', '__metadata'] } });
  const result = await action();
  await session.send('Tracing.end');
  await complete;
  await session.detach();
  // Our page's thread is the one that runs our script. Other pages of the browser do not count.
  const thread = (one) => `${one.pid} ${one.tid}`;
  const isOurs = (one) => /\/(embed|more)[.\w]*js/.test(JSON.stringify(one.args ?? ''));
  const main = events.find((one) => one.tdur && /^(FunctionCall|EvaluateScript|v8\.evaluateModule)$/.test(one.name) && isOurs(one));
  assert.ok(main, 'the script was not seen at work');
  const mine = events.filter((one) => thread(one) == thread(main) && one.tdur);
  // Requests of the test through the browser's tools are not tasks of the page.
  const asked = mine.filter((one) => one.args?.chrome_mojo_event_info?.mojo_interface_tag?.includes('DevTools'));
  const holds = (task, one) => one.ts >= task.ts && one.ts < task.ts + task.dur;
  const all = mine.filter((one) => one.name == 'RunTask' && !asked.some((it) => holds(one, it)));
  assert.ok(all.length > 10, `only ${all.length} tasks were seen`);
  const ours = all.filter((task) => mine.some((one) => holds(task, one) && isOurs(one)));
  const ms = (one) => one.tdur / 1000;
  return { all: all.map(ms), ours: ours.map(ms), long: all.map(ms).filter((time) => time > 50).map(Math.round), script: mine.filter((one) => one.name == 'EvaluateScript' && isOurs(one)).map(ms), result };
};
/** Thread time grows on a busy machine, so only the long run, on an idle one, enforces it; other runs report it. */
const enforce = (holds, what) => {
  const busy = loadavg()[0] > cpus().length * 1.5;
  if (isLong && !busy) assert.ok(holds, what);
  else console.log(`figure: reported, not a limit (load ${loadavg()[0].toFixed(1)}): ${holds ? 'holds' : 'missed'}`);
};
const best = (values) => Math.min(...values);

test('before a click: two requests; bytes', async () => {
  const visit = await s.visit({ name: 'before' });
  await visit.at('.launcher').waitFor();
  await visit.page.waitForTimeout(300);
  assert.deepEqual(s.host.log.map((one) => one.path), ['/embed.js', '/widget/v1/config']);
  const script = readFileSync(new URL('../../dist/embed.js', import.meta.url));
  const bytes = s.host.log.reduce((sum, one) => sum + one.bytes, 0);
  report('before a click, bytes with gzip', bytes);
  report('before a click, bytes with brotli', brotliCompressSync(script).length + s.host.log[1].bytes);
  report('embed.js gzip -9', gzipSync(script, { level: 9 }).length);
  assert.ok(bytes <= 16000);
  await visit.at('.launcher').click();
  await visit.at('.md').first().waitFor();
  const later = s.host.log.filter((one) => one.path.startsWith('/more.'));
  assert.equal(later.length, 1);
  report('with the panel, bytes with gzip', later[0].bytes);
  await visit.done();
});

test('launcher visible on a slow line; no long task of ours', async () => {
  const times = [];
  const longest = [];
  for (let n = 0; n < (isLong ? 5 : 3); n++) {
    const visit = await s.visit({ name: 'blank', body: '<p>x</p>', headers: {} });
    const session = await visit.context.newCDPSession(visit.page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: 200000, uploadThroughput: 100000 });
    const { ours, result } = await tasks(visit, 4, () => visit.page.evaluate(async ([src, agentId]) => {
      const began = performance.now();
      const script = document.createElement('script');
      script.src = src;
      script.dataset.agentId = agentId;
      document.head.append(script);
      for (;;) {
        await new Promise(requestAnimationFrame);
        if (document.querySelector('service-widget')?.shadowRoot.querySelector('.launcher')?.getClientRects().length) break;
      }
      return performance.now() - began;
    }, [s.host.url + '/embed.js', AGENT]));
    times.push(result);
    longest.push(Math.max(...ours));
    await visit.context.close();
  }
  report('launcher visible, 1.6 Mbit/s, 150 ms, 4× CPU, best, ms (reported)', Math.round(best(times)));
  report('longest task at the start, 4× CPU, best, ms', Math.round(best(longest)));
  enforce(best(longest) <= 50, `${longest}`);
});

test('script and init: thread time; heap over the blank page', async () => {
  const scripts = [];
  const times = [];
  const heaps = [];
  const full = s.host.page('full', html('<p>x</p>' + tag(s.host)));
  const heapOf = async (name, more) => {
    const visit = await s.visit({ name, body: '<p>x</p>' + more, headers: {} });
    // The driver's own objects are in both measurements.
    await visit.page.locator('body > p').waitFor();
    await visit.page.waitForTimeout(400);
    const session = await visit.context.newCDPSession(visit.page);
    await session.send('Performance.enable');
    for (let n = 0; n < 4; n++) await session.send('HeapProfiler.collectGarbage');
    const { metrics } = await session.send('Performance.getMetrics');
    await visit.context.close();
    return metrics.find((one) => one.name == 'JSHeapUsedSize').value;
  };
  for (let n = 0; n < 5; n++) {
    const visit = await s.visit({ name: 'empty', body: '<p>x</p>', headers: {} });
    const { ours, script } = await tasks(visit, 1, async () => {
      await visit.page.goto(full);
      await visit.at('.launcher').waitFor();
    });
    scripts.push(Math.max(...script));
    // The script defers work to separate tasks: all of them count.
    times.push(ours.reduce((sum, one) => sum + one, 0));
    await visit.context.close();
    heaps.push((await heapOf('full', tag(s.host))) - (await heapOf('empty', '')));
  }
  report('script, thread CPU, best of 5, ms (reported)', best(scripts).toFixed(1));
  report('script, init and mount, thread CPU, best of 5, ms', best(times).toFixed(1));
  report('heap over the blank page, best of 5, KiB', Math.round(best(heaps) / 1024));
  enforce(best(times) > 0 && best(times) <= 10, `${times}`);
  assert.ok(best(heaps) > 0 && best(heaps) <= 256 * 1024, `${heaps}`);
});

test('panel open to next frame', async () => {
  for (const [rate, limit] of [[1, 50], [4, 150]]) {
    const visit = await s.visit({ name: 'opening' });
    await visit.at('.launcher').waitFor();
    const session = await visit.context.newCDPSession(visit.page);
    await session.send('Emulation.setCPUThrottlingRate', { rate });
    const times = await visit.page.evaluate(async () => {
      const times = [];
      for (let n = 0; n < 5; n++) {
        const began = performance.now();
        ServiceWidget.open();
        await new Promise((resolve) => requestAnimationFrame(() => { const channel = new MessageChannel(); channel.port1.onmessage = resolve; channel.port2.postMessage(0); }));
        times.push(performance.now() - began);
        ServiceWidget.close();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return times;
    });
    report(`panel open to next frame, ${rate}× CPU, best of 5, ms`, best(times).toFixed(1));
    report(`panel open to next frame, ${rate}× CPU, the first time, when it is made, ms (reported)`, times[0].toFixed(1));
    enforce(best(times) <= limit, `${times}`);
    await visit.done();
  }
});

test('the panel opens and the second script arrives: no task exceeds the limit of opening', async () => {
  const longest = [];
  for (let n = 0; n < (isLong ? 5 : 2); n++) {
    const visit = await s.visit({ name: 'arriving' });
    await visit.at('.launcher').waitFor();
    const { ours } = await tasks(visit, 4, async () => {
      await visit.at('.launcher').click();
      await visit.at('.md').first().waitFor();
    });
    longest.push(Math.max(...ours));
    await visit.done();
  }
  report('longest task when the panel opens and the second script arrives, 4× CPU, best, ms', Math.round(best(longest)));
  // The same limit as for the panel.
  enforce(best(longest) <= 150, `${longest}`);
});

test('init, open, send, close, destroy, repeatedly: nothing leaks', async () => {
  const rounds = isLong ? 1000 : 120;
  const visit = await s.visit({ name: 'rounds', body: `<p>x</p>${tag(s.host, '')}` });
  await visit.page.waitForFunction(() => window.ServiceWidget?.version);
  const session = await visit.context.newCDPSession(visit.page);
  await session.send('Performance.enable');
  const count = async () => {
    for (let n = 0; n < 3; n++) await session.send('HeapProfiler.collectGarbage');
    const { metrics } = await session.send('Performance.getMetrics');
    const find = (name) => metrics.find((one) => one.name == name).value;
    return { nodes: find('Nodes'), listeners: find('JSEventListeners'), heap: find('JSHeapUsedSize') };
  };
  const cycle = (n) => visit.page.evaluate(async ([agentId, n]) => {
    let own = 0;
    for (let i = 0; i < n; i++) {
      localStorage.clear();
      const began = performance.now();
      const instance = ServiceWidget.init({ agentId });
      const reply = new Promise((resolve) => instance.once('reply', resolve));
      own += performance.now() - began;
      await new Promise((resolve) => instance.once('ready', resolve));
      instance.open();
      await instance.send('hello');
      await reply;
      const ended = performance.now();
      instance.close();
      instance.destroy();
      own += performance.now() - ended;
    }
    return own / n;
  }, [AGENT, n]);
  // Code that the engine compiles after many runs counts as heap: about 150 KiB, once.
  await cycle(isLong ? 200 : 20);
  const first = await count();
  const own = await cycle(rounds);
  await visit.page.waitForTimeout(200);
  const last = await count();
  report(`${rounds} rounds: nodes, listeners, heap KiB more`, `${last.nodes - first.nodes}, ${last.listeners - first.listeners}, ${Math.round((last.heap - first.heap) / 1024)}`);
  report('init and destroy, ms a round (reported)', own.toFixed(2));
  assert.equal(last.nodes - first.nodes, 0);
  assert.equal(last.listeners - first.listeners, 0);
  assert.ok(last.heap - first.heap <= 256 * 1024);
  await visit.done();
});

const LONG = Array.from({ length: 400 }, (_, n) => `## Part ${n}\n\nA paragraph with **strong** words, \`code\` and a [link](https://ok.example/${n}), over a line or two.\n\n- one\n- two\n\n`).join('').slice(0, 65536);
for (const [rate, most] of [[1, 0], [4, 2]])
  test(`64 KiB of markdown in pieces of 14 characters, ${rate}× CPU: long tasks`, async () => {
    const counts = [];
    for (let n = 0; n < (isLong ? 5 : 2); n++) {
      s.host.reset();
      s.host.script.reply = () => LONG;
      s.host.script.pace = 20;
      const visit = await s.visit({ name: 'long' });
      await visit.at('.launcher').click();
      await visit.page.waitForTimeout(300);
      const { long } = await tasks(visit, rate, async () => {
        await visit.page.evaluate(() => new Promise((resolve) => {
          ServiceWidget.once('reply', () => setTimeout(resolve, 1000));
          setTimeout(() => ServiceWidget.send('long'));
        }));
      });
      counts.push(long);
      await visit.done();
    }
    const fewest = counts.sort((a, b) => a.length - b.length)[0];
    report(`long tasks, 64 KiB markdown, ${rate}× CPU, ms`, JSON.stringify(fewest));
    enforce(fewest.length <= most && fewest.every((ms) => ms <= 100), JSON.stringify(counts));
  });
