import { buildNpmBill, type InstalledPackages } from '../../src/agent/sbom/bill.ts';
import type { ReleasedImage } from './annotations.ts';

/*
 * Bills of materials in CycloneDX 1.5, of the same bytes for the same contents: sorted, dated by the commit, and
 * without a serial number.
 */

type Component = { purl?: string; name: string; [field: string]: unknown };
type Subject = { type: 'application' | 'container'; name: string; version: string; purl: string };
type Made = { seconds: number; version: string; license: string };

/** Returns the bill of an image: all that the bills in it list. */
export function buildImageBill(
  { name, reference, digest }: ReleasedImage,
  inside: readonly { components: Component[] }[],
  made: Made,
): string {
  const subject: Subject = {
    type: 'container',
    name: reference,
    version: digest,
    purl: buildOciPurl(name, reference, digest),
  };
  return buildBill(
    subject,
    inside.flatMap(({ components }) => components),
    made,
  );
}

/** Returns the bill of the chart: the images that it names. */
export function buildChartBill(images: ReleasedImage[], made: Made): string {
  const subject: Subject = {
    type: 'application',
    name: 'gx-platform',
    version: made.version,
    purl: `pkg:helm/gx-platform@${made.version}`,
  };
  const components = images.map(({ name, reference, digest }) => ({
    type: 'container',
    name: reference,
    version: digest,
    purl: buildOciPurl(name, reference, digest),
  }));
  return buildBill(subject, components, made);
}

/** Returns the bill of the package for developers: packages that its manifest leads to, as the lock file has them. */
export function buildPackageBill(manifest: Manifest, lock: InstalledPackages, made: Made): string {
  const subject: Subject = {
    type: 'application',
    name: manifest.name,
    version: made.version,
    purl: `pkg:npm/${manifest.name}@${made.version}`,
  };
  const { components } = buildNpmBill({ packages: collectPackages(manifest, lock.packages ?? {}) });
  return buildBill(subject, components, made);
}

/** Returns the packages of a bill as npm takes them on a command line, one a line. */
export const formatBillPackages = (bill: string): string =>
  (JSON.parse(bill) as { components: { name: string; version: string }[] }).components
    .map(({ name, version }) => `${name}@${version}\n`)
    .join('');

type Needs = {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
};
export type Manifest = Needs & { name: string };
type Locked = NonNullable<InstalledPackages['packages']>[string] &
  Needs & {
    peerDependencies?: Record<string, string>;
    peerDependenciesMeta?: Record<string, { optional?: boolean }>;
  };
type Packages = Record<string, Locked>;

/** Returns the packages of a lock file that a manifest leads to, each found as Node looks for it. */
function collectPackages(manifest: Needs, packages: Packages): Packages {
  const found: Packages = {};
  const waiting: { at: string; needs: Locked }[] = [{ at: '', needs: manifest }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const name of listDependencies(next.needs)) {
      const place = findPackagePath(name, next.at, packages);
      if (place === undefined || found[place] !== undefined) continue;
      const needs = packages[place] ?? {};
      found[place] = { ...needs, dev: false };
      waiting.push({ at: place, needs });
    }
  }
  return found;
}

/** A peer that is optional does nothing unless the user's project has it. */
function listDependencies({
  dependencies,
  optionalDependencies,
  peerDependencies = {},
  peerDependenciesMeta = {},
}: Locked): string[] {
  const peers = Object.keys(peerDependencies).filter(
    (name) => peerDependenciesMeta[name]?.optional !== true,
  );
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

/** Returns where a package finds another one: in its own node_modules, or in those of a folder above. */
function findPackagePath(name: string, from: string, packages: Packages): string | undefined {
  const place = from === '' ? `node_modules/${name}` : `${from}/node_modules/${name}`;
  if (packages[place] !== undefined) return place;
  if (from === '') return undefined;
  return findPackagePath(
    name,
    from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))),
    packages,
  );
}

const buildOciPurl = (name: string, reference: string, digest: string): string =>
  `pkg:oci/${name}@${encodeURIComponent(digest)}?repository_url=${encodeURIComponent(reference.replace(/:[^:/]+$/, ''))}`;

const getComponentKey = ({ purl, name }: Component): string => purl ?? name;

function buildBill(subject: Subject, components: Component[], { seconds, license }: Made): string {
  const unique = new Map(components.map((component) => [getComponentKey(component), component]));
  const sorted = [...unique.values()].toSorted((a, b) =>
    getComponentKey(a) < getComponentKey(b) ? -1 : 1,
  );
  const metadata = {
    timestamp: new Date(seconds * 1000).toISOString(),
    component: { ...subject, licenses: [{ license: { id: license } }] },
  };
  return `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, metadata, components: sorted }, null, 1)}\n`;
}
