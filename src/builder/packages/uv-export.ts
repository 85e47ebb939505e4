/* The answer of `uv export`: requirements with hashes, and packages of the repository between them. */

export type UvExport = {
  /** Lines of a file of requirements. */ requirements: string;
  /** Paths as uv writes them. */ own: string[];
};

/** Returns the packages of indexes, and those of the repository, which are installed from their folders. */
export function parseUvExport(exported: string): UvExport {
  const entries = exported
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const own = entries.flatMap(
    (line) => /^(?:-e\s+)?(\.{1,2}(?:\/[^\s;]*)?|file:\/\/[^\s;]+)(?:\s|;|$)/.exec(line)?.[1] ?? [],
  );
  const isOwn = (line: string): boolean => /^(-e\s|\.{1,2}(\/|\s|$)|file:)/.test(line);
  return { requirements: entries.filter((line) => !isOwn(line)).join('\n'), own };
}

const PUBLIC = 'https://pypi.org/simple';

/**
 * Returns options of uv for the indexes of uv.lock besides the default one. An export does not say which of them has a
 * package. All are asked for its version, and its hashes choose the file.
 */
export function parseLockIndexes(lock: string): string[] {
  const registries = [...lock.matchAll(/^source = \{ registry = "(https?:\/\/[^"]+)" \}$/gm)].map(
    ([, address = '']) => address,
  );
  const others = [...new Set(registries)].filter(
    (address) => address.replace(/\/$/, '') !== PUBLIC,
  );
  return others.length === 0
    ? []
    : [
        ...others.flatMap((address) => ['--index', address]),
        '--index-strategy',
        'unsafe-first-match',
      ];
}
