// The drawings, as paths in a box of 24 units.
export const CHAT = 'M4 4h16v12H9l-5 4z';
export const HELP = 'M9 9a3 3 0 1 1 3 4v1m0 3v.1M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z';
export const CROSS = 'M6 6l12 12M18 6L6 18';
export const DOWN = 'M6 9l6 6 6-6';
export const SEND = 'M12 19V5m-6 6l6-6 6 6';
export const STOP = 'M7 7h10v10H7z';
export const CLIP = 'M20 11l-8 8a5 5 0 0 1-7-7l8-8a3 3 0 0 1 5 5l-8 8a1 1 0 0 1-2-2l7-7';
export const FRESH = 'M11 5H5v14h14v-6M9 15v-3l9-9 3 3-9 9z';
export const UP = 'M7 20V11l4-8c3 0 3 3 2 6h7l-2 11zH3V11h4';
export const SOUND = 'M4 9v6h4l5 4V5L8 9zM17 8a6 6 0 0 1 0 8';
export const MUTE = 'M4 9v6h4l5 4V5L8 9zM17 9l5 6m0-6l-5 6';
export const COPY = 'M9 9h11v11H9zM5 15H4V4h11v1';
