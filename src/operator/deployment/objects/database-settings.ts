/** Postgres' own settings for a database of so much memory (Mi) and so many connections. Shares are the usual ones of its documentation. */
export function databaseArguments(memoryMb: number, maxConnections: number): string[] {
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
    max_wal_size: '1GB',
    jit: 'off',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
