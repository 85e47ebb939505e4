import { DeltaSnapshot, type SerializerProtocol } from '@langchain/langgraph-checkpoint';
import * as langchain from '@langchain/core/messages';
import { Allowed, NO_CLASSES, type AllowedClasses } from './allowed.ts';
import { toDataJson, escapeRecords, readEscapedData } from './escaped.ts';
import { type Json, isComposite, isObject } from '../../../schema/json.ts';
import { refuseReplaced } from './unstored.ts';

/*
 * This file holds the form in which values of channels are stored: LangGraph's, with a short way for plain data and
 * messages, of which most states are made. Values are read as data, messages, the few classes of JavaScript that
 * LangGraph writes, and those that gx.json allows. Any other record that names a class stays data, because anyone who
 * can write into a state could have any class made otherwise.
 */

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
  FunctionMessage: 'function',
  FunctionMessageChunk: 'function',
  ChatMessage: 'generic',
  ChatMessageChunk: 'generic',
};

/** A message that nobody changes: it holds the written data, without the cost of its class. */
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

/** The name under which LangChain writes data that looks like a record of its own. */
const ESCAPED = '__lc_escaped__';

const isUndefined = (value: Json): boolean => value['lc'] === 2 && value['type'] === 'undefined';

/** Returns true when nothing in the value has to be made by LangChain's own loader. */
function isPlain(value: unknown): boolean {
  if (!isComposite(value)) return true;
  if (Array.isArray(value)) return value.every(isPlain);
  if ('lc' in value) return isUndefined(value);
  return !(ESCAPED in value) && Object.values(value).every(isPlain);
}

/** Returns the class's name where the record is a message of plain data. */
export function readMessageName(record: Json): string | undefined {
  const name = readMessageClass(record);
  return name !== undefined && isPlain(record['kwargs']) ? name : undefined;
}

function readMessageClass({ lc, type, id, kwargs }: Json): string | undefined {
  if (
    lc !== 1 ||
    type !== 'constructor' ||
    !Array.isArray(id) ||
    id[0] !== 'langchain_core' ||
    id[1] !== 'messages'
  )
    return undefined;
  const name: unknown = id.at(-1);
  return typeof name === 'string' && Object.hasOwn(TYPES, name) && isObject(kwargs)
    ? name
    : undefined;
}

/**
 * By class, the written names with the constructor's fields: the alias, else camel case, as LangChain's loader does.
 */
// oxlint-disable-next-line house/module-state -- names that never change, asked for at each field of each message
const FIELDS = new Map<string, Map<string, string>>();

function mapFields(name: string): Map<string, string> {
  const known = FIELDS.get(name);
  if (known !== undefined) return known;
  const fields = new Map<string, string>();
  for (
    let at = CLASSES[name] as { prototype?: object } | null;
    at?.prototype;
    at = Object.getPrototypeOf(at) as typeof at
  )
    for (const [field, written] of Object.entries(
      (Reflect.get(at.prototype, 'lc_aliases') as Record<string, string> | undefined) ?? {},
    ))
      fields.set(written, field);
  FIELDS.set(name, fields);
  return fields;
}

/** The most names that are remembered of a class. A message has a dozen; data may bring any number of others. */
const REMEMBERED = 100;

function toFieldName(written: string, fields: Map<string, string>): string {
  const known = fields.get(written);
  if (known !== undefined) return known;
  const name = toCamelCase(written);
  if (fields.size < REMEMBERED) fields.set(written, name);
  return name;
}

