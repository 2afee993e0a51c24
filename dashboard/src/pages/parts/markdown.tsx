// Replies of agents as elements, never as HTML: paragraphs, lists, quotes, bold, code, links.
import type { ComponentChildren } from 'preact';

const INLINE = /\*\*([^*\n]+)\*\*|`([^`\n]+)`|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)|\[(\d{1,2})\]/g;
/** The beginning of a reply, in one line and without its marks. */
export const plain = (text: string): string =>
  text.replace(/(^|[.:!?]\s+)[>*-] /gm, '$1').replace(INLINE, (_all, bold, code, link) => bold ?? code ?? link ?? '').replace(/\s+/g, ' ').trim();
const inline = (text: string): ComponentChildren[] => {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    out.push(text.slice(at, match.index));
    if (match[1]) out.push(<strong>{match[1]}</strong>);
    else if (match[2]) out.push(<code>{match[2]}</code>);
    else if (match[3]) out.push(<a href={match[4]} target="_blank" rel="noopener noreferrer">{match[3]}</a>);
    else out.push(<span class="small muted">[{match[5]}]</span>);
    at = match.index + match[0].length;
  }
  out.push(text.slice(at));
  return out;
};
/** An empty line ends a block, and so does the begin or the end of a quote. */
const blocks = (text: string): string[] => text.replace(/^(?!>)(.+)\n(?=>)|^(>.*)\n(?!>)/gm, '$1$2\n\n').split(/\n{2,}/);
/** The text of a reply. */
export const Markdown = ({ text }: { text: string }) => (
  <>
    {blocks(text).map((block) => {
      const lines = block.split('\n');
      if (lines.every((line) => /^\s*[-*] /.test(line))) return <ul>{lines.map((line) => <li>{inline(line.replace(/^\s*[-*] /, ''))}</li>)}</ul>;
      if (lines.every((line) => line.startsWith('>'))) return <blockquote>{inline(lines.map((line) => line.replace(/^> ?/, '')).join('\n'))}</blockquote>;
      return <p>{inline(block)}</p>;
    })}
  </>
);
