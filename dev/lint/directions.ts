import { visitImports, getLintedFile, isWithin } from './imports.ts';
import type { Rule } from './rule.ts';

/**
 * Rooms of a folder, which are folders or files in it. Those of one floor do not import each other. `*` stands for all
 * that are not named.
 */
type Floor = string | string[];
/** By folder: its floors from the bottom up. A room imports from itself and from the floors below. */
type Orders = Record<string, Floor[]>;

const ANY = '*';

/** Imports only go down: within each folder of the table, from a room to one of a lower floor. */
export const directions: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const [orders] = context.options as [Orders];
    const file = getLintedFile(context);
    return visitImports(context, ({ node, target }) => {
      for (const [folder, floors] of Object.entries(orders)) {
        if (!isWithin(file, folder) || !isWithin(target, folder)) continue;
        const message = checkDirection(getRoom(folder, file), getRoom(folder, target), floors);
        if (message !== undefined) context.report({ node, message: `${folder}: ${message}` });
      }
    });
  },
};

const getRoom = (folder: string, file: string): string =>
  file.slice(folder.length + 1).split('/')[0] ?? '';

const listRooms = (floor: Floor): string[] => (typeof floor === 'string' ? [floor] : floor);

function checkDirection(from: string, to: string, floors: Floor[]): string | undefined {
  if (from === to) return undefined;
  const [own, other] = [from, to].map((room) => findFloor(room, floors));
  if (own === undefined || other === undefined)
    return `${own === undefined ? from : to} has no place in the order of imports`;
  if (other < own || (other === own && listRooms(floors[own] ?? []).includes(ANY)))
    return undefined;
  return `${from} may not import ${to}, which stands ${other === own ? 'beside' : 'above'} it in the order of imports`;
}

function findFloor(room: string, floors: Floor[]): number | undefined {
  const named = floors.findIndex((floor) => listRooms(floor).includes(room));
  const floor = named >= 0 ? named : floors.findIndex((one) => listRooms(one).includes(ANY));
  return floor >= 0 ? floor : undefined;
}
