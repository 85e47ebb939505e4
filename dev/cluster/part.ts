import type { NodePart } from './native/node-part.ts';

/** A part of a local cluster, or of the tests on it. The part list has one entry for each. */
export type Part = {
  /** Its purpose. */
  what: string;
  /** Every native node has the parts for `node`. The others are requested by the names of their tools. */
  for: 'node' | 'kind' | 'images' | 'release' | 'tests';
  from: GoBuild | DebianPackage | UnpackedPackage;
  /** Where its programs are compiled already for some machines. Others compile them. */
  ready?: NpmPrograms | DebianPrograms;
  /** The native node's work for it. A part without any only provides tools. */
  runs?: readonly NodePart[];
};

/** Programs that are compiled from a Go module and kept in the cache. */
export type GoBuild = {
  kind: 'go';
  name: string;
  version: string;
  /** The folder of the Go module. */
  module: string;
  /** The sources of the cache's key, relative to the module; a folder counts with its Go files. */
  sources: readonly string[];
  flags: readonly string[];
  programs: readonly Program[];
  /** Folders of Go modules that a program or its users read. They lie in `into`, beside the programs. */
  files?: readonly ModuleFiles[];
  /** The packages whose C compiler and libraries the programs need. Without them they are built without C. */
  withC?: readonly DebianPackage[];
};

/** Folders of a Go module, and where they are copied to. */
export type ModuleFiles = { module: string; folders: readonly string[]; into: string };

/** One program to compile. `links` are further names of it. */
export type Program = { file: string; package: string; links: readonly string[] };

/** Commands of a Debian package. On other systems they must already be installed. */
export type DebianPackage = {
  kind: 'debian';
  package: string;
  commands: readonly string[];
  /** Where the commands are, if not on the PATH. */
  folder?: string;
  /** Files that tell that a package without commands is there. */
  files?: readonly string[];
};

/** Commands of a package of another release of Debian than the machine's, which are unpacked into the cache. */
export type UnpackedPackage = {
  kind: 'unpacked';
  package: string;
  suite: string;
  commands: readonly string[];
  /** Packages that are unpacked beside it. */
  beside?: readonly string[];
};

/** Programs in a zip archive of an npm package, whose hash is that of package-lock.json files. */
export type NpmPrograms = {
  kind: 'npm';
  package: string;
  version: string;
  integrity: string;
  /** Node's names of the system and the processor that they run on. */
  platform: string;
  archive: string;
  /** Program -> its path in the archive. */
  files: Readonly<Record<string, string>>;
};

/**
 * Programs of a package of a newer Debian than the machine's. Nothing that the package depends on comes with it, so
 * they run where the machine's own C library is new enough for them.
 */
export type DebianPrograms = {
  kind: 'debian-programs';
  package: string;
  suite: string;
  /** Program -> its path in the package. */
  files: Readonly<Record<string, string>>;
  /** The program that says its version at `--version`, and the major version that it must have. */
  checked: { program: string; major: number };
};

/** Returns the tools that a part provides. */
export function listPartTools({ from, ready }: Part): readonly string[] {
  if (ready !== undefined) return Object.keys(ready.files);
  return from.kind === 'go'
    ? from.programs.flatMap(({ file, links }) => [file, ...links])
    : from.commands;
}
