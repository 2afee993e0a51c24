// PNG images with a palette: screenshots at half the bytes.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
const COLORS = 128;
/** The chunks of an image: pairs of type and bytes. */
export const chunks = (png) => {
  if (!png.subarray(0, 8).equals(SIGNATURE)) throw new Error('not a PNG image');
  const found = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) found.push([png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + png.readUInt32BE(at))]);
  return found;
};
/** The width and height of an image. */
export const size = (png) => {
  const [, head] = chunks(png)[0];
  return [head.readUInt32BE(0), head.readUInt32BE(4)];
};
const chunk = (type, bytes) => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), bytes]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(bytes.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
};
const paeth = (a, b, c) => {
  const [da, db, dc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return da <= db && da <= dc ? a : db <= dc ? b : c;
};
/** The pixels of an image of 8 bits without interlacing, as numbers 0xRRGGBB. */
const pixels = (png) => {
  const all = chunks(png);
  const [width, height] = size(png);
  const [depth, kind, , , interlaced] = all[0][1].subarray(8);
  const step = { 2: 3, 6: 4 }[kind];
  if (depth != 8 || !step || interlaced) throw new Error('only RGB and RGBA of 8 bits are read');
  const raw = inflateSync(Buffer.concat(all.filter(([type]) => type == 'IDAT').map(([, bytes]) => bytes)));
  const out = new Uint32Array(width * height);
  let above = new Uint8Array(width * step);
  for (let y = 0, at = 0; y < height; y++) {
    const filter = raw[at++];
    const line = new Uint8Array(width * step);
    for (let x = 0; x < line.length; x++) {
      const [a, b, c] = [x < step ? 0 : line[x - step], above[x], x < step ? 0 : above[x - step]];
      line[x] = raw[at++] + [0, a, b, (a + b) >> 1, paeth(a, b, c)][filter];
    }
    for (let x = 0; x < width; x++) out[y * width + x] = (line[x * step] << 16) | (line[x * step + 1] << 8) | line[x * step + 2];
    above = line;
  }
  return { width, height, out };
};
const parts = (color) => [color >> 16, (color >> 8) & 255, color & 255];
/** The same image with a palette of its most frequent colours; each other pixel gets the nearest one. */
export const withPalette = (png) => {
  const { width, height, out } = pixels(png);
  const counts = new Map();
  for (const color of out) counts.set(color, (counts.get(color) ?? 0) + 1);
  const ranked = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a - b);
  // Colours that are close to a more frequent one would take the room of those that are far from all.
  const palette = [];
  const distance = (one, other) => one.reduce((sum, part, n) => sum + (part - other[n]) ** 2, 0);
  for (let least = 0; palette.length < Math.min(COLORS, ranked.length); least = 0) {
    least = palette.length < 64 ? 0 : 60;
    const next = ranked.find((color) => !palette.some(([known, of]) => known == color || distance(of, parts(color)) < least)) ?? ranked.find((color) => !palette.some(([known]) => known == color));
    palette.push([next, parts(next)]);
  }
  const index = new Map();
  for (const color of ranked) {
    const own = parts(color);
    let best = 0;
    for (let n = 1; n < palette.length; n++) if (distance(palette[n][1], own) < distance(palette[best][1], own)) best = n;
    index.set(color, best);
  }
  const raw = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) raw[y * (width + 1) + 1 + x] = index.get(out[y * width + x]);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([SIGNATURE, chunk('IHDR', head), chunk('PLTE', Buffer.from(palette.flatMap(([, of]) => of))), chunk('IDAT', deflateSync(raw, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
};
