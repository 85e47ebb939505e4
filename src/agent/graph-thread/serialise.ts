type Message = { toDict(): { type: string; data: Record<string, unknown> }; concat?: unknown; constructor: { lc_name?: () => string } };

/** By shape, not by class: the user's graph brings its own copy of the message classes. */
export const isMessage = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && typeof (value as { toDict?: unknown }).toDict === 'function';

export const isChunk = (message: Message): boolean => typeof message.concat === 'function' && nameOf(message).endsWith('Chunk');

const nameOf = (message: Message): string => message.constructor.lc_name?.() ?? '';

/** What LangChain's own message classes have in common, and what a class may add to what it writes. */
type OwnMessage = Message & {
  lc_serializable?: boolean;
  lc_kwargs?: Record<string, unknown>;
  lc_aliases?: Record<string, string>;
  lc_attributes?: unknown;
  lc_secrets?: unknown;
  _getType?: () => string;
};

/**
 * Returns a message as clients know it. The common classes are read here: `toDict` looks through all their ancestors at
 * each call.
 */
export function plainMessage(message: OwnMessage): Record<string, unknown> {
  const { lc_kwargs: given, lc_aliases: aliases = {} } = message;
  const common = message.lc_serializable === true && given !== undefined && message._getType !== undefined;
  if (!common || message.lc_attributes !== undefined || message.lc_secrets !== undefined) {
    const { type, data } = message.toDict();
    return { ...data, type };
  }
  const fields = message as Record<string, unknown>;
  const data: Record<string, unknown> = {};
  for (const name of Object.keys(given)) data[aliases[name] ?? written(name)] = name in message ? fields[name] : given[name];
  data['type'] = message._getType!();
  return data;
}

/** Names of fields -> as LangChain writes them. */
// oxlint-disable-next-line house/module-state -- names that never change, asked for at each field of each message
const WRITTEN = new Map<string, string>();
const REMEMBERED = 200;

/** Returns a field's name as LangChain writes it. */
function written(name: string): string {
  const known = WRITTEN.get(name);
  if (known !== undefined) return known;
  const spaced = name.replaceAll(/([A-Z]+)([A-Z][a-z0-9]+)/g, '$1_$2').replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2');
  const snake = spaced.replaceAll(/[-_\s]+/g, '_').toLowerCase();
  if (WRITTEN.size < REMEMBERED) WRITTEN.set(name, snake);
  return snake;
}

/**
 * Returns any value of a graph as one line of JSON, with messages in the form that clients know (`{type, content, id,
 * ...}`), or in that of `form`.
 */
export function toJson(value: unknown, form = plainMessage): string {
  return (
    JSON.stringify(value, function replace(this: Record<string, unknown>, key: string, given: unknown) {
      const raw = this[key];
      if (isMessage(raw)) return form(raw);
      if (raw instanceof Error) return { error: raw.name, message: raw.message };
      return typeof given === 'bigint' ? given.toString() : given;
    }) ?? 'null'
  );
}

/** Returns a message part as it streams: it keeps the class name that tells clients to append it. */
export const chunkForm = (message: Message): Record<string, unknown> =>
  isChunk(message) ? { ...plainMessage(message), type: nameOf(message) } : plainMessage(message);
