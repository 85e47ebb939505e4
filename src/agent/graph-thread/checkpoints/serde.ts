import type { SerializerProtocol } from '@langchain/langgraph-checkpoint';
import * as langchain from '@langchain/core/messages';

/*
 * This file holds the form in which values of channels are stored: LangGraph's, with a short way for plain data and
 * messages, of which most states are made.
 */

type Json = Record<string, unknown>;
type Message = new (fields: Json) => object;

/**
 * The form of messages: objects, as LangGraph needs them, or records as they were written, for those who only show
 * them.
 */
export type Form = 'objects' | 'records';

// Each class has its own constructor type; all take the fields that they have written.
const CLASSES = langchain as unknown as Record<string, Message>;

/** Class names that LangChain writes -> the type that clients know. */
const TYPES: Record<string, string> = {
  AIMessage: 'ai',
  AIMessageChunk: 'ai',
  HumanMessage: 'human',
  HumanMessageChunk: 'human',
  SystemMessage: 'system',
  SystemMessageChunk: 'system',
  ToolMessage: 'tool',
  ToolMessageChunk: 'tool',
  RemoveMessage: 'remove',
};

/** A message that nobody changes: it holds what was written, without the cost of its class. */
class MessageRecord {
  readonly #type: string;
  readonly #data: Json;

  constructor(type: string, data: Json) {
    this.#type = type;
    this.#data = data;
  }

  toDict(): { type: string; data: Json } {
    return { type: this.#type, data: this.#data };
  }
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const isUndefined = (value: Json): boolean => value['lc'] === 2 && value['type'] === 'undefined';

/** Returns true when nothing in the value has to be made by LangChain's own loader. */
function isPlain(value: unknown): boolean {
  if (!isObject(value)) return true;
  if (Array.isArray(value)) return value.every(isPlain);
  if ('lc' in value) return isUndefined(value);
  return !('__lc_escaped__' in value) && Object.values(value).every(isPlain);
}

/** Returns the class's name where the record is a message of plain data. */
export function messageName({ lc, type, id, kwargs }: Json): string | undefined {
  if (lc !== 1 || type !== 'constructor' || !Array.isArray(id) || id[0] !== 'langchain_core' || id[1] !== 'messages') return undefined;
  const name = id.at(-1) as string;
  return Object.hasOwn(TYPES, name) && isObject(kwargs) && isPlain(kwargs) ? name : undefined;
}

/**
 * By class, the written names with the constructor's fields: the alias, else camel case, as LangChain's loader does.
 */
// oxlint-disable-next-line house/module-state -- names that never change, asked for at each field of each message
const FIELDS = new Map<string, Map<string, string>>();

function fieldsOf(name: string): Map<string, string> {
  const known = FIELDS.get(name);
  if (known !== undefined) return known;
  const fields = new Map<string, string>();
  for (let at = CLASSES[name] as { prototype?: object } | null; at?.prototype; at = Object.getPrototypeOf(at) as typeof at)
    for (const [field, written] of Object.entries((Reflect.get(at.prototype, 'lc_aliases') as Record<string, string> | undefined) ?? {}))
      fields.set(written, field);
  FIELDS.set(name, fields);
  return fields;
}

/** The most names that are remembered of a class. A message has a dozen; data may bring any number of others. */
const REMEMBERED = 100;

function fieldName(written: string, fields: Map<string, string>): string {
  const known = fields.get(written);
  if (known !== undefined) return known;
  const name = camelCase(written);
  if (fields.size < REMEMBERED) fields.set(written, name);
  return name;
}

function camelCase(written: string): string {
  const trimmed = written.trim();
  if (!/[-_\s]/.test(trimmed)) return trimmed;
  const snake = trimmed.replaceAll(/[-_\s]+/g, '_').toLowerCase();
  return snake.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns a message of the class; the written fields become its own. */
export function message(name: string, kwargs: Json, form: Form): object {
  if (form === 'records') return new MessageRecord(TYPES[name]!, kwargs);
  const fields = fieldsOf(name);
  const given: Json = {};
  for (const [written, value] of Object.entries(kwargs)) if (value !== undefined) given[fieldName(written, fields)] = value;
  return new CLASSES[name]!(given);
}

/**
 * Returns a copy of a message's plain data. LangChain's loader reads it as JSON, where undefined is null in a list, and
 * absent elsewhere.
 */
export function messageData(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (Array.isArray(value)) return value.map((part: unknown) => (isObject(part) && isUndefined(part) ? null : messageData(part)));
  const copy: Json = {};
  for (const name of Object.keys(value)) {
    const part = value[name];
    if (!isObject(part)) setField(copy, name, part);
    else if (!isUndefined(part)) setField(copy, name, messageData(part));
  }
  return copy;
}

/** A part that only LangChain's loader can make, with the place where it belongs. */
type Late = { holder: Json; name: string; record: Json };

/** Sets a field, also one named `__proto__`, which is a field like any other. */
export function setField(holder: Json, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true });
  else holder[name] = value;
}

/** Returns a parsed value with its objects made anew, and leaves the parsed one as it is. */
function revived(part: unknown, form: Form, late: Late[], place: { holder: Json; name: string }): unknown {
  if (!isObject(part)) return part;
  if (!('lc' in part)) return revivedParts(part, form, late);
  if (isUndefined(part)) return undefined;
  const known = messageName(part);
  if (known !== undefined) return message(known, messageData(part['kwargs']) as Json, form);
  late.push({ ...place, record: part });
  return part;
}

function revivedParts(parts: Json, form: Form, late: Late[]): Json {
  const holder = (Array.isArray(parts) ? [] : {}) as Json;
  for (const name of Object.keys(parts)) {
    const part = parts[name];
    setField(holder, name, isObject(part) ? revived(part, form, late, { holder, name }) : part);
  }
  return holder;
}

/** The text that LangGraph writes in the place where a value holds itself. */
const CYCLE = '"[Circular]"';

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Thrown for what JSON can't write without LangGraph's help. */
const EXOTIC = new Error('exotic');
const UNDEFINED = { lc: 2, type: 'undefined' };

function plainOnly(_: string, value: unknown): unknown {
  if (value === undefined) return UNDEFINED;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw EXOTIC;
  return value;
}

/**
 * LangGraph's serialiser, which reads messages ten times faster here: it needs no promise for each of their parts, and
 * does not parse them twice.
 */
export class Serde implements SerializerProtocol {
  readonly #own: SerializerProtocol;

