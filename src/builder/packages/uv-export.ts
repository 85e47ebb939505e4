/* The answer of `uv export`: requirements with hashes, and packages of the repository between them. */

export type UvExport = { /** Lines of a file of requirements. */ requirements: string; /** Paths as uv writes them. */ own: string[] };

/** Returns the packages of indexes, and those of the repository, which are installed from their folders. */
export function partsOfExport(exported: string): UvExport {
  const entries = exported
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const own = entries.flatMap((line) => /^(?:-e\s+)?(\.{1,2}(?:\/[^\s;]*)?|file:\/\/[^\s;]+)(?:\s|;|$)/.exec(line)?.[1] ?? []);
  const isOwn = (line: string): boolean => /^(-e\s|\.{1,2}(\/|\s|$)|file:)/.test(line);
  return { requirements: entries.filter((line) => !isOwn(line)).join('\n'), own };
}
