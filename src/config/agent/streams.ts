import type { SettingsReader } from '../env.ts';

/** How events of runs reach readers in other processes, and those that come back. */
export type StreamSettings = ReturnType<typeof streamSettings>;

const DAY = 86_400;

export function streamSettings(read: SettingsReader) {
  return {
    /** Seconds for which they can be read again. */
    resumableSeconds: read.readInteger(
      ['GX_RESUMABLE_STREAM_TTL_SECONDS', 'RESUMABLE_STREAM_TTL_SECONDS'],
      120,
      { min: 1, max: DAY },
    ),
    /** A larger message is left out. */
    maxEventBytes: read.readInteger(
      ['GX_MAX_STREAM_CHUNK_SIZE_BYTES', 'MAX_STREAM_CHUNK_SIZE_BYTES'],
      128 * 1024 * 1024,
      {
        min: 1024,
        max: Number.MAX_SAFE_INTEGER,
      },
    ),
    /** The key-value store that they go through; undefined: they go through the database. */
    store: storeSettings(read),
  };
}

function storeSettings(read: SettingsReader): { uri: string; prefix: string } | undefined {
  // The custom one is chosen instead of the one that the server would otherwise get.
  const uri = read.readOptional(['REDIS_URI_CUSTOM', 'GX_REDIS_URI', 'REDIS_URI']);
  const prefix = read.readText(['GX_REDIS_KEY_PREFIX', 'REDIS_KEY_PREFIX'], 'gx:');
  if (uri === undefined) return undefined;
  if (!/^rediss?:\/\/./.test(uri))
    read.addProblem('REDIS_URI must begin with redis:// or rediss://');
  return { uri, prefix };
}
