type DatabaseSize = { memoryMb: number; maxConnections: number };

/**
 * Returns Postgres' settings for so much memory (Mi) and so many connections; `more` are taken as they are. Shares of
 * memory follow its chapter "Resource Consumption", the log's settings "WAL Configuration". The image, which sees the
 * volume, decides how large the log gets: a volume that grows must not restart the pod.
 */
export function buildDatabaseArguments(
  { memoryMb, maxConnections }: DatabaseSize,
  more: Record<string, string> = {},
): string[] {
  const values: Record<string, string> = {
    listen_addresses: '*',
    unix_socket_directories: '/var/run/postgresql',
    password_encryption: 'scram-sha-256',
    max_connections: String(maxConnections),
    shared_buffers: `${limitTo(memoryMb / 4, 16, 16_384)}MB`,
    effective_cache_size: `${limitTo(memoryMb * 0.6, 32, 1_048_576)}MB`,
    maintenance_work_mem: `${limitTo(memoryMb / 16, 16, 2048)}MB`,
    work_mem: formatWorkMemory({ memoryMb, maxConnections }),
    // Queue and checkpoint tables change all the time, so they are vacuumed early.
    autovacuum_vacuum_scale_factor: '0.05',
    // It is three times the default, because after each checkpoint the first change of a page logs the whole page. How
    // long a replay takes depends only on the log's size.
    checkpoint_timeout: '15min',
    // Those whole pages are most of the log of small updates. Every build has pglz (`on`); lz4 is optional.
    wal_compression: 'on',
    jit: 'off',
    ...more,
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** All connections share half of the memory that the buffers leave; a query may take it several times. */
export const formatWorkMemory = ({ memoryMb, maxConnections }: DatabaseSize): string =>
  `${limitTo(((memoryMb * 0.75) / 2 / maxConnections) * 1024, 1024, 65_536)}kB`;

const limitTo = (value: number, least: number, most: number): number =>
  Math.max(least, Math.min(most, Math.floor(value)));
