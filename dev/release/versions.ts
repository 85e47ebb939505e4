import { parse } from 'yaml';
import { DevError } from '../errors.ts';

export type VersionFiles = {
  'package.json': string;
  'package-lock.json': string;
  'Chart.yaml': string;
};

/** Throws unless each of these files names this version. */
export function requireVersion(version: string, files: VersionFiles): void {
  const chart = parse(files['Chart.yaml']) as { version?: string; appVersion?: string };
  const named = {
    'package.json': parseVersion(files['package.json']),
    'package-lock.json': parseVersion(files['package-lock.json']),
    'version of Chart.yaml': chart.version,
    'appVersion of Chart.yaml': chart.appVersion,
  };
  const others = Object.entries(named).filter(([, found]) => found !== version);
  if (others.length === 0) return;
  throw new DevError(
    `Not version ${version}: ${others.map(([place, found]) => `${place} has ${found ?? 'none'}`).join(', ')}.`,
  );
}

const parseVersion = (json: string): string | undefined =>
  (JSON.parse(json) as { version?: string }).version;

/** Returns whether a semantic version is one before a release, as 1.0.0-rc.1 is. */
export const isPrerelease = (version: string): boolean => /^\d+\.\d+\.\d+-/.test(version);

export function requireSemanticVersion(version: string): string {
  if (/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) return version;
  throw new DevError(`"${version}" is no semantic version, such as 0.1.0.`);
}
