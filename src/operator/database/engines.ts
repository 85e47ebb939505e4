import type { DeploymentSpec } from '../../schema/platform/resources/custom-resources.ts';
import type { DatabaseSpec } from '../../schema/platform/spec/database-spec.ts';
import type { DatabaseEngine } from './database.ts';
import { external } from './external/engine.ts';
import { fromSecrets } from './from-secrets/engine.ts';
import { own } from './own/engine.ts';

/**
 * Each engine, by the field of a deployment's `database` that asks for it. A new engine is a folder and a line here.
 */
const ENGINES: [keyof DatabaseSpec, DatabaseEngine][] = [
  ['external', external],
  ['fromSecrets', fromSecrets],
];

/** Returns the engine that a deployment asks for, which is the managed database unless it names another. */
export const getDatabaseEngine = ({ database }: DeploymentSpec): DatabaseEngine =>
  ENGINES.find(
    ([field]) => ![undefined, false].includes(database?.[field] as undefined | false),
  )?.[1] ?? own;
