/*
 * Bills of materials of an agent's image beyond its base, in CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json)
 * as the base images have theirs. npm's own `npm sbom` refuses a project without a version, as most agents are.
 */

type Component = {
  type: 'library';
  name: string;
  version: string;
  purl: string;
  [field: string]: unknown;
};
export type Bill = {
  bomFormat: 'CycloneDX';
  specVersion: '1.5';
  version: 1;
  components: Component[];
};

const buildBill = (components: Component[]): Bill => ({
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  components,
});

/** npm's record of a package in `node_modules/.package-lock.json`. `npm prune --omit=dev` removes `dev` ones. */
type Installed = {
  name?: string;
  version?: string;
  dev?: boolean;
  link?: boolean;
  integrity?: string;
  license?: unknown;
};
export type InstalledPackages = { packages?: Record<string, Installed> };

const NODE_MODULES = 'node_modules/';

/** Returns the packages that npm installed and an image keeps. A package in two versions is there twice. */
export function buildNpmBill({ packages = {} }: InstalledPackages): Bill {
  const components = new Map<string, Component>();
  for (const [place, installed] of Object.entries(packages)) {
    const { version, dev, link } = installed;
    const at = place.lastIndexOf(NODE_MODULES);
    if (at < 0 || version === undefined || dev === true || link === true) continue;
    const name = installed.name ?? place.slice(at + NODE_MODULES.length);
    const purl = `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
    components.set(purl, {
      type: 'library',
      name,
      version,
      purl,
      ...toLicenses(installed),
      ...parseHashes(installed),
    });
  }
  return buildBill([...components.values()]);
}

/** A license is named as its package names it, which is not always an SPDX id. */
const toLicenses = ({ license }: Installed): object =>
  typeof license === 'string' && license !== ''
    ? { licenses: [{ license: { name: license } }] }
    : {};

const ALGORITHMS: Record<string, string> = {
  sha1: 'SHA-1',
  sha256: 'SHA-256',
  sha384: 'SHA-384',
  sha512: 'SHA-512',
};

/** Reads hashes as npm writes them: `sha512-<base64>`, several with spaces between them. */
function parseHashes({ integrity = '' }: Installed): object {
  const hashes = [...integrity.matchAll(/(sha\d+)-([A-Za-z0-9+/=]+)/g)].flatMap(
    ([, algorithm = '', digest = '']) =>
      algorithm in ALGORITHMS
        ? [{ alg: ALGORITHMS[algorithm], content: Buffer.from(digest, 'base64').toString('hex') }]
        : [],
  );
  return hashes.length === 0 ? {} : { hashes };
}

/** Returns the packages of Debian, from lines of `<name> <version> <architecture>`. */
export function buildDebianBill(listed: string): Bill {
  const lines = listed.split('\n').filter((line) => line !== '');
  return buildBill(
    lines.map((line): Component => {
      const [name = '', version = '', architecture = ''] = line.split(' ');
      const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
      return { type: 'library', name, version, purl };
    }),
  );
}
