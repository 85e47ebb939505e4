import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const IMPORTED = /(?:\bfrom|\bimport\()\s*'(\.{1,2}\/[^']+)'/g;

/** Rooms of one folder that import each other in a circle, and the files whose imports make it. */
export type FolderCircle = { folder: string; rooms: string[]; files: string[] };

type Arrow = { from: string; to: string; file: string };

/**
 * Returns the circles of imports between the folders and files of each folder of src, at every depth, types included. A
 * room that is in one can't be read or moved without the others. The lint knows circles between files alone.
 */
export function listFolderCircles(root: string): FolderCircle[] {
  const arrows = new Map<string, Arrow[]>();
  for (const file of globSync('src/**/*.{ts,tsx}', { cwd: root })) {
    for (const [, path = ''] of readFileSync(join(root, file), 'utf8').matchAll(IMPORTED)) {
      const { folder, ...arrow } = buildArrow(file, join(dirname(file), path));
      if (arrow.from !== arrow.to) arrows.set(folder, [...(arrows.get(folder) ?? []), arrow]);
    }
  }
  return [...arrows].flatMap(([folder, between]) => listCircles(folder, between));
}

/** Returns the folder that two files share, and the room of each in it. */
function buildArrow(file: string, imported: string): Arrow & { folder: string } {
  const [parts, others] = [file.split(sep), imported.split(sep)];
  const depth = parts.findIndex((part, at) => part !== others[at]);
  return {
    folder: parts.slice(0, depth).join('/'),
    from: parts[depth] ?? '',
    to: others[depth] ?? '',
    file: relative('.', file),
  };
}

function listCircles(folder: string, arrows: Arrow[]): FolderCircle[] {
  const reached = new Map(
    [...new Set(arrows.map(({ from }) => from))].map((room) => [room, listReachable(room, arrows)]),
  );
  const isMutual = (one: string, other: string): boolean =>
    reached.get(one)?.has(other) === true && reached.get(other)?.has(one) === true;
  const circles = new Map<string, string[]>();
  for (const room of reached.keys()) {
    const rooms = [...reached.keys()].filter((other) => isMutual(room, other)).sort();
    if (rooms.length > 1) circles.set(rooms.join(), rooms);
  }
  return [...circles.values()].map((rooms) => {
    const inside = arrows.filter(({ from, to }) => rooms.includes(from) && rooms.includes(to));
    return { folder, rooms, files: [...new Set(inside.map(({ file }) => file))].sort() };
  });
}

function listReachable(room: string, arrows: Arrow[]): Set<string> {
  const reached = new Set<string>();
  const open = [room];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const { from, to } of arrows) {
      if (from !== at || reached.has(to)) continue;
      reached.add(to);
      open.push(to);
    }
  }
  return reached;
}
