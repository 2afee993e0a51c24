// The check characters of keys and secrets: a typo is found before anything is sent.
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const crc32 = (text: string): number => {
  let crc = 0xffffffff;
  for (const char of text) {
    crc ^= char.charCodeAt(0);
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
};
/** The six check characters of a text. */
export const checkCharacters = (text: string): string => {
  let value = crc32(text);
  let out = '';
  for (let n = 0; n < 6; n++) {
    out = ALPHABET[value % 62] + out;
    value = Math.floor(value / 62);
  }
  return out;
};
/** What a pasted text holds: keys and secrets in it, each with whether its check characters are right. */
export const credentials = (text: string): { kind: 'key' | 'secret'; value: string; valid: boolean }[] =>
  [...text.matchAll(/\b[a-z][a-z0-9]{1,7}([ks])_([0-9A-Za-z]+)/g)].map((match) => {
    const kind = match[1] == 'k' ? 'key' : 'secret';
    const value = match[0];
    return { kind, value, valid: match[2]!.length == (kind == 'key' ? 30 : 49) && checkCharacters(value.slice(0, -6)) == value.slice(-6) };
  });
