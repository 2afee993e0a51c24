// Keys of the shell and of the page. Single letters act outside of text fields only, and can be switched off.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** One key: its name, what it does in words, and the action. `mod` is ⌘ on Apple's systems and Ctrl elsewhere. */
export interface Key {
  key: string;
  label: string;
  run: (event: KeyboardEvent) => void;
  hidden?: boolean;
}
const layers: { keys: Key[]; modal: boolean }[] = [];
/** Whether single letters act. */
export const letters = signal(true);
export const isApple = /Mac|iPhone|iPad/.test(navigator.platform);
let prefix = '';
let prefixTimer = 0;

const isTyping = (target: EventTarget | null) => {
  const element = target as HTMLElement | null;
  return !!element && (/^(textarea|select)$/i.test(element.tagName) || element.isContentEditable || (/^input$/i.test(element.tagName) && !/^(checkbox|radio|button|submit|range|file)$/.test((element as HTMLInputElement).type)));
};
const nameOf = (event: KeyboardEvent) => {
  const mod = isApple ? event.metaKey : event.ctrlKey;
  const key = event.key == ' ' ? 'space' : event.key.length == 1 ? event.key.toLowerCase() : event.key;
  const isLetter = event.key.length == 1 && event.key.toLowerCase() != event.key.toUpperCase();
  return (mod ? 'mod+' : '') + (event.altKey && event.key.length > 1 ? 'alt+' : '') + (event.shiftKey && (isLetter || event.key.length > 1) ? 'shift+' : '') + key;
};
addEventListener('keydown', (event) => {
  if (event.isComposing || event.defaultPrevented || event.key == 'Shift') return;
  const name = nameOf(event);
  // The first Escape leaves the field, the next one the record.
  if (name == 'Escape' && isTyping(event.target)) return (event.target as HTMLElement).blur();
  const isPlain = !name.includes('mod+') && event.key.length == 1;
  if (isPlain && (isTyping(event.target) || !letters.value || event.ctrlKey || event.metaKey || event.altKey)) return;
  // Space and Enter belong to the focused control.
  if ((name == 'space' || name == 'Enter') && (event.target as Element).closest?.('button, a, summary, input, textarea, select')) return;
  const wanted = prefix ? `${prefix} ${name}` : name;
  prefix = '';
  clearTimeout(prefixTimer);
  for (let at = layers.length - 1; at >= 0; at--) {
    const layer = layers[at]!;
    const found = layer.keys.find((one) => one.key == wanted);
    if (found) {
      event.preventDefault();
      found.run(event);
      return;
    }
    if (isPlain && layer.keys.some((one) => one.key.startsWith(name + ' '))) {
      prefix = name;
      prefixTimer = window.setTimeout(() => (prefix = ''), 1200);
      return;
    }
    if (layer.modal) return;
  }
});
/** Binds keys while a component is shown. A modal layer hides those below it. */
export const useKeys = (keys: Key[], modal = false): void => {
  const layer = useRef({ keys, modal });
  layer.current.keys = keys;
  useLayoutEffect(() => {
    const mine = layer.current;
    layers.push(mine);
    return () => void layers.splice(layers.indexOf(mine), 1);
  }, []);
};
/** The keys that act now, the page's first. */
export const activeKeys = (): Key[] => {
  const seen = new Set<string>();
  return [...layers].reverse().flatMap((layer) => layer.keys.filter((key) => !key.hidden && !seen.has(key.key) && seen.add(key.key)));
};
const SIGNS: Record<string, string> = { mod: isApple ? '⌘' : 'Ctrl', shift: '⇧', alt: isApple ? '⌥' : 'Alt', Enter: '↵', Escape: 'Esc', ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→' };
/** A key as people read it: each stroke by itself. */
export const strokes = (key: string): string[] => key.split(/[ +]/).map((part) => SIGNS[part] ?? (part.length == 1 ? part.toUpperCase() : part));
