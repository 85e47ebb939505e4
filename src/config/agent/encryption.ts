import { ENCRYPTION_KEYS } from '../../schema/agent/aes-key-id.ts';
import type { SettingsReader } from '../env.ts';

/** How values are encrypted in the database. It is JSON, because it goes to the threads that run graphs. */
export type EncryptionSettings = {
  /** Secrets as base64. */
  keys: string[];
  /** True where the first key encrypts new values; false where the keys only read. */
  encrypts: boolean;
  /** Names of fields that are encrypted in metadata, config and context. */
  names: string[];
  /** True where a value is refused that is not encrypted. */
  strict?: boolean;
};

const KEY = ENCRYPTION_KEYS;
const STRICT = ['GX_AES_STRICT'];
const NAMES = ['GX_AES_JSON_KEYS', 'LANGGRAPH_AES_JSON_KEYS'];

/** Stands in the list before keys that only read. */
const NONE = 'none';

/** Lengths of a key that AES takes; other servers of this interface take the text itself as the key. */
const BYTES = [16, 24, 32];

/** Names that the server looks for in metadata and configs, besides those that begin with "langgraph_". */
const SYSTEM = [
  'assistant_id',
  'checkpoint_id',
  'checkpoint_ns',
  'configurable',
  'created_by',
  'graph_id',
  'recursion_limit',
  'run_attempt',
  'run_id',
  'thread_id',
];

/** Says whether the server looks for the name in metadata and configs, which then can't be encrypted under it. */
export const isSystemName = (name: string): boolean =>
  SYSTEM.includes(name) || name.startsWith('langgraph_');

/** Reads the keys; undefined where the database holds values as they are. */
export function readEncryptionSettings(read: SettingsReader): EncryptionSettings | undefined {
  const text = read.readOptional(KEY);
  const names = read.readWords(NAMES);
  const strict = read.readFlag(STRICT, false);
  if (text === undefined) {
    if (names.length > 0) read.addProblem(`${NAMES[0]} is set without ${KEY[0]}`);
    if (strict) read.addProblem(`${STRICT[0]} is set without ${KEY[0]}`);
    return undefined;
  }
  for (const name of names)
    if (isSystemName(name))
      read.addProblem(`${NAMES[0]} can't encrypt "${name}": the server searches by it`);
  const { encrypts, keys } = parseKeys(text);
  if (keys === undefined)
    read.addProblem(
      `${KEY[0]} must hold keys of 16, 24 or 32 bytes, or of 32 bytes as base64, with commas between them`,
    );
  if (strict && !encrypts)
    read.addProblem(
      `${STRICT[0]} needs a key that encrypts: ${KEY[0]} must not begin with "${NONE}"`,
    );
  return { keys: keys ?? [], encrypts, names, ...(strict && { strict }) };
}

/** Returns the keys that can read values, in base64. None if the setting is wrong, which the agent server tells. */
export function readDecryptionKeys(read: SettingsReader): string[] {
  const text = read.readOptional(KEY);
  return text === undefined ? [] : (parseKeys(text).keys ?? []);
}

/** A key may have a comma in it, where it is the only one. */
function parseKeys(text: string): { encrypts: boolean; keys: string[] | undefined } {
  const words = text.split(',').map((word) => word.trim());
  const encrypts = words[0] !== NONE;
  const listed = (encrypts ? words : words.slice(1)).map(toBase64);
  if (listed.length > 0 && listed.every((key) => key !== undefined))
    return { encrypts, keys: [...new Set(listed)] };
  const whole = toBase64(text);
  return { encrypts: true, keys: whole === undefined ? undefined : [whole] };
}

function toBase64(text: string): string | undefined {
  const bytes = Buffer.from(text);
  if (BYTES.includes(bytes.length)) return bytes.toString('base64');
  return /^[\w+/-]{43}=$/.test(text) ? Buffer.from(text, 'base64').toString('base64') : undefined;
}
