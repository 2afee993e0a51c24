// Creates elements. The functions are stateless, so each script contains those that it uses.

export type Child = Node | string | null | undefined | false | 0;

/** `undefined`, `null`, `false` and an empty string remove the attribute. */
export const set = (node: Element, name: string, value?: unknown): void =>
  value ? node.setAttribute(name, value as string) : node.removeAttribute(name);

/** Replaces the children of a node; falsy children are skipped. */
export const fill = (node: ParentNode, ...children: Child[]): void => node.replaceChildren(...(children.filter((child) => child) as (Node | string)[]));

/** An element: `tag.class`, attributes and listeners, children. */
export const h = <K extends keyof HTMLElementTagNameMap>(
  tag: K | `${K}.${string}`,
  props?: Record<string, unknown> | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] => {
  const [name, style] = tag.split('.');
  const node = document.createElement(name) as HTMLElementTagNameMap[K];
  if (style) node.className = style;
  if (name == 'button') set(node, 'type', 'button');
  for (const key in props) typeof props[key] == 'function' ? node.addEventListener(key, props[key] as EventListener) : set(node, key, props[key]);
  fill(node, ...children);
  return node;
};

/** The URL if it is safe to follow, otherwise an empty string. */
export const safeUrl = (url?: string | null): string => (url && /^(https?:\/\/|mailto:|tel:)[^\s\0-\x1f]+$/i.test(url) ? url : '');
/** A link without a referrer. */
export const link = (href: string, ...children: (Node | string)[]): HTMLAnchorElement =>
  h('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow ugc' }, ...children);

/** A stroked icon in a view box of 24 units. */
export const icon = (path: string): SVGElement => {
  const [svg, shape] = ['svg', 'path'].map((name) => document.createElementNS('http://www.w3.org/2000/svg', name)) as SVGElement[];
  set(svg, 'viewBox', '0 0 24 24');
  set(svg, 'aria-hidden', 'true');
  set(shape, 'd', path);
  svg.append(shape);
  return svg;
};

export const label = (node: HTMLElement, text: string): void => {
  set(node, 'aria-label', text);
  node.title = text;
};

/** A button with an icon and an accessible name. */
export const iconButton = (path: string, text: string, click: (event: Event) => void): HTMLButtonElement => {
  const button = h('button.i', { click }, icon(path));
  label(button, text);
  return button;
};

export const show = (node: HTMLElement, visible: unknown): void => {
  node.hidden = !visible;
};
