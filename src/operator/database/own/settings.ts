type DatabaseSize = { memoryMb: number; maxConnections: number };

/**
 * Postgres' own settings for a database of so much memory (Mi) and so many connections. Shares of memory are the usual ones of its
 * documentation ("Resource Consumption"); those of the log follow its chapter "WAL Configuration". How large the log gets is the image's to
 * say, which sees the volume: a volume that grows must not restart the pod. `more` settings are taken as they are.
 */
export function databaseArguments({ memoryMb, maxConnections }: DatabaseSize, more: Record<string, string> = {}): string[] {
  const within = (value: number, least: number, most: number): number => Math.max(least, Math.min(most, Math.floor(value)));
  const values: Record<string, string> = {
    listen_addresses: '*',
    unix_socket_directories: '/var/run/postgresql',
    password_encryption: 'scram-sha-256',
    max_connections: String(maxConnections),
    shared_buffers: `${within(memoryMb / 4, 16, 16_384)}MB`,
    effective_cache_size: `${within(memoryMb * 0.6, 32, 1_048_576)}MB`,
    maintenance_work_mem: `${within(memoryMb / 16, 16, 2048)}MB`,
    // Half of what the buffers leave, shared by all connections; a query may take it several times.
    work_mem: `${within(((memoryMb * 0.75) / 2 / maxConnections) * 1024, 1024, 65_536)}kB`,
    // Queue and checkpoint tables change all the time: vacuum them early.
    autovacuum_vacuum_scale_factor: '0.05',
    // Thrice the default: after each checkpoint a page's first change is logged as a whole page. A replay takes as long as the log's size allows.
    checkpoint_timeout: '15min',
    // Those whole pages are most of the log of small updates. pglz (`on`), which every build has; lz4 is a choice of whoever builds.
    wal_compression: 'on',
    jit: 'off',
    ...more,
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
