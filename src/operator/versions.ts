import { setTimeout as wait } from 'node:timers/promises';
import { StartError, Unavailable } from '../errors.ts';
import type { ConnectedKube } from '../kube/kube.ts';
import { kinds } from '../kube/kinds.ts';
import type { Log } from '../log.ts';
import { parseCrdVersion } from '../schema/platform/resources/crd.ts';
import { API_VERSION } from '../schema/platform/objects/api-group.ts';
import { OPERATOR_VERSION } from '../schema/platform/objects/labels.ts';

type VersionCheck = {
  kube: ConnectedKube;
  config: { namespace: string; leaseName: string };
  log: Log;
  own: string;
};

/** Milliseconds until an API server that does not answer is asked again. */
const AGAIN = 1000;

/**
 * Throws if an operator of this version must not start beside the definitions and after the operator that are there.
 * It waits for an API server that is away, as the watches do.
 */
export async function requireSupportedJump(
  given: VersionCheck,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      const fault = explainUnsupportedJump(await readVersions(given, signal));
      if (fault !== undefined) throw new StartError(fault);
      return;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      await wait(AGAIN, undefined, { signal });
    }
  }
}

async function readVersions({ kube, config, log, own }: VersionCheck, signal: AbortSignal) {
  const lease = await kube.find(
    kinds.lease,
    { namespace: config.namespace, name: config.leaseName },
    signal,
  );
  const description = (await kube.openApi(API_VERSION, signal))?.components?.schemas?.[schemaName]
    ?.description;
  if (description === undefined)
    log.warn('the version of the custom resource definitions is not known');
  return {
    own,
    definitions: parseCrdVersion(description),
    former:
      lease === undefined
        ? undefined
        : (lease.metadata.annotations?.[OPERATOR_VERSION] ?? FIRST_VERSION),
  };
}

const schemaName = `${['dev.gx', ...API_VERSION.split('/').slice(1)].join('.')}.Deployment`;

/** The first release. Its operator and its definitions do not say which version they are. */
const FIRST_VERSION = '0.1.0';

type Line = { major: number; minor: number };

/** Returns why an operator must not start with these versions, as sentences; undefined if it may. */
export function explainUnsupportedJump({
  own,
  definitions,
  former,
}: {
  /** Of this operator. */
  own: string;
  /** Of the custom resource definitions, where they name one. */
  definitions: string | undefined;
  /** Of the operator that led here last. Undefined if none did. */
  former: string | undefined;
}): string | undefined {
  const [mine, defined, led] = [
    parseMinorVersion(own),
    parseMinorVersion(definitions),
    parseMinorVersion(former),
  ];
  if (mine === undefined) return undefined;
  if (defined !== undefined && isNewer(defined, mine)) {
    return `operator: the custom resource definitions have version ${definitions}, and this operator has ${own}. It does not know all of their fields: install version ${formatMinorVersion(defined)} or newer.`;
  }
  if (led !== undefined && isFar(led, mine)) {
    return `operator: the last active operator had version ${former}, and this one has ${own}. Upgrade one minor version at a time: install ${formatMinorVersion({ ...led, minor: led.minor + 1 })} first.`;
  }
  return undefined;
}

/** Patches of one minor version go together in any order, so only these two numbers count. */
function parseMinorVersion(version: string | undefined): Line | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)\.\d+/.exec(version ?? '') ?? [];
  return major === undefined || minor === undefined
    ? undefined
    : { major: Number(major), minor: Number(minor) };
}

const isNewer = (a: Line, b: Line): boolean =>
  a.major > b.major || (a.major === b.major && a.minor > b.minor);

/** Nobody knows which minor version was the last of its major one, so a step between major versions is not judged. */
const isFar = (from: Line, to: Line): boolean =>
  from.major === to.major && to.minor - from.minor > 1;

const formatMinorVersion = ({ major, minor }: Line): string => `${major}.${minor}`;
