// A turn as one JSON document, for connections whose proxy buffers streams.

/** Passes its parts to `take` as the events of a stream; true at the end of the turn. */
export const takeDocument = async (response: Response, take: (name: string, data: never) => boolean): Promise<boolean> => {
  const { data } = await response.json();
  data.suggestions = { items: data.suggestions };
  for (const name of ['session', 'ack', 'message', 'suggestions', 'form', 'handoff']) if (data[name]) take(name, data[name] as never);
  return take('done', data as never);
};
