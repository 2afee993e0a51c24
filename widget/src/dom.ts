// Building elements. Nothing here has a state: both scripts hold what they use of it.

export type Child = Node | string | null | undefined | false | 0;

/** `undefined`, `null`, `false` and an empty text remove the attribute; `true` is as good as any text. */
export const set = (node: Element, name: string, value?: unknown): void =>
  value ? node.setAttribute(name, value as string) : node.removeAttribute(name);

/** Puts these in place of what a node holds; what is empty is left out. */
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

/** The address if it may be followed, otherwise an empty text. */
export const safeUrl = (url?: string | null): string => (url && /^(https?:\/\/|mailto:|tel:)[^\s\0-\x1f]+$/i.test(url) ? url : '');
/** A link that tells its target nothing. */
export const link = (href: string, ...children: (Node | string)[]): HTMLAnchorElement =>
  h('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow ugc' }, ...children);

/** A line drawing in a box of 24 units. */
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

/** A button that shows an icon and is named by a text. */
export const iconButton = (path: string, text: string, click: (event: Event) => void): HTMLButtonElement => {
  const button = h('button.i', { click }, icon(path));
  label(button, text);
  return button;
};

export const show = (node: HTMLElement, visible: unknown): void => {
  node.hidden = !visible;
};
