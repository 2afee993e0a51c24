// A parser of event streams that takes its input in pieces cut anywhere.

/** One event: its name, its data and the id it carried. */
export type OnEvent = (name: string, data: string, id: string) => void;

/** Returns a function that takes the next piece of the stream. */
export const eventStream = (onEvent: OnEvent): ((bytes: Uint8Array) => void) => {
  const decoder = new TextDecoder();
  let rest = '';
  let afterReturn = false;
  let name = '';
  let data: string[] = [];
  let id = '';

  const line = (text: string) => {
    if (!text) {
      if (data.length) onEvent(name || 'message', data.join('\n'), id);
      name = '';
      data = [];
      return;
    }
    const colon = text.indexOf(':');
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + (text[colon + 1] == ' ' ? 2 : 1));
    if (field == 'event') name = value;
    else if (field == 'data') data.push(value);
    else if (field == 'id') id = value;
  };

  return (bytes) => {
    let text = decoder.decode(bytes, { stream: true });
    // A line feed that belongs to the carriage return of the piece before.
    if (afterReturn && text) {
      if (text[0] == '\n') text = text.slice(1);
      afterReturn = false;
    }
    if (!text) return;
    afterReturn = text.endsWith('\r');
    const lines = text.split(/\r\n|\r|\n/);
    lines[0] = rest + lines[0];
    rest = lines.pop() as string;
    lines.forEach(line);
  };
};
