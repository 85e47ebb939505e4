import { type Json, isObject } from '../../../schema/json.ts';

/*
 * Files in the content of messages, as blocks of LangChain have them: its standard ones of both languages, those from
 * before its version 1, and OpenAI's.
 */

/** A file by its bytes, in base64, or by where it lies. `mediaType` and `name` are undefined where they are unknown. */
export type ContentFile = { mediaType: string | undefined; name: string | undefined } & (
  | { data: string }
  | { url: string }
);

/** The content of a part of a message: text, a file, or something that is neither. */
export type ContentPart = { text: string } | { file: ContentFile } | { other: unknown };

const pickText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const KINDS = ['image', 'audio', 'video', 'file'];

/** Returns the file as LangChain.js writes it, as a block that the models of its integrations take. */
export function buildFileBlock({ mediaType, name, ...at }: ContentFile): Json {
  const [kind = ''] = mediaType?.toLowerCase().split('/') ?? [];
  return {
    type: KINDS.includes(kind) ? kind : 'file',
    ...(mediaType !== undefined && { mimeType: mediaType }),
    ...at,
    ...(name !== undefined && { metadata: { filename: name } }),
  };
}

/** Returns the content of a state's last message as parts; none if a person wrote it. */
export function readLastContent(messages: unknown): ContentPart[] {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isObject(last) || last['type'] === 'human') return [];
  const { content } = last;
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }];
  return Array.isArray(content) ? content.map(toContentPart) : [];
}

function toContentPart(block: unknown): ContentPart {
  if (isObject(block) && block['type'] === 'text' && typeof block['text'] === 'string')
    return { text: block['text'] };
  const file = readContentFile(block);
  return file === undefined ? { other: block } : { file };
}

/** Returns the file that a block of content is; undefined for another block. */
export function readContentFile(block: unknown): ContentFile | undefined {
  if (!isObject(block)) return undefined;
  const { type } = block;
  if (type === 'image_url')
    return buildFile(undefined, undefined, { url: pickField(block['image_url'], 'url') });
  if (type === 'input_audio') {
    const format = pickField(block['input_audio'], 'format');
    return buildFile(format && `audio/${format}`, undefined, {
      data: pickField(block['input_audio'], 'data'),
    });
  }
  if (typeof type !== 'string' || ![...KINDS, 'text-plain'].includes(type)) return undefined;
  if (isObject(block['file']))
    return buildFile(undefined, pickText(block['file']['filename']), {
      url: pickText(block['file']['file_data']),
    });
  const { metadata, mimeType, mime_type, data, base64, url } = block;
  const name =
    pickField(metadata, 'filename') ?? pickField(metadata, 'name') ?? pickField(metadata, 'title');
  return buildFile(pickText(mimeType) ?? pickText(mime_type), name, {
    data: pickText(data) ?? pickText(base64),
    url: pickText(url),
  });
}

/** Returns a field of a value that may be an object; a text stands for itself. */
const pickField = (value: unknown, name: string): string | undefined =>
  isObject(value) ? pickText(value[name]) : name === 'url' ? pickText(value) : undefined;

const DATA_URL = /^data:([^;,]{0,200})[^,]{0,200};base64,/;
const NOT_BASE64 = /[^A-Za-z0-9+/=_-]/;

function buildFile(
  mediaType: string | undefined,
  name: string | undefined,
  { data, url }: { data?: string | undefined; url?: string | undefined },
): ContentFile | undefined {
  const [head, declared] = DATA_URL.exec(url?.slice(0, 500) ?? '') ?? [];
  const bytes = data ?? (head === undefined ? undefined : url!.slice(head.length));
  const type = mediaType ?? pickText(declared);
  if (bytes !== undefined)
    return NOT_BASE64.test(bytes) ? undefined : { mediaType: type, name, data: bytes };
  return url === undefined ? undefined : { mediaType: type, name, url };
}
