import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { StageFailed } from '../../errors.ts';

/** A name and a password for one registry, or a token that its token service takes. */
export type RegistryCredential = { basic?: string; identityToken?: string; registryToken?: string };

type AuthEntry = {
  auth?: string;
  username?: string;
  password?: string;
  identitytoken?: string;
  registrytoken?: string;
};

const FILES = ['config.json', '.dockerconfigjson'];
/** Docker's own name for its registry in such a file. */
const DOCKER_HUB = ['docker.io', 'index.docker.io', 'registry-1.docker.io'];

/**
 * Returns the credential for a repository (`host`, with a port if it has one, and the path there) in the config.json of
 * a folder. Entries match as they do for a node that pulls (the kubelet's keyring): by host, where `*` stands for a
 * part of a name, by port, and by the beginning of the path; the most exact entry counts. Helpers that the file names
 * are programs and are not run.
 */
export function findCredential(
  folder: string,
  host: string,
  repository: string,
): RegistryCredential {
  const file = FILES.map((name) => path.join(folder, name)).find((name) => existsSync(name));
  if (file === undefined) return {};
  const matches = Object.entries(readAuths(file))
    .map(([key, entry]) => ({ place: parsePlace(key), entry }))
    .filter(({ place }) => isPlaceOf(place, host, repository))
    .toSorted((one, other) => compareExactness(one.place, other.place));
  const { auth, username, password, identitytoken, registrytoken } = matches[0]?.entry ?? {};
  const basic =
    auth ||
    (username === undefined
      ? undefined
      : Buffer.from(`${username}:${password ?? ''}`).toString('base64'));
  return {
    ...(basic && { basic }),
    ...(identitytoken && { identityToken: identitytoken }),
    ...(registrytoken && { registryToken: registrytoken }),
  };
}

function readAuths(file: string): Record<string, AuthEntry> {
  try {
    return (
      (JSON.parse(readFileSync(file, 'utf8')) as { auths?: Record<string, AuthEntry> }).auths ?? {}
    );
  } catch {
    // The parser's own words would show a part of the credential.
    throw new StageFailed(
      'PushFailed',
      "The registry's Secret holds no valid config.json of Docker.",
    );
  }
}

type Place = { labels: string[]; port: string; path: string };

/** Reads a key of `auths`. `https://index.docker.io/v1/` and the like name a host: the version is no path of a repository. */
function parsePlace(key: string): Place {
  const usualPort = key.startsWith('http://') ? '80' : '443';
  const [host = '', ...steps] = key.replace(/^https?:\/\//, '').split('/');
  const [name = '', port = usualPort] = host.toLowerCase().split(':');
  const repository = steps.join('/').replace(/^v[12](\/|$)/, '');
  return {
    labels: name.split('.'),
    port: port === usualPort ? '' : port,
    path: repository.replace(/\/+$/, ''),
  };
}

function isPlaceOf(
  { labels, port, path: prefix }: Place,
  host: string,
  repository: string,
): boolean {
  const names = DOCKER_HUB.includes(host) ? DOCKER_HUB : [host];
  if (!repository.startsWith(prefix)) return false;
  return names.some((name) => {
    const asked = parsePlace(name);
    if (asked.port !== port || asked.labels.length !== labels.length) return false;
    return labels.every((label, index) => isLabelMatch(label, asked.labels[index] ?? ''));
  });
}

/** Compares part by part, so that a pattern with many stars costs no more than its length. */
function isLabelMatch(pattern: string, label: string): boolean {
  const [first = '', ...pieces] = pattern.split('*');
  if (!label.startsWith(first)) return false;
  if (pieces.length === 0) return label === first;
  const last = pieces.pop() ?? '';
  let at = first.length;
  for (const piece of pieces) {
    const found = label.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return label.length - last.length >= at && label.endsWith(last);
}

/** Orders the longest path first, and a name before a pattern. */
function compareExactness(one: Place, other: Place): number {
  const countStars = ({ labels }: Place): number =>
    labels.filter((label) => label.includes('*')).length;
  return other.path.length - one.path.length || countStars(one) - countStars(other);
}
