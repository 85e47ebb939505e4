import type { TSchema } from 'typebox';
import { toFrame } from '../../src/schema/wire/wall/frames.ts';

/** Returns the JSON of a message as the other process parses it. */
export function headerOf(schema: TSchema, message: unknown): unknown {
  const frame = toFrame(schema, message);
  return JSON.parse(frame.subarray(8, 8 + frame.readUInt32LE(4)).toString()) as unknown;
}
