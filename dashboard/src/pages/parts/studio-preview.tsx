// What visitors will see: the launcher, the panel and the first words, as they are typed.
import { agent, agents, t, type Values } from '../../kit';

const lightness = (hex: string) => {
  const long = hex.length == 4 ? '#' + [...hex.slice(1)].map((digit) => digit + digit).join('') : hex;
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(long.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
/** The text that reads better on a colour, as the widget chooses it. */
export const textOn = (hex: string): string => {
  const l = lightness(hex);
  return 1.05 / (l + 0.05) >= (l + 0.05) / 0.05 ? '#fff' : '#000';
};
export const Preview = ({ values }: { values: Values }) => {
  const text = (path: string) => String(values['appearance.' + path] ?? '').trim();
  const typed = text('color');
  const color = /^#([\da-f]{3}|[\da-f]{6})$/i.test(typed) ? typed : '#3b5bdb';
  const title = text('title') || (agents.value?.find((one) => one.id == agent.value)?.name ?? '');
  const suggestions = text('suggestions').split('\n').map((line) => line.trim()).filter(Boolean).slice(0, 6);
  return (
    <aside class="previewing" aria-label={t('Preview')}>
      <div class={`preview ${text('theme')}`} style={{ '--agent': color, '--on-agent': textOn(color) }}>
        <header><span class="face" aria-hidden="true">{[...title][0]}</span><div class="grow"><span class="strong cut" dir="auto">{title}</span>{text('subtitle') && <span class="small cut" dir="auto">{text('subtitle')}</span>}</div></header>
        <div class="words">
          <p class="said" dir="auto">{text('greeting') || t('Hello! How can I help?')}</p>
          {suggestions.map((one) => <span class="suggested" dir="auto">{one}</span>)}
        </div>
        <div class="field-like muted">{t('Write a message…')}</div>
        <p class="small muted foot" dir="auto">{text('disclosure') || t('Answers come from an AI and may be wrong.')}{text('footer') && <><br />{text('footer')}</>}</p>
      </div>
      <div class={`launch ${text('position')}`}>{text('teaser.text') && <span class="teaser" dir="auto">{text('teaser.text')}</span>}<span class="button-like" style={{ '--agent': color, '--on-agent': textOn(color) }} aria-hidden="true" /></div>
      <p class="muted small">{t('A sketch of the first view, in the words of this page. Install shows the tag to see the widget itself.')}</p>
    </aside>
  );
};
