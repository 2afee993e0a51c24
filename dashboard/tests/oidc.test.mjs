// Signing in at a provider, with a real server and a provider that this test scripts, in a real browser: there and back over
// another site, without a redirect loop, and what a wrong answer leads to. Needs DASHBOARD_SERVER=/path/to/openapi-server.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { existsSync } from 'node:fs';
import { after, before } from 'node:test';
import { artefacts, startBrowser, test } from './browser/setup.mjs';
import { totpCode } from './totp.mjs';

const program = process.env.DASHBOARD_SERVER || new URL('../../target/debug/openapi-server', import.meta.url).pathname;
if (!existsSync(program)) throw new Error(`${program} is missing; build it with: cargo build -p server-hyper`);
const PASSWORD = 'correct horse battery';
let browser, server, origin, setup, secret;

/** The provider: it signs everybody in as `person` at once, but for what `change` does to its answers. */
const keys = generateKeyPairSync('ed25519');
const provider = { person: 'ada', log: [], codes: new Map(), callbacks: [], change: {} };
const encode = (value) => Buffer.from(typeof value == 'string' ? value : JSON.stringify(value)).toString('base64url');
const idToken = (claims) => {
  const message = `${encode({ alg: 'EdDSA', kid: 'one' })}.${encode(claims)}`;
  return `${message}.${sign(null, Buffer.from(message), keys.privateKey).toString('base64url')}`;
};
const routes = {
  '/.well-known/openid-configuration': () => ({ issuer: provider.issuer, authorization_endpoint: provider.issuer + '/auth', token_endpoint: provider.issuer + '/token', jwks_uri: provider.issuer + '/keys', response_types_supported: ['code'], authorization_response_iss_parameter_supported: true }),
  '/keys': () => ({ keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' }] }),
  '/token': (form) => {
    const asked = provider.codes.get(form.get('code'));
    provider.codes.delete(form.get('code'));
    if (!asked || createHash('sha256').update(form.get('code_verifier')).digest('base64url') != asked.code_challenge) return null;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: provider.issuer, aud: asked.client_id, sub: provider.person, nonce: asked.nonce, iat: now, exp: now + 60, auth_time: now, email: `${provider.person}@example.com`, email_verified: true, name: 'Ada Whitfield', groups: ['staff'] };
    return { access_token: 'none', token_type: 'Bearer', id_token: idToken({ ...claims, ...provider.change.claims?.(claims) }) };
  },
};
const provide = createServer(async (request, response) => {
  const url = new URL(request.url, provider.issuer);
  provider.log.push(url.pathname);
  if (url.pathname == '/auth') {
    const asked = Object.fromEntries(url.searchParams);
    const code = 'code-' + provider.log.length;
    provider.codes.set(code, asked);
    const back = new URL(asked.redirect_uri);
    for (const [name, value] of Object.entries({ code, state: asked.state, iss: provider.issuer, session_state: 'x', ...provider.change.query })) back.searchParams.set(name, value);
    provider.callbacks.push(back.href);
    // A page of another site, on which a person clicks.
    response.writeHead(200, { 'Content-Type': 'text/html' });
    return response.end(`<!doctype html><title>Provider</title><a href="${back.href.replaceAll('&', '&amp;')}">Allow</a>`);
  }
  let body = '';
  for await (const piece of request) body += piece;
  const answer = routes[url.pathname]?.(new URLSearchParams(body));
  response.writeHead(answer ? 200 : 400, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(answer ?? { error: 'invalid_grant' }));
});

before(async () => {
  await new Promise((resolve) => provide.listen(0, '127.0.0.1', resolve));
  const { port } = provide.address();
  // Another site than the console, which is at localhost.
  provider.issuer = `http://127.0.0.1:${port}`;
  server = spawn(program, ['demo', '--store', 'memory:', '--listen', '127.0.0.1:0', '--console-listen', '127.0.0.1:0', '--ops-listen', 'off', '--log', 'warn', '--outbound-allow', `127.0.0.1:${port}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  setup = await new Promise((resolve, reject) => {
    server.stdout.on('data', (piece) => {
      output += piece;
      const link = /^ +(http:\S+\/setup#\S+)$/m.exec(output);
      if (link && /^agent /m.test(output)) resolve(link[1]);
    });
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${output}`)));
  });
  origin = new URL(setup).origin;
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  server?.removeAllListeners('exit').kill();
  provide.closeAllConnections();
  provide.close();
});
const visit = async (path = '/') => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => /Content Security|Trusted ?Type|Refused to/i.test(message.text()) && errors.push(message.text()));
  await page.goto(path.startsWith('http') ? path : origin + path);
  return { page, context, done: async () => { await context.close(); assert.deepEqual(errors, []); } };
};
const goTo = async (page, name = 'Continue with Acme ID') => {
  await page.getByRole('button', { name }).click();
  await page.getByRole('link', { name: 'Allow' }).click();
};

