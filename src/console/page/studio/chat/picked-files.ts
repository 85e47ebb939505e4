import { formatBytes } from '../byte-text.ts';

/** A file that goes with the next message: the part of the message's content that it becomes. */
export type PickedFile = { name: string; bytes: number; part: object; picture: string | undefined };

/** Bytes of all files of a message. A run's input stays in the thread, and in each of its states. */
const MOST_BYTES = 5_000_000;
/** Forms of pictures that models and browsers know. */
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const TEXT_TYPES =
  /^text\/|^application\/(?:json|xml|yaml|x-yaml|toml|javascript|sql|x-sh|x-ndjson)$/;
const TEXT_ENDINGS =
  /\.(?:txt|md|csv|tsv|json|jsonl|ya?ml|toml|xml|html?|css|[cm]?[jt]sx?|py|go|rs|java|c|h|cpp|rb|sh|sql|log|ini|env)$/i;

/** Returns why a file can't go with a message that has others already; undefined where it can. */
export function checkPickedFile(file: File, others: readonly PickedFile[]): string | undefined {
  const sum = others.reduce((bytes, one) => bytes + one.bytes, file.size);
  if (sum <= MOST_BYTES) return undefined;
  return `${file.name} makes the files of this message ${formatBytes(sum)}. They may have ${formatBytes(MOST_BYTES)}.`;
}

/** Reads a file as a part of a message: a picture, a text, or bytes, in the forms that LangChain's libraries know. */
export async function readPickedFile(file: File): Promise<PickedFile> {
  const { name, size: bytes, type } = file;
  if (TEXT_TYPES.test(type) || (type === '' && TEXT_ENDINGS.test(name)) || TEXT_ENDINGS.test(name))
    return { name, bytes, picture: undefined, part: buildTextPart(name, await file.text()) };
  const data = encodeBase64(new Uint8Array(await file.arrayBuffer()));
  if (PICTURES.includes(type)) {
    const url = `data:${type};base64,${data}`;
    return { name, bytes, picture: url, part: { type: 'image_url', image_url: { url } } };
  }
  const mimeType = type === '' ? 'application/octet-stream' : type;
  const metadata = { filename: name };
  return {
    name,
    bytes,
    picture: undefined,
    part: { type: 'file', source_type: 'base64', mime_type: mimeType, data, metadata },
  };
}

/** Any model reads a file that is a part of the text. Its fence is longer than those within it. */
function buildTextPart(name: string, text: string): object {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return { type: 'text', text: `${name}:\n${fence}\n${text}\n${fence}` };
}

/** Bytes that become letters at once. More are too many arguments for a call. */
const AT_ONCE = 0x8000;

function encodeBase64(bytes: Uint8Array): string {
  let letters = '';
  for (let at = 0; at < bytes.length; at += AT_ONCE)
    letters += String.fromCharCode(...bytes.subarray(at, at + AT_ONCE));
  return btoa(letters);
}

/** Returns the content of a message: its text alone, or with the files behind it. */
export function buildMessageContent(text: string, files: readonly PickedFile[]): string | object[] {
  if (files.length === 0) return text;
  const words = text.trim() === '' ? [] : [{ type: 'text', text }];
  return [...words, ...files.map(({ part }) => part)];
}
