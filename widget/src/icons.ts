// The icons of the first script, as paths in a view box of 24 units.
export const CHAT = 'M21 11.5a8.5 8 0 0 1-12.3 7.2L3.5 20.5l1.4-4.6A8 8 0 1 1 21 11.5z';
export const HELP = 'M9 9a3 3 0 1 1 3 4v1m0 3v.1M3 12a9 9 0 1 1 0 .1z';
export const CROSS = 'M6 6l12 12M18 6L6 18';
export const DOWN = 'M6 9l6 6 6-6';
