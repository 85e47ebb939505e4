import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { toError } from '../../errors.ts';
import type { S3Target } from '../../schema/wire/backup-message.ts';
import { BackupFailed, storeFailure, mayPass } from './failure.ts';
import { encodeUriPart, hashSha256, signS3Request, type S3Keys } from './sign.ts';
import { listXmlElements, readXmlText } from './xml.ts';

type S3Request = {
  method: string;
  key?: string;
  query?: Record<string, string>;
  body?: Buffer;
  range?: string;
  what: string;
};
type Answer = { status: number; body: string; bytes: Buffer; etag: string };

/** Milliseconds for which a connection may be silent. */
const SILENCE = 60_000;
/** Milliseconds before each further attempt: about half a minute for a store that is restarted. */
const PAUSES = [500, 1000, 2000, 4000, 8000, 16_000];
const NOTHING = Buffer.alloc(0);
/** Bytes that are read at once. */
const PART = 8 * 1_048_576;

/** A bucket of a store that speaks S3. Each call is tried again while the store is away or overloaded. */
export class S3Store {
  readonly #target: S3Target;
  readonly #keys: S3Keys;
  readonly #signal: AbortSignal;
  readonly #pauses: readonly number[];

  constructor(
    target: S3Target,
    keys: S3Keys,
    given: { signal: AbortSignal; pauses?: readonly number[] },
  ) {
    this.#target = target;
    this.#keys = keys;
    this.#signal = given.signal;
    this.#pauses = given.pauses ?? PAUSES;
  }

  async read(key: string): Promise<string | undefined> {
    const answer = await this.#ask({ method: 'GET', key, what: `a read of ${key}` }, [404]);
    if (answer.status !== 404) return answer.body;
    if (readXmlText(answer.body, 'Code') === 'NoSuchBucket')
      throw storeFailure(`a read of ${key}`, answer);
    return undefined;
  }

