import { existsSync, readdirSync, watch, type FSWatcher } from 'node:fs';
import path from 'node:path';

/**
 * Milliseconds of quiet after a change: an editor writes a file in several steps, and `git checkout` writes many files.
 */
const QUIET = 150;

const NOT_FOLLOWED = new Set(['node_modules', '__pycache__']);
/** Files that editors and running graphs write are not changes of the code. */
const NOT_CODE = /(~|\.swp|\.swx|\.tmp|\.log|\.db|\.sqlite3?|-journal|-wal|-shm|^4913)$/;

/**
 * Watches folders and all below them, except hidden ones and those of packages and caches. Tells once per burst which
 * file changed first. Each folder has its own watcher, because a recursive watch would enter the excluded ones, where
 * Postgres writes all the time.
 */
export function watchFolders(roots: string[], changed: (file: string) => void): { stop(): void } {
  const watched = new Map<string, FSWatcher>();
  const changes = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const reportChange = (): void => {
    // An editor writes a file of another name first, which is gone by now.
    const [first = ''] = changes;
    const file = [...changes].find((name) => existsSync(name)) ?? first;
    changes.clear();
    for (const root of roots) follow(root);
    changed(file);
  };
  const closeWatcher = (folder: string): void => {
    watched.get(folder)?.close();
    watched.delete(folder);
  };
  const noteChange = (folder: string, name: string | null): void => {
    if (name !== null && (NOT_CODE.test(name) || isIgnored(name))) return;
    changes.add(path.join(folder, name ?? ''));
    clearTimeout(timer);
    timer = setTimeout(reportChange, QUIET);
  };
  const follow = (folder: string): void => {
    // Python's packages lie in such a folder, whatever its name is.
    if (existsSync(path.join(folder, 'pyvenv.cfg'))) return;
    let names: string[];
    try {
      names = readdirSync(folder, { withFileTypes: true })
        .filter(
          (entry) => entry.isDirectory() && !entry.name.startsWith('.') && !isIgnored(entry.name),
        )
        .map(({ name }) => name);
      if (!watched.has(folder))
        watched.set(
          folder,
          watch(folder, (_, name) => noteChange(folder, name)).on('error', () =>
            closeWatcher(folder),
          ),
        );
    } catch {
      return closeWatcher(folder);
    }
    for (const name of names) follow(path.join(folder, name));
  };
  for (const root of roots) follow(root);
  return {
    stop: () => {
      clearTimeout(timer);
      for (const folder of watched.keys()) closeWatcher(folder);
    },
  };
}

/** Returns whether to ignore a name. The server reads `.env`; other hidden files belong to tools. */
const isIgnored = (name: string): boolean =>
  NOT_FOLLOWED.has(name) || (name.startsWith('.') && !name.startsWith('.env'));
