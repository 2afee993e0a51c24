// Replies of agents as elements, never as HTML: paragraphs, lists, bold, code, links.
import type { ComponentChildren } from 'preact';

const INLINE = /\*\*([^*\n]+)\*\*|`([^`\n]+)`|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)|\[(\d{1,2})\]/g;
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
/** The text of a reply. */
export const Markdown = ({ text }: { text: string }) => (
  <>
    {text.split(/\n{2,}/).map((block) => {
      const lines = block.split('\n');
      if (lines.every((line) => /^\s*[-*] /.test(line))) return <ul>{lines.map((line) => <li>{inline(line.replace(/^\s*[-*] /, ''))}</li>)}</ul>;
      return <p>{inline(block)}</p>;
    })}
  </>
);
