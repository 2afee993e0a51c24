// The code that an authenticator app shows (RFC 6238), for tests on real servers.
import { createHmac } from 'node:crypto';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** The code of a secret in base 32, at a time in milliseconds. */
export const totpCode = (secret, at = Date.now()) => {
  const bits = [...secret.replace(/\s/g, '')].map((letter) => LETTERS.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigInt64BE(BigInt(Math.floor(at / 30000)));
  const tag = createHmac('sha1', key).update(step).digest();
  return String((tag.readUInt32BE(tag.at(-1) & 15) & 0x7fffffff) % 1e6).padStart(6, '0');
};
