import type { ConfiguredIntegration } from '../../schema/platform/source/git-connection.ts';
import {
  GIT_KINDS,
  HOST_URL,
  REPOSITORY_PATTERN,
} from '../../schema/platform/source/git-integration.ts';
import type { SettingsReader } from '../env.ts';
import { describeNearestName } from '../../nearest-name.ts';
import { isObject } from '../../schema/json.ts';
import { type SettingCheck, isNonEmptyText, buildListCheck } from './checks.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const HOST = new RegExp(HOST_URL);
const PATTERN = new RegExp(REPOSITORY_PATTERN);

const isUuid: SettingCheck = (value) => typeof value === 'string' && UUID.test(value);
const isHost: SettingCheck = (value) => typeof value === 'string' && HOST.test(value);

const REQUIRED: Record<string, SettingCheck> = {
  id: isUuid,
  name: isNonEmptyText,
  installation_id: Number.isInteger,
};
const OPTIONAL: Record<string, SettingCheck> = {
  tenant_id: isUuid,
  kind: (value) => GIT_KINDS.some((kind) => kind === value),
  host: isHost,
  api_url: isHost,
  repositories: buildListCheck((value) => typeof value === 'string' && PATTERN.test(value)),
  credential_secret: isNonEmptyText,
  webhook_secret: isNonEmptyText,
  poll_seconds: (value) =>
    Number.isInteger(value) && (value as number) >= 10 && (value as number) <= 86_400,
  repos: buildListCheck(isRepository),
};

/** Reads the git hosts that the installation lists, without a slash at their end. */
export const readGitHosts = (settings: SettingsReader): string[] =>
  settings.readWords(['GX_GIT_HOSTS']).map((host) => host.replace(/\/+$/, ''));

/** Reads the connections to git hosts that the installation sets up itself. */
export function readGitIntegrations(settings: SettingsReader): ConfiguredIntegration[] {
  const value = settings.readJson(['GX_GIT_INTEGRATIONS']) ?? [];
  const problem = Array.isArray(value) ? value.flatMap(checkEntry)[0] : 'must be a list';
  if (problem !== undefined) settings.addProblem(`GX_GIT_INTEGRATIONS ${problem}`);
  return problem === undefined ? (value as ConfiguredIntegration[]) : [];
}

function checkEntry(entry: unknown, index: number): string[] {
  if (!isObject(entry)) return [`${index} must be an object`];
  const missing = Object.entries(REQUIRED).filter(([name, check]) => !check(entry[name]));
  const given = Object.entries(entry).filter(([, value]) => value !== undefined && value !== null);
  const wrong = given.filter(
    ([name, value]) => REQUIRED[name] === undefined && OPTIONAL[name]?.(value) !== true,
  );
  return [...missing, ...wrong].map(([name]) =>
    REQUIRED[name] === undefined && OPTIONAL[name] === undefined
      ? `${index}.${name}: there is no such field${describeNearestName(name, Object.keys({ ...REQUIRED, ...OPTIONAL }))}`
      : `${index}.${name}: is missing or has a wrong value (docs/how-to/build-from-git.md)`,
  );
}

function isRepository(value: unknown): boolean {
  const { id, ...texts } = (value ?? {}) as Record<string, unknown>;
  return (
    Number.isInteger(id) &&
    ['name', 'owner', 'url', 'default_branch'].every((name) => typeof texts[name] === 'string')
  );
}
