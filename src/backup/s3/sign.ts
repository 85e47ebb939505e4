import { createHash, createHmac } from 'node:crypto';

export type S3Keys = { accessKeyId: string; secretAccessKey: string };
type Signing = {
  method: string;
  url: URL;
  bodyHash: string;
  region: string;
  keys: S3Keys;
  now: Date;
};

/** Encodes a part of a path or query as Signature Version 4 wants it. */
export const encodeUriPart = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const computeHmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();
export const hashSha256 = (data: string | Buffer): string =>
  createHash('sha256').update(data).digest('hex');

/** Returns the headers that sign a request to S3 (AWS Signature Version 4). Its path and query are encoded already. */
export function signS3Request({
  method,
  url,
  bodyHash,
  region,
  keys,
  now,
}: Signing): Record<string, string> {
  const time = now
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:]/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    host: url.host,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': time,
  };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const query = url.search
    .slice(1)
    .split('&')
    .filter((part) => part !== '')
    .toSorted()
    .join('&');
  const request = [method, url.pathname, query, lines.join(''), names, bodyHash].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, hashSha256(request)].join('\n');
  const key = [region, 's3', 'aws4_request'].reduce(
    computeHmac,
    computeHmac(`AWS4${keys.secretAccessKey}`, day),
  );
  const signature = computeHmac(key, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...headers, authorization };
}
