import { buildAesHeads } from './aes.ts';
import { MODULE_KEY } from '../../schema/agent/aes-key-id.ts';
import { CUSTOM, CUSTOM_FORM, MAGIC, SEALED_TEXT } from './codec.ts';

/** The signs that a value is sealed by certain keys: `text` are patterns of LIKE, `bytes` stand in the bytes. */
export type Marks = { text: string[]; bytes: Buffer[] };

/** Characters that two base64 texts share whose first so many bytes are the same. */
const encodeSharedPrefix = (bytes: Buffer): string =>
  bytes.toString('base64').slice(0, Math.floor((bytes.length * 8) / 6));

/**
 * Returns the marks of keys by their ids. Base64 stands in packs, and in values that a write replaced. A matching value
 * may still be something else; values sealed by the keys are always found.
 */
export function buildKeyMarks(keyIds: string[]): Marks {
  const marks: Marks = { text: [], bytes: [] };
  for (const id of keyIds) {
    const heads = id === MODULE_KEY ? [Buffer.of(CUSTOM_FORM)] : buildAesHeads(id);
    const texts = id === MODULE_KEY ? [CUSTOM] : heads.map(encodeSharedPrefix);
    for (const text of texts) {
      const json = Buffer.from(SEALED_TEXT + text);
      marks.text.push(`%"${text}%`, `%"${encodeSharedPrefix(json)}%`);
      marks.bytes.push(json);
    }
    for (const head of heads) {
      const bytes = Buffer.concat([MAGIC, head]);
      marks.text.push(`%"${encodeSharedPrefix(bytes)}%`);
      marks.bytes.push(bytes);
    }
  }
  return marks;
}
