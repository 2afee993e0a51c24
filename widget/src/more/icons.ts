// The icons of the second script, as paths in a view box of 24 units.
export const CLIP = 'M20 11l-8 8a5 5 0 0 1-7-7l8-8a3 3 0 0 1 5 5l-8 8a1 1 0 0 1-2-2l7-7';
export const UP = 'M7 20V11l4-8c3 0 3 3 2 6h7l-2 11zH3V11h4';
export const SOUND = 'M4 9v6h4l5 4V5L8 9zM17 8a6 6 0 0 1 0 8';
export const MUTE = 'M4 9v6h4l5 4V5L8 9zM17 9l5 6m0-6l-5 6';
export const COPY = 'M9 9h11v11H9zM5 15H4V4h11v1';