test('an owner sets a provider up, tries it, and links an account', async () => {
  const { page, done } = await visit(setup);
  await page.getByLabel('Your name').fill('Zoë Okafor');
  await page.getByLabel('E-mail').fill('zoe@example.org');
  await page.getByRole('radio', { name: /^Password/ }).check();
  await page.getByLabel('Choose a password').fill(PASSWORD);
  secret = await page.locator('.groups').innerText();
  await page.getByLabel('Code from the app').fill(totpCode(secret));
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByLabel('I have stored the codes').check();
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.getByRole('link', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: /^Add provider/ }).first().click();
  const form = page.getByRole('dialog', { name: 'Add a provider' });
  await form.getByLabel('Name', { exact: true }).fill('Acme ID');
  await form.getByLabel('Issuer').fill(provider.issuer);
  await form.getByLabel('Client ID').fill('console');
  await form.getByLabel('Domains that get accounts').fill('example.com');
  await form.getByRole('button', { name: 'Add a group' }).click();
  await form.getByLabel('Group 1', { exact: true }).fill('staff');
  await form.getByLabel('Offer on the sign-in page').check();
  await form.getByRole('button', { name: /^Save/ }).click();
  const panel = page.getByRole('dialog', { name: 'Acme ID' });
  await panel.getByRole('button', { name: 'Check now' }).click();
  await panel.getByText('Keys: 1 (EdDSA)').waitFor();
  provider.person = 'zoe';
  await goTo(page, 'Try now');
  await page.getByText('"zoe@example.com"').waitFor();
  await page.screenshot({ path: artefacts + 'oidc-trial.png' });
  await page.goto(origin + '/profile');
  await goTo(page, 'Link Acme ID');
  await page.getByText('The account is linked').first().waitFor();
  await done();
});
test('a person signs in over another site, without a loop, and stays signed in', async () => {
  provider.person = 'ada';
  const before = provider.log.filter((path) => path == '/auth').length;
  const { page, done } = await visit('/profile');
  const pages = [];
  page.on('framenavigated', (frame) => pages.push(frame.url()));
  await goTo(page);
  await page.getByRole('heading', { name: 'Profile' }).waitFor();
  await page.getByText('Ada Whitfield').first().waitFor();
  assert.equal(provider.log.filter((path) => path == '/auth').length, before + 1, pages.join(' '));
  assert.ok(pages.length < 6, pages.join(' '));
  assert.ok(!page.url().includes('#'), page.url());
  await page.reload();
  await page.getByText('Ada Whitfield').first().waitFor();
  // The answer again: nothing changes, and the session stays.
  await page.goto(provider.callbacks.at(-1));
  await page.getByRole('dialog', { name: 'Your identity was not confirmed' }).waitFor();
  await page.screenshot({ path: artefacts + 'oidc-replay.png' });
  await page.goto(origin + '/profile');
  await page.getByText('Ada Whitfield').first().waitFor();
  await done();
});
test('the one who links is the one who signs in', async () => {
  provider.person = 'zoe';
  const { page, done } = await visit('/profile');
  await goTo(page);
  await page.getByText('Zoë Okafor').first().waitFor();
  await done();
});
test('a wrong state, an expired token, a lost cookie and a refusal lead to the sign-in page and to no session', async () => {
  provider.person = 'ada';
  const now = Math.floor(Date.now() / 1000);
  const wrong = [
    ['state', { query: { state: 'A'.repeat(43) } }, /took longer than 10 minutes/],
    ['issuer', { query: { iss: 'https://evil.example' } }, /took longer than 10 minutes/],
    ['expiry', { claims: () => ({ exp: now - 120 }) }, /took longer than 10 minutes/],
    ['nonce', { claims: () => ({ nonce: 'other' }) }, /took longer than 10 minutes/],
    ['error', { query: { error: 'access_denied' } }, /You cancelled at the provider/],
  ];
  for (const [name, change, text] of wrong) {
    provider.change = change;
    const { page, done } = await visit('/sign-in');
    await goTo(page);
    await page.getByText(text).waitFor();
    assert.equal(page.url(), origin + '/sign-in', name);
    if (name == 'expiry') await page.screenshot({ path: artefacts + 'oidc-refused.png' });
    await page.goto(origin + '/profile');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await done();
  }
  provider.change = {};
  // After ten minutes the browser has no cookie any more; in another browser it never had one.
  const { page, context, done } = await visit('/sign-in');
  await page.getByRole('button', { name: 'Continue with Acme ID' }).click();
  await page.getByRole('link', { name: 'Allow' }).waitFor();
  await context.clearCookies();
  await page.getByRole('link', { name: 'Allow' }).click();
  await page.getByText(/took longer than 10 minutes/).waitFor();
  await done();
});