function toCamelCase(written: string): string {
  const trimmed = written.trim();
  if (!/[-_\s]/.test(trimmed)) return trimmed;
  const snake = trimmed.replaceAll(/[-_\s]+/g, '_').toLowerCase();
  return snake.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns a message of the class; the written fields become its own. */
export function createMessage(name: string, kwargs: Json, form: Form): object {
  if (form === 'records') return new MessageRecord(TYPES[name]!, kwargs);
  const fields = mapFields(name);
  const given: Json = {};
  for (const [written, value] of Object.entries(kwargs))
    if (value !== undefined) given[toFieldName(written, fields)] = value;
  return new CLASSES[name]!(given);
}

/** Returns the constructor of messages of a class. */
export const getMessageClass = (name: string): Message => CLASSES[name]!;

/** Returns the fields of a message of plain data as its constructor knows them. They share the stored values. */
export function toMessageFields(name: string, stored: Json): Json {
  const fields = mapFields(name);
  const given: Json = {};
  for (const [written, value] of Object.entries(stored))
    if (!isComposite(value) || !isUndefined(value))
      setField(given, toFieldName(written, fields), value);
  return given;
}

/**
 * Returns a copy of a message's data. LangChain's loader reads it as JSON, where undefined is null in a list, and
 * absent elsewhere. `inner` makes the other objects in it; without it the data is plain.
 */
export function copyMessageData(value: unknown, inner?: (record: Json) => unknown): unknown {
  if (!isComposite(value)) return value;
  if (Array.isArray(value))
    return value.length === 0
      ? []
      : value.map((part: unknown) =>
          isComposite(part) && isUndefined(part) ? null : copyMessageData(part, inner),
        );
  if (inner !== undefined && 'lc' in value) return inner(value);
  // A message marks values that are only data, whatever they look like.
  if (inner !== undefined && isComposite(value[ESCAPED]) && Object.keys(value).length === 1)
    return value[ESCAPED];
  const copy: Json = {};
  for (const name of Object.keys(value)) {
    const part = value[name];
    if (!isComposite(part)) setField(copy, name, part);
    else if (!isUndefined(part)) setField(copy, name, copyMessageData(part, inner));
  }
  return copy;
}

/** A part that gx.json allows LangChain's loader to make, with the place where it belongs. */
type Late = { holder: Json; name: string; record: Json };

/** Sets a field, also one named `__proto__`, which is a field like any other. */
export function setField(holder: Json, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(holder, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  else holder[name] = value;
}

type Restoration = { form: Form; late: Late[]; allowed: Allowed };

/** Returns a parsed value with new objects, and leaves the parsed one as it is. */
function restoreValue(
  part: unknown,
  making: Restoration,
  place: { holder: Json; name: string },
): unknown {
  if (!isComposite(part)) return part;
  if (!('lc' in part)) return restoreParts(part, making);
  if (part['lc'] === 2) return isUndefined(part) ? undefined : restoreBuiltIn(part, making);
  const name = readMessageClass(part);
  if (name !== undefined && !making.allowed.isIn(part['kwargs'])) {
    const restoreInner = (record: Json): unknown =>
      restoreValue(record, making, { holder: {}, name: '' });
    return createMessage(name, copyMessageData(part['kwargs'], restoreInner) as Json, making.form);
  }
  if (name !== undefined || making.allowed.isAllowed(part))
    making.late.push({ ...place, record: part });
  return restoreParts(part, making);
}

function restoreParts(parts: Json, making: Restoration): Json {
  const holder = (Array.isArray(parts) ? [] : {}) as Json;
  for (const name of Object.keys(parts)) {
    const part = parts[name];
    setField(holder, name, isComposite(part) ? restoreValue(part, making, { holder, name }) : part);
  }
  return holder;
}

/** Returns the object of a class of JavaScript that LangGraph wrote; a record that it did not write stays data. */
function restoreBuiltIn(record: Json, making: Restoration): unknown {
  const data = readEscapedData(record);
  if (data !== undefined) return restoreParts(data, making);
  const parts = restoreParts(record, making);
  const { type, id, value, args } = parts;
  if (type === 'delta_snapshot' && 'value' in parts) return new DeltaSnapshot(value);
  const known =
    type === 'constructor' &&
    Array.isArray(id) &&
    id.length === 1 &&
    Object.hasOwn(BUILT_IN, String(id[0]));
  try {
    return known && Array.isArray(args) ? BUILT_IN[String(id[0])]!(args) : parts;
  } catch {
    return parts;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** Thrown for arguments that LangGraph does not write. */
const FOREIGN = new Error('foreign');

function refuse(): never {
  throw FOREIGN;
}

/** Class -> a function that makes it from the arguments that LangGraph writes, and throws for any others. */
const BUILT_IN: Readonly<Record<string, (args: unknown[]) => unknown>> = {
  Set: ([items]) => (Array.isArray(items) ? new Set<unknown>(items) : refuse()),
  Map: ([pairs]) => (Array.isArray(pairs) ? new Map(pairs as [unknown, unknown][]) : refuse()),
  RegExp: ([source, flags]) =>
    isText(source) && isText(flags) ? new RegExp(source, flags) : refuse(),
  Error: ([text]) => (isText(text) ? new Error(text) : refuse()),
  Uint8Array: ([bytes]) =>
    Array.isArray(bytes) && bytes.every(isByte) ? new Uint8Array(bytes as number[]) : refuse(),
};

const isByte = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;

/** The text that LangGraph writes in the place where a value holds itself. */
const CYCLE = '"[Circular]"';

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * LangGraph's serialiser, which reads messages ten times faster here: it needs no promise for each of their parts, and
 * does not parse them twice.
 */
export class Serde implements SerializerProtocol {
  readonly #own: SerializerProtocol;
  readonly #allowed: Allowed;

  /**
   * `own` is the serialiser that LangGraph brings, for all that is neither plain data nor a message. `allowed` are the
   * classes beyond messages that may be made.
   */
  constructor(own: SerializerProtocol, allowed: AllowedClasses = NO_CLASSES) {
    this.#own = own;
    this.#allowed = new Allowed(allowed, (record) => readMessageClass(record) !== undefined);
  }

  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    if (value instanceof Uint8Array) return ['bytes', value];
    const text = toDataJson(value);
    if (text !== undefined) return ['json', encoder.encode(text)];
    // LangGraph knows some classes, and how to write a value that holds itself.
    const stored = await this.#own.dumpsTyped(escapeRecords(value));
    refuseReplaced(value, stored);
    return stored;
  }

  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    if (type !== 'json') return this.#own.loadsTyped(type, data);
    return this.restore(JSON.parse(typeof data === 'string' ? data : decoder.decode(data)));
  }

  /** Does the same for a value that is already parsed, and leaves it as it is. */
  async restore(value: unknown, form: Form = 'objects'): Promise<unknown> {
    if (!isComposite(value)) return value;
    const root: Json = {};
    const late: Late[] = [];
    root['value'] = restoreValue(
      value,
      { form, late, allowed: this.#allowed },
      { holder: root, name: 'value' },
    );
    for (const { holder, name, record } of late) {
      const made = await this.#allowed.load(record);
      if (made !== undefined) setField(holder, name, made);
    }
    return root['value'];
  }

  /**
   * Returns one element of a list as it is stored, just as the whole list would hold it in its place. Returns undefined
   * where it has a cycle, because only the list as a whole can tell where that ends.
   */
  async encodeElement(element: unknown): Promise<string | undefined> {
    // A list with an element that has no stored form is refused as a whole, which names its field.
    const [, written] = await this.dumpsTyped([element]).catch(() => [undefined, undefined]);
    const text = decoder.decode(written);
    return text.startsWith('[') && !text.includes(CYCLE) ? text.slice(1, -1) : undefined;
  }
}
