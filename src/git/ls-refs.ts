import type { GitPlaces } from './places.ts';
import { Unavailable } from '../errors.ts';
import { fetchFromHost, refuseFailure } from './host.ts';

/** A repository over http or https, and how git shows its credential there. */
export type RemoteRepository = {
  url: string;
  authorization?: string | undefined;
  host: string;
  places: GitPlaces;
};

/** Returns the whole name of a ref: a branch by its bare name, anything else as it is given. */
export const expandRef = (ref: string): string =>
  ref.startsWith('refs/') ? ref : `refs/heads/${ref}`;

/**
 * Returns the commit that a branch or tag of a repository means now; undefined if there is no such ref. It asks as git
 * does (protocol v2 over smart HTTP, gitprotocol-v2 and gitprotocol-http), and takes an answer of the older protocol.
 */
export async function fetchHeadCommit(
  repository: RemoteRepository,
  ref: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const base = repository.url.replace(/\/+$/, '');
  const headers = {
    'git-protocol': 'version=2',
    'user-agent': 'git/gx-platform',
    ...(repository.authorization !== undefined && { authorization: repository.authorization }),
  };
  const first = await fetchFromHost(repository, {
    url: `${base}/info/refs?service=git-upload-pack`,
    headers,
    signal,
  });
  refuseFailure(repository, first.status);
  const lines = splitPackets(first.bytes);
  if (!lines.some((line) => line.startsWith('version 2')))
    return findRefCommit(lines.map(parseAdvertised), ref);
  // Git ends the request of a client that names another hash than the repository's (gitprotocol-v2, object-format).
  const format = lines
    .map((line) => /^object-format=(\w+)/.exec(line)?.[1])
    .find((found) => found !== undefined);
  const body = buildLsRefs(expandRef(ref), format);
  const typed = {
    ...headers,
    'content-type': 'application/x-git-upload-pack-request',
    accept: 'application/x-git-upload-pack-result',
  };
  const second = await fetchFromHost(repository, {
    url: `${base}/git-upload-pack`,
    headers: typed,
    method: 'POST',
    body,
    signal,
  });
  refuseFailure(repository, second.status);
  const answered = splitPackets(second.bytes);
  const complaint = answered
    .map((line) => /^ERR (.*)/.exec(line)?.[1])
    .find((found) => found !== undefined);
  // Each answer ends with a packet without content. One without it is no list of references.
  if (complaint !== undefined || !second.bytes.toString('latin1').endsWith('0000'))
    throw new Unavailable(
      `The git host ${repository.host} ends its list of branches early: ${complaint ?? 'its answer is cut'}.`,
    );
  return findRefCommit(answered.map(parseListed), ref);
}

type Ref = { name: string; commit: string; peeled?: string | undefined };

/**
 * Returns the commit of a ref. For a tag with a message, it is the commit that it marks and not the tag's own object.
 */
function findRefCommit(refs: (Ref | undefined)[], wanted: string): string | undefined {
  const name = expandRef(wanted);
  const marked = refs.find((ref) => ref?.name === `${name}^{}`)?.commit;
  const found = refs.find((ref) => ref?.name === name);
  return marked ?? found?.peeled ?? found?.commit;
}

const REF = /^(?<commit>[0-9a-f]{40,64}) (?<name>[^\0 \n]+)/;
const PEELED = / peeled:(?<peeled>[0-9a-f]{40,64})/;

function parseAdvertised(line: string): Ref | undefined {
  const { commit, name } = REF.exec(line)?.groups ?? {};
  return commit === undefined || name === undefined ? undefined : { commit, name };
}

function parseListed(line: string): Ref | undefined {
  const ref = parseAdvertised(line);
  return ref && { ...ref, peeled: PEELED.exec(line)?.groups?.peeled };
}

/** Splits an answer into its packets (gitprotocol-common: four hexadecimal digits count the packet with themselves). */
function splitPackets(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let at = 0; at + 4 <= bytes.length;) {
    const length = Number.parseInt(bytes.toString('latin1', at, at + 4), 16);
    if (Number.isNaN(length)) return lines;
    // Lengths below four are marks without content.
    if (length >= 4)
      lines.push(bytes.toString('utf8', at + 4, Math.min(bytes.length, at + length)));
    at += Math.max(4, length);
  }
  return lines;
}

const formatPacket = (text: string): string =>
  `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')}${text}`;

/**
 * Asks for one ref, and for the commit that it marks. The prefix also matches longer names, which are left out
 * afterwards.
 */
const buildLsRefs = (name: string, format: string | undefined): string =>
  `${formatPacket('command=ls-refs\n')}${formatPacket('agent=git/gx-platform\n')}${format === undefined ? '' : formatPacket(`object-format=${format}\n`)}0001${formatPacket('peel\n')}${formatPacket(`ref-prefix ${name}\n`)}0000`;
