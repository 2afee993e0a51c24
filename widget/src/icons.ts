// The icons, as paths in a view box of 24 units.
export const CHAT = 'M4 4h16v12H9l-5 4z';
export const HELP = 'M9 9a3 3 0 1 1 3 4v1m0 3v.1M3 12a9 9 0 1 1 0 .1z';
export const CROSS = 'M6 6l12 12M18 6L6 18';
export const DOWN = 'M6 9l6 6 6-6';
export const SEND = 'M12 19V5m-6 6l6-6 6 6';
export const STOP = 'M7 7h10v10H7z';
export const FRESH = 'M11 5H5v14h14v-6M9 15v-3l9-9 3 3-9 9z';
