// A parser of event streams; chunks of the input may end anywhere.

/** One event: its name, data and id. */
export type OnEvent = (name: string, data: string, id: string) => void;

/** Returns a function that parses the next chunk of the stream. */
export const eventStream = (onEvent: OnEvent): ((bytes: Uint8Array) => void) => {
  const decoder = new TextDecoder();
  let rest = '';
  let afterReturn = false;
  let data: string[] = [];
  const last: Record<string, string> = { id: '' };

  const line = (text: string) => {
    if (!text) {
      if (data[0] != null) onEvent(last.event || 'message', data.join('\n'), last.id);
      last.event = '';
      data = [];
      return;
    }
    const [, field, value = ''] = /^(event|data|id)(?:: ?([^]*))?$/.exec(text) || [];
    if (field == 'data') data.push(value);
    else if (field) last[field] = value;
  };

  return (bytes) => {
    const text = decoder.decode(bytes, { stream: true });
    const lines = text.split(/\r\n|\r|\n/);
    // A line feed after the carriage return at the end of the previous chunk.
    if (afterReturn && text[0] == '\n') lines.shift();
    if (text) afterReturn = text.endsWith('\r');
    lines[0] = rest + lines[0];
    rest = lines.pop() as string;
    lines.forEach(line);
  };
};
