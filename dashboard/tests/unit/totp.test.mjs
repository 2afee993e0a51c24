// The helper of tests on real servers agrees with RFC 6238, so that a failed sign-in is not its fault.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { totpCode } from '../totp.mjs';

test('codes are those of appendix B of RFC 6238', () => {
  const secret = 'GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ';
  for (const [seconds, code] of [[59, '287082'], [1111111109, '081804'], [20000000000, '353130']]) assert.equal(totpCode(secret, seconds * 1000), code);
});
