import { randomInt } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Invalid, Problem } from '../../errors.ts';
import { runDeferred, type CostlyBodies, type BodyStep } from './costly-bodies.ts';
import { findExcess, lookAt, type JsonLimits } from './json-structure.ts';
import { readBoundedBytes } from './bounded-bytes.ts';

/** Limits of a request's body. A larger one is answered with 413. */
export type BodyLimits = {
  bytes: number;
  /** Bytes of a body that only selects records, as a search does. */
  selectionBytes: number;
  /**
   * Fields, list items, objects and lists that any body may hold. A large one may hold half as many more for each
   * MiB.
   */
  values: number;
  /** Items of a list whose items the interface describes. */
  listItems: number;
};

const MEBIBYTE = 1024 * 1024;

/** Bytes of a body that is parsed without a look at its structure. Whatever it holds, it takes milliseconds. */
const SMALL = 32 * 1024;

/** Bytes above which bodies take turns. A smaller one has too few values to block the event loop for long. */
const IN_TURN = 256 * 1024;

/**
 * Different names of fields in a body. V8 takes 1 to 2 microseconds for each of 10,000, ten times as long as for a
 * known one, and still longer for each of more.
 */
const MOST_NAMES = 10_000;

/** The secret under which names are counted. It may be anything, so one for the process is enough. */
const SEED = randomInt(2 ** 32);

/**
 * Reads a whole JSON body, and returns the result of `check`. An empty body is `undefined`. Throws 413 or 422, or
 * 429 when the caller has too many large bodies under way.
 */
export async function readJson<T>(
  request: IncomingMessage,
  {
    limits,
    seconds,
    costly,
    caller,
  }: { limits: BodyLimits; seconds: number | undefined; costly: CostlyBodies; caller: string },
  {
    refuse,
    check,
  }: {
    /** Throws the faults of a body. */
    refuse: (value: unknown) => void;
    /** Turns a body into the handler's value once it is read. */
    check: (value: unknown) => T;
  },
): Promise<T> {
  const bytes = await readBytesWithin(request, limits.bytes, seconds);
  if (bytes.length <= SMALL) {
    const value = bytes.length === 0 ? undefined : parseJson(bytes);
    refuse(value);
    return check(value);
  }
  const read = async (step: BodyStep): Promise<T> => {
    await refuseCostly(bytes, limits, step);
    const value = await step(() => parseJson(bytes));
    await step(() => refuse(value));
    return step(() => check(value));
  };
  return bytes.length <= IN_TURN
    ? read(runDeferred)
    : costly.runInTurn({ caller, bytes: bytes.length }, read);
}

/** Returns the bytes of a body. Throws 413 when they are too many. */
export function readBytes(request: IncomingMessage, limits: { bytes: number }): Promise<Buffer> {
  const { headers } = request;
  const buildTooLarge = (): Problem =>
    new Problem(413, `Request body is larger than ${limits.bytes} bytes`, {
      headers: { connection: 'close' },
    });
  const length =
    headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  if (length !== undefined && length > limits.bytes) throw buildTooLarge();
  return length === undefined
    ? readUnmeasured(request, limits.bytes, buildTooLarge)
    : readMeasured(request, length);
}

/** Returns the bytes that the headers announce, or the most that may come where they announce nothing. */
export function readAnnouncedBytes({ headers }: IncomingMessage, most: number): number {
  const length = headers['content-length'];
  return length === undefined ? most : Math.min(Number(length), most);
}

/** Returns the bytes of a body. Throws 413 when they are too many, and 408 when they have not come in time. */
export async function readBytesWithin(
  request: IncomingMessage,
  bytes: number,
  seconds: number | undefined,
): Promise<Buffer> {
  if (seconds === undefined) return readBytes(request, { bytes });
  const { promise, reject } = Promise.withResolvers<never>();
  // The connection is closed with the answer, so that nothing of the body stays.
  const late = new Problem(408, `The body did not arrive within ${seconds} seconds`, {
    headers: { connection: 'close' },
  });
  const timer = setTimeout(() => reject(late), seconds * 1000);
  try {
    return await Promise.race([readBytes(request, { bytes }), promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function refuseCostly(bytes: Buffer, limits: BodyLimits, step: BodyStep): Promise<void> {
  const look = lookAt(bytes, deriveLimits(bytes.length, limits), SEED);
  let piece = await step(() => look.next());
  while (piece.done !== true) piece = await step(() => look.next());
  const excess = piece.value;
  if (excess?.of === 'depth')
    throw new Invalid([{ loc: ['body'], msg: excess.msg, type: 'value_error' }]);
  if (excess !== undefined)
    throw new Problem(413, `Request body is too costly to read: ${excess.msg}`);
}

const deriveLimits = (bytes: number, { values }: BodyLimits): JsonLimits => ({
  names: MOST_NAMES,
  values: Math.floor(values * (1 + bytes / MEBIBYTE / 2)),
});

/** Refuses a text of a WebSocket that would be too costly to parse; undefined means that it may be parsed. */
export function checkTextCost(text: Uint8Array, limits: BodyLimits): string | undefined {
  return text.length <= SMALL
    ? undefined
    : findExcess(text, deriveLimits(text.length, limits), SEED)?.msg;
}

/** Reads a body whose length the headers give. The HTTP parser lets no more through. */
function readMeasured(request: IncomingMessage, length: number): Promise<Buffer> {
  // The memory is taken as it is written, so a client that announces much and sends little costs little.
  const whole = length > SMALL ? Buffer.allocUnsafeSlow(length) : undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      if (whole === undefined) chunks.push(chunk);
      else chunk.copy(whole, size);
      size += chunk.length;
    });
    request.once('end', () =>
      resolve(whole ?? (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))),
    );
    request.once('error', reject);
    request.once(
      'close',
      () => request.complete || reject(new Problem(400, 'The request ended before its body.')),
    );
  });
}

async function readUnmeasured(
  request: IncomingMessage,
  limit: number,
  tooLarge: () => Problem,
): Promise<Buffer> {
  const bytes = await readBoundedBytes(request as AsyncIterable<Buffer>, limit);
  if (bytes === undefined) throw tooLarge();
  return bytes;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (error) {
    throw new Invalid(
      [{ loc: ['body'], msg: 'Invalid JSON in request body', type: 'json_invalid' }],
      { cause: error },
    );
  }
}
