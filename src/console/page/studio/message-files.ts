import { isComposite, type Json } from '../../../schema/json.ts';

/* Files in the content of a message, in the forms that LangChain and OpenAI have for them. */

/** A file as the page shows it. `url` has its bytes, or is where it lies: of that the page loads nothing by itself. */
export type ShownFile = { kind: 'picture' | 'bytes' | 'link'; name: string; url: string };

const getNonEmpty = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const KINDS = ['image', 'audio', 'video', 'file', 'text-plain', 'image_url'];

/**
 * The files of contents that were read before. A picture of megabytes stays one string, so that drawing the messages
 * again with each token compares none of its letters.
 */
// oxlint-disable-next-line house/module-state -- An entry is a function of its content alone, and goes with it.
const known = new WeakMap<unknown[], ShownFile[]>();

/** Returns the files of a message's content, in order. */
export function listMessageFiles(content: unknown): ShownFile[] {
  if (!Array.isArray(content)) return [];
  const files = known.get(content) ?? content.flatMap(toFiles);
  known.set(content, files);
  return files;
}

/** Returns the bytes of a file that a message brings; undefined where they are none. */
export function getFileBytes({ url }: ShownFile): Uint8Array<ArrayBuffer> | undefined {
  const [, data] = /^data:[^,]*;base64,(.*)$/s.exec(url) ?? [];
  try {
    return data === undefined ? undefined : Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function toFiles(block: unknown): ShownFile[] {
  if (!isComposite(block) || !KINDS.includes(block['type'] as string)) return [];
  const mediaType = readMediaType(block);
  const bytes = getNonEmpty(block['data']) ?? getNonEmpty(block['base64']);
  const url = bytes === undefined ? readUrl(block) : `data:${mediaType};base64,${bytes}`;
  if (url === undefined) return [];
  const name = readName(block['metadata']);
  if (url.startsWith('data:image/')) return [{ kind: 'picture', name: name ?? 'A picture', url }];
  if (url.startsWith('data:'))
    return [{ kind: 'bytes', name: name ?? `A file (${mediaType})`, url }];
  return /^https?:/.test(url) ? [{ kind: 'link', name: name ?? url, url }] : [];
}

const readMediaType = ({ type, mimeType, mime_type }: Json): string =>
  getNonEmpty(mimeType) ??
  getNonEmpty(mime_type) ??
  (type === 'image' ? 'image/png' : 'application/octet-stream');

const readUrl = ({ url, image_url: image }: Json): string | undefined =>
  getNonEmpty(url ?? (isComposite(image) ? image['url'] : image));

function readName(metadata: unknown): string | undefined {
  if (!isComposite(metadata)) return undefined;
  return (
    getNonEmpty(metadata['filename']) ??
    getNonEmpty(metadata['name']) ??
    getNonEmpty(metadata['title'])
  );
}
