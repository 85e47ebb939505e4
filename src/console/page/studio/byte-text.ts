const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** Returns bytes as people read them. */
export function formatBytes(bytes: number): string {
  const step = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return step === 0
    ? `${bytes} bytes`
    : `${(bytes / 1000 ** step).toFixed(1)} ${UNITS[step] ?? ''}`;
}
