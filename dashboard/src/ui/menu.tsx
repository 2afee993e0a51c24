// A menu under its button, moved through with the arrow keys.
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { folded } from '../lib/i18n';
import { Icon, type IconName } from './icon';

/** An entry; null is a line. */
export type Item = { label: string; icon?: IconName; run?: () => void; href?: string; bad?: boolean; end?: ComponentChildren; checked?: boolean } | null;

/** A menu. `trigger` makes its button. */
export const Menu = ({ items, trigger, label }: { items: Item[]; label: string; trigger: (props: { open: () => void; expanded: boolean }) => ComponentChildren }) => {
  const at = useSignal<{ top?: number; bottom?: number; left?: number; right?: number } | null>(null);
  const root = useRef<HTMLDivElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const close = (back = true) => {
    at.value = null;
    if (back) root.current?.querySelector<HTMLElement>('button')?.focus();
  };
  useLayoutEffect(() => {
    if (!at.value) return;
    menu.current?.querySelector<HTMLElement>('[aria-checked=true], [role^=menuitem]')?.focus();
    const outside = (event: Event) => !menu.current?.contains(event.target as Node) && close(false);
    const shut = () => close(false);
    addEventListener('pointerdown', outside, true);
    addEventListener('resize', shut);
    return () => {
      removeEventListener('pointerdown', outside, true);
      removeEventListener('resize', shut);
    };
  }, [at.value]);
  const open = () => {
    if (at.value) return close();
    const box = root.current!.getBoundingClientRect();
    at.value = {
      ...(box.bottom > innerHeight * 0.7 ? { bottom: innerHeight - box.top + 4 } : { top: box.bottom + 4 }),
      ...(box.left > innerWidth / 2 ? { right: innerWidth - box.right } : { left: box.left }),
    };
  };
  const move = (event: KeyboardEvent) => {
    const all = [...menu.current!.querySelectorAll<HTMLElement>('[role^=menuitem]')];
    const from = all.indexOf(document.activeElement as HTMLElement);
    const to = event.key == 'ArrowDown' ? from + 1 : event.key == 'ArrowUp' ? from - 1 : event.key == 'Home' ? 0 : event.key == 'End' ? all.length - 1 : null;
    if (event.key == 'Escape' || event.key == 'Tab') {
      event.stopPropagation();
      if (event.key == 'Escape') event.preventDefault();
      close(event.key == 'Escape');
    } else if (to !== null) {
      event.preventDefault();
      all[(to + all.length) % all.length]?.focus();
    } else if (event.key.length == 1) all.find((one) => folded(one.textContent ?? '').startsWith(folded(event.key)))?.focus();
  };
  const px = (value: number | undefined) => (value === undefined ? undefined : `${value}px`);
  return (
    <div ref={root} class="menuroot" onClick={(event) => event.stopPropagation()}>
      {trigger({ open, expanded: !!at.value })}
      {at.value && (
        <div ref={menu} class="menu" role="menu" aria-label={label} onKeyDown={move} style={{ top: px(at.value.top), bottom: px(at.value.bottom), left: px(at.value.left), right: px(at.value.right) }}>
          {items.map((item) => {
            if (!item) return <hr role="separator" />;
            const inside = <>{item.icon && <Icon name={item.icon} />}<span class="cut" dir="auto">{item.label}</span>{item.checked && <span class="end"><Icon name="check" /></span>}{item.end && <span class="end">{item.end}</span>}</>;
            const role = item.checked === undefined ? 'menuitem' : 'menuitemradio';
            return item.href ? <a role={role} aria-checked={item.checked} tabIndex={-1} href={item.href} onClick={() => close()}>{inside}</a>
              : <button type="button" role={role} aria-checked={item.checked} tabIndex={-1} class={item.bad ? 'bad' : ''} onClick={() => { close(); item.run?.(); }}>{inside}</button>;
          })}
        </div>
      )}
    </div>
  );
};