  /** `own` is the serialiser that LangGraph brings, for all that is neither plain data nor a message. */
  constructor(own: SerializerProtocol) {
    this.#own = own;
  }

  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    if (value instanceof Uint8Array) return ['bytes', value];
    try {
      return ['json', encoder.encode(JSON.stringify(value, plainOnly))];
    } catch {
      // The value has a cycle, or a class that LangGraph knows.
      return this.#own.dumpsTyped(value);
    }
  }

  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    if (type !== 'json') return this.#own.loadsTyped(type, data);
    return this.revive(JSON.parse(typeof data === 'string' ? data : decoder.decode(data)));
  }

  /** Does the same for a value that is already parsed, and leaves it as it is. */
  async revive(value: unknown, form: Form = 'objects'): Promise<unknown> {
    if (!isObject(value)) return value;
    const root: Json = {};
    const late: Late[] = [];
    root['value'] = revived(value, form, late, { holder: root, name: 'value' });
    for (const { holder, name, record } of late) setField(holder, name, await this.#own.loadsTyped('json', JSON.stringify(record)));
    return root['value'];
  }

  /**
   * Returns one element of a list as it is stored, which is what the whole list would hold in its place. Returns
   * undefined where it has a cycle, because only the list as a whole can tell where that ends.
   */
  async dumpElement(element: unknown): Promise<string | undefined> {
    const [type, written] = await this.dumpsTyped([element]);
    const text = type === 'json' ? decoder.decode(written) : '';
    return text.startsWith('[') && !text.includes(CYCLE) ? text.slice(1, -1) : undefined;
  }
}
