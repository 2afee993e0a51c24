// Sets the theme and the density before the first paint.
const root = document.documentElement;
const dark = matchMedia('(prefers-color-scheme: dark)');
const apply = () => {
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem('console-theme');
    root.dataset.density = localStorage.getItem('console-density') ?? 'comfortable';
  } catch {
    // Storage may be blocked: the system's theme holds.
  }
  root.dataset.theme = chosen == 'light' || chosen == 'dark' ? chosen : dark.matches ? 'dark' : 'light';
};
apply();
dark.addEventListener('change', apply);
addEventListener('console-theme', apply);
