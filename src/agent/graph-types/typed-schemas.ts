import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Log } from '../../log.ts';
import type { GraphSchemas } from '../../schema/wire/wall/graph-answers.ts';
import type { GraphSource } from '../../schema/wire/wall/graph-start.ts';
import { askProcess } from '../kernel/ask-process.ts';
import type { SchemasByGraph, TypesAsked } from './main.ts';

type TypesSettings = {
  graphs: GraphSource[];
  /** The folder of gx.json. */
  folder: string;
  /** Milliseconds that reading may take; with 0 nothing is read. */
  within: number;
};
type Settings = TypesSettings & { log: Log };

/** Versions of TypeScript whose compiler has the same interface in JavaScript. */
const KNOWN = new Set(['5', '6']);

/** Returns the path of the TypeScript that code in this folder would import; undefined if there is none of use. */
function findTypescript(folder: string): string | undefined {
  const { resolve } = createRequire(path.join(folder, 'package.json'));
  try {
    const { version } = JSON.parse(readFileSync(resolve('typescript/package.json'), 'utf8')) as {
      version: string;
    };
    return KNOWN.has(version.split('.')[0]!) ? resolve('typescript') : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads the types of graphs with the TypeScript of their project. Returns undefined if there is none. Throws if reading
 * fails.
 */
export async function readTypes(
  { graphs, folder, within }: TypesSettings,
  signal: AbortSignal,
): Promise<SchemasByGraph | undefined> {
  const folders = new Set([...graphs.map(({ file }) => path.dirname(file)), folder]);
  const typescript = [...folders].map(findTypescript).find((found) => found !== undefined);
  if (typescript === undefined) return undefined;
  const asked: TypesAsked = { typescript, graphs };
  return askProcess(new URL(`main${path.extname(import.meta.url)}`, import.meta.url), asked, {
    folder,
    within,
    signal,
  });
}

/**
 * The schemas of graphs that only TypeScript's types describe: they come from the image's build, or are read when first
 * asked for.
 */
export class TypedSchemas {
  readonly #settings: Settings;
  readonly #closing = new AbortController();
  #known: Promise<SchemasByGraph> | undefined;

  constructor(settings: Settings, built: SchemasByGraph | undefined) {
    this.#settings = settings;
    if (built !== undefined) this.#known = Promise.resolve(built);
  }

  /** Returns the schemas of a graph and its subgraphs by namespace; the graph's own is empty. Never fails. */
  async readSchemas(graphId: string): Promise<Record<string, GraphSchemas>> {
    this.#known ??= this.#read();
    return (await this.#known)[graphId] ?? {};
  }

  close(): void {
    this.#closing.abort();
  }

  async #read(): Promise<SchemasByGraph> {
    const { within, log } = this.#settings;
    if (within === 0) return {};
    const began = performance.now();
    try {
      const read = await readTypes(this.#settings, this.#closing.signal);
      if (read === undefined)
        log.info(
          'the project has no TypeScript 5 or 6, so schemas of graphs without zod have names of fields and no types',
        );
      else
        log.info(
          { milliseconds: Math.round(performance.now() - began) },
          'types of the graphs are read',
        );
      return read ?? {};
    } catch (error) {
      if (!this.#closing.signal.aborted)
        log.warn(
          { err: error },
          'the types of the graphs can not be read, so schemas of graphs without zod have names of fields and no types',
        );
      return {};
    }
  }
}
