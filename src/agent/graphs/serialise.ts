type Message = { toDict(): { type: string; data: Record<string, unknown> }; concat?: unknown; constructor: { lc_name?: () => string } };

/** By shape, not by class: the user's graph brings its own copy of the message classes. */
export const isMessage = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && typeof (value as { toDict?: unknown }).toDict === 'function';

export const isChunk = (message: Message): boolean => typeof message.concat === 'function' && nameOf(message).endsWith('Chunk');

const nameOf = (message: Message): string => message.constructor.lc_name?.() ?? '';

function plain(message: Message): Record<string, unknown> {
  const { type, data } = message.toDict();
  return { ...data, type };
}

/** Any value of a graph as one line of JSON; messages in the form clients know (`{type, content, id, ...}`). */
export function toJson(value: unknown): string {
  return (
    JSON.stringify(value, function replace(this: Record<string, unknown>, key: string, given: unknown) {
      const raw = this[key];
      if (isMessage(raw)) return plain(raw);
      if (raw instanceof Error) return { error: raw.name, message: raw.message };
      return typeof given === 'bigint' ? given.toString() : given;
    }) ?? 'null'
  );
}

/** A message part as it streams: it keeps the class name that tells clients to append it. */
export const chunkForm = (message: Message): Record<string, unknown> =>
  isChunk(message) ? { ...plain(message), type: nameOf(message) } : plain(message);
