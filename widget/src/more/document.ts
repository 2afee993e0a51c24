// A turn that comes as one document: some intermediary between here and the server collects streams.

/** Hands its parts to `take` as the events of a stream; true at the end of the turn. */
export const takeWhole = async (answer: Response, take: (name: string, data: never) => boolean): Promise<boolean> => {
  const { data } = await answer.json();
  data.suggestions = { items: data.suggestions };
  for (const name of ['session', 'ack', 'message', 'suggestions', 'form', 'handoff']) if (data[name]) take(name, data[name] as never);
  return take('done', data as never);
};
