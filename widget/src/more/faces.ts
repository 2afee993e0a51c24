// The round images of the agent and of persons: an image, or letters of the name.
import { h } from '../dom';
import { avatar, pick } from './shared';

const firstLetters = (name: string, most: number) =>
  name
    .trim()
    .split(/[\s-]+/)
    .map((word) => [...word][0] || '')
    .slice(0, most)
    .join('')
    .toUpperCase();

export const agentFace = (name: string, big?: boolean): HTMLElement => h(big ? 'div.face big' : 'div.face', { 'aria-hidden': 'true' }, avatar(pick('avatar')) || firstLetters(name, 1));
export const personFace = (name: string): HTMLElement => h('div.face person', { 'aria-hidden': 'true' }, firstLetters(name, 2));
