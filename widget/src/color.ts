// Contrast: picks the text colour on a background, and a readable shade of a colour on a surface.

export type Rgb = [number, number, number];

export const parseColor = (text: string): Rgb => {
  const hex = text.length < 5 ? text.replace(/[^#]/g, '$&$&') : text;
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Rgb;
};

const luminance = (color: Rgb) => {
  const [r, g, b] = color.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

/** Contrast ratio of WCAG 2, 1 to 21. */
export const contrast = (a: Rgb, b: Rgb): number => {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
};

// In base 16: in V8, the first number formatted in base 10 allocates a table of 64 KiB.
const css = (color: Rgb) => '#' + color.map((c) => (c + 256).toString(16).slice(1)).join('');

// Luminances with a contrast of 4.5. White text needs a background of at most this luminance.
const BELOW_WHITE = 0.183;
// Text on the surfaces of the light theme, #e9ecef at the darkest, needs at most this luminance; on those of the dark
// theme, #30353b at the lightest, at least that.
const ON_LIGHT = 0.1467;
const ON_DARK = 0.3321;

/** Whether a background asks for the dark theme. */
export const isDarkColor = (color: Rgb): boolean => luminance(color) < BELOW_WHITE;
/** White, or black if the contrast of white is too low; one of the two always has 4.5:1. */
export const textOn = (color: string): string => (luminance(parseColor(color)) > BELOW_WHITE ? '#000' : '#fff');

/** A shade of the colour that is further from the text on it. */
export const shade = (color: string): string => css(mix(parseColor(color), textOn(color) == '#fff' ? 0 : 255, 0.1));
const mix = (color: Rgb, to: number, part: number) => color.map((c) => Math.round(c + (to - c) * part)) as Rgb;

/** Mixes the colour with white or black until it has 4.5:1 in a theme. */
export const readable = (color: string, isDark: boolean): string => {
  for (let step = 0; ; step += 0.05) {
    const mixed = mix(parseColor(color), isDark ? 255 : 0, Math.min(step, 1));
    const found = luminance(mixed);
    if (isDark ? found > ON_DARK : found < ON_LIGHT) return css(mixed);
  }
};
