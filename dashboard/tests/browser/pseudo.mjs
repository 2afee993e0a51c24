// A language that nobody speaks: English in brackets, with 40 % more letters. It shows what is not translated and what is
// too narrow.

/** Serves it in place of German. */
export const pseudo = (page) =>
  page.route('**/assets/locale-de.*.js', async (route) => {
    const texts = await fetch(new URL(await nameOf(page, 'texts'), route.request().url()));
    const keys = JSON.parse((await texts.text()).replace('export default ', ''));
    const values = keys.map((key) => {
      const letters = key.replaceAll(/\{\w+\}/g, '').length;
      return `⟦${key}${'˙'.repeat(Math.ceil(letters * 0.4))}⟧`;
    });
    await route.fulfill({ contentType: 'text/javascript', body: 'export default ' + JSON.stringify(values) });
  });
const nameOf = (page, name) => page.evaluate((key) => JSON.parse(document.querySelector('script[data-scripts]').dataset.scripts)[key], name);

/** The texts on the page that no language can translate. Data and what the language formats are left out. */
export const untranslated = async (page, data, name) => {
  const known = JSON.stringify(data);
  const parts = (await page.evaluate(unmarked)).flatMap((text) => text.split(' · ')).map((text) => text.replace(/ \*$/, ''));
  return parts
    .filter((text) => /\p{L}{3}/u.test(text) && !/[⟦⟧]/.test(text) && !known.includes(text) && !NAMES.has(text.toLowerCase()) && !FORMATTED.test(text) && !AS_IT_IS.test(text))
    .map((text) => `${name}: “${text}” is not translated`);
};
/** The names of languages, each in German and in itself. */
const NAMES = new Set(['en', 'ar', 'de', 'es', 'fr', 'he', 'it', 'ja', 'nl', 'pl', 'pt-BR', 'tr', 'zh-Hans'].flatMap((tag) => ['de', tag].map((into) => new Intl.DisplayNames(into, { type: 'language' }).of(tag).toLowerCase())));
/** What `Intl` writes in German. */
const FORMATTED = /^((vor|in) .*|(vor)?gestern|(über)?morgen|jetzt|heute|\P{L}*(Std\.?|Tage?n?|Min\.?|Sek\.?|ms|kB|MB|Byte)\P{L}*|.* und .*)$/u;
/** Addresses, names of members and values, keys, and programming languages. */
const AS_IT_IS = /^([\w./:+-]+|[\w.]+(, [\w.]+)+( \+ \d+)?|https?:.*|Mozilla.*)$/;
const unmarked = () => {
  const found = new Set();
  const look = (text, element) => {
    const formatted = text.replaceAll(/⟦.*⟧/g, '').replaceAll(/\p{Sc}|\d/gu, '');
    if (/\p{L}{3}/u.test(formatted) && !element.closest('code, pre, kbd, svg, script, style, [dir=auto], noscript')) found.add(text.trim().slice(0, 80));
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) look(walker.currentNode.data, walker.currentNode.parentElement);
  for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]'))
    for (const name of ['aria-label', 'title', 'placeholder', 'alt']) look(element.getAttribute(name) ?? '', element);
  return [...found];
};
