import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { StageFailed } from '../../errors.ts';

/** A name and a password for one registry, or a token that its token service takes. */
export type RegistryCredential = { basic?: string; identityToken?: string; registryToken?: string };

type AuthEntry = { auth?: string; username?: string; password?: string; identitytoken?: string; registrytoken?: string };

const FILES = ['config.json', '.dockerconfigjson'];
/** Docker's own name for its registry in such a file. */
const DOCKER_HUB = ['docker.io', 'index.docker.io', 'registry-1.docker.io'];

/**
 * Returns the credential for a registry in the config.json of a folder. Helpers that it names are programs and are not
 * run.
 */
export function credentialFor(folder: string, host: string): RegistryCredential {
  const file = FILES.map((name) => path.join(folder, name)).find((name) => existsSync(name));
  if (file === undefined) return {};
  const entry = entryOf(file, host);
  if (entry === undefined) return {};
  const { auth, username, password, identitytoken, registrytoken } = entry;
  const basic = auth || (username === undefined ? undefined : Buffer.from(`${username}:${password ?? ''}`).toString('base64'));
  return {
    ...(basic && { basic }),
    ...(identitytoken && { identityToken: identitytoken }),
    ...(registrytoken && { registryToken: registrytoken }),
  };
}

function entryOf(file: string, host: string): AuthEntry | undefined {
  let auths: Record<string, AuthEntry>;
  try {
    auths = (JSON.parse(readFileSync(file, 'utf8')) as { auths?: Record<string, AuthEntry> }).auths ?? {};
  } catch {
    // The parser's own words would show a part of the credential.
    throw new StageFailed('PushFailed', "The registry's Secret holds no valid config.json of Docker.");
  }
  const names = DOCKER_HUB.includes(host) ? DOCKER_HUB : [host];
  return Object.entries(auths).find(([key]) => names.includes(key.replace(/^https?:\/\//, '').replace(/\/.*$/, '')))?.[1];
}
