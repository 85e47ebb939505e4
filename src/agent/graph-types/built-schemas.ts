import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { StartError } from '../../errors.ts';
import type { SchemasByGraph } from './main.ts';

/* The build of an image leaves the schemas of the graphs' types in a file, because most images have no TypeScript. */

const buildSchemasPath = (folder: string): string => path.join(folder, 'schemas.json');

/** Keeps the schemas in the build's folder. */
export function keepSchemas(folder: string, schemas: SchemasByGraph): void {
  writeFileSync(buildSchemasPath(folder), `${JSON.stringify(schemas)}\n`);
}

/** Returns the schemas of the build; undefined where none were made. */
export function readBuiltSchemas(folder: string | undefined): SchemasByGraph | undefined {
  if (folder === undefined) return undefined;
  const file = buildSchemasPath(folder);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as SchemasByGraph;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartError(
      `${file} can't be read: ${(error as Error).message}. Build the image again.`,
      { cause: error },
    );
  }
}