  /** Reads an object of so many bytes in parts, each by a request of its own: a reader may take its time. */
  async *readParts(key: string, bytes: number): AsyncGenerator<Buffer> {
    for (let from = 0; from < bytes; from += PART) {
      const range = `bytes=${from}-${Math.min(bytes, from + PART) - 1}`;
      yield (await this.#ask({ method: 'GET', key, range, what: `a read of ${key}` })).bytes;
    }
  }

  async write(key: string, body: string): Promise<void> {
    await this.#ask({ method: 'PUT', key, body: Buffer.from(body), what: `a write of ${key}` });
  }

  async remove(key: string): Promise<void> {
    await this.#ask({ method: 'DELETE', key, what: `the removal of ${key}` }, [404]);
  }

  async listKeys(folder: string): Promise<string[]> {
    const keys: string[] = [];
    let more: string | undefined;
    do {
      const query = {
        'list-type': '2',
        prefix: folder,
        ...(more !== undefined && { 'continuation-token': more }),
      };
      const { body } = await this.#ask({ method: 'GET', query, what: `a list of ${folder}` });
      for (const element of listXmlElements(body, 'Contents'))
        keys.push(readXmlText(element, 'Key') ?? '');
      more =
        readXmlText(body, 'IsTruncated') === 'true'
          ? readXmlText(body, 'NextContinuationToken')
          : undefined;
    } while (more !== undefined);
    return keys.filter((key) => key.startsWith(folder));
  }

  async begin(key: string): Promise<string> {
    const what = `the beginning of ${key}`;
    const answer = await this.#ask({ method: 'POST', key, query: { uploads: '' }, what });
    const id = readXmlText(answer.body, 'UploadId');
    if (id === undefined) throw storeFailure(what, answer);
    return id;
  }

  async sendPart(
    key: string,
    { id, number, body }: { id: string; number: number; body: Buffer },
  ): Promise<string> {
    const query = { partNumber: String(number), uploadId: id };
    return (await this.#ask({ method: 'PUT', key, query, body, what: `part ${number} of ${key}` }))
      .etag;
  }

  async complete(
    key: string,
    { id, tags }: { id: string; tags: readonly string[] },
  ): Promise<void> {
    const parts = tags.map(
      (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`,
    );
    const body = Buffer.from(
      `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`,
    );
    const what = `the completion of ${key}`;
    const answer = await this.#ask({ method: 'POST', key, query: { uploadId: id }, body, what });
    // A store that takes long begins its answer with 200, and may tell of a failure in it.
    if (readXmlText(answer.body, 'Code') !== undefined) throw storeFailure(what, answer);
  }

  async abortUpload(key: string, id: string): Promise<void> {
    await this.#ask(
      { method: 'DELETE', key, query: { uploadId: id }, what: `the end of an upload of ${key}` },
      [404],
    );
  }

  async listUploads(folder: string): Promise<{ key: string; id: string }[]> {
    const { body } = await this.#ask({
      method: 'GET',
      query: { uploads: '', prefix: folder },
      what: `a list of uploads to ${folder}`,
    });
    const found = listXmlElements(body, 'Upload').map((element) => ({
      key: readXmlText(element, 'Key') ?? '',
      id: readXmlText(element, 'UploadId') ?? '',
    }));
    return found.filter(({ key }) => key.startsWith(folder));
  }

  async #ask(asked: S3Request, accepted: readonly number[] = []): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      const pause = this.#pauses[attempt];
      try {
        const answer = await this.#sendOnce(asked);
        if (answer.status < 300 || accepted.includes(answer.status)) return answer;
        if (pause === undefined || !mayPass(answer)) throw storeFailure(asked.what, answer);
      } catch (error) {
        this.#signal.throwIfAborted();
        if (error instanceof BackupFailed) throw error;
        const sentence = `${this.#target.endpoint} does not answer: ${toError(error).message}.`;
        if (pause === undefined)
          throw new BackupFailed('TargetUnreachable', sentence, { cause: error });
      }
      await wait(pause, undefined, { signal: this.#signal });
    }
  }

  #buildUrl({ key, query = {} }: S3Request): URL {
    const { endpoint, bucket, pathStyle } = this.#target;
    const url = new URL(endpoint);
    if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
    const path = [...(pathStyle ? [bucket] : []), ...(key?.split('/') ?? (pathStyle ? [] : ['']))]
      .map(encodeUriPart)
      .join('/');
    url.pathname = `/${path}`;
    url.search = Object.entries(query)
      .map(([name, value]) => `${encodeUriPart(name)}=${encodeUriPart(value)}`)
      .join('&');
    return url;
  }

  #sendOnce(asked: S3Request): Promise<Answer> {
    const { method, body = NOTHING, range } = asked;
    const url = this.#buildUrl(asked);
    const headers = signS3Request({
      method,
      url,
      bodyHash: hashSha256(body),
      region: this.#target.region,
      keys: this.#keys,
      now: new Date(),
    });
    const { ca } = this.#target;
    const more = { 'content-length': body.length, ...(range !== undefined && { range }) };
    const options = {
      method,
      headers: { ...headers, ...more },
      timeout: SILENCE,
      signal: this.#signal,
    };
    return new Promise((resolve, reject) => {
      const sent =
        url.protocol === 'http:'
          ? overHttp(url, options)
          : overHttps(url, { ...options, ...(ca !== undefined && { ca }) });
      sent.on('timeout', () =>
        sent.destroy(new Error(`no answer within ${SILENCE / 1000} seconds`)),
      );
      sent.on('error', reject);
      sent.on('response', (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(pieces);
          const status = response.statusCode ?? 0;
          // A part of an object is no text, and is large.
          resolve({
            status,
            bytes,
            body: status === 206 ? '' : bytes.toString(),
            etag: response.headers.etag ?? '',
          });
        });
      });
      sent.end(body);
    });
  }
}
