import { isComposite } from '../../schema/json.ts';

type Message = {
  toDict(): { type: string; data: Record<string, unknown> };
  concat?: unknown;
  constructor: { lc_name?: () => string };
};

/**
 * Knows a message by its shape, not by its class, because the user's graph brings its own copy of the message classes.
 */
export const isMessage = (value: unknown): value is Message =>
  isComposite(value) && typeof value['toDict'] === 'function';

export const isChunk = (message: Message): boolean =>
  typeof message.concat === 'function' && getClassName(message).endsWith('Chunk');

const getClassName = (message: Message): string => message.constructor.lc_name?.() ?? '';

/** The fields that LangChain's own message classes share, and those that a class may add to its written form. */
type OwnMessage = Message & {
  lc_serializable?: boolean;
  lc_kwargs?: Record<string, unknown>;
  lc_aliases?: Record<string, string>;
  lc_attributes?: unknown;
  lc_secrets?: unknown;
  content?: unknown;
  _getType?: () => string;
};

/**
 * Returns a message as clients know it. The common classes are read here, because `toDict` looks through all their
 * ancestors at each call.
 */
export function toPlainMessage(message: OwnMessage): Record<string, unknown> {
  const { lc_kwargs: given, lc_aliases: aliases = {} } = message;
  const common =
    message.lc_serializable === true && given !== undefined && message._getType !== undefined;
  if (!common || message.lc_attributes !== undefined || message.lc_secrets !== undefined) {
    const { type, data } = message.toDict();
    return addContent({ ...data, type }, message.content);
  }
  const fields = message as Record<string, unknown>;
  const data: Record<string, unknown> = {};
  for (const name of Object.keys(given))
    data[aliases[name] ?? toWrittenName(name)] = name in message ? fields[name] : given[name];
  data['type'] = message._getType!();
  return addContent(data, message.content);
}

/**
 * Gives a message its content where LangChain.js does not write it: that of a message made of `contentBlocks` stands
 * among these alone, and one made without any content has none to write. Clients know messages by their content.
 */
function addContent(data: Record<string, unknown>, content: unknown): Record<string, unknown> {
  if (data['content'] === undefined) data['content'] = content ?? data['content_blocks'] ?? [];
  return data;
}

/** Names of fields, with their spelling in LangChain's written form. */
// oxlint-disable-next-line house/module-state -- names that never change, asked for at each field of each message
const WRITTEN = new Map<string, string>();
const REMEMBERED = 200;

function toWrittenName(name: string): string {
  const known = WRITTEN.get(name);
  if (known !== undefined) return known;
  const spaced = name
    .replaceAll(/([A-Z]+)([A-Z][a-z0-9]+)/g, '$1_$2')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2');
  const snake = spaced.replaceAll(/[-_\s]+/g, '_').toLowerCase();
  if (WRITTEN.size < REMEMBERED) WRITTEN.set(name, snake);
  return snake;
}

/**
 * Returns any value of a graph as one line of JSON, with messages in the form that clients know (`{type, content, id,
 * ...}`), or in that of `form`. Messages are put into that form first, because `JSON.stringify` would ask each for
 * LangChain's own form before its replacer sees it, which takes ten times as long.
 */
export function toJson(value: unknown, form = toPlainMessage): string {
  try {
    return JSON.stringify(toShown(value, form)) ?? 'null';
  } catch (error) {
    // A cycle is reported with its path.
    if (error instanceof RangeError) JSON.stringify(value);
    throw error;
  }
}

/**
 * Returns the same for a state of which `listText` knows the JSON of some lists; it returns undefined for others.
 * Returns undefined where it knows none.
 */
export function toStateJson(
  state: unknown,
  listText: (list: unknown[]) => string | undefined,
): string | undefined {
  if (!isComposite(state) || Object.getPrototypeOf(state) !== Object.prototype || 'toJSON' in state)
    return undefined;
  const texts = Object.entries(state).map(
    ([name, value]) => [name, Array.isArray(value) ? listText(value) : undefined, value] as const,
  );
  if (texts.every(([, known]) => known === undefined)) return undefined;
  const shownFields = texts.filter(
    ([, , value]) => value !== undefined && typeof value !== 'function',
  );
  return `{${shownFields.map(([name, known, value]) => `${JSON.stringify(name)}:${known ?? toJson(value)}`).join(',')}}`;
}

/** Returns, as JSON, the fields of a state that are neither objects nor lists there. */
export function toPlainJson(state: object): string {
  const fields = Object.entries(state).filter(
    ([, value]) => !isComposite(value) || isScalar(value),
  );
  return toJson(Object.fromEntries(fields));
}

/** Returns true for an object that JSON has as a text, a number or a truth value. */
const isScalar = (value: object): boolean =>
  (hasOwnForm(value) || isBoxed(value)) && !/^[[{]/.test(toJson(value));

type Form = (message: Message) => Record<string, unknown>;

function toShown(value: unknown, form: Form): unknown {
  if (!isComposite(value)) return typeof value === 'bigint' ? value.toString() : value;
  if (Array.isArray(value)) return value.map((part) => toShown(part, form));
  if (isMessage(value)) return toFields(form(value), form);
  if (Object.getPrototypeOf(value) === Object.prototype && !hasOwnForm(value))
    return toFields(value, form);
  if (value instanceof Error) return { error: value.name, message: value.message };
  const content = toContent(value);
  if (content !== undefined) return toShown(content, form);
  if (hasOwnForm(value)) return toShown(value.toJSON(''), form);
  if (isBoxed(value)) return value;
  return toFields(value, form);
}

/**
 * Returns the content of an object of the language, of which JSON would show nothing or its inner parts, in the form of
 * the same value of Python; undefined for other objects.
 */
function toContent(value: object): unknown {
  if (value instanceof Map) {
    const entries = [...value];
    return entries.every(([key]) => !isComposite(key))
      ? Object.fromEntries(entries.map(([key, one]) => [String(key), one]))
      : entries;
  }
  if (value instanceof Set) return [...value];
  if (value instanceof RegExp) return String(value);
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64');
  if (!ArrayBuffer.isView(value)) return undefined;
  if (value instanceof Uint8Array || value instanceof DataView)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  return Array.from(value as ArrayBufferView & ArrayLike<number | bigint>);
}

/** Returns true for the objects of `new String` and its like, of which JSON has the content. */
const isBoxed = (value: object): boolean =>
  Object.getPrototypeOf(value) !== Object.prototype &&
  /String|Number|Boolean|BigInt/.test(Object.prototype.toString.call(value));

const hasOwnForm = (value: object): value is { toJSON(key: string): unknown } =>
  typeof (value as { toJSON?: unknown }).toJSON === 'function';

function toFields(fields: Record<string, unknown>, form: Form): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const converted =
      typeof value === 'object' || typeof value === 'bigint' ? toShown(value, form) : value;
    if (name === '__proto__')
      Object.defineProperty(all, name, { value: converted, enumerable: true });
    else all[name] = converted;
  }
  return all;
}

/** Returns a message part as it streams, with the class name that tells clients to append it. */
export const toMessageChunk = (message: Message): Record<string, unknown> =>
  isChunk(message)
    ? { ...toPlainMessage(message), type: getClassName(message) }
    : toPlainMessage(message);
