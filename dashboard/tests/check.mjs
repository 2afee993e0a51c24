// The check characters of keys, written a second time for the stub: with a table, not bit by bit.
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const checkCharacters = (text) => {
  let value = crc32(text);
  let out = '';
  for (let n = 0; n < 6; n++, value = Math.floor(value / 62)) out = ALPHABET[value % 62] + out;
  return out;
};
