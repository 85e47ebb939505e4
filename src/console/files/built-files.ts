import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** One built file: its bytes by encoding, of which `identity` has the file as it is. */
export type BuiltFile = {
  type: string;
  etag: string;
  encoded: Partial<Record<'br' | 'gzip', Buffer>>;
  identity: Buffer;
};

export type BuiltPage = { html: string; assets: ReadonlyMap<string, BuiltFile> };

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Compressed copies, which the build puts beside each file. */
const COPIES = { br: '.br', gzip: '.gz' } as const;

/** Where the build writes, in a checkout, an image and a package alike. */
export const BUILT = join(import.meta.dirname, '..', '..', '..', 'dist', 'console');

/** Returns an ETag for these bytes. */
export const buildFileEtag = (bytes: string | Buffer): string =>
  `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;

/** Reads the built page, a few megabytes, so that no path reaches the disk later; undefined if nothing was built. */
export function readBuiltPage(folder: string): BuiltPage | undefined {
  const index = join(folder, 'index.html');
  if (!existsSync(index)) return undefined;
  const assets = join(folder, 'assets');
  const names = existsSync(assets) ? readdirSync(assets) : [];
  const copies = new Set<string>(Object.values(COPIES));
  const files = names
    .filter((name) => !copies.has(extname(name)))
    .map((name) => [name, readBuiltFile(join(assets, name))] as const);
  return { html: readFileSync(index, 'utf8'), assets: new Map(files) };
}

function readBuiltFile(path: string): BuiltFile {
  const identity = readFileSync(path);
  const copy = (encoding: keyof typeof COPIES): [string, Buffer][] => {
    const at = `${path}${COPIES[encoding]}`;
    return existsSync(at) ? [[encoding, readFileSync(at)]] : [];
  };
  const encoded = Object.fromEntries([...copy('br'), ...copy('gzip')]);
  return {
    type: TYPES[extname(path)] ?? 'application/octet-stream',
    etag: buildFileEtag(identity),
    encoded,
    identity,
  };
}
