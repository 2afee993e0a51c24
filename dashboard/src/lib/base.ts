// Where the console is mounted, and the names of its scripts, as index.html states them.

/** The path before every URL of the console: empty, or such as `/admin`. */
export const base = document.querySelector<HTMLMetaElement>('meta[name=console-base]')?.content ?? '';
const script = document.querySelector<HTMLScriptElement>('script[data-scripts]');
const names: Record<string, string> = JSON.parse(script?.dataset['scripts'] ?? '{}');

/** The names of the languages that have a file. */
export const translated = Object.keys(names).filter((name) => name.startsWith('locale-')).map((name) => name.slice('locale-'.length));

/** Loads a page or a language by its name. */
export const load = <T>(name: string): Promise<T> => {
  const file = names[name];
  return file ? import(`${base}/assets/${file}`) : Promise.reject(new Error(`no script ${name}`));
};

/** A value of localStorage or sessionStorage, which may be blocked or full. */
export const stored = {
  read(area: 'local' | 'session', key: string): string | null {
    try {
      return (area == 'local' ? localStorage : sessionStorage).getItem('console-' + key);
    } catch {
      return null;
    }
  },
  write(area: 'local' | 'session', key: string, value: string | null): void {
    try {
      const storage = area == 'local' ? localStorage : sessionStorage;
      if (value === null) storage.removeItem('console-' + key);
      else storage.setItem('console-' + key, value);
    } catch {
      // Without storage the value lives as long as the page.
    }
  },
};
