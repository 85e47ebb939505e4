import type { JsonNode } from './json-scan.ts';
import type { ScannedJson } from './json-text.ts';
import { pauseForPage } from './pace.ts';

/** A value that differs: where it is, and where it stands in each of the texts that has it. */
export type JsonDifference = {
  path: string;
  before: JsonNode | undefined;
  after: JsonNode | undefined;
};

/** Differences that people look at. */
const MOST = 200;
const DEEPEST = 8;

type Side = { json: ScannedJson; node: JsonNode };

const isWhole = ({ kind }: JsonNode): boolean => kind !== 'object' && kind !== 'list';

/** Returns the places at which two values differ. Equal texts are equal; only those that differ are looked into. */
export async function listJsonDifferences(
  before: Side,
  after: Side,
  signal?: AbortSignal,
): Promise<JsonDifference[]> {
  const found: JsonDifference[] = [];
  await compare({ before, after, path: '', depth: 0 }, found, signal);
  return found;
}

type Compared = { before: Side; after: Side; path: string; depth: number };

async function compare(
  { before, after, path, depth }: Compared,
  found: JsonDifference[],
  signal?: AbortSignal,
): Promise<void> {
  if (found.length >= MOST || (await isEqual(before, after, signal))) return;
  if (before.node.kind !== after.node.kind || isWhole(before.node) || depth >= DEEPEST) {
    found.push({ path, before: before.node, after: after.node });
    return;
  }
  for (const pair of await listPairs({ before, after, path }, signal)) {
    if (found.length >= MOST) return;
    if (pair.before === undefined || pair.after === undefined) found.push(pair);
    else {
      const sides = {
        before: { json: before.json, node: pair.before },
        after: { json: after.json, node: pair.after },
      };
      await compare({ ...sides, path: pair.path, depth: depth + 1 }, found, signal);
    }
  }
}

/** Returns the values within two objects or lists, those of one name together. */
async function listPairs(
  { before, after, path }: Omit<Compared, 'depth'>,
  signal?: AbortSignal,
): Promise<JsonDifference[]> {
  await pauseForPage();
  signal?.throwIfAborted();
  const { found: old } = await before.json.listChildren(before.node, signal);
  const { found: young } = await after.json.listChildren(after.node, signal);
  const formatPlace = (name: string): string => {
    if (after.node.kind === 'list') return `${path}[${name}]`;
    return path === '' ? name : `${path}.${name}`;
  };
  const oldOnes = new Map(old.map((one) => [one.name, one]));
  const names = new Set(young.map(({ name }) => name));
  return [
    ...young.map((one) => ({
      path: formatPlace(one.name),
      before: oldOnes.get(one.name),
      after: one,
    })),
    ...old
      .filter(({ name }) => !names.has(name))
      .map((one) => ({ path: formatPlace(one.name), before: one, after: undefined })),
  ];
}

/** Letters that are compared at once. */
const COMPARED = 500_000;

async function isEqual(before: Side, after: Side, signal?: AbortSignal): Promise<boolean> {
  const [one, other] = [before.node, after.node];
  const letters = one.end - one.start;
  if (letters !== other.end - other.start) return false;
  for (let at = 0; at < letters; at += COMPARED) {
    const end = Math.min(letters, at + COMPARED);
    if (
      before.json.text.getSlice(one.start + at, one.start + end) !==
      after.json.text.getSlice(other.start + at, other.start + end)
    )
      return false;
    if (end === letters) return true;
    await pauseForPage();
    signal?.throwIfAborted();
  }
  return true;
}
