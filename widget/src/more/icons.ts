// The icons of the second script, as paths in a view box of 24 units.
export const SEND = 'M12 19V5m-6 6l6-6 6 6';
export const STOP = 'M7 7h10v10H7z';
export const FRESH = 'M12 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-6M9.5 14.5v-3l8.5-8.5 3 3-8.5 8.5z';
export const CLIP = 'M20 11l-8 8a5 5 0 0 1-7-7l8-8a3 3 0 0 1 5 5l-8 8a1 1 0 0 1-2-2l7-7';
export const UP = 'M7 20V11l4-8c3 0 3 3 2 6h7l-2 11zH3V11h4';
export const SOUND = 'M4 9v6h4l5 4V5L8 9zM17 8a6 6 0 0 1 0 8';
export const MUTE = 'M4 9v6h4l5 4V5L8 9zM17 9l5 6m0-6l-5 6';
export const COPY = 'M9 9h11v11H9zM5 15H4V4h11v1';
export const CHECK = 'M5 12.5l4.5 4.5L19 7.5';
export const FILE = 'M13 3H6v18h12V8zM13 3v5h5';
export const NEXT = 'M9 6l6 6-6 6';
