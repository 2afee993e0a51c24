// The challenge solver, a separate script: it is loaded only when the server asks for proof of work.

const K = new Uint32Array(64);
const START = new Uint32Array(8);
{
  // The constants of SHA-256: fractions of the cube and square roots of the first primes.
  const fraction = (x: number) => ((x - Math.floor(x)) * 2 ** 32) >>> 0;
  let found = 0;
  for (let n = 2; found < 64; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d == 0) prime = false;
    if (!prime) continue;
    if (found < 8) START[found] = fraction(n ** (1 / 2));
    K[found++] = fraction(n ** (1 / 3));
  }
}

const rotate = (x: number, n: number) => (x >>> n) | (x << (32 - n));
const W = new Uint32Array(64);

/** SHA-256 of a text of ASCII characters. */
export const sha256 = (text: string): Uint32Array => {
  const length = text.length;
  const blocks = ((length + 8) >> 6) + 1;
  const words = new Uint32Array(blocks * 16);
  for (let i = 0; i < length; i++) words[i >> 2] |= text.charCodeAt(i) << (24 - (i & 3) * 8);
  words[length >> 2] |= 0x80 << (24 - (length & 3) * 8);
  words[words.length - 1] = length * 8;
  const state = START.slice();
  for (let block = 0; block < words.length; block += 16) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) W[i] = words[block + i];
      else {
        const a = W[i - 15];
        const b = W[i - 2];
        W[i] = W[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3)) + W[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10));
      }
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
      const two = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => (state[i] += value));
  }
  return state;
};

/** A nonce for which SHA-256 of salt and nonce begins with `bits` zero bits. Works in slices of 8 ms. */
export const solve = async (salt: string, bits: number): Promise<string> => {
  for (let n = 0; ; ) {
    for (const until = performance.now() + 8; performance.now() < until; ) {
      for (let i = 0; i < 64; i++, n++) if (Math.clz32(sha256(salt + n)[0]) >= bits) return '' + n;
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
};
