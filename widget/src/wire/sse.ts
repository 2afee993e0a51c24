// A parser of event streams that takes its input in pieces cut anywhere.

/** One event: its name, its data and the id it carried. */
export type OnEvent = (name: string, data: string, id: string) => void;

/** Returns a function that takes the next piece of the stream. */
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
    // A line feed that belongs to the carriage return of the piece before.
    if (afterReturn && text[0] == '\n') lines.shift();
    if (text) afterReturn = text.endsWith('\r');
    lines[0] = rest + lines[0];
    rest = lines.pop() as string;
    lines.forEach(line);
  };
};
